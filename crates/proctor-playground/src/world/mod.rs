//! A playground at work: its simulators, one clock and one journal.
//!
//! Owns the order of things. A request is carried out on the state in memory, its event is given to
//! the recorder in the same order, and the answer leaves when the event is on disk; a reader never
//! sees what could still be lost, for it waits for the writes that it saw. The state is a cache of
//! the journal: when the journal says otherwise (another node wrote first, the disk was full), it is
//! made anew. While a world is being frozen nothing changes, and a frozen world shows its journal
//! and nothing else.

mod contents;
mod current;
mod freezing;
mod line;
mod memory;
mod opening;
mod reading;
mod record;
mod requests;
mod timeline;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use proctor_core::{
    definition::ClockPolicy,
    id::kinds::WorldId,
    time::{Clock, Timestamp},
};
use proctor_simulation::{
    exhibits::Exhibits, record::WorldRecord, scenario::Step, seed::Seed, simulator::NotProvided,
};
use proctor_store::{
    StoreError,
    journal::{self, Journal, SEAL},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::current::Current;
pub use self::{
    contents::{BadEvent, Contents},
    line::WorldEvent,
    memory::MemoryWorld,
    opening::{NotOpened, Rehearsal},
    reading::WorldReader,
};
use crate::{
    environment::Blueprint,
    recorder::{Epoch, NotRecorded, Recorder},
};

/// The kind of a journal's event that changed something.
pub const CHANGE: &str = "change";
/// The kind of a journal's event that holds requests which changed nothing, one to a line.
pub const LOOK: &str = "look";
/// The kind of a journal's event in which the owner of the playground put something in.
pub const PROVISION: &str = "provision";
/// The kind of a journal's event that happened to the world itself: its clock, and steps that come later.
pub const WORLD: &str = "world";
/// The kind of a journal's first event.
pub const OPENING: &str = "opening";
/// The same as [`CHANGE`], in journals that a FHIR store by itself once kept without a world: its
/// lines name no door.
const LONE_CHANGE: &str = "fhir";
/// The same as [`LOOK`] in such journals.
const LONE_LOOK: &str = "fhir.read";
/// Why a clock is not advanced that the task keeps as it is.
pub const CLOCK_IS_FIXED: &str = "the task does not let anybody advance the clock";
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
    /// What happens in it beside what agents do.
    pub scenario: Scenario,
}

