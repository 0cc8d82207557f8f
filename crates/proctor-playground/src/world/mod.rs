//! A playground at work: its simulators, one clock and one journal.
//!
//! Owns the order of things. A request is carried out on the state in memory, its event is given to
//! the recorder in the same order, and the answer leaves when the event is on disk; a reader never
//! sees what could still be lost, for it waits for the writes that it saw. The state is a cache of
//! the journal: when the journal says otherwise (another node wrote first, the disk was full), it is
//! made anew.

mod contents;
mod line;
mod opening;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use http::StatusCode;
use proctor_core::{
    environment::Dataset,
    id::kinds::WorldId,
    time::{Clock, Timestamp},
};
use proctor_store::{
    StoreError,
    journal::{self, Journal, SEAL},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    contents::{BadEvent, Contents},
    line::WorldEvent,
    opening::{NotOpened, Rehearsal},
};
use crate::{
    environment::Blueprint,
    exchange::{Request, Response},
    exhibits::Exhibits,
    machine::Happened,
    recorder::{Epoch, NotRecorded, Recorder, Ticket},
    seed::Seed,
    simulator::{NotProvided, Provision},
};

/// The kind of a journal's event that changed something.
pub const CHANGE: &str = "change";
/// The kind of a journal's event that holds requests which changed nothing, one to a line.
pub const LOOK: &str = "look";
/// The kind of a journal's event in which the owner of the playground put something in.
pub const PROVISION: &str = "provision";
/// The kind of a journal's first event.
pub const OPENING: &str = "opening";
/// How often something is tried when other nodes keep writing first.
const TRIES: usize = 8;
/// How many events are read from the journal at once.
const READ_AT_ONCE: u32 = 1_000;

/// A playground that can be used by many at once; cheap to clone.
#[derive(Clone)]
pub struct World {
    inner: Arc<Inner>,
}

/// What a playground is made from: with its journal, all there is to know about it.
#[derive(Clone)]
pub struct Origin {
    /// Its name in the journal.
    pub id: WorldId,
    /// Its simulators and their data.
    pub blueprint: Arc<Blueprint>,
    /// What its ids, numbers and passwords follow from.
    pub seed: Seed,
    /// Where agents reach it, without a trailing slash: the address of its FHIR store is
    /// `<base_url>/fhir`.
    pub base_url: String,
}

/// What surrounds all worlds of a process.
#[derive(Clone)]
pub struct Surroundings {
    /// Where events are kept.
    pub journal: Journal,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What writes events until the end.
    pub tasks: TaskTracker,
    /// The end.
    pub closing: CancellationToken,
}

struct Inner {
    origin: Origin,
    clock: Arc<dyn Clock>,
    journal: Journal,
    recorder: Recorder,
    /// Ends the recorder when the last handle goes.
    _closing: tokio_util::sync::DropGuard,
    current: RwLock<Current>,
}

/// The state, and the epoch of the journal that it follows from.
struct Current {
    contents: Contents,
    epoch: Option<Epoch>,
    /// Whether the state may hold what the journal does not.
    is_void: bool,
    /// When the world was frozen, if it was.
    frozen_at: Option<Timestamp>,
}

/// Why a world could not be made from its journal.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The journal cannot be read or written.
    #[error("the journal cannot be used")]
    Journal(#[source] Arc<StoreError>),
    /// The journal holds something else.
    #[error("the journal does not fit this environment")]
    Event(#[from] BadEvent),
    /// The journal has not begun: the playground was never opened.
    #[error("the playground was never opened")]
    NotOpened,
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        Self::Journal(Arc::new(error))
    }
}

/// Why something could not be done to a world.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// What was to be put in does not fit.
    #[error(transparent)]
    NotProvided(#[from] NotProvided),
    /// The world is frozen.
    #[error("the world is frozen")]
    Frozen,
    /// The journal cannot be written now; nothing was changed.
    #[error("the journal cannot be written now, so nothing was changed; try again")]
    Journal(#[source] Arc<StoreError>),
    /// Others kept writing first.
    #[error("others keep writing to this world; nothing was changed; try again")]
    Overtaken,
    /// The world cannot be made from its journal.
    #[error(transparent)]
    Open(OpenError),
}

impl From<OpenError> for WorldError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Journal(error) => Self::Journal(error),
            error => Self::Open(error),
        }
    }
}

impl World {
    /// The world as its journal tells it. To begin one, see [`World::begin`].
    pub async fn open(origin: Origin, around: &Surroundings) -> Result<Self, OpenError> {
        let world = Self::closed(origin, around);
        world.rebuild().await?;
        Ok(world)
    }

