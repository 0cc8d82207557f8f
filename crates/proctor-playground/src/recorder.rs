//! How a service's events reach the journal of its world.
//!
//! Events are taken in the order in which they happened and written together, as many as have
//! queued up. Those that changed something are *recorded*: a ticket tells when they are on disk.
//! Those that only looked are *noted*: they are written in their place, many in one line of the
//! journal, and nobody waits for them.
//!
//! When the journal refuses (another node wrote first, the disk is full), everything recorded since
//! the last write is void. The service then calls [`Recorder::resume`], which reads the journal
//! anew and begins another epoch; what an older epoch recorded is never written. What was merely
//! noted did happen, and is written in the new epoch.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proctor_core::{id::kinds::WorldId, time::Timestamp};
use proctor_store::{
    StoreError,
    journal::{AppendError, Event, Journal, NewEvent, SEAL},
};
use tokio::sync::{Notify, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::payload::pack;

/// How long notes wait for company.
const NOTES_WAIT: Duration = Duration::from_millis(100);
/// How many notes are written without waiting for more.
const NOTES_ENOUGH: usize = 1_024;
/// How many events may queue up before callers are told to wait.
const QUEUE_FULL: usize = 65_536;
/// How many events are read from the journal at once.
const READ_AT_ONCE: u32 = 1_000;

/// Makes the payload of an event, when it is written.
pub type Payload = Box<dyn FnOnce() -> Vec<u8> + Send>;

/// A stretch of time in which all events follow from what the journal held at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(u64);

/// The right to learn when a recorded event is on disk.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    epoch: Epoch,
    number: u64,
    /// Whether so much has queued up that callers should wait.
    is_crowded: bool,
}

/// Why an event was not written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotRecorded {
    /// Somebody else wrote first: resume, decide anew, and try again.
    #[error("somebody else wrote to the journal first")]
    Overtaken,
    /// The world is frozen.
    #[error("the world is frozen")]
    Frozen,
    /// The journal cannot be written now. Whether the event is in it is known after resuming.
    #[error("the journal cannot be written")]
    Failed(#[source] Arc<StoreError>),
}

/// Writes the events of one world.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

struct Shared {
    journal: Journal,
    world: WorldId,
    queue: Mutex<Queue>,
    wake: Notify,
    progress: watch::Sender<Progress>,
    /// The number of the next event; held while writing.
    next: tokio::sync::Mutex<u64>,
}

struct Queue {
    epoch: Epoch,
    entries: Vec<Entry>,
    /// Events recorded in this epoch.
    recorded: u64,
    /// Notes of an earlier epoch that still have to be written.
    left_over: Vec<NewEvent>,
}

struct Entry {
    at: Timestamp,
    kind: &'static str,
    payload: Payload,
    is_note: bool,
}

#[derive(Clone)]
struct Progress {
    epoch: Epoch,
    /// Recorded events of this epoch that are on disk.
    durable: u64,
    failure: Option<NotRecorded>,
}

impl Recorder {
    /// Writes to the journal of `world` until `closing`; nothing can be recorded before
    /// [`Recorder::resume`].
    pub fn open(
        journal: Journal,
        world: WorldId,
        tasks: &TaskTracker,
        closing: CancellationToken,
    ) -> Self {
        let epoch = Epoch(0);
        let shared = Arc::new(Shared {
            journal,
            world,
            queue: Mutex::new(Queue {
                epoch,
                entries: Vec::new(),
                recorded: 0,
                left_over: Vec::new(),
            }),
            wake: Notify::new(),
            progress: watch::Sender::new(Progress {
                epoch,
                durable: 0,
                failure: None,
            }),
            next: tokio::sync::Mutex::new(0),
        });
        tasks.spawn(Arc::clone(&shared).write_until(closing));
        Self { shared }
    }

    /// Reads the journal and begins a new epoch at its end.
    pub async fn resume(&self) -> Result<(Epoch, Vec<Event>), StoreError> {
        let shared = &self.shared;
        let mut next = shared.next.lock().await;
        let epoch = {
            let mut queue = shared.queue();
            queue.epoch = Epoch(queue.epoch.0 + 1);
            queue.entries.retain(|entry| entry.is_note);
            queue.recorded = 0;
            queue.epoch
        };
        let mut events = Vec::new();
        loop {
            let from = events.last().map_or(0, |event: &Event| event.seq + 1);
            let more = shared
                .journal
                .read(shared.world, from, READ_AT_ONCE)
                .await?;
            if more.is_empty() {
                *next = from;
                break;
            }
            events.extend(more);
        }
        let frozen = events.last().is_some_and(|event| &*event.kind == SEAL);
        shared.progress.send_replace(Progress {
            epoch,
            durable: 0,
            failure: frozen.then_some(NotRecorded::Frozen),
        });
        Ok((epoch, events))
    }

    /// Takes an event that changed something.
    pub fn record(
        &self,
        epoch: Epoch,
        at: Timestamp,
        kind: &'static str,
        payload: Payload,
    ) -> Result<Ticket, NotRecorded> {
        if let Some(failure) = &self.shared.progress.borrow().failure {
            return Err(failure.clone());
        }
        let mut queue = self.shared.queue();
        if queue.epoch != epoch {
            return Err(NotRecorded::Overtaken);
        }
        queue.recorded += 1;
        queue.entries.push(Entry {
            at,
            kind,
            payload,
            is_note: false,
        });
        let number = queue.recorded;
        drop(queue);
        self.shared.wake.notify_one();
        Ok(Ticket {
            epoch,
            number,
            is_crowded: false,
        })
    }

