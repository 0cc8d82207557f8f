//! A store with a clock and a journal around it: what HTTP and other callers talk to.
//!
//! Owns the order of things: a request is carried out on the state in memory, its event is given to
//! the recorder in the same order, and the answer leaves when the event is on disk. A reader never
//! sees what could still be lost: it waits for the writes that it saw.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use http::StatusCode;
use proctor_core::time::Clock;
use proctor_store::{StoreError, journal};
use serde_json::Value;

use super::{
    base::Base,
    change::{BadEvent, Effects, Event},
    interaction::{Interaction, Unreadable},
    outcome::{Issue, IssueCode, Refusal},
    rest::{Request, Response},
    seed::Seed,
    settings::Settings,
    state::State,
};
use crate::{
    payload::unpack,
    recorder::{Epoch, NotRecorded, Recorder, Ticket},
};

/// The kind of a journal's event that changed the store.
pub const WRITE_EVENT: &str = "fhir";
/// The kind of a journal's event that holds requests which changed nothing, one to a line.
pub const READ_EVENT: &str = "fhir.read";
/// How often a write is tried when other nodes keep writing first.
const TRIES: usize = 8;

/// A FHIR store that can be used by many at once; cheap to clone.
#[derive(Clone)]
pub struct FhirService {
    inner: Arc<Inner>,
}

struct Inner {
    origin: Origin,
    clock: Arc<dyn Clock>,
    recorder: Option<Recorder>,
    current: RwLock<Current>,
}

/// What a state is made from.
struct Origin {
    base: Arc<Base>,
    settings: Arc<Settings>,
    seed: Seed,
}

/// The state, and the epoch of the journal that it follows from.
struct Current {
    state: State,
    epoch: Option<Epoch>,
    /// Whether the state may hold what the journal does not.
    is_void: bool,
}

