//! What is said of files, and set of them.

use std::{
    ffi::OsStr,
    fs::Metadata,
    io,
    os::{
        fd::AsFd,
        unix::{
            ffi::OsStrExt as _,
            fs::{MetadataExt as _, PermissionsExt as _},
        },
    },
    path::Path,
};

use rustix::fs::{Gid, Mode, OFlags, Timespec, Timestamps, Uid};

use super::packet::{Reader, Truncated, Writer};

const SIZE: u32 = 1;
const OWNER: u32 = 2;
const PERMISSIONS: u32 = 4;
const TIMES: u32 = 8;
const EXTENDED: u32 = 1 << 31;

/// What a client wants of a file. What is absent stays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    size: Option<u64>,
    owner: Option<(u32, u32)>,
    pub(super) mode: Option<u32>,
    times: Option<(u32, u32)>,
}

impl Attributes {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Truncated> {
        let flags = reader.int()?;
        let has = |flag| flags & flag != 0;
        let mut attributes = Self::default();
        if has(SIZE) {
            attributes.size = Some(reader.long()?);
        }
        if has(OWNER) {
            attributes.owner = Some((reader.int()?, reader.int()?));
        }
        if has(PERMISSIONS) {
            attributes.mode = Some(reader.int()? & 0o7777);
        }
        if has(TIMES) {
            attributes.times = Some((reader.int()?, reader.int()?));
        }
        if has(EXTENDED) {
            for _ in 0..reader.int()? {
                reader.bytes()?;
                reader.bytes()?;
            }
        }
        Ok(attributes)
    }

    /// Sets them of the file that a path leads to.
    pub(super) fn set(self, path: &Path) -> io::Result<()> {
        if let Some(size) = self.size {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let file = rustix::fs::open(path, flags, Mode::empty())?;
            rustix::fs::ftruncate(file, size)?;
        }
        if let Some((user, group)) = self.owner {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            rustix::fs::chown(path, Some(user), Some(group))?;
        }
        if let Some(mode) = self.mode {
            rustix::fs::chmod(path, Mode::from_raw_mode(mode))?;
        }
        if let Some(times) = self.times() {
            let flags = rustix::fs::AtFlags::empty();
            rustix::fs::utimensat(rustix::fs::CWD, path, &times, flags)?;
        }
        Ok(())
    }

    /// Sets them of an open file.
    pub(super) fn set_open(self, file: impl AsFd) -> io::Result<()> {
        if let Some(size) = self.size {
            rustix::fs::ftruncate(&file, size)?;
        }
        if let Some((user, group)) = self.owner {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            rustix::fs::fchown(&file, Some(user), Some(group))?;
        }
        if let Some(mode) = self.mode {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        if let Some(times) = self.times() {
            rustix::fs::futimens(&file, &times)?;
        }
        Ok(())
    }

    fn times(self) -> Option<Timestamps> {
        let (accessed, modified) = self.times?;
        let time = |seconds: u32| Timespec {
            tv_sec: seconds.into(),
            tv_nsec: 0,
        };
        Some(Timestamps {
            last_access: time(accessed),
            last_modification: time(modified),
        })
    }
}

/// Writes what is known of a file.
pub(super) fn write(packet: &mut Writer, metadata: &Metadata) {
    let seconds = |time: i64| u32::try_from(time.max(0)).unwrap_or(u32::MAX);
    packet.int(SIZE | OWNER | PERMISSIONS | TIMES);
    packet.long(metadata.size());
    packet.int(metadata.uid());
    packet.int(metadata.gid());
    packet.int(metadata.permissions().mode());
    packet.int(seconds(metadata.atime()));
    packet.int(seconds(metadata.mtime()));
}

/// The line that people see of a file, as `ls -l` has it.
pub(super) fn line(name: &OsStr, metadata: &Metadata) -> Vec<u8> {
    let mode = metadata.permissions().mode();
    let kind = match mode & libc::S_IFMT {
        libc::S_IFDIR => 'd',
        libc::S_IFLNK => 'l',
        libc::S_IFCHR => 'c',
        libc::S_IFBLK => 'b',
        libc::S_IFIFO => 'p',
        libc::S_IFSOCK => 's',
        _ => '-',
    };
    let mut line = String::from(kind);
    for bit in (0..9).rev() {
        let set = mode & (1 << bit) != 0;
        line.push(match bit % 3 {
            _ if !set => '-',
            2 => 'r',
            1 => 'w',
            _ => 'x',
        });
    }
    let (year, month, day) = date(metadata.mtime().div_euclid(86_400));
    let (links, user, group) = (metadata.nlink(), metadata.uid(), metadata.gid());
    let size = metadata.size();
    let rest = format!(" {links:4} {user:<8} {group:<8} {size:8} {year:04}-{month:02}-{day:02} ");
    line.push_str(&rest);
    let mut line = line.into_bytes();
    line.extend_from_slice(name.as_bytes());
    line
}

/// The date of a day, counted from 1970-01-01: years are taken to begin with March, so that leap days come last.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_774), (2026, 11, 17));
        assert_eq!(date(-1), (1969, 12, 31));
    }
}
