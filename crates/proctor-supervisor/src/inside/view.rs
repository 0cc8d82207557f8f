//! Programs that see more of the host than the rest of their box does, and are seen by nobody there.
//!
//! Such a program has a mount namespace of its own, a copy of the box's with directories of the host put over paths of the box. A sealed one
//! also has a process namespace of its own, beside that of the box and not below it, with a `/proc` to match: nothing that the
//! box runs can see, name, signal or trace it, and all that it starts ends with it.
//!
//! What lies at the paths was written by the box, while something there may still be at work. So links are replaced, and every directory on the way
//! is first pinned in the box's own mounts, as a mount of itself: the kernel lets anybody who may remove a directory remove it from under
//! a mount of another namespace, but not from under one of their own.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    time::Duration,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
        OpenTreeFlags,
    },
    net::SendFlags,
    process::{DumpableBehavior, Pid, Signal, WaitOptions},
    thread::{CapabilitySet, LinkNameSpaceType},
};

use super::{
    capabilities, enter,
    entrant::{NOTE, Part, become_program},
    executions::Surroundings,
    failure::{Failure, While},
    first::mapped_clone,
    mounts,
};
use crate::{
    cgroup::Doors,
    plan::Ids,
    spec::{Shared, View},
    sys::{self, Fork},
};

/// How often a path is looked at that somebody changes at the same time.
const PATIENCE: usize = 1000;
/// How long to wait before it is looked at again.
const PAUSE: Duration = Duration::from_millis(1);

