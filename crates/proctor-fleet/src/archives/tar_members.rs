//! The members of a tar archive.
//!
//! Headers are read one by one and extensions by hand, because the library reads long names of any length into memory.

use std::io::{self, Read};

use tar::{Archive, Entry, EntryType};

use super::{
    ArchiveError, Visitor,
    vetting::{Claimed, ClaimedKind, Vetting},
};

/// No extension that we read is longer: a path has at most 4,096 bytes.
const LONGEST_EXTENSION: u64 = 64 << 10;

/// What headers before a member said of it.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

pub(super) fn walk(
    source: impl Read,
    vetting: &mut Vetting,
    visit: &mut Visitor<'_>,
) -> Result<(), ArchiveError> {
    // What is skipped is read too, so that a huge member that nobody wants is still an end.
    let most = vetting
        .bytes_left()
        .saturating_mul(2)
        .saturating_add(1 << 30);
    let mut archive = Archive::new(source.take(most));
    let entries = archive
        .entries()
        .map_err(|error| ArchiveError::reading(&error))?
        .raw(true);
    let mut extensions = Extensions::default();
    let mut any = false;
    for entry in entries {
        let mut entry = entry.map_err(|error| ArchiveError::reading(&error))?;
        any = true;
        match entry.header().entry_type() {
            EntryType::GNULongName => extensions.name = Some(long_text(&mut entry)?),
            EntryType::GNULongLink => extensions.link = Some(long_text(&mut entry)?),
            EntryType::XHeader => extended(&mut entry, &mut extensions)?,
            // Defaults for all members: nothing that we use.
            EntryType::XGlobalHeader => {
                extension(&mut entry)?;
            }
            _ => one(entry, std::mem::take(&mut extensions), vetting, visit)?,
        }
    }
    if any {
        Ok(())
    } else {
        Err(ArchiveError::Damaged("it is empty".to_owned()))
    }
}

fn one<R: Read>(
    mut entry: Entry<'_, R>,
    extensions: Extensions,
    vetting: &mut Vetting,
    visit: &mut Visitor<'_>,
) -> Result<(), ArchiveError> {
    let header = entry.header();
    let link = || {
        extensions
            .link
            .or_else(|| header.link_name_bytes().map(|name| name.into_owned()))
            .unwrap_or_default()
    };
    let name = extensions
        .name
        .unwrap_or_else(|| header.path_bytes().into_owned());
    let size = header
        .entry_size()
        .map_err(|error| ArchiveError::reading(&error))?;
    let kind = match header.entry_type() {
        // Old archives say by a slash that a file is a directory.
        EntryType::Regular | EntryType::Continuous if name.ends_with(b"/") => {
            ClaimedKind::Directory
        }
        EntryType::Regular | EntryType::Continuous => ClaimedKind::File(size),
        EntryType::Directory => ClaimedKind::Directory,
        EntryType::Symlink => ClaimedKind::Symlink(link()),
        EntryType::Link => ClaimedKind::HardLink(link()),
        _ => ClaimedKind::Other,
    };
    let claimed = Claimed {
        name,
        kind,
        mode: header.mode().unwrap_or(0o644),
        modified: header.mtime().unwrap_or(0),
    };
    match vetting.admit(claimed)? {
        Some(member) => visit(&member, &mut entry),
        None => Ok(()),
    }
}

/// The content of an extension, which is short.
fn extension<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, ArchiveError> {
    let size = entry.size();
    if size > LONGEST_EXTENSION {
        return Err(ArchiveError::Damaged(format!(
            "a header of {size} bytes is longer than any name"
        )));
    }
    let mut content = Vec::new();
    match entry.read_to_end(&mut content) {
        Ok(read) if read as u64 == size => Ok(content),
        Ok(_) => Err(ArchiveError::reading(&io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(ArchiveError::reading(&error)),
    }
}

fn long_text<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, ArchiveError> {
    let mut text = extension(entry)?;
    if text.last() == Some(&0) {
        text.pop();
    }
    Ok(text)
}

fn extended<R: Read>(
    entry: &mut Entry<'_, R>,
    extensions: &mut Extensions,
) -> Result<(), ArchiveError> {
    let records = extension(entry)?;
    for record in tar::PaxExtensions::new(&records) {
        let record = record.map_err(|error| ArchiveError::reading(&error))?;
        match record.key_bytes() {
            b"path" => extensions.name = Some(record.value_bytes().to_vec()),
            b"linkpath" => extensions.link = Some(record.value_bytes().to_vec()),
            // Readers disagree about which size counts when there are two.
            b"size" => {
                return Err(ArchiveError::Damaged(
                    "a member has a second size in an extended header".to_owned(),
                ));
            }
            key if key.starts_with(b"GNU.sparse") => {
                return Err(ArchiveError::Damaged("it has sparse files".to_owned()));
            }
            _ => {}
        }
    }
    Ok(())
}
