//! The members of a zip archive.
//!
//! The directory at its end is read entry by entry: however many there are, one is in memory. Since the end comes last,
//! the archive is written to an unnamed temporary file first.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt as _,
};

use super::{
    ArchiveError, Visitor,
    vetting::{Claimed, ClaimedKind, Vetting},
};

const END: &[u8] = b"PK\x05\x06";
const END_LENGTH: u64 = 22;
const LONGEST_COMMENT: u64 = 0xffff;
const WIDE_LOCATOR: &[u8] = b"PK\x06\x07";
const WIDE_LOCATOR_LENGTH: u64 = 20;
const WIDE_END: &[u8] = b"PK\x06\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const LOCAL_LENGTH: u64 = 30;
/// Extra fields with 64-bit sizes.
const WIDE_FIELD: u16 = 1;
const ENCRYPTED: u16 = 1;
const MADE_ON_UNIX: u8 = 3;
const LONGEST_LINK: u64 = 4096;

pub(super) fn walk(
    source: impl Read,
    vetting: &mut Vetting,
    visit: &mut Visitor<'_>,
) -> Result<(), ArchiveError> {
    let reading = |error: io::Error| ArchiveError::reading(&error);
    let mut file = tempfile::tempfile().map_err(reading)?;
    let most = vetting.bytes_left();
    let length = io::copy(&mut source.take(most.saturating_add(1)), &mut file).map_err(reading)?;
    if length > most {
        return Err(vetting.too_many_bytes());
    }
    let zip = Zip { file, length };
    let directory = zip.directory()?;
    let mut place = directory.offset;
    for _ in 0..directory.entries {
        let (entry, next) = zip.entry(place)?;
        place = next;
        zip.one(&entry, vetting, visit)?;
    }
    Ok(())
}

struct Zip {
    file: File,
    length: u64,
}

struct Directory {
    offset: u64,
    entries: u64,
}

struct Entry {
    name: Vec<u8>,
    /// The permission bits and the kind of file, where they were known.
    unix_mode: Option<u32>,
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u64,
    size: u64,
    modified: u64,
    header: u64,
}

fn damaged(what: &str) -> ArchiveError {
    ArchiveError::Damaged(format!("zip: {what}"))
}

fn u16_at(bytes: &[u8], place: usize) -> u16 {
    u16::from_le_bytes([bytes[place], bytes[place + 1]])
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    u32::from(u16_at(bytes, place)) | (u32::from(u16_at(bytes, place + 2)) << 16)
}

fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from(u32_at(bytes, place)) | (u64::from(u32_at(bytes, place + 4)) << 32)
}

impl Zip {
    fn read<const N: usize>(&self, place: u64) -> Result<[u8; N], ArchiveError> {
        let mut bytes = [0; N];
        self.file
            .read_exact_at(&mut bytes, place)
            .map_err(|error| ArchiveError::reading(&error))?;
        Ok(bytes)
    }

    fn read_vec(&self, place: u64, length: u16) -> Result<Vec<u8>, ArchiveError> {
        let mut bytes = vec![0; usize::from(length)];
        self.file
            .read_exact_at(&mut bytes, place)
            .map_err(|error| ArchiveError::reading(&error))?;
        Ok(bytes)
    }

    /// Finds the directory: its description is the last thing in the file but for a comment of known length.
    fn directory(&self) -> Result<Directory, ArchiveError> {
        let missing = || damaged("its directory is missing");
        let last = self.length.checked_sub(END_LENGTH).ok_or_else(missing)?;
        let first = last.saturating_sub(LONGEST_COMMENT);
        let place = (first..=last).rev().find_map(|place| {
            let end = self.read::<22>(place).ok()?;
            let ends_here = place + END_LENGTH + u64::from(u16_at(&end, 20)) == self.length;
            (end.starts_with(END) && ends_here).then_some((place, end))
        });
        let (place, end) = place.ok_or_else(missing)?;
        let narrow = Directory {
            offset: u64::from(u32_at(&end, 16)),
            entries: u64::from(u16_at(&end, 10)),
        };
        if narrow.offset != u64::from(u32::MAX) && narrow.entries != u64::from(u16::MAX) {
            return Ok(narrow);
        }
        let Some(locator_place) = place.checked_sub(WIDE_LOCATOR_LENGTH) else {
            return Ok(narrow);
        };
        let locator = self.read::<20>(locator_place)?;
        if !locator.starts_with(WIDE_LOCATOR) {
            return Ok(narrow);
        }
        let wide = self.read::<56>(u64_at(&locator, 8))?;
        if !wide.starts_with(WIDE_END) {
            return Err(missing());
        }
        Ok(Directory {
            offset: u64_at(&wide, 48),
            entries: u64_at(&wide, 32),
        })
    }

    /// The entry of the directory at `place`, and where the next one begins.
    fn entry(&self, place: u64) -> Result<(Entry, u64), ArchiveError> {
        let fixed = self.read::<46>(place)?;
        if !fixed.starts_with(CENTRAL) {
            return Err(damaged("its directory is not where it should be"));
        }
        let (name_length, extra_length) = (u16_at(&fixed, 28), u16_at(&fixed, 30));
        let name_place = place + fixed.len() as u64;
        let extra_place = name_place + u64::from(name_length);
        let extra = self.read_vec(extra_place, extra_length)?;
        let mut wide = wide_sizes(&extra);
        let mut or_wide = |narrow: u32| {
            if narrow == u32::MAX {
                wide.next()
                    .ok_or_else(|| damaged("a size of 64 bits is missing"))
            } else {
                Ok(u64::from(narrow))
            }
        };
        let size = or_wide(u32_at(&fixed, 24))?;
        let packed = or_wide(u32_at(&fixed, 20))?;
        let header = or_wide(u32_at(&fixed, 42))?;
        let entry = Entry {
            name: self.read_vec(name_place, name_length)?,
            unix_mode: (fixed[5] == MADE_ON_UNIX).then(|| u32_at(&fixed, 38) >> 16),
            flags: u16_at(&fixed, 8),
            method: u16_at(&fixed, 10),
            checksum: u32_at(&fixed, 16),
            modified: seconds(u16_at(&fixed, 14), u16_at(&fixed, 12)),
            packed,
            size,
            header,
        };
        let next = extra_place + u64::from(extra_length) + u64::from(u16_at(&fixed, 32));
        Ok((entry, next))
    }

