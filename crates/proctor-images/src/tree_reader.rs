//! Reading a flattened tree: as a tar that is the same whenever the tree is, whole or in parts.

use std::{
    collections::HashMap,
    ffi::OsStr,
    io::{self, Read as _, Write},
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
};

use globset::GlobBuilder;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};

use crate::{
    error::{Doing as _, ImageError},
    members::{self, CAPABILITIES, MemberKind},
};

/// The deepest nesting that is read.
const DEEPEST: usize = 1024;

/// A tree of files below a directory, whose links lead nowhere else.
#[derive(Debug)]
pub struct TreeReader {
    root: OwnedFd,
}

/// What a path of a tree is, after links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeEntry {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// Neither.
    Other,
}

impl TreeReader {
    /// The tree in `directory`.
    pub fn open(directory: &Path) -> Result<Self, ImageError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(directory, flags, Mode::empty())
            .doing(format!("opening {}", directory.display()))?;
        Ok(Self { root })
    }

    /// What `path` is; `None` if nothing is there.
    pub fn look(&self, path: &str) -> Result<Option<TreeEntry>, ImageError> {
        let opened = match self.resolve(path, OFlags::PATH) {
            Ok(opened) => opened,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return Ok(None);
            }
            Err(errno) => return Err(ImageError::io(format!("reading {path}"), errno)),
        };
        let stat = rustix::fs::fstat(&opened).doing(format!("reading {path}"))?;
        Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => TreeEntry::Directory,
            FileType::RegularFile => TreeEntry::File,
            _ => TreeEntry::Other,
        }))
    }

    /// The paths that a pattern with `*`, `?` and `[…]` means, sorted; a path without them means itself, if it is there.
    pub fn matching(&self, pattern: &str) -> Result<Vec<String>, ImageError> {
        let mut found = vec![String::new()];
        for part in pattern.split('/').filter(|part| !matches!(*part, "" | ".")) {
            let mut next = Vec::new();
            let matcher = match part.contains(['*', '?', '[']) {
                false => None,
                true => Some(
                    GlobBuilder::new(part)
                        .backslash_escape(true)
                        .build()
                        .map_err(|error| {
                            ImageError::invalid(format!("'{pattern}' is not a pattern: {error}"))
                        })?
                        .compile_matcher(),
                ),
            };
            for directory in found {
                let Some(matcher) = &matcher else {
                    next.push(format!("{directory}/{part}"));
                    continue;
                };
                let Ok(opened) = self.resolve(&directory, OFlags::RDONLY | OFlags::DIRECTORY)
                else {
                    continue;
                };
                for name in sorted_names(opened.as_fd())? {
                    let name = String::from_utf8_lossy(&name).into_owned();
                    if matcher.is_match(&name) {
                        next.push(format!("{directory}/{name}"));
                    }
                }
            }
            found = next;
        }
        let mut there = Vec::new();
        for path in found {
            let path = if path.is_empty() {
                "/".to_owned()
            } else {
                path
            };
            if self.look(&path)?.is_some() {
                there.push(path);
            }
        }
        Ok(there)
    }

    fn resolve(&self, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let path = match path.trim_matches('/') {
            "" => ".",
            path => path,
        };
        rustix::fs::openat2(
            &self.root,
            path,
            flags | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
        )
    }

    /// Writes `path` as `name` into a tar: a file, or a directory with everything in it.
    pub fn append<W: Write>(
        &self,
        writer: &mut TreeWriter<'_, W>,
        path: &str,
        name: &str,
    ) -> Result<(), ImageError> {
        let doing = || format!("reading {path} of the image");
        let opened = self.resolve(path, OFlags::PATH).doing(doing())?;
        let stat = rustix::fs::fstat(&opened).doing(doing())?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => writer.directory(opened.as_fd(), &stat, name.as_bytes(), 0),
            FileType::RegularFile => {
                let opened = self.resolve(path, OFlags::RDONLY).doing(doing())?;
                writer.file(opened, &stat, name.as_bytes())
            }
            _ => Err(ImageError::invalid(format!(
                "{path} is neither a file nor a directory"
            ))),
        }
    }

    /// Writes the whole tree as a tar: the same bytes for the same tree.
    pub fn write_tar<W: Write>(&self, sink: W) -> Result<W, ImageError> {
        let mut writer = TreeWriter::new(sink, &|_| {});
        self.append(&mut writer, "/", "")?;
        writer.finish()
    }
}

