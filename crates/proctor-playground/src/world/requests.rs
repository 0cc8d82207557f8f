//! What is done to a world: requests of agents, and what its owner puts in.

use proctor_core::causes::with_causes;
use proctor_core::{environment::Dataset, time::Timestamp};
use proctor_simulation::{
    exchange::{Request, Response},
    machine::{Happened, NotTaken},
    simulator::Provision,
};

use super::{
    CHANGE, CLOCK_IS_FIXED, LOOK, PROVISION, TRIES, World, WorldError,
    current::{Closed, Current},
    line,
    timeline::Unwritten,
};
use crate::recorder::{Epoch, NotRecorded, Ticket};

/// Why something did not happen in memory.
pub(super) enum NotDone {
    /// The state cannot be changed now.
    Closed(Closed),
    /// The recorder did not take it. The state is void.
    NotRecorded(NotRecorded),
    /// It cannot be done.
    Refused(WorldError),
}

impl From<Closed> for NotDone {
    fn from(closed: Closed) -> Self {
        Self::Closed(closed)
    }
}

impl World {
    /// Answers a request at a door. Its time is set here.
    pub async fn handle(&self, door: usize, mut request: Request) -> Response {
        let outcome = self
            .until_written(|world| {
                request.at = world.now_in(&world.read());
                world.attempt(door, &request)
            })
            .await;
        let error = match outcome {
            Ok(response) => return response,
            Err(error) => error,
        };
        let why = match error {
            WorldError::Frozen => NotTaken::Frozen,
            error => {
                tracing::warn!(error = %with_causes(&error), "a request could not be recorded");
                NotTaken::Unavailable
            }
        };
        self.read().contents.refuse(door, &request, why)
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
        self.until_written(|world| {
            let mut current = world.write();
            let epoch = current.open()?;
            let now = world.now_in(&current);
            world.catch_up(&mut current, now)?;
            let (happened, at) = current
                .contents
                .provide(door, provision, now)
                .map_err(|refused| NotDone::Refused(refused.into()))?;
            let recorded = world.record(epoch, PROVISION, door, at, happened);
            match recorded {
                Ok(ticket) => Ok(((), ticket)),
                Err(error) => {
                    current.distrust(epoch);
                    Err(NotDone::NotRecorded(error))
                }
            }
        })
        .await
    }

    /// Does something in memory until all that it saw and did is on disk. What the journal refuses
    /// was not done: the state is made anew, and it is tried again.
    async fn until_written<T>(
        &self,
        mut attempt: impl FnMut(&Self) -> Result<(T, Ticket), NotDone>,
    ) -> Result<T, WorldError> {
        for _ in 0..TRIES {
            self.refresh().await?;
            match attempt(self) {
                Ok((done, ticket)) => match self.inner.recorder.written(ticket).await {
                    Ok(()) => return Ok(done),
                    Err(error) => self.distrust(ticket.epoch(), error)?,
                },
                Err(NotDone::Closed(Closed::Frozen)) => return Err(WorldError::Frozen),
                Err(NotDone::Closed(closed)) => self.wait_for(closed).await,
                Err(NotDone::NotRecorded(NotRecorded::Failed(error))) => {
                    return Err(WorldError::Journal(error));
                }
                Err(NotDone::NotRecorded(_)) => {}
                Err(NotDone::Refused(error)) => return Err(error),
            }
        }
        Err(WorldError::Overtaken)
    }

    /// Carries a request out in memory and gives its event to the recorder.
    fn attempt(&self, door: usize, request: &Request) -> Result<(Response, Ticket), NotDone> {
        {
            let current = self.read();
            let timeline = &current.contents.timeline;
            let is_quiet = !timeline.is_due(request.at) && !timeline.is_watching();
            if (is_quiet || current.open().is_err())
                && current.contents.is_read(door, request)
                && let Some(answered) = self.glance(&current, door, request)?
            {
                return Ok(answered);
            }
        }
        let mut current = self.write();
        let epoch = match current.open() {
            Ok(epoch) => epoch,
            // What changes nothing is answered whatever its method.
            Err(Closed::Frozen) => {
                let answered = self.glance(&current, door, request)?;
                return answered.ok_or(NotDone::Closed(Closed::Frozen));
            }
            Err(closed) => return Err(closed.into()),
        };
        self.catch_up(&mut current, request.at)?;
        let (mut answered, at) = current.contents.act(door, request);
        let contents = &mut current.contents;
        let triggered = contents.triggered_by_agent(door, &mut answered.happened, at);
        let is_change = answered.happened.is_change;
        let ticket = match is_change {
            false => self.note(epoch, door, at, answered.happened),
            true => match self.record(epoch, CHANGE, door, at, answered.happened) {
                Ok(ticket) => ticket,
                Err(error) => {
                    current.distrust(epoch);
                    return Err(NotDone::NotRecorded(error));
                }
            },
        };
        let later = self.record_all(&mut current, epoch, triggered)?;
        Ok((answered.response, later.unwrap_or(ticket)))
    }

    /// Carries out the steps that are due at `now`.
    pub(super) fn catch_up(&self, current: &mut Current, now: Timestamp) -> Result<(), NotDone> {
        if !current.contents.timeline.is_due(now) {
            return Ok(());
        }
        let epoch = current.open()?;
        let happened = current.contents.catch_up(now);
        self.record_all(current, epoch, happened).map(drop)
    }

    /// Gives events of the world's own making to the recorder; the ticket of the last one.
    fn record_all(
        &self,
        current: &mut Current,
        epoch: Epoch,
        events: Vec<Unwritten>,
    ) -> Result<Option<Ticket>, NotDone> {
        let mut last = None;
        for Unwritten { at, kind, line } in events {
            match self
                .inner
                .recorder
                .record(epoch, at, kind, Box::new(move || line))
            {
                Ok(ticket) => last = Some(ticket),
                Err(error) => {
                    current.distrust(epoch);
                    return Err(NotDone::NotRecorded(error));
                }
            }
        }
        Ok(last)
    }

    /// Advances the world's clock; what it shows then. What becomes due is carried out before the next request.
    pub async fn advance(&self, seconds: u64) -> Result<Timestamp, WorldError> {
        if !self.origin().scenario.clock.is_advanceable() {
            return Err(WorldError::Clock(CLOCK_IS_FIXED.to_owned()));
        }
        self.until_written(|world| {
            let mut current = world.write();
            let epoch = current.open()?;
            let now = world.now_in(&current);
            world.catch_up(&mut current, now)?;
            let change = current
                .contents
                .advance(seconds, now)
                .map_err(NotDone::Refused)?;
            let mut written = Vec::new();
            let at = now.max(current.contents.latest());
            current.contents.note_change(&change, at, &mut written);
            let ticket = world.record_all(&mut current, epoch, written)?;
            let ticket = ticket.unwrap_or_else(|| world.inner.recorder.so_far(epoch));
            Ok((world.now_in(&current), ticket))
        })
        .await
    }

    /// Answers a request that changes nothing; nothing for one that would.
    fn glance(
        &self,
        current: &Current,
        door: usize,
        request: &Request,
    ) -> Result<Option<(Response, Ticket)>, Closed> {
        let epoch = current.trusted()?;
        let Some(answered) = current.contents.look(door, request) else {
            return Ok(None);
        };
        let at = request.at.max(current.contents.latest());
        let ticket = self.note(epoch, door, at, answered.happened);
        Ok(Some((answered.response, ticket)))
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
}
