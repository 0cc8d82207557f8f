//! A world that lives and ends in memory, with everything that happened in it: for trying a task without a server.

use proctor_core::time::Timestamp;
use proctor_simulation::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    payload::pack,
    record::WorldRecord,
};
use proctor_store::journal::NewEvent;

use super::{
    BadEvent, CHANGE, CLOCK_IS_FIXED, Contents, LOOK, Origin, Rehearsal, WorldError,
    line::{self, Entry},
    record,
    timeline::Unwritten,
};

/// A world after its scenario, at work in memory.
pub struct MemoryWorld {
    origin: Origin,
    contents: Contents,
    /// What its journal would hold.
    events: Vec<NewEvent>,
}

impl MemoryWorld {
    /// The world that was rehearsed.
    pub fn of(rehearsal: Rehearsal) -> Self {
        let Rehearsal {
            origin,
            contents,
            events,
        } = rehearsal;
        Self {
            origin,
            contents,
            events,
        }
    }

    /// Answers a request to the simulator that its path names, when the real clock shows `now`; 404 where there is none.
    pub fn handle(&mut self, mut request: Request, now: Timestamp) -> Response {
        request.at = self.contents.timeline.world_time(now);
        self.catch_up(request.at);
        let Some(door) = self.origin.blueprint.door_of_path(&request.path) else {
            let path = &request.path;
            return Response::not_found(format!("no simulator answers at /{path}"));
        };
        let (mut answered, at) = self.contents.act(door, &request);
        let triggered = self
            .contents
            .triggered_by_agent(door, &mut answered.happened, at);
        let kind = match answered.happened.is_change {
            true => CHANGE,
            false => LOOK,
        };
        self.events.push(NewEvent {
            at,
            kind: kind.into(),
            payload: pack(line::of(door, &(answered.happened.body)())),
        });
        self.write(triggered);
        answered.response
    }

    /// What the world's clock shows when the real one shows `real`.
    pub fn world_time(&self, real: Timestamp) -> Timestamp {
        self.contents.timeline.world_time(real)
    }

    /// Advances the world's clock, when the real one shows `now`; what it shows then.
    pub fn advance(&mut self, seconds: u64, now: Timestamp) -> Result<Timestamp, WorldError> {
        let at = self.world_time(now);
        self.catch_up(at);
        if !self.origin.scenario.clock.is_advanceable() {
            return Err(WorldError::Clock(CLOCK_IS_FIXED.to_owned()));
        }
        let change = self.contents.advance(seconds, at)?;
        let at = at.max(self.contents.latest());
        let mut written = Vec::new();
        self.contents.note_change(&change, at, &mut written);
        self.write(written);
        Ok(self.world_time(now))
    }

    /// Carries out the steps that are due at this time of the world's clock.
    pub fn catch_up(&mut self, at: Timestamp) {
        let happened = self.contents.catch_up(at);
        self.write(happened);
    }

    /// When the last step comes that waits for nothing but time.
    pub fn last_due(&self) -> Option<Timestamp> {
        self.contents.timeline.last_due()
    }

    fn write(&mut self, events: Vec<Unwritten>) {
        let events = events.into_iter().map(|event| NewEvent {
            at: event.at,
            kind: event.kind.into(),
            payload: pack(event.line),
        });
        self.events.extend(events);
    }

    /// How often something was changed or sent so far.
    pub fn changes(&self) -> usize {
        self.events
            .iter()
            .filter(|event| &*event.kind == CHANGE)
            .count()
    }

    /// What its journal would hold so far: the same for worlds in which the same happened.
    pub fn journal(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.events
            .iter()
            .map(|event| (&*event.kind, event.payload.as_slice()))
    }

    /// What happened so far.
    pub fn record(&self) -> Result<WorldRecord, BadEvent> {
        record::read(&self.origin, entries(&self.events))
    }

    /// What checks may look at, at the time `now`.
    pub fn exhibits<'w>(&'w self, now: Timestamp, record: &'w WorldRecord) -> Exhibits<'w> {
        let mut exhibits = self.contents.exhibits(now);
        exhibits.show([record]);
        exhibits
    }
}

/// Events that were not written as the journal would number them.
pub(super) fn entries(events: &[NewEvent]) -> impl Iterator<Item = Entry<'_>> + Clone {
    events.iter().zip(0..).map(|(event, seq)| Entry {
        seq,
        at: event.at,
        kind: &event.kind,
        payload: &event.payload,
    })
}
