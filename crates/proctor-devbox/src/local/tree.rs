//! Directory trees that a box has written: counted, copied, removed.
//!
//! The names, links and modes in them were chosen by whatever ran in the box. Everything goes through descriptors of
//! directories and never follows a link, so nothing outside the tree is ever touched.

use std::{
    collections::HashMap,
    ffi::{CStr, CString, OsStr},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    rc::Rc,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, RenameFlags, Stat, Timestamps},
    io::Errno,
};

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How deep a tree may be to be copied. Deeper ones are made to hurt whoever walks them.
const DEEPEST: usize = 400;

/// Bytes and number of everything below `root`, by what it takes on disk; holes take nothing.
///
/// Needs as many descriptors as the tree is deep, and fails where there are no more.
pub(crate) fn count(root: &Path) -> io::Result<(u64, u64)> {
    let mut total = (0, 0);
    let mut pending = Vec::new();
    let mut next = Some(Rc::new(rustix::fs::open(root, DIRECTORY, Mode::empty())?));
    while let Some(directory) = next {
        for name in names(directory.as_fd())? {
            // What vanishes while we count was not there.
            let Ok(stat) = lstat(directory.as_fd(), &name) else {
                continue;
            };
            total.0 += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
            total.1 += 1;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                pending.push((Rc::clone(&directory), name));
            }
        }
        drop(directory);
        next = None;
        while let Some((parent, name)) = pending.pop() {
            match rustix::fs::openat(&*parent, &name, DIRECTORY, Mode::empty()) {
                Ok(below) => {
                    next = Some(Rc::new(below));
                    break;
                }
                Err(errno @ (Errno::MFILE | Errno::NFILE)) => return Err(errno.into()),
                Err(_) => {}
            }
        }
    }
    Ok(total)
}

/// Removes `root` and everything below it. A tree that is not there is fine.
///
/// Directories far down are moved up into `root` first, so a tree of any depth takes few descriptors and little stack.
pub(crate) fn remove(root: &Path) -> io::Result<()> {
    let name = CString::new(root.as_os_str().as_encoded_bytes()).map_err(io::Error::other)?;
    match remove_flat(CWD, &name) {
        Ok(true) | Err(Errno::NOENT) => return Ok(()),
        Ok(false) => {}
        Err(errno) => return Err(errno.into()),
    }
    let top = open_directory(CWD, &name)?;
    let mut remover = Remover {
        top: top.as_fd(),
        moved: 0,
    };
    loop {
        remover.empty(top.as_fd(), FARTHEST)?;
        // What was moved up came after the names were read.
        match rustix::fs::unlinkat(CWD, &name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            other => return Ok(other?),
        }
    }
}

/// How far below the top directories are removed where they are.
const FARTHEST: usize = 24;

struct Remover<'a> {
    top: BorrowedFd<'a>,
    /// How many directories were moved up.
    moved: u64,
}

impl Remover<'_> {
    /// Removes what is in `directory`; full directories more than `levels` below it are moved up.
    fn empty(&mut self, directory: BorrowedFd<'_>, levels: usize) -> io::Result<()> {
        for name in names(directory)? {
            if remove_flat(directory, &name)? {
                continue;
            }
            let below = open_directory(directory, &name)?;
            if levels == 0 {
                // It can be moved now: opening made sure that it may be written to.
                self.move_up(directory, &name)?;
                continue;
            }
            self.empty(below.as_fd(), levels - 1)?;
            drop(below);
            rustix::fs::unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }

    fn move_up(&mut self, from: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        loop {
            self.moved += 1;
            let target = format!(".moved-{}", self.moved);
            match rustix::fs::renameat_with(from, name, self.top, target, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                other => return Ok(other?),
            }
        }
    }
}

/// Removes what is not a directory or an empty one. `false`: it is a full directory.
fn remove_flat(parent: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<bool> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno),
    }
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory that is to be removed, whatever its mode.
fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    match rustix::fs::openat(parent, name, DIRECTORY, Mode::empty()) {
        Ok(directory) if writable(&directory) => return Ok(directory),
        Ok(_) | Err(Errno::ACCESS) => {}
        Err(errno) => return Err(errno),
    }
    let handle = path_handle(parent, name)?;
    rustix::fs::chmod(&handle.path, Mode::RWXU)?;
    rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())
}

