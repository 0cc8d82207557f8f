//! Copies what a box has written, with everything that makes it what it is.

use std::{
    collections::HashMap,
    ffi::{CStr, CString, OsStr},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat, Timestamps},
    io::Errno,
};

use super::{DIRECTORY, PathHandle, lstat, names, path_handle};

/// How deep a tree may be to be copied. Deeper ones are made to hurt whoever walks them.
const DEEPEST: usize = 400;

/// Copies everything below `from` into the existing directory `to`: files with their holes and links to each other, links,
/// pipes, overlayfs' own marks, ids, modes, times and attributes. Sockets are left out: nobody listens on a copy. Returns how many bytes that takes on disk.
pub fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let from = rustix::fs::open(from, DIRECTORY, Mode::empty())?;
    let to = rustix::fs::open(to, DIRECTORY, Mode::empty())?;
    let stat = rustix::fs::fstat(&from)?;
    let mut copier = Copier {
        top: to.as_fd(),
        linked: HashMap::new(),
        path: Vec::new(),
        bytes: 0,
    };
    copier.directory(from.as_fd(), to.as_fd(), &stat)?;
    Ok(copier.bytes)
}

struct Copier<'a> {
    top: BorrowedFd<'a>,
    /// Files that have several names: by device and inode, the path of the first copy.
    linked: HashMap<(u64, u64), PathBuf>,
    /// Where we are below the top.
    path: Vec<CString>,
    /// What everything takes on disk so far.
    bytes: u64,
}

impl Copier<'_> {
    fn directory(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        stat: &Stat,
    ) -> io::Result<()> {
        if self.path.len() > DEEPEST {
            return Err(io::Error::other(format!(
                "directories nested more than {DEEPEST} deep"
            )));
        }
        for name in names(from)? {
            self.path.push(name.clone());
            self.entry(from, to, &name)?;
            self.path.pop();
        }
        attributes(from, to)?;
        finish(to, stat)
    }

    fn entry(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        let stat = lstat(from, name)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !self.linked.contains_key(&(stat.st_dev, stat.st_ino)) {
            self.bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        }
        match kind {
            FileType::Directory => {
                rustix::fs::mkdirat(to, name, Mode::RWXU)?;
                let copy = rustix::fs::openat(to, name, DIRECTORY, Mode::empty())?;
                let _opened = Unlocked::new(from, name, &stat)?;
                let below = rustix::fs::openat(from, name, DIRECTORY, Mode::empty())?;
                self.directory(below.as_fd(), copy.as_fd(), &stat)
            }
            FileType::RegularFile => self.file(from, to, name, &stat),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(from, name, Vec::new())?;
                rustix::fs::symlinkat(&target, to, name)?;
                owner(to, name, &stat)
            }
            // A whiteout of overlayfs is a character device 0:0, which anybody may make.
            FileType::CharacterDevice | FileType::Fifo => {
                let mode = Mode::from_raw_mode(stat.st_mode);
                rustix::fs::mknodat(to, name, kind, mode, stat.st_rdev)?;
                owner(to, name, &stat)
            }
            FileType::Socket | FileType::BlockDevice | FileType::Unknown => Ok(()),
        }
    }

    fn file(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &CStr,
        stat: &Stat,
    ) -> io::Result<()> {
        let key = (stat.st_dev, stat.st_ino);
        if let Some(first) = self.linked.get(&key) {
            return Ok(rustix::fs::linkat(
                self.top,
                first,
                to,
                name,
                AtFlags::empty(),
            )?);
        }
        let source = {
            let _opened = Unlocked::new(from, name, stat)?;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            rustix::fs::openat(from, name, flags, Mode::empty())?
        };
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let copy = rustix::fs::openat(to, name, flags, Mode::from_raw_mode(0o600))?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        copy_data(source.as_fd(), copy.as_fd(), size)?;
        attributes(source.as_fd(), copy.as_fd())?;
        finish(copy.as_fd(), stat)?;
        if stat.st_nlink > 1 {
            let parts = self
                .path
                .iter()
                .map(|part| OsStr::from_bytes(part.to_bytes()));
            self.linked.insert(key, parts.collect());
        }
        Ok(())
    }
}

/// Something that its owner may read for as long as this lives, whatever its mode says. Root needs no such thing.
struct Unlocked {
    handle: Option<(PathHandle, RawMode)>,
}

