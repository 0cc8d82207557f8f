//! The members of a layer: a tar stream, read header by header with bounds.
//!
//! Unlike the archives of clients, layers keep owners, all mode bits and file capabilities. Long names are read by hand, because the library
//! reads them into memory whatever their length.

use std::io::{self, Read};

use tar::{Archive, Entry, EntryType};

use crate::error::ImageError;

/// No extension that we read is longer.
const LONGEST_EXTENSION: u64 = 1 << 20;
/// No path is longer.
const LONGEST_PATH: usize = 4096;
/// The attribute that gives a program some of root's rights.
pub(crate) const CAPABILITIES: &str = "security.capability";

/// One member.
#[derive(Debug)]
pub(crate) struct Member {
    /// Without slashes at either end and without `.`; empty for the root.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: MemberKind,
    /// Bytes of its content.
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    /// Seconds since 1970.
    pub(crate) modified: i64,
    pub(crate) capabilities: Option<Vec<u8>>,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MemberKind {
    File,
    Directory,
    Symlink(Vec<u8>),
    /// To this path in the same tree.
    HardLink(Vec<u8>),
    Fifo,
    /// A device: never made.
    Device,
}

/// What headers before a member said of it.
#[derive(Default)]
struct Extensions {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    owner: (Option<u32>, Option<u32>),
    modified: Option<i64>,
    capabilities: Option<Vec<u8>>,
}

/// Shows each member of a tar stream to `visit`, with its content.
pub(crate) fn walk<R: Read>(
    archive: &mut Archive<R>,
    visit: &mut dyn FnMut(Member, &mut dyn Read) -> Result<(), ImageError>,
) -> Result<(), ImageError> {
    let entries = archive.entries().map_err(damaged)?.raw(true);
    let mut extensions = Extensions::default();
    for entry in entries {
        let mut entry = entry.map_err(damaged)?;
        match entry.header().entry_type() {
            EntryType::GNULongName => extensions.path = Some(long_text(&mut entry)?),
            EntryType::GNULongLink => extensions.link = Some(long_text(&mut entry)?),
            EntryType::XHeader => extended(&mut entry, &mut extensions)?,
            // Defaults for all members: nothing that we use.
            EntryType::XGlobalHeader => drop(extension(&mut entry)?),
            _ => {
                let member = member(&entry, std::mem::take(&mut extensions))?;
                visit(member, &mut entry)?;
            }
        }
    }
    Ok(())
}

pub(crate) fn damaged(error: io::Error) -> ImageError {
    // What a limit or a check of ours says is wrapped in an error of the system on its way through a reader.
    match error.downcast::<ImageError>() {
        Ok(ours) => ours,
        Err(error) => ImageError::invalid(format!("not a readable tar: {error}")),
    }
}

fn member<R: Read>(entry: &Entry<'_, R>, extensions: Extensions) -> Result<Member, ImageError> {
    let header = entry.header();
    let written = extensions
        .path
        .unwrap_or_else(|| header.path_bytes().into_owned());
    let path = tidied(&written)?;
    let link = || {
        extensions
            .link
            .or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned))
            .unwrap_or_default()
    };
    let kind = match header.entry_type() {
        // Old archives say by a slash that a file is a directory.
        EntryType::Regular | EntryType::Continuous if written.ends_with(b"/") => {
            MemberKind::Directory
        }
        EntryType::Regular | EntryType::Continuous => MemberKind::File,
        EntryType::Directory => MemberKind::Directory,
        EntryType::Symlink => {
            let target = link();
            if target.is_empty() || target.len() >= LONGEST_PATH || target.contains(&0) {
                return Err(refused(&written, "is a link without a possible target"));
            }
            MemberKind::Symlink(target)
        }
        EntryType::Link => MemberKind::HardLink(tidied(&link())?),
        EntryType::Fifo => MemberKind::Fifo,
        EntryType::Char | EntryType::Block => MemberKind::Device,
        other => {
            let kind = char::from(other.as_byte());
            return Err(refused(
                &written,
                &format!(
                    "is of a kind ('{}') that layers do not have",
                    kind.escape_default()
                ),
            ));
        }
    };
    if path.is_empty() && kind != MemberKind::Directory {
        return Err(refused(&written, "takes the place of the root"));
    }
    let number = |value: io::Result<u64>, over: Option<u32>| {
        over.or_else(|| u32::try_from(value.unwrap_or(0)).ok())
            // The highest number means "nobody" to the system calls.
            .filter(|id| *id != u32::MAX)
    };
    let uid = number(header.uid(), extensions.owner.0);
    let gid = number(header.gid(), extensions.owner.1);
    let (Some(uid), Some(gid)) = (uid, gid) else {
        return Err(refused(&written, "has an owner that no system can have"));
    };
    Ok(Member {
        size: header.entry_size().map_err(damaged)?,
        kind,
        mode: header.mode().map_err(damaged)? & 0o7777,
        owner: (uid, gid),
        modified: extensions
            .modified
            .unwrap_or_else(|| i64::try_from(header.mtime().unwrap_or(0)).unwrap_or(0)),
        capabilities: extensions.capabilities,
        path,
    })
}

