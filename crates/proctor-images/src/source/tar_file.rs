//! A tar as something with files: read once for its members' places, then member by member.

use std::{
    collections::HashMap,
    io::{self, Read, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use super::Files;
use crate::{
    error::{Doing as _, ImageError},
    layer::Format,
    limits::Limits,
    members::tidied,
};

/// More files than this has no archive of an image.
const MOST_MEMBERS: usize = 100_000;
/// How many links lead from one to the next.
const MOST_LINKS: usize = 8;

/// A tar file. One that is packed is unpacked beside it first, because its members are read in another order.
pub(crate) struct TarFile {
    path: PathBuf,
    members: HashMap<String, Place>,
    /// Gone with this value.
    _unpacked: Option<tempfile::NamedTempFile>,
}

enum Place {
    File { at: u64, size: u64 },
    Link(String),
}

impl TarFile {
    /// Opens a tar; `spool` is where a packed one is unpacked.
    pub(crate) fn open(path: &Path, spool: &Path, limits: &Limits) -> Result<Self, ImageError> {
        let doing = || format!("opening {}", path.display());
        let mut file = fs_err::File::open(path).doing(doing())?;
        let mut magic = Vec::new();
        file.by_ref()
            .take(4)
            .read_to_end(&mut magic)
            .doing(doing())?;
        file.seek(SeekFrom::Start(0)).doing(doing())?;
        let format = Format::of(&magic);
        if format == Format::Plain {
            let members = index(&file)?;
            return Ok(Self {
                path: path.to_owned(),
                members,
                _unpacked: None,
            });
        }
        let mut unpacked = tempfile::NamedTempFile::new_in(spool).doing("unpacking an archive")?;
        let most = limits.image_bytes.saturating_mul(2);
        let mut plain = format.decoder(file).doing(doing())?.take(most + 1);
        let copied = io::copy(&mut plain, &mut unpacked)
            .map_err(|error| ImageError::invalid(format!("{}: {error}", path.display())))?;
        if copied > most {
            return Err(ImageError::invalid(format!(
                "{} unpacks to more than {most} bytes",
                path.display()
            )));
        }
        let members = index(&fs_err::File::open(unpacked.path()).doing(doing())?)?;
        Ok(Self {
            path: unpacked.path().to_owned(),
            members,
            _unpacked: Some(unpacked),
        })
    }

    /// The whole tar.
    pub(crate) fn whole(&self) -> Result<fs_err::File, ImageError> {
        fs_err::File::open(&self.path).doing("opening an archive")
    }

    /// Where a file is and how long, after links.
    fn place(&self, path: &str) -> Option<(u64, u64)> {
        let mut path = path;
        for _ in 0..MOST_LINKS {
            match self.members.get(path)? {
                Place::Link(target) => path = target,
                Place::File { at, size } => return Some((*at, *size)),
            }
        }
        None
    }

    /// Whether it has any member.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// Where the members are. Of a root file system only the first are looked at: documents of an image are few.
fn index(file: &fs_err::File) -> Result<HashMap<String, Place>, ImageError> {
    let mut archive = tar::Archive::new(io::BufReader::new(file));
    let mut members = HashMap::new();
    let entries = archive
        .entries_with_seek()
        .map_err(crate::members::damaged)?
        .raw(true);
    for entry in entries {
        let entry = entry.map_err(crate::members::damaged)?;
        if members.len() > MOST_MEMBERS {
            break;
        }
        // Names of an image's files are short; what has a long one is a member of a root file system.
        let Ok(path) = tidied(&entry.path_bytes()) else {
            continue;
        };
        let Ok(path) = String::from_utf8(path) else {
            continue;
        };
        let kind = entry.header().entry_type();
        let link = || {
            let target = entry.link_name_bytes().unwrap_or_default().into_owned();
            String::from_utf8_lossy(&target).into_owned()
        };
        let place = if kind.is_file() {
            Place::File {
                at: entry.raw_file_position(),
                size: entry.size(),
            }
        } else if kind.is_symlink() {
            Place::Link(beside(&path, &link()))
        } else if kind.is_hard_link() {
            Place::Link(beside("", &link()))
        } else {
            Place::Link(String::new())
        };
        members.insert(path, place);
    }
    Ok(members)
}

/// What a link in `path` means, from the top of the archive.
fn beside(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl Files for TarFile {
    fn open(&self, path: &str) -> Result<Option<Box<dyn Read + Send>>, ImageError> {
        let Some((at, size)) = self.place(path) else {
            return Ok(None);
        };
        let mut file = self.whole()?;
        file.seek(SeekFrom::Start(at)).doing("reading an archive")?;
        Ok(Some(Box::new(file.take(size))))
    }

    fn size(&self, path: &str) -> Result<u64, ImageError> {
        Ok(self.place(path).map_or(0, |(_, size)| size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_between_layers_are_followed_from_where_they_are() {
        assert_eq!(beside("b/layer.tar", "../a/layer.tar"), "a/layer.tar");
        assert_eq!(beside("layer.tar", "../../../etc/passwd"), "etc/passwd");
        assert_eq!(beside("", "a/layer.tar"), "a/layer.tar");
    }
}
