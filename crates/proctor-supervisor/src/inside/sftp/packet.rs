//! Packets of SFTP version 3: their parts, and their numbers.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
};

/// The longest packet that is read: what OpenSSH takes.
pub(super) const LONGEST: usize = 256 << 10;

/// The kinds of packets that clients send.
pub(super) mod request {
    pub(crate) const INIT: u8 = 1;
    pub(crate) const OPEN: u8 = 3;
    pub(crate) const CLOSE: u8 = 4;
    pub(crate) const READ: u8 = 5;
    pub(crate) const WRITE: u8 = 6;
    pub(crate) const LSTAT: u8 = 7;
    pub(crate) const FSTAT: u8 = 8;
    pub(crate) const SETSTAT: u8 = 9;
    pub(crate) const FSETSTAT: u8 = 10;
    pub(crate) const OPENDIR: u8 = 11;
    pub(crate) const READDIR: u8 = 12;
    pub(crate) const REMOVE: u8 = 13;
    pub(crate) const MKDIR: u8 = 14;
    pub(crate) const RMDIR: u8 = 15;
    pub(crate) const REALPATH: u8 = 16;
    pub(crate) const STAT: u8 = 17;
    pub(crate) const RENAME: u8 = 18;
    pub(crate) const READLINK: u8 = 19;
    pub(crate) const SYMLINK: u8 = 20;
    pub(crate) const EXTENDED: u8 = 200;
}

/// The kinds of packets that are sent back.
pub(super) mod reply {
    pub(crate) const VERSION: u8 = 2;
    pub(crate) const STATUS: u8 = 101;
    pub(crate) const HANDLE: u8 = 102;
    pub(crate) const DATA: u8 = 103;
    pub(crate) const NAME: u8 = 104;
    pub(crate) const ATTRS: u8 = 105;
}

/// What came of a request, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Ok = 0,
    Eof = 1,
    NoSuchFile = 2,
    PermissionDenied = 3,
    Failure = 4,
    BadMessage = 5,
    Unsupported = 8,
}

/// A packet ended before what it should hold.
#[derive(Debug)]
pub(super) struct Truncated;

/// What is left of a packet.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Truncated> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        self.take(N)?.try_into().map_err(|_| Truncated)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Truncated> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn int(&mut self) -> Result<u32, Truncated> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(super) fn long(&mut self) -> Result<u64, Truncated> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Truncated> {
        let length = self.int()? as usize;
        self.take(length)
    }

    /// A path; an empty one is where relative paths begin.
    pub(super) fn path(&mut self) -> Result<PathBuf, Truncated> {
        let bytes = self.bytes()?;
        let bytes = if bytes.is_empty() { b"." } else { bytes };
        Ok(OsString::from_vec(bytes.to_vec()).into())
    }
}

/// A packet on its way.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// A packet of this kind, in answer to this request.
    pub(super) fn new(kind: u8, request: u32) -> Self {
        let mut packet = Self(vec![0, 0, 0, 0, kind]);
        packet.int(request);
        packet
    }

    pub(super) fn int(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn long(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.int(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn name(&mut self, name: &OsStr) {
        self.bytes(name.as_bytes());
    }

    /// The packet with its length.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - 4).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_without_complaint(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut reader = Reader(&bytes);
            while reader.path().is_ok() || reader.long().is_ok() || reader.int().is_ok() || reader.byte().is_ok() {}
            prop_assert!(reader.0.len() < 4);
        }
    }
}