/// Enters the box with a view of its own and becomes the program there. Returns only if that is not possible.
pub(super) fn enter_and_become(
    around: Surroundings<'_>,
    doors: &Doors,
    part: Part<'_>,
    view: &View,
    socket: BorrowedFd<'_>,
) -> Result<(), Failure> {
    let ids = around.plan.ids;
    if ids == Ids::Single {
        // Only a mount namespace of our own lets an unprivileged process copy mounts.
        sys::unshare(libc::CLONE_NEWNS).doing("making a mount namespace")?;
    }
    let users = around.first.space(LinkNameSpaceType::User);
    let mut mounted = Vec::new();
    for (shared, is_writable) in directories(view) {
        let mount = open_mount(&shared.host, ids, users)?;
        match is_writable {
            true => sys::tame_mount(mount.as_fd()),
            false => sys::seal_mount(mount.as_fd()),
        }
        .doing(format_args!("restricting the mount of {}", shared.at))?;
        mounted.push((shared, mount));
    }
    let processes = match view.sealed {
        true => Some(own_processes().doing("mounting the processes")?),
        false => None,
    };
    enter::join(around.first, doors, ids)?;

    let mut notes = Vec::new();
    for (shared, _) in &mounted {
        make_way(shared, view.sealed, &mut notes)?;
    }
    sys::unshare(libc::CLONE_NEWNS).doing("making a mount namespace")?;
    use MountPropagationFlags as Propagation;
    rustix::mount::mount_change("/", Propagation::PRIVATE | Propagation::REC)
        .doing("leaving the box's mounts")?;
    for (shared, mount) in &mounted {
        let place = open_directory(&shared.at).doing(format_args!("opening {}", shared.at))?;
        attach(mount.as_fd(), place.as_fd()).doing(format_args!("attaching {}", shared.at))?;
    }
    if let Some(processes) = processes {
        mounts::attach(&processes, "/proc").doing("attaching the processes")?;
        rustix::process::chdir("/").doing("entering the root")?;
        mounts::restrict_processes()?;
    }
    for note in notes {
        let words = [&[NOTE][..], note.as_bytes()].concat();
        rustix::net::send(socket, &words, SendFlags::NOSIGNAL).doing("reporting")?;
    }
    if !view.sealed {
        enter::renounce(around.plan, around.filter)?;
        return become_program(around.plan, part, socket);
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .doing("tying the program to its supervisor")?;
    match sys::fork().doing("making a process")? {
        Fork::Parent(program) => guard(program),
        Fork::Child => {
            enter::renounce(around.plan, around.filter)?;
            become_program(around.plan, part, socket)
        }
    }
}

fn directories(view: &View) -> impl Iterator<Item = (&Shared, bool)> {
    let read_only = view.read_only.iter().map(|shared| (shared, false));
    read_only.chain(view.writable.iter().map(|shared| (shared, true)))
}

/// A detached copy of the mount of a host's directory, with the ids of the box.
fn open_mount(host: &Path, ids: Ids, users: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Failure> {
    match (ids, users) {
        (Ids::Range { .. }, Some(users)) => mapped_clone(host, users),
        _ => {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_RECURSIVE;
            rustix::mount::open_tree(CWD, host, flags)
                .doing(format_args!("cloning the mount of {}", host.display()))
        }
    }
}

/// A detached `/proc` of the process namespace that this process is the first of.
fn own_processes() -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(context.as_fd())?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// Makes a directory of every part of a path, and pins it if nobody in the box is to change it any more.
fn make_way(shared: &Shared, is_pinned: bool, notes: &mut Vec<String>) -> Result<(), Failure> {
    let mut path = String::new();
    for part in shared.parts() {
        path = format!("{path}/{part}");
        settle(&path, is_pinned, notes).doing(format_args!("preparing {path} in the devbox"))?;
    }
    Ok(())
}

/// Makes a directory of a path whose parents are directories that nobody can change.
///
/// Whatever fails may fail because somebody changes the path at the same time: then it is looked at again.
fn settle(path: &str, is_pinned: bool, notes: &mut Vec<String>) -> io::Result<()> {
    let mut last = Errno::BUSY;
    for number in 0..PATIENCE {
        if number > 0 {
            std::thread::sleep(PAUSE);
        }
        match open_directory(path) {
            Ok(_) if !is_pinned => return Ok(()),
            // If somebody moved it away before it was pinned, the path leads elsewhere now.
            Ok(found) => match pin(found.as_fd()).and_then(|()| open_directory(path)) {
                Ok(again) if is_mount(again.as_fd())? => return Ok(()),
                Ok(_) => {}
                Err(errno) => last = errno,
            },
            Err(Errno::NOENT) => {
                note(notes, format!("{path} was missing"));
                let _ = rustix::fs::mkdir(path, Mode::from_raw_mode(0o755));
            }
            Err(Errno::LOOP | Errno::NOTDIR) => {
                note(notes, format!("{path} was not a directory"));
                let _ = rustix::fs::unlink(path);
            }
            Err(errno) => last = errno,
        }
    }
    Err(last.into())
}

/// Notes something once, however often it is seen.
fn note(notes: &mut Vec<String>, seen: String) {
    if !notes.contains(&seen) {
        notes.push(seen);
    }
}

/// Makes a directory a mount of itself, unless it is one.
fn pin(directory: BorrowedFd<'_>) -> rustix::io::Result<()> {
    if is_mount(directory)? {
        return Ok(());
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    let itself = rustix::mount::open_tree(directory, "", flags)?;
    attach(itself.as_fd(), directory)
}

/// Opens a directory that no link leads through.
fn open_directory(path: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)
}

/// Whether this is the root of a mount.
fn is_mount(directory: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    let found = rustix::fs::statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
    Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn attach(mount: BorrowedFd<'_>, place: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount, "", place, "", flags)
}

/// Reaps whatever the program leaves, and ends with it: then the kernel ends everything in this process namespace.
fn guard(program: Pid) -> ! {
    // Our copies would keep streams and sockets open for as long as the program runs.
    let kept = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let prepared = kept.is_ok_and(|kept| sys::close_all_but(0, kept.as_fd()).is_ok())
        && capabilities::drop_bounding_set(CapabilitySet::empty()).is_ok()
        && capabilities::keep_capabilities(CapabilitySet::empty()).is_ok()
        && rustix::thread::set_no_new_privs(true).is_ok()
        && rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok();
    if !prepared {
        sys::exit_now(127);
    }
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                sys::exit_now(status.exit_status().or(signal).unwrap_or(127));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => sys::exit_now(127),
        }
    }
}
