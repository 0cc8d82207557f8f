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
//! noted did happen, and is written in the new epoch, unless it saw what is void: such an answer
//! never leaves.
//!
//! A process that dies takes the notes of the last [`NOTES_WAIT`] with it, never anything recorded.
//! [`Recorder::seal`] writes all that was noted here before the world is frozen.

mod progress;
mod queue;

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proctor_core::{id::kinds::WorldId, time::Timestamp};
use proctor_simulation::payload::pack;
use proctor_store::{
    StoreError,
    journal::{AppendError, Event, Journal, NewEvent, SEAL},
};
use tokio::sync::{Notify, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    progress::Progress,
    queue::{Entry, Queue, Standing, to_events},
};

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
    /// How many of the epoch's recorded events it stands for.
    number: u64,
    /// Whether so much has queued up that callers should wait.
    is_crowded: bool,
}

impl Ticket {
    /// Stands for nothing that has still to be written.
    fn written(epoch: Epoch) -> Self {
        Self {
            epoch,
            number: 0,
            is_crowded: false,
        }
    }

    /// The epoch that it belongs to.
    pub fn epoch(self) -> Epoch {
        self.epoch
    }
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
    /// Nothing for a world that forgets.
    journal: Option<Journal>,
    world: WorldId,
    queue: Mutex<Queue>,
    wake: Notify,
    progress: watch::Sender<Progress>,
    /// The number of the next event; held while writing.
    next: tokio::sync::Mutex<u64>,
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
        let recorder = Self::new(Some(journal), world);
        tasks.spawn(Arc::clone(&recorder.shared).write_until(closing));
        recorder
    }

    /// Keeps nothing: whatever is recorded counts as written at once. There is one epoch.
    pub fn forgetting(world: WorldId) -> (Self, Epoch) {
        let recorder = Self::new(None, world);
        let epoch = recorder.shared.queue().epoch;
        (recorder, epoch)
    }

    fn new(journal: Option<Journal>, world: WorldId) -> Self {
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
                ended: Vec::new(),
            }),
            next: tokio::sync::Mutex::new(0),
        });
        Self { shared }
    }

    /// Reads the journal and begins a new epoch at its end.
    pub async fn resume(&self) -> Result<(Epoch, Vec<Event>), StoreError> {
        let shared = &self.shared;
        let mut next = shared.next.lock().await;
        let mut events = Vec::new();
        while let Some(journal) = &shared.journal {
            let from = events.last().map_or(0, |event: &Event| event.seq + 1);
            let more = journal.read(shared.world, from, READ_AT_ONCE).await?;
            if more.is_empty() {
                *next = from;
                break;
            }
            events.extend(more);
        }
        // From here on nothing is awaited: a caller that goes away while the journal is read has
        // changed nothing.
        let epoch = {
            let mut queue = shared.queue();
            let durable = shared.progress.borrow().durable;
            queue.epoch = Epoch(queue.epoch.0 + 1);
            queue
                .entries
                .retain(|entry| entry.standing.is_kept_note(durable));
            for entry in &mut queue.entries {
                entry.standing = Standing::Noted { after: 0 };
            }
            queue.recorded = 0;
            queue.epoch
        };
        let frozen = events.last().is_some_and(|event| &*event.kind == SEAL);
        shared
            .progress
            .send_modify(|progress| progress.begin(epoch));
        if frozen {
            shared.refuse_from_now_on();
        }
        Ok((epoch, events))
    }

    /// Begins a new epoch at the place `next`, for a caller who has just written everything before
    /// it and need not read it.
    pub async fn begin_at(&self, place: u64) -> Epoch {
        let shared = &self.shared;
        let mut next = shared.next.lock().await;
        *next = place;
        let epoch = {
            let mut queue = shared.queue();
            queue.epoch = Epoch(queue.epoch.0 + 1);
            queue.recorded = 0;
            queue.epoch
        };
        shared
            .progress
            .send_modify(|progress| progress.begin(epoch));
        epoch
    }

    /// Takes an event that changed something.
    pub fn record(
        &self,
        epoch: Epoch,
        at: Timestamp,
        kind: &'static str,
        payload: Payload,
    ) -> Result<Ticket, NotRecorded> {
        if self.shared.journal.is_none() {
            return Ok(Ticket::written(epoch));
        }
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
            standing: Standing::Recorded,
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
        if self.shared.journal.is_none() {
            return Ticket::written(epoch);
        }
        let mut queue = self.shared.queue();
        let progress = self.shared.progress.borrow();
        let mut ticket = queue.so_far(epoch, &progress);
        let is_frozen = matches!(progress.failure, Some(NotRecorded::Frozen));
        drop(progress);
        if is_frozen || queue.epoch != epoch {
            return ticket;
        }
        queue.entries.push(Entry {
            at,
            kind,
            payload,
            standing: Standing::Noted {
                after: ticket.number,
            },
        });
        ticket.is_crowded = queue.entries.len() >= QUEUE_FULL;
        let wake = matches!(queue.entries.len(), 1 | NOTES_ENOUGH);
        drop(queue);
        if wake {
            self.shared.wake.notify_one();
        }
        ticket
    }

    /// What must be on disk before an answer leaves that was made from the state as it is now:
    /// everything recorded so far.
    pub fn so_far(&self, epoch: Epoch) -> Ticket {
        self.shared
            .queue()
            .so_far(epoch, &self.shared.progress.borrow())
    }

    /// Freezes the world: everything taken so far in `epoch` is written, and the seal after it.
    /// Refused when another epoch has begun, because what was taken in this one is then not written.
    pub async fn seal(&self, epoch: Epoch, at: Timestamp) -> Result<(), NotRecorded> {
        let shared = &self.shared;
        let Some(journal) = &shared.journal else {
            return Ok(());
        };
        let mut next = shared.next.lock().await;
        if shared.queue().epoch != epoch {
            return Err(NotRecorded::Overtaken);
        }
        shared.write_queue(&mut next).await;
        if let Some(failure) = &shared.progress.borrow().failure {
            return Err(failure.clone());
        }
        let outcome = journal.seal(shared.world, *next, at).await;
        match outcome {
            Ok(head) => {
                *next = head.next;
                shared.refuse_from_now_on();
                Ok(())
            }
            Err(error) => {
                let failure = NotRecorded::from(error);
                let told = Some(failure.clone());
                let tell = |progress: &mut Progress| progress.failure = told;
                shared.progress.send_modify(tell);
                Err(failure)
            }
        }
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

impl From<AppendError> for NotRecorded {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Conflict { .. } | AppendError::Empty => Self::Overtaken,
            AppendError::Sealed { .. } => Self::Frozen,
            AppendError::Store(error) => Self::Failed(error),
        }
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
            self.write_queue(&mut *self.next.lock().await).await;
            if closed {
                return;
            }
        }
    }

    fn has_only_few_notes(&self) -> bool {
        let queue = self.queue();
        let mut entries = queue.entries.iter();
        queue.entries.len() < NOTES_ENOUGH
            && entries.all(|entry| matches!(entry.standing, Standing::Noted { .. }))
    }

    /// The world is frozen: nothing is taken any more.
    fn refuse_from_now_on(&self) {
        let refuse = |progress: &mut Progress| progress.failure = Some(NotRecorded::Frozen);
        self.progress.send_modify(refuse);
        let mut queue = self.queue();
        queue.entries.clear();
        queue.left_over.clear();
    }

    /// Writes everything taken so far, at the place `next`.
    async fn write_queue(&self, next: &mut u64) {
        let Some(journal) = &self.journal else {
            return;
        };
        let durable;
        let (epoch, entries, recorded, mut events) = {
            let mut queue = self.queue();
            let progress = self.progress.borrow();
            if progress.failure.is_some() {
                return;
            }
            durable = progress.durable;
            let entries = mem::take(&mut queue.entries);
            (
                queue.epoch,
                entries,
                queue.recorded,
                mem::take(&mut queue.left_over),
            )
        };
        let mut notes: Vec<NewEvent> = events.clone();
        for (mut event, is_kept_note) in to_events(entries, durable) {
            event.payload = pack(event.payload);
            if is_kept_note {
                notes.push(event.clone());
            }
            events.push(event);
        }
        if events.is_empty() {
            return;
        }
        match journal.append(self.world, *next, events).await {
            Ok(head) => {
                *next = head.next;
                self.progress.send_modify(|progress| {
                    if progress.epoch != epoch {
                        progress.begin(epoch);
                    }
                    progress.durable = recorded;
                });
            }
            Err(AppendError::Sealed { .. }) => self.refuse_from_now_on(),
            Err(error) => {
                if matches!(error, AppendError::Conflict { .. }) {
                    self.queue().left_over = notes;
                }
                let failure = Some(error.into());
                self.progress
                    .send_modify(|progress| progress.failure = failure);
            }
        }
    }
}