    /// Takes an event that only looked, and tells what must be on disk before its answer leaves:
    /// everything recorded so far.
    pub fn note(
        &self,
        epoch: Epoch,
        at: Timestamp,
        kind: &'static str,
        payload: Payload,
    ) -> Ticket {
        let mut queue = self.shared.queue();
        queue.entries.push(Entry {
            at,
            kind,
            payload,
            is_note: true,
        });
        let ticket = Ticket {
            epoch,
            number: if queue.epoch == epoch {
                queue.recorded
            } else {
                0
            },
            is_crowded: queue.entries.len() >= QUEUE_FULL,
        };
        let wake = matches!(queue.entries.len(), 1 | NOTES_ENOUGH);
        drop(queue);
        if wake {
            self.shared.wake.notify_one();
        }
        ticket
    }

    /// Whether the state is known not to be what the journal says: it must be made anew.
    pub fn is_overtaken(&self) -> bool {
        matches!(
            self.shared.progress.borrow().failure,
            Some(NotRecorded::Overtaken | NotRecorded::Failed(_))
        )
    }

    /// Waits until what a ticket stands for is on disk.
    pub async fn written(&self, ticket: Ticket) -> Result<(), NotRecorded> {
        if ticket.is_crowded {
            let mut progress = self.shared.progress.subscribe();
            while self.shared.queue().entries.len() >= QUEUE_FULL {
                if progress.changed().await.is_err() {
                    break;
                }
            }
        }
        if let Some(done) = self.shared.progress.borrow().outcome(ticket) {
            return done;
        }
        let mut progress = self.shared.progress.subscribe();
        loop {
            if let Some(done) = progress.borrow_and_update().outcome(ticket) {
                return done;
            }
            if progress.changed().await.is_err() {
                return Err(NotRecorded::Overtaken);
            }
        }
    }
}

impl Progress {
    fn outcome(&self, ticket: Ticket) -> Option<Result<(), NotRecorded>> {
        if self.epoch > ticket.epoch {
            return Some(Err(NotRecorded::Overtaken));
        }
        if self.epoch == ticket.epoch && self.durable >= ticket.number {
            return Some(Ok(()));
        }
        self.failure.clone().map(Err)
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write_until(self: Arc<Self>, closing: CancellationToken) {
        loop {
            let closed = tokio::select! {
                () = self.wake.notified() => false,
                () = closing.cancelled() => true,
            };
            if !closed && self.has_only_few_notes() {
                // Notes wait for company, or for something that cannot wait.
                tokio::select! {
                    () = tokio::time::sleep(NOTES_WAIT) => {}
                    () = self.wake.notified() => {}
                    () = closing.cancelled() => {}
                }
            }
            self.write_queue().await;
            if closed {
                return;
            }
        }
    }

    fn has_only_few_notes(&self) -> bool {
        let queue = self.queue();
        queue.entries.len() < NOTES_ENOUGH && queue.entries.iter().all(|entry| entry.is_note)
    }

    async fn write_queue(&self) {
        let mut next = self.next.lock().await;
        let (epoch, entries, recorded, mut events) = {
            let mut queue = self.queue();
            if self.progress.borrow().failure.is_some() {
                return;
            }
            let entries = mem::take(&mut queue.entries);
            (
                queue.epoch,
                entries,
                queue.recorded,
                mem::take(&mut queue.left_over),
            )
        };
        let mut notes: Vec<NewEvent> = events.clone();
        for (mut event, is_note) in to_events(entries) {
            event.payload = pack(event.payload);
            if is_note {
                notes.push(event.clone());
            }
            events.push(event);
        }
        if events.is_empty() {
            return;
        }
        let outcome = self.journal.append(self.world, *next, events).await;
        if matches!(outcome, Err(AppendError::Conflict { .. })) {
            self.queue().left_over = notes;
        }
        self.progress.send_modify(|progress| match outcome {
            Ok(head) => {
                *next = head.next;
                progress.epoch = epoch;
                progress.durable = recorded;
            }
            Err(error) => {
                progress.failure = Some(match error {
                    AppendError::Conflict { .. } | AppendError::Empty => NotRecorded::Overtaken,
                    AppendError::Sealed { .. } => NotRecorded::Frozen,
                    AppendError::Store(error) => NotRecorded::Failed(error),
                });
            }
        });
    }
}

/// One line of the journal for each recorded event, and for each run of notes between them; with
/// each line whether it holds notes.
fn to_events(entries: Vec<Entry>) -> Vec<(NewEvent, bool)> {
    let mut events: Vec<(NewEvent, bool)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let payload = (entry.payload)();
        match events.last_mut() {
            Some((last, true)) if entry.is_note && &*last.kind == entry.kind => {
                last.payload.push(b'\n');
                last.payload.extend_from_slice(&payload);
            }
            _ => events.push((
                NewEvent {
                    at: entry.at,
                    kind: entry.kind.into(),
                    payload,
                },
                entry.is_note,
            )),
        }
    }
    events
}