impl Unlocked {
    fn new(from: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> rustix::io::Result<Self> {
        if rustix::process::geteuid().is_root() || stat.st_mode & 0o500 == 0o500 {
            return Ok(Self { handle: None });
        }
        let handle = path_handle(from, name)?;
        rustix::fs::chmod(&handle.path, Mode::from_raw_mode(stat.st_mode | 0o500))?;
        Ok(Self {
            handle: Some((handle, stat.st_mode)),
        })
    }
}

impl Drop for Unlocked {
    fn drop(&mut self) {
        if let Some((handle, mode)) = &self.handle {
            // Its owner could read it for a moment; if this fails, for longer.
            let _ = rustix::fs::chmod(&handle.path, Mode::from_raw_mode(*mode));
        }
    }
}

/// Copies what is data and leaves what is a hole a hole.
fn copy_data(from: BorrowedFd<'_>, to: BorrowedFd<'_>, size: u64) -> io::Result<()> {
    use rustix::fs::SeekFrom;
    rustix::fs::ftruncate(to, size)?;
    let mut at = 0;
    while at < size {
        let start = match rustix::fs::seek(from, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        };
        let end = rustix::fs::seek(from, SeekFrom::Hole(start))?.min(size);
        copy_piece(from, to, start, end)?;
        at = end;
    }
    Ok(())
}

/// Copies the bytes from `start` to `end`, inside the kernel if both files are on one file system.
fn copy_piece(from: BorrowedFd<'_>, to: BorrowedFd<'_>, start: u64, end: u64) -> io::Result<()> {
    let (mut read, mut write) = (start, start);
    while read < end {
        let length = usize::try_from(end - read).unwrap_or(usize::MAX);
        match rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut write), length) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(Errno::XDEV) => return copy_through(from, to, read, end),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn copy_through(from: BorrowedFd<'_>, to: BorrowedFd<'_>, start: u64, end: u64) -> io::Result<()> {
    let mut buffer = vec![0; 128 << 10];
    let mut at = start;
    while at < end {
        let wanted = usize::try_from(end - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let length = rustix::io::pread(from, &mut buffer[..wanted], at)?;
        if length == 0 {
            break;
        }
        let mut written = 0;
        while written < length {
            let position = at + written as u64;
            written += rustix::io::pwrite(to, &buffer[written..length], position)?;
        }
        at += length as u64;
    }
    Ok(())
}

/// Extended attributes, among them overlayfs' mark of a directory that hides what is below it.
fn attributes(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    let mut list = vec![0; 64 << 10];
    let length = match rustix::fs::flistxattr(from, &mut list[..]) {
        Err(Errno::OPNOTSUPP) | Ok(0) => return Ok(()),
        other => other?,
    };
    let mut value = vec![0; 64 << 10];
    for name in list[..length].split_inclusive(|&byte| byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        let length = rustix::fs::fgetxattr(from, name, &mut value[..])?;
        match rustix::fs::fsetxattr(to, name, &value[..length], rustix::fs::XattrFlags::empty()) {
            // Attributes of security modules belong to the host; an unprivileged server cannot copy them.
            Ok(()) | Err(Errno::PERM | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn ids(stat: &Stat) -> (Option<rustix::fs::Uid>, Option<rustix::fs::Gid>) {
    (
        Some(rustix::fs::Uid::from_raw(stat.st_uid)),
        Some(rustix::fs::Gid::from_raw(stat.st_gid)),
    )
}

fn owner(directory: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> io::Result<()> {
    let (uid, gid) = ids(stat);
    Ok(rustix::fs::chownat(
        directory,
        name,
        uid,
        gid,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

/// Owner first: changing it clears bits of the mode.
fn finish(copy: BorrowedFd<'_>, stat: &Stat) -> io::Result<()> {
    let (uid, gid) = ids(stat);
    rustix::fs::fchown(copy, uid, gid)?;
    rustix::fs::fchmod(copy, Mode::from_raw_mode(stat.st_mode as RawMode))?;
    let times = Timestamps {
        last_access: rustix::fs::Timespec {
            tv_sec: stat.st_atime,
            tv_nsec: stat.st_atime_nsec.cast_signed(),
        },
        last_modification: rustix::fs::Timespec {
            tv_sec: stat.st_mtime,
            tv_nsec: stat.st_mtime_nsec.cast_signed(),
        },
    };
    Ok(rustix::fs::futimens(copy, &times)?)
}
