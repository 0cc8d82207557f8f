//! Which members of an archive may be unpacked.
//!
//! The rule for links is stricter than it seems to need: a target may only *begin* with `..`. `a -> .` followed by
//! `b -> a/a/a/../../..` goes up three levels although it also goes down three.

use std::collections::{HashMap, HashSet};

use super::{
    ArchiveError, Limits, MOST_NAME_BYTES, Totals,
    member::{Member, MemberKind},
};

/// A path has at most this many characters, as in the kernel.
const LONGEST_PATH: usize = 4000;
const LONGEST_NAME: usize = 255;
const DEEPEST: usize = 100;

/// A member as its archive describes it.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) name: Vec<u8>,
    pub(super) kind: ClaimedKind,
    pub(super) mode: u32,
    pub(super) modified: u64,
}

/// What a member claims to be.
#[derive(Debug)]
pub(super) enum ClaimedKind {
    File(u64),
    Directory,
    Symlink(Vec<u8>),
    HardLink(Vec<u8>),
    /// A device, a pipe, or something that nobody knows.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Directory,
    File,
    Link,
}

/// What has been seen of an archive so far.
pub(super) struct Vetting {
    limits: Limits,
    totals: Totals,
    name_bytes: usize,
    seen: HashMap<String, Seen>,
    /// Directories that are there only because something is in them.
    implied: HashSet<String>,
}

impl Vetting {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            totals: Totals::default(),
            name_bytes: 0,
            seen: HashMap::new(),
            implied: HashSet::new(),
        }
    }

    pub(super) const fn totals(&self) -> Totals {
        self.totals
    }

    /// How many more bytes may come.
    pub(super) const fn bytes_left(&self) -> u64 {
        self.limits.bytes - self.totals.bytes
    }

    pub(super) fn too_many_bytes(&self) -> ArchiveError {
        ArchiveError::TooLarge(format!("{} bytes", self.limits.bytes))
    }

    /// The member as it may be unpacked; `None` for the archive's own root, with which nothing is to be done.
    pub(super) fn admit(&mut self, claimed: Claimed) -> Result<Option<Member>, ArchiveError> {
        self.count(&claimed)?;
        let shown = String::from_utf8_lossy(&claimed.name).into_owned();
        let refuse = |why| ArchiveError::Member {
            name: shown.chars().take(200).collect(),
            why,
        };
        let path = inner_path(&claimed.name).map_err(refuse)?;
        if path.is_empty() {
            return match claimed.kind {
                ClaimedKind::Directory => Ok(None),
                _ => Err(refuse("has no name")),
            };
        }
        self.check_parents(&path).map_err(refuse)?;
        let (kind, seen) = match claimed.kind {
            ClaimedKind::File(size) => (MemberKind::File(size), Seen::File),
            ClaimedKind::Directory => (MemberKind::Directory, Seen::Directory),
            ClaimedKind::Symlink(target) => {
                let target = inner_target(&path, &target).map_err(refuse)?;
                (MemberKind::Symlink(target), Seen::Link)
            }
            ClaimedKind::HardLink(target) => {
                let target = inner_path(&target).map_err(refuse)?;
                if self.seen.get(&target) != Some(&Seen::File) {
                    return Err(refuse(
                        "is a hard link to something that is not in the archive",
                    ));
                }
                (MemberKind::HardLink(target), Seen::File)
            }
            ClaimedKind::Other => return Err(refuse("is neither a file, a directory nor a link")),
        };
        self.remember(&path, seen).map_err(refuse)?;
        Ok(Some(Member {
            path,
            kind,
            mode: claimed.mode & 0o777,
            modified: claimed.modified,
        }))
    }

    fn count(&mut self, claimed: &Claimed) -> Result<(), ArchiveError> {
        self.totals.members += 1;
        self.name_bytes += claimed.name.len();
        if self.totals.members > self.limits.members {
            let most = self.limits.members;
            return Err(ArchiveError::TooLarge(format!("{most} members")));
        }
        if self.name_bytes > MOST_NAME_BYTES {
            return Err(ArchiveError::TooLarge(format!(
                "{MOST_NAME_BYTES} bytes of names"
            )));
        }
        if let ClaimedKind::File(size) = claimed.kind {
            if size > self.bytes_left() {
                return Err(self.too_many_bytes());
            }
            self.totals.bytes += size;
        }
        Ok(())
    }

    /// Nothing may be written through a link, nor below a file.
    fn check_parents(&mut self, path: &str) -> Result<(), &'static str> {
        let mut end = 0;
        while let Some(slash) = path[end..].find('/') {
            let parent = &path[..end + slash];
            match self.seen.get(parent) {
                Some(Seen::Link) => return Err("goes through a link"),
                Some(Seen::File) => return Err("is below a file"),
                Some(Seen::Directory) => {}
                None => {
                    if !self.implied.contains(parent) {
                        self.name_bytes += parent.len();
                        self.implied.insert(parent.to_owned());
                    }
                }
            }
            end += slash + 1;
        }
        Ok(())
    }

    fn remember(&mut self, path: &str, seen: Seen) -> Result<(), &'static str> {
        let is_directory =
            self.seen.get(path) == Some(&Seen::Directory) || self.implied.contains(path);
        match seen {
            Seen::Link | Seen::File if is_directory => {
                return Err("is there twice, as a directory and as something else");
            }
            // Written through, it would be what the link leads to.
            Seen::Directory | Seen::File if self.seen.get(path) == Some(&Seen::Link) => {
                return Err("is there twice, as a link and as something else");
            }
            Seen::Directory if self.seen.get(path) == Some(&Seen::File) => {
                return Err("is there twice, as a directory and as something else");
            }
            Seen::Directory | Seen::File | Seen::Link => {}
        }
        self.seen.insert(path.to_owned(), seen);
        Ok(())
    }
}

/// A path that stays below where it begins, without `.` and without a slash at the end.
fn inner_path(name: &[u8]) -> Result<String, &'static str> {
    let name = text(name)?;
    if name.starts_with('/') {
        return Err("is an absolute path");
    }
    let mut parts = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err("leads out of the archive"),
            part if part.len() > LONGEST_NAME => return Err("has a name that is too long"),
            part => parts.push(part),
        }
    }
    if parts.len() > DEEPEST {
        return Err("is nested too deeply");
    }
    Ok(parts.join("/"))
}

/// The target of a link at `path`, if it stays inside.
fn inner_target(path: &str, target: &[u8]) -> Result<String, &'static str> {
    let target = text(target)?;
    if target.is_empty() {
        return Err("is a link to nothing");
    }
    if target.starts_with('/') {
        return Err("is a link to an absolute path");
    }
    let depth = path.split('/').count() - 1;
    let parts: Vec<&str> = target
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let ups = parts.iter().take_while(|part| **part == "..").count();
    if ups > depth || parts[ups..].contains(&"..") {
        return Err("is a link that leads out of the archive");
    }
    Ok(if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    })
}

fn text(name: &[u8]) -> Result<&str, &'static str> {
    if name.len() > LONGEST_PATH {
        return Err("has a path that is too long");
    }
    if name.contains(&0) {
        return Err("has a NUL in its name");
    }
    std::str::from_utf8(name).map_err(|_| "has a name that is not UTF-8")
}
