//! Removes what a box has written, however it was made.

use std::{
    ffi::{CStr, CString},
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, RawDir, RenameFlags, SeekFrom},
    io::Errno,
};

use super::{DIRECTORY, path_handle};

/// Removes `root` and everything below it. A tree that is not there is fine.
///
/// Directories far down are moved up into `root` first, so a tree of any depth takes few descriptors and little stack.
pub fn remove(root: &Path) -> io::Result<()> {
    let name = CString::new(root.as_os_str().as_encoded_bytes()).map_err(io::Error::other)?;
    match remove_flat(CWD, &name, FileType::Unknown) {
        Ok(true) | Err(Errno::NOENT) => return Ok(()),
        Ok(false) => {}
        Err(errno) => return Err(errno.into()),
    }
    let top = open_directory(CWD, &name)?;
    remove_full(&name, &top)
}

/// The same for a directory in which there are, as a rule, empty directories at `expected`: those are removed first, without being looked into. A
/// directory comes before those that it is in. All but the last part of each path must be of our own making.
pub fn remove_expected(root: &Path, expected: &[&str]) -> io::Result<()> {
    let name = CString::new(root.as_os_str().as_encoded_bytes()).map_err(io::Error::other)?;
    let top = match open_directory(CWD, &name) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    for path in expected {
        // What is not empty, or something else, is removed with the rest.
        let _ = rustix::fs::unlinkat(&top, *path, AtFlags::REMOVEDIR);
    }
    remove_full(&name, &top)
}

/// Removes the directory `top`, which is called `name`, with everything in it.
fn remove_full(name: &CStr, top: &OwnedFd) -> io::Result<()> {
    let mut remover = Remover {
        top: top.as_fd(),
        moved: 0,
    };
    loop {
        rustix::fs::seek(top, SeekFrom::Start(0))?;
        remover.empty(top.as_fd(), FARTHEST)?;
        // What was moved up came after the names were read.
        match rustix::fs::unlinkat(CWD, name, AtFlags::REMOVEDIR) {
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
        for (name, kind) in names(directory)? {
            if remove_flat(directory, &name, kind)? {
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
fn remove_flat(parent: BorrowedFd<'_>, name: &CStr, kind: FileType) -> rustix::io::Result<bool> {
    if kind != FileType::Directory {
        match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(true),
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(errno) => return Err(errno),
        }
    }
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// The names in a directory from where it is read, and what they are as far as the file system says so. All at once: whoever changes
/// the directory meanwhile must not read it.
fn names(directory: BorrowedFd<'_>) -> rustix::io::Result<Vec<(CString, FileType)>> {
    let mut names = Vec::new();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(names)
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
