//! Archives from clients: read with bounds, vetted member by member, and unpacked inside a box.
//!
//! Nothing is ever unpacked on the server. [`walk`] reads an archive of any kind we know as a stream, refuses whatever
//! leads out of it or grows beyond its [`Limits`], and shows each member that is left to a visitor. [`into_box`] writes
//! such members as a clean stream to a `tar` that runs in the box, with the rights of the box's user; so an archive that
//! fooled the vetting would still be the box's problem only.

use std::io::{self, BufRead as _, BufReader, Read};

mod into_box;
mod member;
mod tar_members;
mod vetting;
mod zip_members;

pub(crate) use into_box::{CleanTar, pour, set_owner};
pub use into_box::{Owner, Unpacker, unpack};
pub use member::{Member, MemberKind};

use vetting::Vetting;

/// How large an archive may become.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Members.
    pub members: u64,
    /// Bytes of all files together.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            members: 200_000,
            bytes: 16 << 30,
        }
    }
}

/// The bytes of all names together: they are kept while an archive is read.
const MOST_NAME_BYTES: usize = 64 << 20;

/// What was found in an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Members.
    pub members: u64,
    /// Bytes of all files together.
    pub bytes: u64,
}

/// Why an archive is not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is not what it should be.
    #[error("not a readable archive: {0}")]
    Damaged(String),
    /// A member would do harm.
    #[error("'{name}' {why}")]
    Member {
        /// Its name as it was written.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It is too much.
    #[error("the archive has more than {0}")]
    TooLarge(String),
    /// It cannot be put into the box.
    #[error("{0}")]
    Box(String),
    /// The box cannot be used.
    #[error(transparent)]
    Devbox(#[from] proctor_devbox::Error),
}

impl ArchiveError {
    /// A failure to read on.
    pub(crate) fn reading(error: &io::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Called for each member with its content.
pub(crate) type Visitor<'v> =
    dyn FnMut(&Member, &mut dyn Read) -> Result<(), ArchiveError> + Send + 'v;

/// Reads an archive from its first byte to its last: tar, plain or compressed with gzip or zstd, or zip.
pub(crate) fn walk(
    source: impl Read + Send,
    limits: Limits,
    visit: &mut Visitor<'_>,
) -> Result<Totals, ArchiveError> {
    let mut vetting = Vetting::new(limits);
    let mut source = BufReader::with_capacity(64 << 10, source);
    let magic = peek(&mut source)?;
    match magic {
        Magic::Gzip => {
            let plain = flate2::bufread::MultiGzDecoder::new(source);
            tar_members::walk(plain, &mut vetting, visit)?;
        }
        Magic::Zstd => {
            let mut plain = zstd::stream::read::Decoder::with_buffer(source)
                .map_err(|error| ArchiveError::reading(&error))?;
            // 128 MiB: what the usual tool accepts without being asked.
            plain
                .window_log_max(27)
                .map_err(|error| ArchiveError::reading(&error))?;
            tar_members::walk(plain, &mut vetting, visit)?;
        }
        Magic::Zip => zip_members::walk(source, &mut vetting, visit)?,
        Magic::Other => tar_members::walk(source, &mut vetting, visit)?,
    }
    Ok(vetting.totals())
}

/// What the first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Magic {
    Gzip,
    Zstd,
    Zip,
    Other,
}

fn peek(source: &mut BufReader<impl Read>) -> Result<Magic, ArchiveError> {
    let first = source
        .fill_buf()
        .map_err(|error| ArchiveError::reading(&error))?;
    Ok(if first.starts_with(&[0x1f, 0x8b]) {
        Magic::Gzip
    } else if first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Magic::Zstd
    } else if first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06") {
        Magic::Zip
    } else {
        Magic::Other
    })
}

/// Whether a file of this name is an archive that `ADD` unpacks.
pub(crate) fn has_archive_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".zip"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests;