/// A tar that parts of trees are written to.
pub struct TreeWriter<'a, W: Write> {
    builder: tar::Builder<W>,
    /// Where a file with several names was written first.
    first_names: HashMap<(u64, u64), Vec<u8>>,
    adjust: &'a dyn Fn(&mut tar::Header),
}

impl<W: Write> std::fmt::Debug for TreeWriter<'_, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeWriter").finish_non_exhaustive()
    }
}

impl<'a, W: Write> TreeWriter<'a, W> {
    /// A tar on `sink`; `adjust` may change owners and modes of what is written.
    pub fn new(sink: W, adjust: &'a dyn Fn(&mut tar::Header)) -> Self {
        Self {
            builder: tar::Builder::new(sink),
            first_names: HashMap::new(),
            adjust,
        }
    }

    /// Writes the members of another tar under other names; those without a name are left out. It may come from a stranger: names have a bound, and all of
    /// it is read, so that whoever writes it comes to an end.
    pub fn copy_tar(
        &mut self,
        packed: impl io::Read,
        place: &dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Result<(), ImageError> {
        let mut archive = tar::Archive::new(packed);
        members::walk(&mut archive, &mut |member, content| {
            let path = place(&member.path);
            if path.is_empty() {
                return Ok(());
            }
            let mut header = tar::Header::new_gnu();
            header.set_mode(member.mode);
            header.set_uid(member.owner.0.into());
            header.set_gid(member.owner.1.into());
            header.set_mtime(u64::try_from(member.modified).unwrap_or(0));
            header.set_size(0);
            let kind = match &member.kind {
                MemberKind::File => tar::EntryType::Regular,
                MemberKind::Directory => tar::EntryType::Directory,
                MemberKind::Symlink(_) => tar::EntryType::Symlink,
                MemberKind::HardLink(_) => tar::EntryType::Link,
                MemberKind::Fifo => tar::EntryType::Fifo,
                MemberKind::Device => return Ok(()),
            };
            header.set_entry_type(kind);
            (self.adjust)(&mut header);
            let name = OsStr::from_bytes(&path);
            let written = match &member.kind {
                MemberKind::Symlink(target) => return self.link(&mut header, &path, target),
                MemberKind::HardLink(first) => {
                    return self.link(&mut header, &path, &place(first));
                }
                MemberKind::File => {
                    header.set_size(member.size);
                    let content = content.take(member.size);
                    self.builder.append_data(&mut header, name, content)
                }
                _ => self.builder.append_data(&mut header, name, io::empty()),
            };
            written.doing("writing a tar")
        })?;
        io::copy(&mut archive.into_inner(), &mut io::sink()).doing("reading a tar")?;
        Ok(())
    }

    /// Writes a symbolic link of root's.
    pub(crate) fn symlink(&mut self, path: &str, target: &str) -> Result<(), ImageError> {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_mode(0o777);
        header.set_size(0);
        self.link(&mut header, path.as_bytes(), target.as_bytes())
    }

    /// Writes a file of root's.
    pub(crate) fn bytes(&mut self, path: &str, bytes: &[u8], mode: u32) -> Result<(), ImageError> {
        let mut header = tar::Header::new_gnu();
        header.set_mode(mode);
        header.set_size(bytes.len() as u64);
        self.builder
            .append_data(&mut header, path, bytes)
            .doing("writing a tar")
    }

    /// Ends the tar.
    pub fn finish(self) -> Result<W, ImageError> {
        let mut sink = self.builder.into_inner().doing("writing a tar")?;
        sink.flush().doing("writing a tar")?;
        Ok(sink)
    }

    fn header(&self, stat: &Stat, kind: tar::EntryType) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(stat.st_mode & 0o7777);
        header.set_uid(stat.st_uid.into());
        header.set_gid(stat.st_gid.into());
        header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
        header.set_size(0);
        (self.adjust)(&mut header);
        header
    }