/// A path as it was written, from the top of the tree: without empty parts and `.`. What has `..` in it is refused, although it might stay inside.
pub(crate) fn tidied(path: &[u8]) -> Result<Vec<u8>, ImageError> {
    let mut tidy = Vec::with_capacity(path.len());
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => return Err(refused(path, "leads upwards with '..'")),
            part if part.contains(&0) => return Err(refused(path, "has a NUL in its name")),
            part if part.len() > 255 => {
                return Err(refused(path, "has a name longer than 255 bytes"));
            }
            part => {
                if !tidy.is_empty() {
                    tidy.push(b'/');
                }
                tidy.extend_from_slice(part);
            }
        }
    }
    if tidy.len() >= LONGEST_PATH {
        return Err(refused(path, "has a path longer than 4095 bytes"));
    }
    Ok(tidy)
}

/// A member that is not taken, with the reason.
pub(crate) fn refused(path: &[u8], why: &str) -> ImageError {
    let path: String = String::from_utf8_lossy(path).chars().take(200).collect();
    ImageError::invalid(format!(
        "the layer's member '{}' {why}",
        path.escape_debug()
    ))
}

/// The content of an extension, which is short.
fn extension<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, ImageError> {
    let size = entry.size();
    if size > LONGEST_EXTENSION {
        return Err(ImageError::invalid(format!(
            "a header of {size} bytes is longer than any name"
        )));
    }
    let mut content = Vec::new();
    match entry.read_to_end(&mut content) {
        Ok(read) if read as u64 == size => Ok(content),
        Ok(_) => Err(damaged(io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(damaged(error)),
    }
}

fn long_text<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, ImageError> {
    let mut text = extension(entry)?;
    while text.last() == Some(&0) {
        text.pop();
    }
    Ok(text)
}

fn extended<R: Read>(
    entry: &mut Entry<'_, R>,
    extensions: &mut Extensions,
) -> Result<(), ImageError> {
    let records = extension(entry)?;
    for record in tar::PaxExtensions::new(&records) {
        let record = record.map_err(damaged)?;
        let value = record.value_bytes();
        let number = || {
            std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.parse().ok())
        };
        match record.key_bytes() {
            b"path" => extensions.path = Some(value.to_vec()),
            b"linkpath" => extensions.link = Some(value.to_vec()),
            b"uid" => extensions.owner.0 = Some(number().unwrap_or(u32::MAX)),
            b"gid" => extensions.owner.1 = Some(number().unwrap_or(u32::MAX)),
            b"mtime" => extensions.modified = seconds(value),
            b"SCHILY.xattr.security.capability" => extensions.capabilities = Some(value.to_vec()),
            // Readers disagree about which size counts when there are two.
            b"size" => {
                return Err(ImageError::invalid(
                    "a member has a second size in an extended header".to_owned(),
                ));
            }
            key if key.starts_with(b"GNU.sparse") => {
                return Err(ImageError::invalid("the layer has sparse files"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The whole seconds of a time with a fraction; times before 1970 count back.
fn seconds(value: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(value).ok()?;
    let whole = text.split('.').next()?;
    whole.parse().ok()
}