/// Whether its owner may change what is in it; who may act for anybody need not ask.
fn writable(directory: &OwnedFd) -> bool {
    rustix::process::geteuid().is_root()
        || rustix::fs::fstat(directory).is_ok_and(|stat| stat.st_mode & 0o700 == 0o700)
}

fn names(directory: BorrowedFd<'_>) -> rustix::io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

fn lstat(directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Copies everything below `from` into the existing directory `to`: files with their holes and links to each other, links,
/// pipes, overlayfs' own marks, ids, modes, times and attributes. Sockets are left out: nobody listens on a copy.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let from = rustix::fs::open(from, DIRECTORY, Mode::empty())?;
    let to = rustix::fs::open(to, DIRECTORY, Mode::empty())?;
    let stat = rustix::fs::fstat(&from)?;
    let mut copier = Copier {
        top: to.as_fd(),
        linked: HashMap::new(),
        path: Vec::new(),
    };
    copier.directory(from.as_fd(), to.as_fd(), &stat)
}

struct Copier<'a> {
    top: BorrowedFd<'a>,
    /// Files that have several names: by device and inode, the path of the first copy.
    linked: HashMap<(u64, u64), PathBuf>,
    /// Where we are below the top.
    path: Vec<CString>,
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

/// A descriptor that cannot become a link, and the path by which its mode can be changed.
struct PathHandle {
    path: String,
    _fd: OwnedFd,
}

fn path_handle(from: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<PathHandle> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(from, name, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(PathHandle { path, _fd: fd })
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_copy_has_the_same_files_holes_links_and_modes() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs_err::create_dir_all(from.join("sub")).unwrap();
        fs_err::create_dir(&to).unwrap();
        fs_err::write(from.join("sub/a"), "text").unwrap();
        std::fs::set_permissions(from.join("sub/a"), std::fs::Permissions::from_mode(0o4750))
            .unwrap();
        fs_err::hard_link(from.join("sub/a"), from.join("b")).unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        fs_err::File::create(from.join("hole"))
            .unwrap()
            .set_len(10 << 20)
            .unwrap();

        copy(&from, &to).unwrap();

        assert_eq!(fs_err::read(to.join("b")).unwrap(), b"text");
        let (a, b) = (
            fs_err::metadata(to.join("sub/a")).unwrap(),
            fs_err::metadata(to.join("b")).unwrap(),
        );
        assert_eq!(a.ino(), b.ino());
        assert_eq!(a.mode() & 0o7777, 0o4750);
        assert_eq!(
            fs_err::read_link(to.join("link")).unwrap(),
            Path::new("/etc/passwd")
        );
        let hole = fs_err::metadata(to.join("hole")).unwrap();
        assert_eq!((hole.len(), hole.blocks()), (10 << 20, 0));
        assert_eq!(count(&to).unwrap().1, 5);
    }

    #[test]
    fn removing_a_tree_leaves_what_its_links_point_to() {
        let directory = tempfile::tempdir().unwrap();
        let (tree, other) = (
            directory.path().join("tree"),
            directory.path().join("other"),
        );
        fs_err::create_dir_all(tree.join("locked/deep")).unwrap();
        fs_err::create_dir(&other).unwrap();
        fs_err::write(other.join("kept"), "kept").unwrap();
        symlink(&other, tree.join("locked/link")).unwrap();
        std::fs::set_permissions(tree.join("locked"), std::fs::Permissions::from_mode(0o000))
            .unwrap();

        remove(&tree).unwrap();
        remove(&tree).unwrap();

        assert!(!tree.exists());
        assert_eq!(fs_err::read(other.join("kept")).unwrap(), b"kept");
    }

    #[test]
    fn a_tree_of_any_depth_is_removed_and_never_copied() {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path().join("tree");
        fs_err::create_dir(&tree).unwrap();
        let mut at = rustix::fs::open(&tree, DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, "d", DIRECTORY, Mode::empty()).unwrap();
        }
        let copied = directory.path().join("copied");
        fs_err::create_dir(&copied).unwrap();
        assert!(copy(&tree, &copied).is_err());
        remove(&tree).unwrap();
        remove(&copied).unwrap();
        assert!(!tree.exists() && !copied.exists());
    }
}
