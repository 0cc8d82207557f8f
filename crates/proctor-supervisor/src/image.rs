//! A box's disk as a file system of its own, in a file: the kernel holds it to its limits, to the block and at once.
//!
//! The file is mounted through a loop device that frees itself, and never anywhere on the host: the mount is a descriptor, given to the
//! box or looked into. Only ext4 itself ever wrote what is in it; nothing in a box sees the file.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::{
    fs::{Mode, OFlags},
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags},
};

use crate::{spec::Limits, sys};

/// The programs that can make such a file system, as they are found on the path or beside it.
const MAKERS: &[&str] = &[
    "/usr/sbin/mkfs.ext4",
    "/sbin/mkfs.ext4",
    "/usr/bin/mkfs.ext4",
];
const CONTROL: &str = "/dev/loop-control";
/// What an inode takes.
const INODE: u64 = 256;
/// The file system's own administration, whatever its size.
const ADMINISTRATION: u64 = 256 << 10;
/// How often another free device is tried when somebody else was faster.
const TRIES: usize = 64;

/// What this host lacks for it, if it lacks anything. Only root of the machine can do it in any case.
pub fn missing() -> Option<String> {
    if maker().is_none() {
        return Some("there is no mkfs.ext4 (package e2fsprogs)".to_owned());
    }
    rustix::fs::open(CONTROL, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .err()
        .map(|errno| format!("no loop devices: {CONTROL}: {errno}"))
}

fn maker() -> Option<&'static Path> {
    MAKERS
        .iter()
        .map(|path| Path::new(*path))
        .find(|path| path.exists())
}

/// Makes the file with an empty file system that has room for what the limits say.
pub fn make(path: &Path, limits: &Limits) -> io::Result<()> {
    let maker = maker().ok_or(io::ErrorKind::NotFound)?;
    let bytes = limits.disk_bytes.unwrap_or(1 << 40);
    // A file for every 8 kB where nobody says how many.
    let files = limits.disk_files.unwrap_or(bytes / 8192).clamp(16, 1 << 26);
    let size = bytes + files * INODE + ADMINISTRATION;
    let file = fs_err::File::create_new(path)?;
    file.set_len(size)?;
    drop(file);
    let made = Command::new(maker)
        .args([
            "-q",
            "-F",
            "-m",
            "0",
            "-b",
            "4096",
            "-O",
            "^has_journal,^resize_inode",
        ])
        .args(["-E", "nodiscard,lazy_itable_init=1,root_owner=0:0"])
        .args(["-I", &INODE.to_string()])
        // The first eleven are the file system's own.
        .args(["-N", &(files + 11).to_string()])
        .arg(path)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()?;
    if made.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    Err(io::Error::other(format!("{}: {why}", maker.display())))
}

/// Mounts the file nowhere: the descriptor is the mount. Mounted twice it is the same file system.
pub fn mount(path: &Path) -> io::Result<OwnedFd> {
    // Kept open until the mount holds it: it frees itself when nobody does.
    let (device, _held) = match attached(path)? {
        Some(device) => device,
        None => attach(path)?,
    };
    let context = rustix::mount::fsopen("ext4", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(context.as_fd(), "source", device.as_path())?;
    // Room that the box gives up is given back to the host.
    rustix::mount::fsconfig_set_flag(context.as_fd(), "discard")?;
    rustix::mount::fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOATIME;
    Ok(rustix::mount::fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        attributes,
    )?)
}

/// Bytes and files that are in use on such a mount.
pub fn usage(mount: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let state = rustix::fs::fstatvfs(mount)?;
    Ok((
        (state.f_blocks - state.f_bfree) * state.f_frsize,
        (state.f_files - state.f_ffree).saturating_sub(11),
    ))
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// The device that has the file already.
fn attached(path: &Path) -> io::Result<Option<(PathBuf, OwnedFd)>> {
    for entry in fs_err::read_dir("/sys/block")?.flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with("loop") {
            continue;
        }
        let file = fs_err::read_to_string(entry.path().join("loop/backing_file"));
        if file.is_ok_and(|file| Path::new(file.trim_end_matches('\n')) == path) {
            let device = Path::new("/dev").join(name);
            let held = open(&device)?;
            return Ok(Some((device, held)));
        }
    }
    Ok(None)
}

fn attach(path: &Path) -> io::Result<(PathBuf, OwnedFd)> {
    let control = open(Path::new(CONTROL))?;
    let file = open(path)?;
    for _ in 0..TRIES {
        let number = sys::free_loop_device(control.as_fd())?;
        let device = PathBuf::from(format!("/dev/loop{number}"));
        let held = open(&device)?;
        match sys::configure_loop_device(held.as_fd(), file.as_fd()) {
            Ok(()) => return Ok((device, held)),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}