/// What happens in a world beside what agents do.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The steps, in the order in which they were written.
    pub steps: Arc<[Step]>,
    /// Whether agents may advance the clock.
    pub clock: ClockPolicy,
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
    /// Nothing for a world that forgets.
    journal: Option<Journal>,
    recorder: Recorder,
    /// Ends the recorder when the last handle goes.
    _closing: tokio_util::sync::DropGuard,
    tasks: TaskTracker,
    current: RwLock<Current>,
    /// Held while the world is being frozen.
    freezing: tokio::sync::Mutex<()>,
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
    /// The clock cannot be advanced so.
    #[error("{0}")]
    Clock(String),
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

    /// A world before anything happened, which forgets everything when it ends.
    pub fn in_memory(origin: Origin, clock: Arc<dyn Clock>) -> Self {
        let (recorder, epoch) = Recorder::forgetting(origin.id);
        let contents = Contents::branch(&origin);
        Self {
            inner: Arc::new(Inner {
                origin,
                clock,
                journal: None,
                recorder,
                _closing: CancellationToken::new().drop_guard(),
                tasks: TaskTracker::new(),
                current: RwLock::new(Current::of_journal(contents, epoch, None)),
                freezing: tokio::sync::Mutex::default(),
            }),
        }
    }

    fn closed(origin: Origin, around: &Surroundings) -> Self {
        let closing = around.closing.child_token();
        let recorder = Recorder::open(
            around.journal.clone(),
            origin.id,
            &around.tasks,
            closing.clone(),
        );
        let contents = Contents::branch(&origin);
        Self {
            inner: Arc::new(Inner {
                origin,
                clock: Arc::clone(&around.clock),
                journal: Some(around.journal.clone()),
                recorder,
                _closing: closing.drop_guard(),
                tasks: around.tasks.clone(),
                current: RwLock::new(Current::void(contents)),
                freezing: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// What it is made from.
    pub fn origin(&self) -> &Origin {
        &self.inner.origin
    }

    /// When it was frozen by its own clock, if it was.
    pub fn frozen_at(&self) -> Option<Timestamp> {
        self.read().frozen_at()
    }

    /// Shows what checks may look at, as it is now. Everything that is shown is in the journal;
    /// `look` is called again when what it was shown turns out not to be.
    pub async fn look<T>(&self, look: impl Fn(&Exhibits<'_>) -> T) -> Result<T, WorldError> {
        self.look_with(None, look).await
    }

    /// The same with what happened before, as [`World::history`] tells it.
    pub async fn look_with<T>(
        &self,
        record: Option<&WorldRecord>,
        look: impl Fn(&Exhibits<'_>) -> T,
    ) -> Result<T, WorldError> {
        for _ in 0..TRIES {
            self.refresh().await?;
            let (seen, ticket) = {
                let current = self.read();
                let Ok(epoch) = current.trusted() else {
                    continue;
                };
                let now = current
                    .frozen_at()
                    .unwrap_or_else(|| self.now_in(&current).max(current.contents.latest()));
                let mut exhibits = current.contents.exhibits(now);
                exhibits.show(record);
                let seen = look(&exhibits);
                (seen, self.inner.recorder.so_far(epoch))
            };
            match self.inner.recorder.written(ticket).await {
                Ok(()) => return Ok(seen),
                Err(error) => self.distrust(ticket.epoch(), error)?,
            }
        }
        Err(WorldError::Overtaken)
    }

    /// What happened so far, for checks. A world in memory has forgotten it.
    pub async fn history(&self) -> Result<WorldRecord, OpenError> {
        let Some(journal) = &self.inner.journal else {
            return Ok(WorldRecord::default());
        };
        let events = read_all(journal, self.inner.origin.id).await?;
        Ok(record_of(&self.inner.origin, &events)?)
    }

    /// Everything that happened at one door, or at all, oldest first. A world in memory has
    /// forgotten it.
    pub async fn events(&self, door: Option<usize>) -> Result<Vec<WorldEvent>, OpenError> {
        let Some(journal) = &self.inner.journal else {
            return Ok(Vec::new());
        };
        let events = read_all(journal, self.inner.origin.id).await?;
        self.refresh().await?;
        match self.tell(&events, door) {
            Ok(told) => Ok(told),
            // Another node may have written what this one has not seen.
            Err(_) => {
                self.rebuild().await?;
                Ok(self.tell(&events, door)?)
            }
        }
    }

    fn tell(
        &self,
        events: &[journal::Event],
        door: Option<usize>,
    ) -> Result<Vec<WorldEvent>, BadEvent> {
        let current = self.read();
        let mut told = Vec::new();
        for event in events {
            line::show(
                &self.inner.origin,
                &current.contents,
                &event.into(),
                door,
                &mut told,
            )?;
        }
        Ok(told)
    }

    /// What the world's clock shows.
    fn now_in(&self, current: &Current) -> Timestamp {
        current.contents.timeline.world_time(self.inner.clock.now())
    }

    fn must_rebuild(&self) -> bool {
        self.inner.recorder.is_overtaken() || self.read().is_void()
    }

    /// Makes the state anew if it may hold what the journal does not.
    async fn refresh(&self) -> Result<(), OpenError> {
        if self.must_rebuild() {
            self.rebuild().await?;
        }
        Ok(())
    }

    /// Makes the state anew from the blueprint and the journal.
    async fn rebuild(&self) -> Result<(), OpenError> {
        let (epoch, events) = self.inner.recorder.resume().await?;
        if events.is_empty() {
            return Err(OpenError::NotOpened);
        }
        let contents = Contents::replay(&self.inner.origin, &events)?;
        let rebuilt = Current::of_journal(contents, epoch, frozen_at(&events));
        self.write().replace_by_later(rebuilt);
        Ok(())
    }

    /// What is in memory since `epoch` began is no longer trusted, because the journal refused some
    /// of it. An error if trying again does not help.
    fn distrust(&self, epoch: Epoch, why: NotRecorded) -> Result<(), WorldError> {
        self.write().distrust(epoch);
        match why {
            NotRecorded::Overtaken | NotRecorded::Frozen => Ok(()),
            NotRecorded::Failed(error) => Err(WorldError::Journal(error)),
        }
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

/// A frozen world, made from its journal alone: for checking again what was checked before.
pub struct FrozenWorld {
    /// What it holds.
    pub contents: Contents,
    /// When it was frozen, if it was.
    pub frozen_at: Option<Timestamp>,
    origin: Origin,
    events: Vec<journal::Event>,
}

impl FrozenWorld {
    /// Reads the journal of a world.
    pub async fn read(origin: Origin, journal: &Journal) -> Result<Self, OpenError> {
        let events = read_all(journal, origin.id).await?;
        Ok(Self {
            contents: Contents::replay(&origin, &events)?,
            frozen_at: frozen_at(&events),
            origin,
            events,
        })
    }

    /// What happened in it.
    pub fn record(&self) -> Result<WorldRecord, OpenError> {
        Ok(record_of(&self.origin, &self.events)?)
    }
}

fn record_of(origin: &Origin, events: &[journal::Event]) -> Result<WorldRecord, BadEvent> {
    record::read(origin, events.iter().map(line::Entry::from))
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