    fn directory(
        &mut self,
        directory: BorrowedFd<'_>,
        stat: &Stat,
        name: &[u8],
        depth: usize,
    ) -> Result<(), ImageError> {
        if depth > DEEPEST {
            return Err(ImageError::invalid("the tree is nested too deeply"));
        }
        let mut shown = if name.is_empty() { b"." } else { name }.to_vec();
        shown.push(b'/');
        let mut header = self.header(stat, tar::EntryType::Directory);
        self.builder
            .append_data(&mut header, OsStr::from_bytes(&shown), io::empty())
            .doing("writing a tar")?;
        for entry in sorted_names(directory)? {
            let mut path = name.to_vec();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&entry);
            self.entry(directory, OsStr::from_bytes(&entry), &path, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        path: &[u8],
        depth: usize,
    ) -> Result<(), ImageError> {
        let doing = || format!("reading {} of the image", String::from_utf8_lossy(path));
        let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).doing(doing())?;
        let open = |flags: OFlags| {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(directory, name, flags, Mode::empty()).doing(doing())
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let opened = open(OFlags::PATH | OFlags::DIRECTORY)?;
                self.directory(opened.as_fd(), &stat, path, depth + 1)
            }
            FileType::RegularFile => self.file(open(OFlags::RDONLY)?, &stat, path),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(directory, name, Vec::new()).doing(doing())?;
                let mut header = self.header(&stat, tar::EntryType::Symlink);
                self.link(&mut header, path, target.to_bytes())
            }
            FileType::Fifo => {
                let mut header = self.header(&stat, tar::EntryType::Fifo);
                self.builder
                    .append_data(&mut header, OsStr::from_bytes(path), io::empty())
                    .doing("writing a tar")
            }
            // Sockets and devices are never part of an image.
            _ => Ok(()),
        }
    }

    /// Writes a link with its target as it is: the library tidies targets that fit.
    fn link(
        &mut self,
        header: &mut tar::Header,
        path: &[u8],
        target: &[u8],
    ) -> Result<(), ImageError> {
        let path = OsStr::from_bytes(path);
        let written = match header.set_link_name_literal(target) {
            Ok(()) => self.builder.append_data(header, path, io::empty()),
            Err(_) => self
                .builder
                .append_link(header, path, OsStr::from_bytes(target)),
        };
        written.doing("writing a tar")
    }

    fn file(&mut self, file: OwnedFd, stat: &Stat, path: &[u8]) -> Result<(), ImageError> {
        if stat.st_nlink > 1 {
            let number = (stat.st_dev, stat.st_ino);
            if let Some(first) = self.first_names.get(&number) {
                let first = first.clone();
                let mut header = self.header(stat, tar::EntryType::Link);
                return self.link(&mut header, path, &first);
            }
            self.first_names.insert(number, path.to_vec());
        }
        let mut capabilities = [0; 64];
        if let Ok(length) = rustix::fs::fgetxattr(&file, CAPABILITIES, &mut capabilities) {
            let key = format!("SCHILY.xattr.{CAPABILITIES}");
            self.builder
                .append_pax_extensions([(key.as_str(), &capabilities[..length])])
                .doing("writing a tar")?;
        }
        let mut header = self.header(stat, tar::EntryType::Regular);
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        header.set_size(size);
        let content = io::Read::take(
            fs_err::File::from_parts(file.into(), OsStr::from_bytes(path)),
            size,
        );
        self.builder
            .append_data(&mut header, OsStr::from_bytes(path), content)
            .doing("writing a tar")
    }
}

/// The names in a directory, which may be open as a place only, in order.
pub(crate) fn sorted_names(directory: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, ImageError> {
    let doing = "reading a directory of the image";
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, ".", flags, Mode::empty()).doing(doing)?;
    let mut names = Vec::new();
    for entry in Dir::new(opened).doing(doing)? {
        let entry = entry.doing(doing)?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.to_vec());
        }
    }
    names.sort_unstable();
    Ok(names)
}
