//! An execution's output: from its pipe into a file with a bound.
//!
//! The pipe is always emptied, so a program never blocks on us; what exceeds the bound is counted and dropped. Once the execution has
//! ended the file is final: a daemon that still writes is read and ignored, so that it does not die of a closed pipe.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::{name::ExecId, output_key::OutputKey, plan::BoxPlaces, record::Progress, spec::Stream};

/// `ID.json`: there from the start of an execution, with its exit from its end.
#[derive(Debug, Serialize, Deserialize)]
pub struct StatusFile {
    /// How far the execution has come.
    pub progress: Progress,
}

/// How much is taken from a pipe before others get their turn.
const TURN: usize = 1 << 20;

/// One stream of one execution.
#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    /// Made when there is something to be kept: most programs write to one stream or none.
    file: Option<OwnedFd>,
    pipe: Option<OwnedFd>,
    /// What the file is enciphered with, and as which stream.
    seal: Option<(OutputKey, Stream)>,
    limit: u64,
    pub(super) kept: u64,
    pub(super) dropped: u64,
    ended: bool,
}

impl Spool {
    /// A spool of a stream of an execution, and the end of the pipe for the program.
    pub(super) fn of(
        places: &BoxPlaces,
        id: &ExecId,
        stream: Stream,
        key: Option<&OutputKey>,
        limit: u64,
    ) -> io::Result<(Self, OwnedFd)> {
        match key {
            None => Self::new(places.output(id, stream), None, limit),
            Some(key) => {
                let seal = Some((key.clone(), stream));
                Self::new(places.sealed_output(id, stream), seal, limit)
            }
        }
    }

    /// A spool into the file at `path`.
    fn new(
        path: PathBuf,
        seal: Option<(OutputKey, Stream)>,
        limit: u64,
    ) -> io::Result<(Self, OwnedFd)> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // The pipe is ours; programs open it again by `/dev/stdout` and `/dev/stderr` with ids of their own.
        rustix::fs::fchmod(&write, rustix::fs::Mode::from_raw_mode(0o666))?;
        rustix::io::ioctl_fionbio(&read, true)?;
        let spool = Self {
            path,
            file: None,
            pipe: Some(read),
            seal,
            limit,
            kept: 0,
            dropped: 0,
            ended: false,
        };
        Ok((spool, write))
    }

    /// A spool of a stream that is somebody else's: it is over before it begins.
    pub(super) fn of_nothing() -> Self {
        Self {
            path: PathBuf::new(),
            file: None,
            pipe: None,
            seal: None,
            limit: 0,
            kept: 0,
            dropped: 0,
            ended: true,
        }
    }

    /// The pipe to be polled, while a process holds its other end.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Takes what is in the pipe. Answers whether the file grew or bytes were dropped.
    pub(super) fn drain(&mut self, buffer: &mut [u8]) -> bool {
        let mut taken = 0;
        let mut changed = false;
        while taken < TURN {
            let Some(pipe) = &self.pipe else { break };
            match rustix::io::read(pipe, &mut *buffer) {
                Ok(0) => self.pipe = None,
                Ok(length) => {
                    taken += length;
                    changed |= self.keep(&mut buffer[..length]);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => self.pipe = None,
            }
        }
        changed
    }

    fn keep(&mut self, bytes: &mut [u8]) -> bool {
        if self.ended {
            return false;
        }
        let room = usize::try_from(self.limit - self.kept).unwrap_or(usize::MAX);
        let kept = bytes.len().min(room);
        if let Some((key, stream)) = &self.seal {
            key.apply(*stream, self.kept, &mut bytes[..kept]);
        }
        let mut wanted = &bytes[..kept];
        let mut written = 0;
        while !wanted.is_empty() {
            match self.write(wanted) {
                Ok(length) => {
                    written += length;
                    wanted = &wanted[length..];
                }
                Err(rustix::io::Errno::INTR) => {}
                // The host's disk is full: the rest is dropped like what exceeds the bound.
                Err(_) => break,
            }
        }
        self.kept += written as u64;
        self.dropped += (bytes.len() - written) as u64;
        true
    }

    fn write(&mut self, bytes: &[u8]) -> rustix::io::Result<usize> {
        let file = match &self.file {
            Some(file) => file,
            None => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND;
                let mode = Mode::from_raw_mode(0o600);
                let file = rustix::fs::open(&self.path, flags | OFlags::CLOEXEC, mode)?;
                self.file.insert(file)
            }
        };
        rustix::io::write(file, bytes)
    }

    /// Takes what the ended program left in the pipe and makes the file final.
    pub(super) fn end(&mut self, buffer: &mut [u8]) {
        // A daemon may write without end; what it wrote within a pipe's length of the end counts.
        self.drain(buffer);
        self.ended = true;
        self.file = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_bound_is_counted_and_the_end_is_final() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stdout");
        let (mut spool, write) = Spool::new(path.clone(), None, 5).unwrap();
        let mut buffer = [0; 4];
        rustix::io::write(&write, b"abc").unwrap();
        assert!(spool.drain(&mut buffer));
        rustix::io::write(&write, b"defgh").unwrap();
        spool.end(&mut buffer);
        rustix::io::write(&write, b"later").unwrap();
        assert!(!spool.drain(&mut buffer));
        assert_eq!((spool.kept, spool.dropped), (5, 3));
        assert_eq!(fs_err::read(path).unwrap(), b"abcde");
    }

    #[test]
    fn with_a_key_only_its_holder_can_read_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stdout");
        let key = OutputKey::new([3; 32]);
        let seal = Some((key.clone(), Stream::Stdout));
        let (mut spool, write) = Spool::new(path.clone(), seal, 100).unwrap();
        let mut buffer = [0; 4];
        rustix::io::write(&write, b"the secret is ").unwrap();
        spool.drain(&mut buffer);
        rustix::io::write(&write, b"hush-hush").unwrap();
        spool.end(&mut buffer);
        let mut kept = fs_err::read(path).unwrap();
        assert_eq!(kept.len(), "the secret is hush-hush".len());
        assert!(!kept.windows(4).any(|part| part == b"hush"));
        key.apply(Stream::Stdout, 0, &mut kept);
        assert_eq!(kept, b"the secret is hush-hush");
    }

    #[test]
    fn a_closed_pipe_is_no_longer_polled() {
        let directory = tempfile::tempdir().unwrap();
        let (mut spool, write) = Spool::new(directory.path().join("stdout"), None, 5).unwrap();
        drop(write);
        assert!(!spool.drain(&mut [0; 4]));
        assert!(spool.pipe().is_none());
    }
}
