//! How far the writing has come.

use super::{Epoch, NotRecorded, Ticket};

/// What is on disk.
pub(super) struct Progress {
    pub(super) epoch: Epoch,
    /// Recorded events of this epoch that are on disk.
    pub(super) durable: u64,
    pub(super) failure: Option<NotRecorded>,
    /// For each earlier epoch, how many of its recorded events reached the disk.
    pub(super) ended: Vec<u64>,
}

impl Progress {
    /// Ends the epoch under way and begins a later one.
    pub(super) fn begin(&mut self, epoch: Epoch) {
        // Epochs count from 0, and each that was begun is ended here.
        self.ended.push(self.durable);
        self.ended.resize(epoch.0 as usize, 0);
        self.epoch = epoch;
        self.durable = 0;
        self.failure = None;
    }

    pub(super) fn outcome(&self, ticket: Ticket) -> Option<Result<(), NotRecorded>> {
        let durable = match ticket.epoch {
            epoch if epoch == self.epoch => self.durable,
            Epoch(number) => self.ended.get(number as usize).copied().unwrap_or(0),
        };
        if durable >= ticket.number {
            return Some(Ok(()));
        }
        if self.epoch > ticket.epoch {
            return Some(Err(NotRecorded::Overtaken));
        }
        self.failure.clone().map(Err)
    }
}
