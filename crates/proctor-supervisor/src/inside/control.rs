//! A supervisor's connections: frames in, frames out, never waiting for a slow reader.

use std::{
    collections::BTreeSet,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use serde::Serialize;

use crate::{
    name::ExecId,
    wire::{Event, Frame, Request, frame},
};

/// How much is written out at once.
const PIECE: usize = 16 << 10;

/// Who asked, so that the answer finds its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asker {
    pub(super) connection: u64,
    pub(super) number: u64,
}

/// One connection from a server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: u64,
    socket: OwnedFd,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// Whether it wants to hear of everything that happens.
    pub(super) attached: bool,
    /// Executions whose progress it has not heard of yet. A set, so a slow reader costs no memory.
    news: BTreeSet<ExecId>,
}

impl Connection {
    pub(super) fn new(id: u64, socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self {
            id,
            socket,
            inbox: Vec::new(),
            outbox: Vec::new(),
            attached: false,
            news: BTreeSet::new(),
        })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) fn wants_to_write(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Reads what has come. `false`: the other side has gone.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> bool {
        loop {
            match rustix::io::read(&self.socket, &mut *buffer) {
                Ok(0) => return false,
                Ok(length) => {
                    self.inbox.extend_from_slice(&buffer[..length]);
                    // A file's content may follow the request: what is not parsed stays for whoever gets the connection.
                    if length < buffer.len() || self.inbox.len() > buffer.len() {
                        return true;
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
    }

    /// The next whole request.
    pub(super) fn next(&mut self) -> io::Result<Option<Frame<Request>>> {
        match Frame::parse(&self.inbox)? {
            None => Ok(None),
            Some((frame, length)) => {
                self.inbox.drain(..length);
                Ok(Some(frame))
            }
        }
    }

    pub(super) fn send(&mut self, event: &impl Serialize) {
        if let Ok(bytes) = frame(event, &[]) {
            self.outbox.extend_from_slice(&bytes);
        }
    }

    /// Notes that `execution` has come further.
    pub(super) fn note(&mut self, execution: &ExecId) {
        if self.attached && !self.news.contains(execution) {
            self.news.insert(execution.clone());
        }
    }

    /// Writes out what it can, answers and news in one piece so that the other side wakes once; news are put into words only when there is
    /// room. `false`: the other side has gone.
    pub(super) fn flush(&mut self, tell: impl Fn(ExecId) -> Option<Event>) -> bool {
        loop {
            while self.outbox.len() < PIECE
                && let Some(execution) = self.news.pop_first()
            {
                if let Some(event) = tell(execution) {
                    self.send(&event);
                }
            }
            if self.outbox.is_empty() {
                return true;
            }
            let flags = rustix::net::SendFlags::NOSIGNAL;
            match rustix::net::send(&self.socket, &self.outbox, flags) {
                Ok(length) => drop(self.outbox.drain(..length)),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Gives the connection away, blocking again, with what has come but was not read as a request.
    pub(super) fn hand_over(self) -> io::Result<(OwnedFd, Vec<u8>)> {
        rustix::io::ioctl_fionbio(&self.socket, false)?;
        Ok((self.socket, self.inbox))
    }
}