    fn closed(origin: Origin, around: &Surroundings) -> Self {
        let closing = around.closing.child_token();
        let recorder = Recorder::open(
            around.journal.clone(),
            origin.id,
            &around.tasks,
            closing.clone(),
        );
        let current = RwLock::new(Current {
            contents: Contents::branch(&origin),
            epoch: None,
            is_void: true,
            frozen_at: None,
        });
        Self {
            inner: Arc::new(Inner {
                origin,
                clock: Arc::clone(&around.clock),
                journal: around.journal.clone(),
                recorder,
                _closing: closing.drop_guard(),
                current,
            }),
        }
    }

    /// What it is made from.
    pub fn origin(&self) -> &Origin {
        &self.inner.origin
    }

    /// When it was frozen, if it was.
    pub fn frozen_at(&self) -> Option<Timestamp> {
        self.read().frozen_at
    }

    /// Shows what checks may look at, as it is now.
    pub fn look<T>(&self, look: impl FnOnce(&Exhibits<'_>) -> T) -> T {
        let current = self.read();
        let now = current
            .frozen_at
            .unwrap_or_else(|| self.inner.clock.now().max(current.contents.latest()));
        look(&current.contents.exhibits(now))
    }

    /// Answers a request at a door. Its time is set here.
    pub async fn handle(&self, door: usize, mut request: Request) -> Response {
        for _ in 0..TRIES {
            if self.must_rebuild()
                && let Err(error) = self.rebuild().await
            {
                return unavailable(&error);
            }
            request.at = self.inner.clock.now();
            let outcome = match self.attempt(door, &request) {
                Ok((response, ticket)) => match self.inner.recorder.written(ticket).await {
                    Ok(()) => return response,
                    // A frozen world takes no notes, and needs none to be read.
                    Err(NotRecorded::Frozen) if is_read(&request) => return response,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            match outcome {
                NotRecorded::Overtaken => self.write().is_void = true,
                NotRecorded::Frozen => {
                    self.write().is_void = true;
                    return Response::conflict(
                        "the world is frozen: it can be read, but no longer changed",
                    );
                }
                NotRecorded::Failed(error) => {
                    self.write().is_void = true;
                    return unavailable(&*error);
                }
            }
        }
        unavailable(&NotRecorded::Overtaken)
    }

    /// Carries a request out in memory and gives its event to the recorder.
    fn attempt(&self, door: usize, request: &Request) -> Result<(Response, Ticket), NotRecorded> {
        if is_read(request) {
            let current = self.read();
            let epoch = current.trusted()?;
            if let Some(answered) = current.contents.look(door, request) {
                let at = request.at.max(current.contents.latest());
                return Ok((
                    answered.response,
                    self.note(epoch, door, at, answered.happened),
                ));
            }
        }
        let mut current = self.write();
        let epoch = current.trusted()?;
        let (answered, at) = current.contents.act(door, request);
        let ticket = if answered.happened.is_change {
            let recorded = self.record(epoch, CHANGE, door, at, answered.happened);
            current.is_void |= recorded.is_err();
            recorded?
        } else {
            self.note(epoch, door, at, answered.happened)
        };
        Ok((answered.response, ticket))
    }

    /// Puts something in at a door.
    pub async fn load(&self, door: usize, dataset: &Dataset) -> Result<(), WorldError> {
        self.provide(door, &Provision::Load(dataset)).await
    }

    /// Takes out what a data set brought.
    pub async fn unload(&self, door: usize, dataset: &Dataset) -> Result<(), WorldError> {
        self.provide(door, &Provision::Unload(dataset)).await
    }

    async fn provide(&self, door: usize, provision: &Provision<'_>) -> Result<(), WorldError> {
        for _ in 0..TRIES {
            if self.must_rebuild() {
                self.rebuild().await?;
            }
            let ticket = {
                let mut current = self.write();
                let Ok(epoch) = current.trusted() else {
                    continue;
                };
                let now = self.inner.clock.now();
                let (happened, at) = current.contents.provide(door, provision, now)?;
                let recorded = self.record(epoch, PROVISION, door, at, happened);
                current.is_void |= recorded.is_err();
                recorded
            };
            let outcome = match ticket {
                Ok(ticket) => self.inner.recorder.written(ticket).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => return Ok(()),
                Err(NotRecorded::Overtaken) => self.write().is_void = true,
                Err(NotRecorded::Frozen) => {
                    self.write().is_void = true;
                    return Err(WorldError::Frozen);
                }
                Err(NotRecorded::Failed(error)) => {
                    self.write().is_void = true;
                    return Err(WorldError::Journal(error));
                }
            }
        }
        Err(WorldError::Overtaken)
    }

    /// Freezes the world as of `at`, or of the last thing that happened if that was later:
    /// everything that happened in it is on disk before the seal. Freezing it again changes nothing.
    /// Answers when it was frozen.
    pub async fn freeze(&self, at: Timestamp) -> Result<Timestamp, WorldError> {
        for _ in 0..TRIES {
            if self.must_rebuild() {
                self.rebuild().await?;
            }
            if let Some(at) = self.frozen_at() {
                return Ok(at);
            }
            let at = at.max(self.read().contents.latest());
            match self.inner.recorder.seal(at).await {
                Ok(_) => {
                    self.write().frozen_at = Some(at);
                    return Ok(at);
                }
                Err(NotRecorded::Overtaken | NotRecorded::Frozen) => self.write().is_void = true,
                Err(NotRecorded::Failed(error)) => {
                    self.write().is_void = true;
                    return Err(WorldError::Journal(error));
                }
            }
        }
        Err(WorldError::Overtaken)
    }

    /// Everything that happened at one door, or at all, oldest first.
    pub async fn events(&self, door: Option<usize>) -> Result<Vec<WorldEvent>, OpenError> {
        let events = read_all(&self.inner.journal, self.inner.origin.id).await?;
        if self.must_rebuild() || events.len() as u64 > 0 && self.has_unknown(&events) {
            self.rebuild().await?;
        }
        let current = self.read();
        let mut shown = Vec::new();
        for event in &events {
            line::show(
                &self.inner.origin,
                &current.contents,
                event,
                door,
                &mut shown,
            )?;
        }
        Ok(shown)
    }

    /// Whether another node wrote what this one has not seen. Cheap to overestimate.
    fn has_unknown(&self, events: &[journal::Event]) -> bool {
        let latest = self.read().contents.latest();
        events
            .iter()
            .any(|event| event.at > latest && matches!(&*event.kind, CHANGE | PROVISION))
    }

    fn note(&self, epoch: Epoch, door: usize, at: Timestamp, happened: Happened) -> Ticket {
        let payload = Box::new(move || line::of(door, &(happened.body)()));
        self.inner.recorder.note(epoch, at, LOOK, payload)
    }

    fn record(
        &self,
        epoch: Epoch,
        kind: &'static str,
        door: usize,
        at: Timestamp,
        happened: Happened,
    ) -> Result<Ticket, NotRecorded> {
        let payload = Box::new(move || line::of(door, &(happened.body)()));
        self.inner.recorder.record(epoch, at, kind, payload)
    }

    fn must_rebuild(&self) -> bool {
        self.inner.recorder.is_overtaken() || self.read().is_void
    }

    /// Makes the state anew from the blueprint and the journal.
    async fn rebuild(&self) -> Result<(), OpenError> {
        let (epoch, events) = self.inner.recorder.resume().await?;
        if events.is_empty() {
            return Err(OpenError::NotOpened);
        }
        let contents = Contents::replay(&self.inner.origin, &events)?;
        let frozen_at = frozen_at(&events);
        let mut current = self.write();
        // Somebody else may have begun a later epoch meanwhile; theirs counts.
        if current.epoch.is_none_or(|known| known < epoch) {
            *current = Current {
                contents,
                epoch: Some(epoch),
                is_void: false,
                frozen_at,
            };
        }
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, Current> {
        self.inner
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Current> {
        self.inner
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    /// The epoch that the state follows from, unless the state is void.
    fn trusted(&self) -> Result<Epoch, NotRecorded> {
        match self.epoch {
            Some(epoch) if !self.is_void => Ok(epoch),
            _ => Err(NotRecorded::Overtaken),
        }
    }
}

/// A frozen world, made from its journal alone: for checking again what was checked before.
pub async fn frozen(
    origin: &Origin,
    journal: &Journal,
) -> Result<(Contents, Option<Timestamp>), OpenError> {
    let events = read_all(journal, origin.id).await?;
    Ok((Contents::replay(origin, &events)?, frozen_at(&events)))
}

/// When a journal was sealed, if it was.
pub fn frozen_at(events: &[journal::Event]) -> Option<Timestamp> {
    let last = events.last()?;
    (&*last.kind == SEAL).then_some(last.at)
}

async fn read_all(journal: &Journal, world: WorldId) -> Result<Vec<journal::Event>, StoreError> {
    let mut events: Vec<journal::Event> = Vec::new();
    loop {
        let from = events.last().map_or(0, |event| event.seq + 1);
        let more = journal.read(world, from, READ_AT_ONCE).await?;
        let is_all = more.len() < READ_AT_ONCE as usize;
        events.extend(more);
        if is_all {
            return Ok(events);
        }
    }
}

/// Whether a request cannot change anything, by its method.
fn is_read(request: &Request) -> bool {
    matches!(request.method, http::Method::GET | http::Method::HEAD)
}

fn unavailable(error: &(dyn std::error::Error + 'static)) -> Response {
    tracing::warn!(error, "a request could not be recorded");
    Response::problem(
        StatusCode::SERVICE_UNAVAILABLE,
        "UNAVAILABLE",
        "the journal cannot be written now, so nothing was changed; try again",
    )
    .with_header(
        http::header::RETRY_AFTER,
        http::HeaderValue::from_static("1"),
    )
}
