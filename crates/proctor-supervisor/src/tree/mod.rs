//! Directory trees that a box has written: counted, copied, removed.
//!
//! The names, links and modes in them were chosen by whatever ran in the box. Everything goes through descriptors of
//! directories and never follows a link, so nothing outside the tree is ever touched.

mod copy;
mod remove;

use std::{
    ffi::{CStr, CString},
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::Path,
    rc::Rc,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat},
    io::Errno,
};

pub use copy::copy;
pub use remove::{remove, remove_expected};

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How large a directory is that never had many entries.
const SMALL_DIRECTORY: u64 = 4096;

/// Bytes and number of everything below `root`, by what it takes on disk; holes take nothing.
///
/// Needs as many descriptors as the tree is deep, and fails where there are no more.
pub fn count(root: &Path) -> io::Result<(u64, u64)> {
    let mut total = (0, 0);
    visit(root, |bytes| {
        total.0 += bytes;
        total.1 += 1;
        true
    })?;
    Ok(total)
}

/// The same if there are at most so `many`. Does not look at the rest of a tree that has more.
pub fn count_few(root: &Path, many: u64) -> io::Result<Option<(u64, u64)>> {
    let mut total = (0, 0);
    let was_all = visit(root, |bytes| {
        total.0 += bytes;
        total.1 += 1;
        total.1 <= many
    })?;
    Ok(was_all.then_some(total))
}

/// Whether there is no more below `root` than so many bytes and files. Does not look at the rest of a tree that has more.
pub fn is_within(root: &Path, mut bytes: u64, mut files: u64) -> io::Result<bool> {
    visit(root, |found| {
        match (bytes.checked_sub(found), files.checked_sub(1)) {
            (Some(bytes_left), Some(files_left)) => (bytes, files) = (bytes_left, files_left),
            _ => return false,
        }
        true
    })
}

/// Whether there is nothing in a directory that can be told at once: one that was once large takes its time even if it is empty.
pub fn is_soon_seen_empty(directory: &Path) -> io::Result<bool> {
    let directory = rustix::fs::open(directory, DIRECTORY, Mode::empty())?;
    let size = u64::try_from(rustix::fs::fstat(&directory)?.st_size).unwrap_or(u64::MAX);
    Ok(size <= SMALL_DIRECTORY && entries(directory.as_fd())?.next().is_none())
}

/// Tells `look` what everything below `root` takes on disk, for as long as it wants to know more; whether it wanted all.
fn visit(root: &Path, mut look: impl FnMut(u64) -> bool) -> io::Result<bool> {
    let mut pending = Vec::new();
    let mut next = Some(Rc::new(rustix::fs::open(root, DIRECTORY, Mode::empty())?));
    while let Some(directory) = next {
        for name in entries(directory.as_fd())? {
            let name = name?;
            // What vanishes while we count was not there.
            let Ok(stat) = lstat(directory.as_fd(), &name) else {
                continue;
            };
            if !look(u64::try_from(stat.st_blocks).unwrap_or(0) * 512) {
                return Ok(false);
            }
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
    Ok(true)
}

/// The names in a directory, all at once: whoever changes the directory meanwhile must not read it.
fn names(directory: BorrowedFd<'_>) -> rustix::io::Result<Vec<CString>> {
    entries(directory)?.collect()
}

fn entries(
    directory: BorrowedFd<'_>,
) -> rustix::io::Result<impl Iterator<Item = rustix::io::Result<CString>>> {
    let names = Dir::read_from(directory)?.map(|entry| Ok(entry?.file_name().to_owned()));
    Ok(names.filter(|name| {
        let name = name.as_ref().map(|name| name.to_bytes());
        !matches!(name, Ok(b"." | b".."))
    }))
}

fn lstat(directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
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

        let copied = copy(&from, &to).unwrap();

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
        let (bytes, files) = count(&to).unwrap();
        assert_eq!(files, 5);
        // The same file with two names takes its room once.
        let twice = fs_err::metadata(to.join("b")).unwrap().blocks() * 512;
        assert_eq!(copied, bytes - twice);
        for (bytes, files, within) in [
            (bytes, 5, true),
            (bytes, 4, false),
            (bytes - 1, 5, false),
            (u64::MAX, 0, false),
        ] {
            assert_eq!(is_within(&to, bytes, files).unwrap(), within);
        }
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
    fn what_is_expected_to_be_empty_is_removed_also_if_it_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let (tree, other) = (
            directory.path().join("tree"),
            directory.path().join("other"),
        );
        let expected = ["a/b", "a", "c", "link", "file", "missing/far"];
        remove_expected(&tree, &expected).unwrap();
        for is_full in [false, true] {
            fs_err::create_dir_all(tree.join("a/b")).unwrap();
            fs_err::create_dir_all(tree.join("c")).unwrap();
            fs_err::create_dir_all(&other).unwrap();
            fs_err::write(other.join("kept"), "kept").unwrap();
            if is_full {
                fs_err::create_dir_all(tree.join("a/b/more")).unwrap();
                fs_err::write(tree.join("c/more"), "more").unwrap();
                fs_err::write(tree.join("file"), "file").unwrap();
                symlink(&other, tree.join("link")).unwrap();
            }
            remove_expected(&tree, &expected).unwrap();
            assert!(!tree.exists());
            assert_eq!(fs_err::read(other.join("kept")).unwrap(), b"kept");
        }
    }

    #[test]
    fn a_directory_is_seen_empty_if_it_never_had_much() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert!(is_soon_seen_empty(path).unwrap());
        fs_err::write(path.join("file"), "").unwrap();
        assert!(!is_soon_seen_empty(path).unwrap());
        fs_err::remove_file(path.join("file")).unwrap();
        assert!(is_soon_seen_empty(path).unwrap());
        assert!(is_soon_seen_empty(&path.join("none")).is_err());
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
