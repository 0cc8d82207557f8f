//! The file system of a box, made from inside its mount namespace.
//!
//! Every path here is the box's own or one of ours; nothing that the box wrote is ever resolved, because no program has run
//! in this namespace yet and the layers are only looked into through overlayfs.

use std::{io, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{CWD, Mode},
    mount::{MountFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags},
};

use super::{
    failure::{Failure, While},
    overlay, shared,
};
use crate::{
    plan::{Bottom, Ids, Plan, UPPER_ROOT, UPPER_USR},
    sys, tree,
};

/// Where the layers come from.
#[derive(Debug)]
pub(super) enum Sources<'a> {
    /// Detached mounts whose ids are those of the box.
    Mapped {
        /// The backend's directory.
        data: OwnedFd,
        /// The host's `/usr`, or a registered root file system.
        below: OwnedFd,
        /// The box's own file system, if it has one.
        disk: Option<OwnedFd>,
        /// What the box sees of the host, and then its volumes, in the order of its specification.
        shared: Vec<OwnedFd>,
    },
    /// Directories as the server's user sees them.
    Plain {
        /// The backend's directory.
        data: &'a Path,
        /// The host's `/usr`, or a registered root file system.
        below: &'a Path,
    },
}

/// Builds the root file system and moves into it. The host's files are gone afterwards.
pub(super) fn build(sources: Sources<'_>, plan: &Plan) -> Result<(), Failure> {
    use MountPropagationFlags as Propagation;
    rustix::mount::mount_change("/", Propagation::PRIVATE | Propagation::REC)
        .doing("leaving the host's mounts")?;
    // While the host's paths can still be found.
    let shared = match &sources {
        Sources::Mapped { .. } => Vec::new(),
        Sources::Plain { .. } => shared::open(&plan.spec.read_only)?,
    };
    let anchor = ["/tmp", "/mnt", "/run"]
        .into_iter()
        .find(|path| Path::new(path).is_dir())
        .ok_or(io::ErrorKind::NotFound)
        .doing("finding a directory to mount on")?;
    let (stage, overlay) = match &plan.bottom {
        Bottom::Host { .. } => ("stage/usr", true),
        Bottom::RootFs { .. } => ("stage/base", false),
    };
    let shared = match sources {
        Sources::Mapped {
            data,
            below,
            disk,
            shared,
        } => {
            attach(&data, anchor).doing("attaching the layers")?;
            if let Some(disk) = disk {
                attach_disk(&disk, &format!("{anchor}/boxes/{}/disk", plan.spec.id))?;
            }
            attach(&below, &format!("{anchor}/{stage}")).doing("attaching the base")?;
            shared
        }
        Sources::Plain { data, below } => {
            rustix::mount::mount_bind(below, data.join(stage)).doing("attaching the base")?;
            rustix::mount::mount_bind_recursive(data, anchor).doing("attaching the layers")?;
            shared
        }
    };
    rustix::process::chdir(anchor).doing("entering the layers")?;

    let bottom = match &plan.bottom {
        Bottom::Host { skeleton } => format!("bases/{skeleton}"),
        Bottom::RootFs { .. } => stage.to_owned(),
    };
    overlay::mount(plan, "root", UPPER_ROOT, &bottom, "stage/root")?;
    if overlay {
        overlay::mount(plan, "usr", UPPER_USR, stage, "stage/root/usr")?;
    }
    rustix::process::chdir("stage/root").doing("entering the root file system")?;
    devices(plan.ids)?;
    processes()?;
    directory("sys", 0o555).doing("making /sys")?;
    directory("tmp", 0o1777).doing("making /tmp")?;

    // The new root is mounted over the old one, which then lies on top of it and can be taken away.
    rustix::process::pivot_root(".", ".").doing("changing the root")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).doing("leaving the host's files")?;
    rustix::process::chdir("/").doing("entering the root")?;
    // Not before: what the layers hold at these paths was written by a box, and now leads nowhere else.
    let seen = plan.spec.read_only.iter().map(|shared| shared.at.as_str());
    let volumes = plan.spec.volumes.iter().map(|volume| volume.at.as_str());
    shared::attach(seen.chain(volumes), &shared)
}