/// Why a store could not be rebuilt from its journal.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The journal cannot be read.
    #[error("the journal cannot be read")]
    Journal(#[from] StoreError),
    /// The journal holds something else.
    #[error(transparent)]
    Event(#[from] BadEvent),
    /// The journal holds a change that cannot be repeated.
    #[error("a change in the journal cannot be repeated: {0}")]
    Change(Box<Refusal>),
}

/// Why a world could not be frozen.
#[derive(Debug, thiserror::Error)]
pub enum FreezeError {
    /// The journal does not take the seal.
    #[error(transparent)]
    NotRecorded(#[from] NotRecorded),
    /// The store cannot be rebuilt.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Why the journal of a store cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The event cannot be shown.
    #[error(transparent)]
    Event(#[from] Unreadable),
    /// The store cannot be rebuilt.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl FhirService {
    /// A store that forgets everything when it ends.
    pub fn in_memory(
        base: Arc<Base>,
        settings: Arc<Settings>,
        seed: Seed,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self::new(base, settings, seed, clock, None)
    }

    /// A store whose events go to a journal, rebuilt from what the journal holds.
    pub async fn open(
        base: Arc<Base>,
        settings: Arc<Settings>,
        seed: Seed,
        clock: Arc<dyn Clock>,
        recorder: Recorder,
    ) -> Result<Self, OpenError> {
        let service = Self::new(base, settings, seed, clock, Some(recorder));
        service.rebuild().await?;
        Ok(service)
    }

    fn new(
        base: Arc<Base>,
        settings: Arc<Settings>,
        seed: Seed,
        clock: Arc<dyn Clock>,
        recorder: Option<Recorder>,
    ) -> Self {
        let origin = Origin {
            base,
            settings,
            seed,
        };
        let current = RwLock::new(Current {
            state: origin.branch(),
            epoch: None,
            is_void: recorder.is_some(),
        });
        Self {
            inner: Arc::new(Inner {
                origin,
                clock,
                recorder,
                current,
            }),
        }
    }

    /// The configuration.
    pub fn settings(&self) -> &Settings {
        &self.inner.origin.settings
    }

    /// The clock that requests are stamped by.
    pub fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    /// Shows the state as it is now to `look`: for checks, which must not change it.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.read().state)
    }

    /// What an event of the world's journal tells of this store; nothing when it is of another
    /// service.
    pub async fn interactions(
        &self,
        event: &journal::Event,
    ) -> Result<Vec<Interaction>, HistoryError> {
        if !matches!(&*event.kind, WRITE_EVENT | READ_EVENT) {
            return Ok(Vec::new());
        }
        let read = || self.look(|state| Interaction::read(state, &event.payload));
        match read() {
            Err(Unreadable::Unknown(_)) => {
                // Another node may have written since this one last looked.
                self.rebuild().await?;
                Ok(read()?)
            }
            outcome => Ok(outcome?),
        }
    }

    /// Carries out a request. Its time is set here.
    pub async fn handle(&self, mut request: Request) -> Response {
        request.at = self.inner.clock.now();
        if self.must_rebuild()
            && let Err(error) = self.rebuild().await
        {
            return unavailable(&error);
        }
        if request.is_read_only() {
            self.answer(request).await
        } else {
            self.change(request).await
        }
    }

    /// Takes down what was answered without looking at the store: a caller that is not known, a body
    /// that cannot be read.
    pub fn note_aside(&self, request: Request, response: &Response) {
        let epoch = self.read().epoch;
        // Nobody waits: such an answer depends on nothing that could be lost.
        self.note(epoch, request, response);
    }

    fn must_rebuild(&self) -> bool {
        let recorder = self.inner.recorder.as_ref();
        recorder.is_some_and(Recorder::is_overtaken) || self.read().is_void
    }

    async fn answer(&self, mut request: Request) -> Response {
        for _ in 0..TRIES {
            match self.glance(request) {
                Ok((response, ticket)) => {
                    return match self.wait(ticket).await {
                        // A frozen world takes no notes, and needs none to be read.
                        Ok(()) | Err(NotRecorded::Frozen) => response,
                        Err(error) => self.give_up(&error),
                    };
                }
                Err(unanswered) => {
                    request = *unanswered;
                    if let Err(error) = self.rebuild().await {
                        return unavailable(&error);
                    }
                }
            }
        }
        self.give_up(&NotRecorded::Overtaken)
    }

    /// Answers from the state in memory; gives the request back when that is void.
    fn glance(&self, request: Request) -> Result<(Response, Option<Ticket>), Box<Request>> {
        let current = self.read();
        if current.is_void {
            return Err(Box::new(request));
        }
        let response = current.state.answer(&request).unwrap_or_else(|| {
            Refusal::bad_request(IssueCode::Invalid, "the request is no read").into()
        });
        let ticket = self.note(current.epoch, request, &response);
        Ok((response, ticket))
    }

    async fn change(&self, request: Request) -> Response {
        for _ in 0..TRIES {
            let outcome = match self.attempt(request.clone()) {
                Ok((response, ticket)) => self.wait(ticket).await.map(|()| response),
                Err(error) => Err(error),
            };
            match outcome {
                Ok(response) => return response,
                Err(NotRecorded::Overtaken) => {
                    self.write().is_void = true;
                    if let Err(error) = self.rebuild().await {
                        return unavailable(&error);
                    }
                }
                Err(error) => return self.give_up(&error),
            }
        }
        self.give_up(&NotRecorded::Overtaken)
    }

    /// Carries out a request on the state in memory, and gives its event to the recorder.
    fn attempt(&self, request: Request) -> Result<(Response, Option<Ticket>), NotRecorded> {
        let mut current = self.write();
        if current.is_void {
            return Err(NotRecorded::Overtaken);
        }
        let epoch = current.epoch;
        let (response, event) = current.state.apply(request);
        let ticket = if event.changes.is_empty() {
            Ok(self.note_event(epoch, event))
        } else {
            self.record(epoch, event)
        };
        current.is_void |= ticket.is_err();
        Ok((response, ticket?))
    }

    /// Freezes the world: everything that happened in this store is on disk before the seal, reads
    /// included. Nothing for a store without a journal.
    pub async fn freeze(&self) -> Result<Option<journal::Head>, FreezeError> {
        let Some(recorder) = &self.inner.recorder else {
            return Ok(None);
        };
        for _ in 0..TRIES {
            let epoch = self.read().epoch.ok_or(NotRecorded::Overtaken)?;
            match recorder.seal(epoch, self.inner.clock.now()).await {
                Ok(head) => return Ok(Some(head)),
                Err(NotRecorded::Overtaken) => self.rebuild().await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(NotRecorded::Overtaken.into())
    }

    fn note(&self, epoch: Option<Epoch>, request: Request, response: &Response) -> Option<Ticket> {
        self.inner.recorder.as_ref()?;
        let event = Event::new(request, response, Vec::new(), 0);
        self.note_event(epoch, event)
    }

    fn note_event(&self, epoch: Option<Epoch>, event: Event) -> Option<Ticket> {
        let recorder = self.inner.recorder.as_ref()?;
        let at = event.request.at;
        Some(recorder.note(epoch?, at, READ_EVENT, Box::new(move || event.to_json())))
    }

    fn record(&self, epoch: Option<Epoch>, event: Event) -> Result<Option<Ticket>, NotRecorded> {
        let Some(recorder) = &self.inner.recorder else {
            return Ok(None);
        };
        let epoch = epoch.ok_or(NotRecorded::Overtaken)?;
        let at = event.request.at;
        let payload = Box::new(move || event.to_json());
        recorder.record(epoch, at, WRITE_EVENT, payload).map(Some)
    }

    async fn wait(&self, ticket: Option<Ticket>) -> Result<(), NotRecorded> {
        match (&self.inner.recorder, ticket) {
            (Some(recorder), Some(ticket)) => recorder.written(ticket).await,
            _ => Ok(()),
        }
    }

    /// Makes the state anew from the base and the journal.
    async fn rebuild(&self) -> Result<(), OpenError> {
        let Some(recorder) = &self.inner.recorder else {
            return Ok(());
        };
        let (epoch, events) = recorder.resume().await?;
        let mut state = self.inner.origin.branch();
        for event in events.iter().filter(|event| &*event.kind == WRITE_EVENT) {
            replay(&mut state, &event.payload)?;
        }
        let mut current = self.write();
        // Somebody else may have begun a later epoch meanwhile; theirs counts.
        if current.epoch.is_none_or(|known| known < epoch) {
            *current = Current {
                state,
                epoch: Some(epoch),
                is_void: false,
            };
        }
        Ok(())
    }

    /// The answer when the journal refuses. What is in memory is no longer trusted.
    fn give_up(&self, error: &NotRecorded) -> Response {
        self.write().is_void = true;
        match error {
            NotRecorded::Frozen => Refusal::new(
                StatusCode::CONFLICT,
                Issue::error(
                    IssueCode::BusinessRule,
                    "the world is frozen: it can be read, but no longer changed",
                ),
            )
            .into(),
            NotRecorded::Overtaken | NotRecorded::Failed(_) => unavailable(error),
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

impl Origin {
    fn branch(&self) -> State {
        State::branch(
            Arc::clone(&self.base),
            Arc::clone(&self.settings),
            self.seed,
        )
    }
}

/// Repeats an event of the journal on a state.
pub fn replay(state: &mut State, payload: &[u8]) -> Result<(), OpenError> {
    let text = unpack(payload).map_err(BadEvent::from)?;
    let event: Value = serde_json::from_slice(&text).map_err(BadEvent::from)?;
    if let Some(effects) = Effects::from_json(&event)? {
        state
            .replay(&effects.changes, effects.drawn)
            .map_err(OpenError::Change)?;
    }
    Ok(())
}

fn unavailable(error: &(dyn std::error::Error + 'static)) -> Response {
    tracing::warn!(error, "a request could not be recorded");
    Refusal::new(
        StatusCode::SERVICE_UNAVAILABLE,
        Issue::error(
            IssueCode::Transient,
            "the journal cannot be written now, so nothing was changed; try again",
        ),
    )
    .into()
}
