//! A directory that is filled with what strangers wrote: every path is resolved by the kernel as if the directory were the root.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    io::{self, Read, Write as _},
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
    rc::Rc,
};

use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps, Uid,
        XattrFlags,
    },
    io::Errno,
};

use super::split;
use crate::{
    error::{Doing as _, ImageError},
    members::{CAPABILITIES, refused},
    tree_reader::sorted_names,
};

/// What the present layer has brought: directories by their number, with names in them.
pub(crate) type Added = HashSet<(u64, Vec<u8>)>;

/// The deepest nesting that is removed; nothing that is made is deeper.
const DEEPEST: usize = 1024;

/// What a file has besides its name and its content.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) modified: i64,
    pub(crate) capabilities: Option<Vec<u8>>,
}

/// A tree that is being made.
pub(crate) struct Tree {
    root: Rc<Parent>,
    /// Whether files can be given to others.
    gives_owners: bool,
    /// The directory that was last looked for: members of one directory mostly follow each other.
    last: Option<(Vec<u8>, Rc<Parent>)>,
    /// What directories have in the end; until then they can be written to.
    directories: HashMap<Vec<u8>, (u64, Attributes)>,
    buffer: Vec<u8>,
}

/// An open directory and its number.
struct Parent {
    fd: OwnedFd,
    number: u64,
}

impl Parent {
    fn of(fd: OwnedFd) -> Result<Self, ImageError> {
        let stat = rustix::fs::fstat(&fd).doing("reading a directory of the image")?;
        Ok(Self {
            number: stat.st_ino,
            fd,
        })
    }
}

const OPEN_DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const IN_ROOT: ResolveFlags = ResolveFlags::IN_ROOT.union(ResolveFlags::NO_MAGICLINKS);

impl Tree {
    /// The tree in `directory`, which is there and empty.
    pub(crate) fn in_directory(directory: &Path) -> Result<Self, ImageError> {
        let fd = rustix::fs::open(directory, OPEN_DIRECTORY, Mode::empty())
            .doing(format!("opening {}", directory.display()))?;
        Ok(Self {
            root: Rc::new(Parent::of(fd)?),
            gives_owners: rustix::process::geteuid().is_root(),
            last: None,
            directories: HashMap::new(),
            buffer: vec![0; 256 << 10],
        })
    }

    /// Makes a directory, or gives one that is there these attributes.
    pub(crate) fn directory(
        &mut self,
        path: &[u8],
        attributes: &Attributes,
        added: &mut Added,
    ) -> Result<(), ImageError> {
        if path.is_empty() {
            let number = self.root.number;
            self.own(self.root.fd.as_fd(), OsStr::new(""), attributes.owner)?;
            self.directories
                .insert(Vec::new(), (number, attributes.clone()));
            return Ok(());
        }
        let (parent, name) = self.place(path)?;
        loop {
            match rustix::fs::mkdirat(&parent.fd, name, Mode::RWXU) {
                Ok(()) => break,
                Err(Errno::EXIST) => {
                    let there = stat(&parent, name).map_err(|errno| failed(path, errno))?;
                    if FileType::from_raw_mode(there.st_mode) == FileType::Directory {
                        break;
                    }
                    self.remove(&parent, name)?;
                }
                Err(errno) => return Err(failed(path, errno)),
            }
        }
        self.own(parent.fd.as_fd(), name, attributes.owner)?;
        let made = stat(&parent, name).map_err(|errno| failed(path, errno))?;
        added.insert((parent.number, name.as_bytes().to_vec()));
        self.directories
            .insert(path.to_vec(), (made.st_ino, attributes.clone()));
        Ok(())
    }

