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
    BadEvent, CHANGE, Contents, LOOK, Origin, Rehearsal,
    line::{self, Entry},
    record,
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

    /// Answers a request to the simulator that its path names; 404 where there is none.
    pub fn handle(&mut self, mut request: Request, now: Timestamp) -> Response {
        request.at = now;
        let Some(door) = self.origin.blueprint.door_of_path(&request.path) else {
            let path = &request.path;
            return Response::not_found(format!("no simulator answers at /{path}"));
        };
        let (answered, at) = self.contents.act(door, &request);
        let kind = match answered.happened.is_change {
            true => CHANGE,
            false => LOOK,
        };
        self.events.push(NewEvent {
            at,
            kind: kind.into(),
            payload: pack(line::of(door, &(answered.happened.body)())),
        });
        answered.response
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
