//! What has queued up for the journal, and the events that are made of it.

use proctor_core::time::Timestamp;
use proctor_store::journal::NewEvent;

use super::{Epoch, Payload, Ticket, progress::Progress};

/// What has still to be written.
pub(super) struct Queue {
    pub(super) epoch: Epoch,
    pub(super) entries: Vec<Entry>,
    /// Events recorded in this epoch.
    pub(super) recorded: u64,
    /// Notes of an earlier epoch that still have to be written.
    pub(super) left_over: Vec<NewEvent>,
}

impl Queue {
    /// Stands for everything recorded so far in `epoch`.
    pub(super) fn so_far(&self, epoch: Epoch, progress: &Progress) -> Ticket {
        let is_all_durable = progress.epoch == epoch && progress.durable >= self.recorded;
        let number = if self.epoch != epoch {
            // What was looked at is void already: this ticket never comes true.
            u64::MAX
        } else if is_all_durable {
            0
        } else {
            self.recorded
        };
        Ticket {
            epoch,
            number,
            is_crowded: false,
        }
    }
}

/// An event that was taken.
pub(super) struct Entry {
    pub(super) at: Timestamp,
    pub(super) kind: &'static str,
    pub(super) payload: Payload,
    pub(super) standing: Standing,
}

/// Whether somebody waits for an event.
#[derive(Clone, Copy)]
pub(super) enum Standing {
    Recorded,
    /// A note; void unless the first `after` recorded events of its epoch reach the disk.
    Noted {
        after: u64,
    },
}

impl Standing {
    /// Whether it is a note that stays true if only `durable` events are on disk.
    pub(super) fn is_kept_note(self, durable: u64) -> bool {
        match self {
            Self::Recorded => false,
            Self::Noted { after } => after <= durable,
        }
    }
}

/// One event of the journal for each recorded one, and for each run of notes between them; with
/// each whether it holds notes that stay true if it cannot be written here.
pub(super) fn to_events(entries: Vec<Entry>, durable: u64) -> Vec<(NewEvent, bool)> {
    let mut events: Vec<(NewEvent, bool)> = Vec::with_capacity(entries.len());
    // Which notes the last event takes more of.
    let mut open: Option<(&'static str, bool)> = None;
    for entry in entries {
        let is_kept_note = entry.standing.is_kept_note(durable);
        let joins = match entry.standing {
            Standing::Recorded => None,
            Standing::Noted { .. } => Some((entry.kind, is_kept_note)),
        };
        let payload = (entry.payload)();
        match events.last_mut() {
            Some((last, _)) if joins.is_some() && joins == open => {
                last.payload.push(b'\n');
                last.payload.extend_from_slice(&payload);
            }
            _ => events.push((
                NewEvent {
                    at: entry.at,
                    kind: entry.kind.into(),
                    payload,
                },
                is_kept_note,
            )),
        }
        open = joins;
    }
    events
}
