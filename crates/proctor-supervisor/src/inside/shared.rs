//! Directories of the host that a box sees and can never change.
//!
//! They are put in place when the box's root is the root already, over directories of the box that no link leads through. Every
//! directory on the way becomes a mount of itself: a mount point can be neither moved nor removed, so nobody in the box can put something
//! else under the same path.

use std::{
    collections::BTreeSet,
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags},
    mount::OpenTreeFlags,
};

use super::{
    failure::{Failure, While},
    mounts::{attach as attach_mount, directory},
};
use crate::{spec::Shared, sys};

/// Detached, sealed copies of the mounts, for a box whose ids are not mapped.
pub(super) fn open(wanted: &[Shared]) -> Result<Vec<OwnedFd>, Failure> {
    // With everything below: the kernel does not let an unprivileged process uncover what a mount hides.
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    wanted
        .iter()
        .map(|shared| {
            let host = shared.host.display();
            let mount = rustix::mount::open_tree(CWD, &shared.host, flags)
                .doing(format_args!("cloning the mount of {host}"))?;
            sys::seal_mount(mount.as_fd()).doing(format_args!("sealing the mount of {host}"))?;
            Ok(mount)
        })
        .collect()
}

/// Puts the mounts where the box sees them.
pub(super) fn attach<'p>(
    wanted: impl Iterator<Item = &'p str>,
    mounts: &[OwnedFd],
) -> Result<(), Failure> {
    let mut pinned = BTreeSet::new();
    for (place, mount) in wanted.zip(mounts) {
        let mut path = String::new();
        let parts: Vec<&str> = place.split('/').skip(1).collect();
        let depth = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            path = format!("{path}/{part}");
            plain_directory(&path).doing(format_args!("making {path} in the devbox"))?;
            let leads_on = at + 1 < depth;
            if leads_on && pinned.insert(path.clone()) {
                rustix::mount::mount_bind(&path, &path).doing(format_args!("pinning {path}"))?;
            }
        }
        attach_mount(mount, &path).doing(format_args!("attaching {path}"))?;
    }
    Ok(())
}

/// Makes the directory unless it is there. A link, or anything else, is refused.
fn plain_directory(path: &str) -> io::Result<()> {
    directory(path, 0o755)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    Ok(())
}