pub(super) fn attach(mount: &OwnedFd, target: &str) -> rustix::io::Result<()> {
    rustix::mount::move_mount(
        mount,
        "",
        CWD,
        target,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
}

/// Puts a disk of its own in place, with everything that overlays want to find there.
fn attach_disk(disk: &OwnedFd, target: &str) -> Result<(), Failure> {
    attach(disk, target).doing("attaching the disk")?;
    for part in ["root", "usr"] {
        for name in [format!("upper-{part}"), format!("work-{part}")] {
            directory(&format!("{target}/{name}"), 0o755).doing("laying out the disk")?;
        }
        // Overlayfs refuses what an earlier mount marked as not synchronised.
        tree::remove(Path::new(&format!("{target}/work-{part}/work")))
            .doing("clearing the disk")?;
    }
    Ok(())
}

pub(super) fn directory(path: &str, mode: u32) -> rustix::io::Result<()> {
    match rustix::fs::mkdir(path, Mode::from_raw_mode(mode)) {
        Ok(()) => rustix::fs::chmod(path, Mode::from_raw_mode(mode)),
        Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// A private `/dev` with the harmless devices, terminals and shared memory.
fn devices(ids: Ids) -> Result<(), Failure> {
    directory("dev", 0o755).doing("making /dev")?;
    rustix::mount::mount(
        "dev",
        "dev",
        "tmpfs",
        MountFlags::NOSUID,
        Some(c"mode=755,size=64m,nr_inodes=4096"),
    )
    .doing("mounting /dev")?;
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let target = format!("dev/{name}");
        fs_err::write(&target, "").doing("making a device")?;
        rustix::mount::mount_bind(format!("/dev/{name}"), &target)
            .doing(format_args!("binding /dev/{name}"))?;
    }
    directory("dev/shm", 0o1777).doing("making /dev/shm")?;
    directory("dev/pts", 0o755).doing("making /dev/pts")?;
    // The machine has some thousand terminals for all; a box may have this many.
    let options = match ids {
        Ids::Range { .. } => c"newinstance,ptmxmode=0666,mode=620,max=64,gid=5",
        Ids::Single => c"newinstance,ptmxmode=0666,mode=620,max=64",
    };
    rustix::mount::mount(
        "devpts",
        "dev/pts",
        "devpts",
        MountFlags::NOSUID | MountFlags::NOEXEC,
        Some(options),
    )
    .doing("mounting /dev/pts")?;
    for (target, link) in [
        ("pts/ptmx", "dev/ptmx"),
        ("/proc/self/fd", "dev/fd"),
        ("/proc/self/fd/0", "dev/stdin"),
        ("/proc/self/fd/1", "dev/stdout"),
        ("/proc/self/fd/2", "dev/stderr"),
    ] {
        rustix::fs::symlink(target, link).doing("linking a device")?;
    }
    Ok(())
}

/// A `/proc` of the box's own processes, without what tells of or reaches the host.
fn processes() -> Result<(), Failure> {
    directory("proc", 0o555).doing("making /proc")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "proc", "proc", flags, None).doing("mounting /proc")?;
    restrict_processes()
}

/// Takes away from the `proc` here what tells of or reaches the host.
pub(super) fn restrict_processes() -> Result<(), Failure> {
    for path in [c"proc/sys", c"proc/irq", c"proc/bus", c"proc/fs"] {
        ignore_absent(
            rustix::mount::mount_bind(path, path)
                .map_err(Into::into)
                .and_then(|()| sys::harden_mount(path)),
        )
        .doing("making a part of /proc read-only")?;
    }
    for name in [
        "kcore",
        "keys",
        "key-users",
        "kmsg",
        "timer_list",
        "sysrq-trigger",
        "latency_stats",
        "sched_debug",
    ] {
        ignore_absent(
            rustix::mount::mount_bind("/dev/null", format!("proc/{name}")).map_err(Into::into),
        )
        .doing("hiding a part of /proc")?;
    }
    for name in ["acpi", "scsi"] {
        let flags =
            MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        ignore_absent(
            rustix::mount::mount(
                "none",
                format!("proc/{name}"),
                "tmpfs",
                flags,
                Some(c"size=0,nr_inodes=1"),
            )
            .map_err(Into::into),
        )
        .doing("hiding a part of /proc")?;
    }
    Ok(())
}

fn ignore_absent(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
