//! Files in and out, done by a process inside the box with the rights of the box's user.
//!
//! Because the process's root is the box's root, no link and no `..` leads anywhere else; because it has the user's
//! ids, the kernel decides what may be read. The server gets bytes, never a descriptor.

use std::{
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{fs::PermissionsExt, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

use crate::{
    error::FileProblem,
    spec::FileMode,
    wire::{Event, LONGEST_BYTES, frame},
};

/// Sends the file at `path`, then ends.
pub(super) fn read(socket: OwnedFd, path: &str, limit: Option<u64>) {
    let mut socket = UnixStream::from(socket);
    match open_regular(Path::new(path), limit) {
        Err((kind, why)) => tell(&mut socket, &Event::FileFailed { kind, why }),
        Ok((file, size, mode)) => {
            tell(&mut socket, &Event::FileOpened { size, mode });
            // An error here closes the connection early, which the reader notices by the missing bytes.
            let _ = io::copy(&mut file.take(size), &mut socket);
        }
    }
}

/// Receives the file at `path` and puts it in place.
pub(super) fn write(socket: OwnedFd, received: Vec<u8>, path: &str, mode: Option<FileMode>) {
    let socket = UnixStream::from(socket);
    let Ok(mut answers) = socket.try_clone() else {
        return;
    };
    let content = io::Cursor::new(received).chain(socket);
    let event = match replace(Path::new(path), mode, content) {
        Ok(size) => Event::FileWritten { size },
        Err(error) => Event::FileFailed {
            kind: kind(&error),
            why: error.to_string(),
        },
    };
    tell(&mut answers, &event);
}

/// Says that the file could not be touched at all.
pub(super) fn refuse(socket: OwnedFd, why: String) {
    let mut socket = UnixStream::from(socket);
    let kind = FileProblem::Other;
    tell(&mut socket, &Event::FileFailed { kind, why });
}

fn tell(socket: &mut UnixStream, event: &Event) {
    if let Ok(bytes) = frame(event, &[]) {
        let _ = socket.write_all(&bytes);
    }
}

fn kind(error: &io::Error) -> FileProblem {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => FileProblem::NotFound,
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => FileProblem::Denied,
        Some(libc::EISDIR) => FileProblem::NotRegular,
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => FileProblem::NoSpace,
        _ => FileProblem::Other,
    }
}

type Refused = (FileProblem, String);

fn open_regular(path: &Path, limit: Option<u64>) -> Result<(fs_err::File, u64, FileMode), Refused> {
    let refused = |error: io::Error| (kind(&error), error.to_string());
    // Without NONBLOCK a named pipe would hold us for ever; without NOCTTY a terminal would become ours.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| refused(errno.into()))?;
    let file = fs_err::File::from_parts(file.into(), path);
    let metadata = file.metadata().map_err(refused)?;
    if !metadata.is_file() {
        return Err((FileProblem::NotRegular, "not a regular file".to_owned()));
    }
    refuse_the_kernels(file.file())
        .map_err(|error| (FileProblem::NotRegular, error.to_string()))?;
    if limit.is_some_and(|limit| metadata.len() > limit) {
        return Err((
            FileProblem::TooLarge,
            format!("{} bytes are more than wanted", metadata.len()),
        ));
    }
    Ok((
        file,
        metadata.len(),
        FileMode(metadata.permissions().mode() & 0o7777),
    ))
}

/// Files that the kernel makes up tell of processes and of the machine, and have no length. They are not part of the box's disk.
fn refuse_the_kernels(file: impl AsFd) -> io::Result<()> {
    let kind = rustix::fs::fstatfs(file)?.f_type;
    let made_up = [
        libc::PROC_SUPER_MAGIC,
        SYSFS,
        libc::CGROUP_SUPER_MAGIC,
        libc::CGROUP2_SUPER_MAGIC,
    ];
    if made_up.contains(&kind) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a file that the kernel makes up; run a command to read it",
        ));
    }
    Ok(())
}

/// Not in `libc`.
const SYSFS: libc::__fsword_t = 0x6265_6572;

/// Writes beside the file and renames, so that it is there whole or not at all.
fn replace(path: &Path, mode: Option<FileMode>, content: impl Read) -> io::Result<u64> {
    if !path.is_absolute() || path.file_name().is_none() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path of a file must be absolute",
        ));
    }
    let target = resolve(path)?;
    let existing = match std::fs::symlink_metadata(&target) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(io::Error::from_raw_os_error(libc::EISDIR));
        }
        Ok(metadata) if !metadata.is_file() => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        Ok(metadata) => Some(metadata.permissions().mode() & 0o7777),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(parent) = target.parent() {
        fs_err::create_dir_all(parent)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        refuse_the_kernels(rustix::fs::open(parent, flags, Mode::empty())?)?;
    }
    let mode = mode
        .map(|mode| mode.0 & 0o7777)
        .or(existing)
        .unwrap_or(0o644);
    let fresh = beside(&target);
    let written =
        fill(&fresh, mode, content).and_then(|size| fs_err::rename(&fresh, &target).map(|()| size));
    if written.is_err() {
        let _ = fs_err::remove_file(&fresh);
    }
    written
}

/// Where the path leads if its last part is a link, so that the link stays and its target is replaced.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(target) => {
                let base = path.parent().unwrap_or(Path::new("/"));
                path = base.join(target);
            }
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

fn beside(target: &Path) -> PathBuf {
    let id = rustix::process::getpid().as_raw_nonzero();
    target.with_file_name(format!(".proctor-upload-{id}"))
}

fn fill(fresh: &Path, mode: u32, mut content: impl Read) -> io::Result<u64> {
    let _ = fs_err::remove_file(fresh);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(fresh, flags, Mode::from_raw_mode(0o600))?;
    let mut file = fs_err::File::from_parts(file.into(), fresh);
    let mut size = 0;
    loop {
        let mut length = [0; 4];
        content.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length == 0 {
            break;
        }
        if length as usize > LONGEST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let copied = io::copy(&mut (&mut content).take(u64::from(length)), &mut file)?;
        if copied != u64::from(length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        size += copied;
    }
    rustix::fs::fchmod(file.file(), Mode::from_raw_mode(mode))?;
    Ok(size)
}