    /// Makes a file of at most `most` bytes; how many it has.
    pub(crate) fn file(
        &mut self,
        path: &[u8],
        attributes: &Attributes,
        content: &mut dyn Read,
        most: u64,
        added: &mut Added,
    ) -> Result<u64, ImageError> {
        let (parent, name) = self.place(path)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || rustix::fs::openat(&parent.fd, name, flags, Mode::RUSR | Mode::WUSR);
        let file = match create() {
            Err(Errno::EXIST) => {
                // Never written over: other names may belong to the same file.
                self.remove(&parent, name)?;
                create()
            }
            other => other,
        };
        let mut file = fs_err::File::from_parts(
            file.map_err(|errno| failed(path, errno))?.into(),
            OsStr::from_bytes(path),
        );
        let mut bytes = 0;
        loop {
            let read = match content.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(crate::members::damaged(error)),
            };
            bytes += read as u64;
            if bytes > most {
                return Err(refused(path, "makes the image larger than it may be"));
            }
            file.write_all(&self.buffer[..read])
                .doing("writing a file of the image")?;
        }
        if self.gives_owners && attributes.owner != (0, 0) {
            let (uid, gid) = ids(attributes.owner);
            rustix::fs::fchown(&file, Some(uid), Some(gid)).map_err(|errno| failed(path, errno))?;
        }
        // After the owner: giving a file away takes these bits off.
        rustix::fs::fchmod(&file, Mode::from_raw_mode(attributes.mode))
            .map_err(|errno| failed(path, errno))?;
        if let (Some(capabilities), true) = (&attributes.capabilities, self.gives_owners) {
            rustix::fs::fsetxattr(&file, CAPABILITIES, capabilities, XattrFlags::empty())
                .map_err(|errno| failed(path, errno))?;
        }
        rustix::fs::futimens(&file, &times(attributes.modified))
            .map_err(|errno| failed(path, errno))?;
        added.insert((parent.number, name.as_bytes().to_vec()));
        Ok(bytes)
    }

    /// Makes a symbolic link, wherever it leads: it is followed below the tree only.
    pub(crate) fn symlink(
        &mut self,
        path: &[u8],
        target: &[u8],
        attributes: &Attributes,
        added: &mut Added,
    ) -> Result<(), ImageError> {
        self.node(path, attributes, added, |parent, name| {
            rustix::fs::symlinkat(OsStr::from_bytes(target), &parent.fd, name)
        })
    }

    /// Makes a named pipe.
    pub(crate) fn fifo(
        &mut self,
        path: &[u8],
        attributes: &Attributes,
        added: &mut Added,
    ) -> Result<(), ImageError> {
        self.node(path, attributes, added, |parent, name| {
            rustix::fs::mknodat(&parent.fd, name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        })?;
        let (parent, name) = self.place(path)?;
        rustix::fs::chmodat(
            &parent.fd,
            name,
            Mode::from_raw_mode(attributes.mode),
            AtFlags::empty(),
        )
        .map_err(|errno| failed(path, errno))
    }

    /// What has neither content nor entries.
    fn node(
        &mut self,
        path: &[u8],
        attributes: &Attributes,
        added: &mut Added,
        make: impl Fn(&Parent, &OsStr) -> rustix::io::Result<()>,
    ) -> Result<(), ImageError> {
        let (parent, name) = self.place(path)?;
        let made = match make(&parent, name) {
            Err(Errno::EXIST) => {
                self.remove(&parent, name)?;
                make(&parent, name)
            }
            other => other,
        };
        made.map_err(|errno| failed(path, errno))?;
        self.own(parent.fd.as_fd(), name, attributes.owner)?;
        rustix::fs::utimensat(
            &parent.fd,
            name,
            &times(attributes.modified),
            AtFlags::SYMLINK_NOFOLLOW,
        )
        .map_err(|errno| failed(path, errno))?;
        added.insert((parent.number, name.as_bytes().to_vec()));
        Ok(())
    }

    /// Gives a file that is there, of this layer or of one below, another name.
    pub(crate) fn hard_link(
        &mut self,
        path: &[u8],
        first: &[u8],
        added: &mut Added,
    ) -> Result<(), ImageError> {
        let absent = || refused(path, "is a hard link to a file that is not there");
        if first.is_empty() {
            return Err(absent());
        }
        let (directory, first_name) = split(first);
        let from = match self.open_directory(directory) {
            Ok(fd) => Parent::of(fd)?,
            Err(_) => return Err(absent()),
        };
        let first_name = OsStr::from_bytes(first_name);
        let linked = stat(&from, first_name).map_err(|_| absent())?;
        if FileType::from_raw_mode(linked.st_mode) == FileType::Directory {
            return Err(refused(path, "is a hard link to a directory"));
        }
        let (parent, name) = self.place(path)?;
        let link = || rustix::fs::linkat(&from.fd, first_name, &parent.fd, name, AtFlags::empty());
        let made = match link() {
            Err(Errno::EXIST) => {
                let there = stat(&parent, name).map_err(|errno| failed(path, errno))?;
                if there.st_ino == linked.st_ino {
                    Ok(())
                } else {
                    self.remove(&parent, name)?;
                    // What was in its way may have held the file itself.
                    link()
                }
            }
            other => other,
        };
        match made {
            Ok(()) => {
                added.insert((parent.number, name.as_bytes().to_vec()));
                Ok(())
            }
            Err(Errno::NOENT) => Err(absent()),
            Err(errno) => Err(failed(path, errno)),
        }
    }

    /// Removes what the layers below have under this name.
    pub(crate) fn hide(
        &mut self,
        directory: &[u8],
        name: &[u8],
        added: &Added,
    ) -> Result<(), ImageError> {
        let Some(parent) = self.existing(directory)? else {
            return Ok(());
        };
        self.last = None;
        self.take_away(&parent, OsStr::from_bytes(name), added, 0)
            .map(drop)
    }

    /// Removes everything that the layers below have in a directory.
    pub(crate) fn clear(&mut self, directory: &[u8], added: &Added) -> Result<(), ImageError> {
        let Some(parent) = self.existing(directory)? else {
            return Ok(());
        };
        self.last = None;
        for name in sorted_names(parent.fd.as_fd())? {
            self.take_away(&parent, OsStr::from_bytes(&name), added, 0)?;
        }
        Ok(())
    }

    /// Gives directories what they are to have in the end.
    pub(crate) fn finish(self) -> Result<(), ImageError> {
        let mut directories: Vec<_> = self.directories.iter().collect();
        // What is inside first: a directory may then close itself to its owner.
        directories.sort_unstable_by(|a, b| b.0.cmp(a.0));
        for (path, (number, attributes)) in directories {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let shown = if path.is_empty() {
                b"."
            } else {
                path.as_slice()
            };
            let opened = rustix::fs::openat2(
                &self.root.fd,
                OsStr::from_bytes(shown),
                flags,
                Mode::empty(),
                IN_ROOT,
            );
            // One that a later layer removed or replaced.
            let Ok(opened) = opened else { continue };
            let there = rustix::fs::fstat(&opened).map_err(|errno| failed(path, errno))?;
            if there.st_ino != *number {
                continue;
            }
            rustix::fs::fchmod(&opened, Mode::from_raw_mode(attributes.mode))
                .map_err(|errno| failed(path, errno))?;
            rustix::fs::futimens(&opened, &times(attributes.modified))
                .map_err(|errno| failed(path, errno))?;
        }
        Ok(())
    }

    /// The open directory of a member, made if it is missing, and its name there.
    fn place<'p>(&mut self, path: &'p [u8]) -> Result<(Rc<Parent>, &'p OsStr), ImageError> {
        let (directory, name) = split(path);
        Ok((self.parent(directory, path)?, OsStr::from_bytes(name)))
    }

    fn parent(&mut self, directory: &[u8], member: &[u8]) -> Result<Rc<Parent>, ImageError> {
        if directory.is_empty() {
            return Ok(Rc::clone(&self.root));
        }
        if let Some((path, parent)) = &self.last
            && path == directory
        {
            return Ok(Rc::clone(parent));
        }
        let opened = match self.open_directory(directory) {
            Err(Errno::NOENT) => {
                self.make_missing(directory, member)?;
                self.open_directory(directory)
            }
            other => other,
        };
        let opened = opened.map_err(|errno| below(member, errno))?;
        let parent = Rc::new(Parent::of(opened)?);
        self.last = Some((directory.to_vec(), Rc::clone(&parent)));
        Ok(parent)
    }

    /// The directory of a whiteout; none if there is nothing that could be removed.
    fn existing(&self, directory: &[u8]) -> Result<Option<Rc<Parent>>, ImageError> {
        if directory.is_empty() {
            return Ok(Some(Rc::clone(&self.root)));
        }
        match self.open_directory(directory) {
            Ok(opened) => Ok(Some(Rc::new(Parent::of(opened)?))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(failed(directory, errno)),
        }
    }

    fn open_directory(&self, directory: &[u8]) -> rustix::io::Result<OwnedFd> {
        let path = if directory.is_empty() {
            b"."
        } else {
            directory
        };
        let path = OsStr::from_bytes(path);
        loop {
            let opened =
                rustix::fs::openat2(&self.root.fd, path, OPEN_DIRECTORY, Mode::empty(), IN_ROOT);
            match opened {
                // Something else on this machine was renamed meanwhile.
                Err(Errno::AGAIN) => {}
                other => return other,
            }
        }
    }

    /// Makes the directories that lead to a member and that no member made.
    fn make_missing(&mut self, directory: &[u8], member: &[u8]) -> Result<(), ImageError> {
        let mut ends: Vec<usize> = (0..directory.len())
            .filter(|place| directory[*place] == b'/')
            .collect();
        ends.push(directory.len());
        for end in ends {
            let path = &directory[..end];
            let (above, name) = split(path);
            let parent = self
                .open_directory(above)
                .map_err(|errno| below(member, errno))?;
            match rustix::fs::mkdirat(&parent, OsStr::from_bytes(name), Mode::RWXU) {
                Ok(()) => {
                    rustix::fs::chmodat(
                        &parent,
                        OsStr::from_bytes(name),
                        Mode::from_raw_mode(0o755),
                        AtFlags::empty(),
                    )
                    .map_err(|errno| failed(path, errno))?;
                }
                // A link that leads nowhere is found out when the next part is looked for.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(below(member, errno)),
            }
        }
        Ok(())
    }

    fn own(
        &self,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        owner: (u32, u32),
    ) -> Result<(), ImageError> {
        if !self.gives_owners {
            return Ok(());
        }
        let (uid, gid) = ids(owner);
        let flags = match name.is_empty() {
            true => AtFlags::EMPTY_PATH,
            false => AtFlags::SYMLINK_NOFOLLOW,
        };
        rustix::fs::chownat(directory, name, Some(uid), Some(gid), flags)
            .map_err(|errno| failed(name.as_bytes(), errno))
    }

    /// Removes what is in the way, with everything in it.
    fn remove(&mut self, parent: &Parent, name: &OsStr) -> Result<(), ImageError> {
        self.last = None;
        self.take_away(parent, name, &Added::new(), 0).map(drop)
    }

    /// Removes an entry with everything in it but what is `kept`; whether something of it stays.
    fn take_away(
        &self,
        parent: &Parent,
        name: &OsStr,
        kept: &Added,
        depth: usize,
    ) -> Result<bool, ImageError> {
        if depth > DEEPEST {
            return Err(refused(
                name.as_bytes(),
                "is nested too deeply to be removed",
            ));
        }
        let is_kept = !kept.is_empty() && kept.contains(&(parent.number, name.as_bytes().to_vec()));
        let there = match stat(parent, name) {
            Ok(there) => there,
            Err(Errno::NOENT) => return Ok(false),
            Err(errno) => return Err(failed(name.as_bytes(), errno)),
        };
        if FileType::from_raw_mode(there.st_mode) != FileType::Directory {
            if is_kept {
                return Ok(true);
            }
            rustix::fs::unlinkat(&parent.fd, name, AtFlags::empty())
                .map_err(|errno| failed(name.as_bytes(), errno))?;
            return Ok(false);
        }
        let flags = OPEN_DIRECTORY | OFlags::NOFOLLOW;
        let opened = rustix::fs::openat(&parent.fd, name, flags, Mode::empty())
            .map_err(|errno| failed(name.as_bytes(), errno))?;
        let inner = Parent::of(opened)?;
        let mut stays = is_kept;
        for entry in sorted_names(inner.fd.as_fd())? {
            stays |= self.take_away(&inner, OsStr::from_bytes(&entry), kept, depth + 1)?;
        }
        if !stays {
            rustix::fs::unlinkat(&parent.fd, name, AtFlags::REMOVEDIR)
                .map_err(|errno| failed(name.as_bytes(), errno))?;
        }
        Ok(stays)
    }
}

fn stat(parent: &Parent, name: &OsStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(&parent.fd, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn ids((uid, gid): (u32, u32)) -> (Uid, Gid) {
    (Uid::from_raw(uid), Gid::from_raw(gid))
}

fn times(modified: i64) -> Timestamps {
    let time = Timespec {
        tv_sec: modified,
        tv_nsec: 0,
    };
    Timestamps {
        last_access: time,
        last_modification: time,
    }
}

fn failed(path: &[u8], errno: Errno) -> ImageError {
    let path = String::from_utf8_lossy(path);
    ImageError::io(
        format!("the image's '{}' cannot be made", path.escape_debug()),
        errno,
    )
}

/// What stands between the root and a member is no directory.
fn below(member: &[u8], errno: Errno) -> ImageError {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => {
            refused(member, "is below something that is not a directory")
        }
        errno => failed(member, errno),
    }
}