    fn one(
        &self,
        entry: &Entry,
        vetting: &mut Vetting,
        visit: &mut Visitor<'_>,
    ) -> Result<(), ArchiveError> {
        if entry.flags & ENCRYPTED != 0 {
            return Err(damaged("it is encrypted"));
        }
        let kind = match entry.unix_mode.map_or(0, |mode| mode & 0o170_000) {
            _ if entry.name.ends_with(b"/") => ClaimedKind::Directory,
            0 | 0o100_000 => ClaimedKind::File(entry.size),
            0o040_000 => ClaimedKind::Directory,
            0o120_000 => ClaimedKind::Symlink(self.link_target(entry)?),
            _ => ClaimedKind::Other,
        };
        let default_mode = match kind {
            ClaimedKind::Directory => 0o755,
            _ => 0o644,
        };
        let is_file = matches!(kind, ClaimedKind::File(_));
        let claimed = Claimed {
            name: entry.name.clone(),
            kind,
            mode: match entry.unix_mode {
                None | Some(0) => default_mode,
                Some(mode) => mode,
            },
            modified: entry.modified,
        };
        let Some(member) = vetting.admit(claimed)? else {
            return Ok(());
        };
        if !is_file {
            return visit(&member, &mut io::empty());
        }
        let mut content = self.content(entry)?;
        visit(&member, &mut content)?;
        content.check(entry)
    }

    fn link_target(&self, entry: &Entry) -> Result<Vec<u8>, ArchiveError> {
        if entry.size > LONGEST_LINK {
            return Err(damaged("a link's target is too long"));
        }
        let mut content = self.content(entry)?;
        let mut target = Vec::new();
        (&mut content)
            .take(LONGEST_LINK)
            .read_to_end(&mut target)
            .map_err(|error| ArchiveError::reading(&error))?;
        content.check(entry)?;
        Ok(target)
    }

    fn content(&self, entry: &Entry) -> Result<Content<'_>, ArchiveError> {
        let local = self.read::<30>(entry.header)?;
        if !local.starts_with(LOCAL) {
            return Err(damaged("a file is not where it should be"));
        }
        let begin = entry.header
            + LOCAL_LENGTH
            + u64::from(u16_at(&local, 26))
            + u64::from(u16_at(&local, 28));
        let packed = Region {
            file: &self.file,
            place: begin,
            left: entry.packed,
        };
        let plain: Box<dyn Read + Send> = match entry.method {
            0 => Box::new(packed),
            8 => Box::new(flate2::read::DeflateDecoder::new(packed)),
            other => return Err(damaged(&format!("compression {other} is not known"))),
        };
        Ok(Content {
            plain: plain.take(entry.size),
            checksum: flate2::Crc::new(),
        })
    }
}

/// Sizes of 64 bits in the order of their narrow places.
fn wide_sizes(extra: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let mut rest = extra;
    let mut found: &[u8] = &[];
    while rest.len() >= 4 {
        let (kind, length) = (u16_at(rest, 0), usize::from(u16_at(rest, 2)));
        let Some(field) = rest.get(4..4 + length) else {
            break;
        };
        if kind == WIDE_FIELD {
            found = field;
        }
        rest = &rest[4 + length..];
    }
    found.chunks_exact(8).map(|bytes| u64_at(bytes, 0))
}

/// Seconds since 1970 of a date and a time as zip archives have them.
fn seconds(date: u16, time: u16) -> u64 {
    let (year, month, day) = (
        1980 + u64::from(date >> 9),
        u64::from((date >> 5) & 15).clamp(1, 12),
        u64::from(date & 31).clamp(1, 31),
    );
    // Days before March of a year that begins in March, so that the leap day is its last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    const DAYS_BEFORE_1970: u64 = 719_468;
    let (hours, minutes, halves) = (
        u64::from(time >> 11),
        u64::from((time >> 5) & 63),
        u64::from(time & 31),
    );
    (days - DAYS_BEFORE_1970) * 86_400 + hours * 3600 + minutes * 60 + halves * 2
}

/// A part of the file.
struct Region<'f> {
    file: &'f File,
    place: u64,
    left: u64,
}

impl Read for Region<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| buffer.len().min(left));
        let read = self.file.read_at(&mut buffer[..most], self.place)?;
        self.place += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// A file's content with a running checksum.
struct Content<'f> {
    plain: io::Take<Box<dyn Read + Send + 'f>>,
    checksum: flate2::Crc,
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.plain.read(buffer)?;
        self.checksum.update(&buffer[..read]);
        Ok(read)
    }
}

impl Content<'_> {
    /// What was read must be all of it and what it was.
    fn check(mut self, entry: &Entry) -> Result<(), ArchiveError> {
        let drained = io::copy(&mut self, &mut io::sink());
        drained.map_err(|error| ArchiveError::reading(&error))?;
        if self.plain.limit() == 0 && self.checksum.sum() == entry.checksum {
            Ok(())
        } else {
            Err(damaged("a file has another checksum than it should"))
        }
    }
}
