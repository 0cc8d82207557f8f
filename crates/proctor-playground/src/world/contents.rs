//! The state of a playground: its simulators' states, and what changes them. Pure.

use std::{borrow::Cow, fmt};

use proctor_core::{environment::SimulatorType, time::Timestamp};
use proctor_store::journal;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CHANGE, LONE_CHANGE, LONE_LOOK, Origin, PROVISION};
use crate::{
    environment::Door,
    exchange::{Request, Response},
    exhibits::Exhibits,
    fhir,
    machine::{Answered, AnyMachine, Happened, NotTaken},
    payload::unpack,
    simulator::{Around, NotProvided, Provision},
};

/// The state of a playground.
pub struct Contents {
    doors: Vec<Door>,
    simulators: Vec<Box<dyn AnyMachine>>,
    /// Which simulator is the first FHIR store: the others may look into it.
    fhir: Option<usize>,
    /// When something last happened.
    latest: Timestamp,
}

/// An event of the journal that does not fit the environment.
#[derive(Debug, thiserror::Error)]
#[error("event {seq} of the journal: {problem}")]
pub struct BadEvent {
    seq: u64,
    problem: String,
}

impl BadEvent {
    pub(super) fn new(seq: u64, problem: impl fmt::Display) -> Self {
        Self {
            seq,
            problem: problem.to_string(),
        }
    }
}

/// The door that a line of an event of this kind is about.
pub(super) fn door_of(kind: &str, line: &[u8]) -> Result<usize, serde_json::Error> {
    #[derive(Deserialize)]
    struct Address {
        sandbox: usize,
    }
    // A FHIR store by itself once kept a journal without doors.
    if matches!(kind, LONE_CHANGE | LONE_LOOK) {
        return Ok(0);
    }
    serde_json::from_slice::<Address>(line).map(|address| address.sandbox)
}

impl Contents {
    /// The state before anything happened.
    pub(super) fn branch(origin: &Origin) -> Self {
        let branches = origin.blueprint.simulators.iter();
        let simulators: Vec<_> = branches
            .map(|branch| branch(origin.seed, &origin.base_url))
            .collect();
        Self {
            doors: origin.blueprint.doors().to_vec(),
            fhir: simulators.iter().position(|one| one.fhir().is_some()),
            simulators,
            latest: Timestamp::from_millis(i64::MIN),
        }
    }

    /// The state that follows from a journal.
    pub fn replay(origin: &Origin, events: &[journal::Event]) -> Result<Self, BadEvent> {
        let mut contents = Self::branch(origin);
        for event in events {
            if matches!(&*event.kind, CHANGE | PROVISION | LONE_CHANGE) {
                let repeated = contents.repeat(event);
                repeated.map_err(|problem| BadEvent::new(event.seq, problem))?;
            }
            contents.latest = contents.latest.max(event.at);
        }
        Ok(contents)
    }

    fn repeat(&mut self, event: &journal::Event) -> Result<(), Box<dyn std::error::Error>> {
        let line = unpack(&event.payload)?;
        let door = door_of(&event.kind, &line)?;
        let number = self.behind(door).ok_or("there is no such sandbox")?;
        Ok(self.simulators[number].replay(&line)?)
    }

    /// When something last happened.
    pub(super) fn latest(&self) -> Timestamp {
        self.latest
    }

    /// The simulator behind a door.
    pub(super) fn simulator(&self, door: usize) -> Option<&dyn AnyMachine> {
        Some(&*self.simulators[self.behind(door)?])
    }

    /// Whether a request is most likely answered without changing anything.
    pub(super) fn is_read(&self, door: usize, request: &Request) -> bool {
        self.simulator(door)
            .is_none_or(|simulator| simulator.is_read(request))
    }

    /// Answers a request that changes nothing; nothing for one that would.
    pub(super) fn look(&self, door: usize, request: &Request) -> Option<Answered> {
        let now = request.at.max(self.latest);
        match self.behind(door) {
            Some(number) if self.is_for(door, request) => {
                let store = self.fhir.filter(|store| *store != number);
                let fhir = store.and_then(|store| self.simulators[store].fhir());
                self.simulators[number].look(request, &Around { now, fhir })
            }
            _ => Some(nothing_there(request)),
        }
    }

    /// Answers a request and lets happen what follows; also when it happened.
    pub(super) fn act(&mut self, door: usize, request: &Request) -> (Answered, Timestamp) {
        let now = request.at.max(self.latest);
        let is_for = self.is_for(door, request);
        let answered = match self.inside(door) {
            Some((simulator, fhir)) if is_for => {
                let mut request = Cow::Borrowed(request);
                if request.at != now {
                    request.to_mut().at = now;
                }
                simulator.act(&request, &Around { now, fhir })
            }
            _ => nothing_there(request),
        };
        if answered.happened.is_change {
            self.latest = now;
        }
        (answered, now)
    }

    /// The answer to a request that the world does not take.
    pub(super) fn refuse(&self, door: usize, request: &Request, why: NotTaken) -> Response {
        match self.simulator(door) {
            Some(simulator) => simulator.refuse(why),
            None => nothing_there(request).response,
        }
    }

    /// Puts something in at a door; also when it happened.
    pub(super) fn provide(
        &mut self,
        door: usize,
        provision: &Provision<'_>,
        now: Timestamp,
    ) -> Result<(Happened, Timestamp), NotProvided> {
        let now = now.max(self.latest);
        let Some((simulator, fhir)) = self.inside(door) else {
            return Err(NotProvided("there is no such simulator".to_owned()));
        };
        let happened = simulator.provide(provision, &Around { now, fhir })?;
        self.latest = now;
        Ok((happened, now))
    }

    /// What checks may look at, at the time `now`.
    pub fn exhibits(&self, now: Timestamp) -> Exhibits<'_> {
        let mut exhibits = Exhibits::at(now);
        for simulator in &self.simulators {
            simulator.exhibit(&mut exhibits);
        }
        exhibits
    }

    /// What an agent needs to use each simulator of a world from `origin`, in the order of the
    /// doors; addresses begin with `prefix`.
    pub fn credentials(origin: &Origin, prefix: &str) -> Vec<Value> {
        let contents = Self::branch(origin);
        let of = |door: &Door| {
            let simulator = &contents.simulators[door.simulator_number];
            of_door(door.kind, simulator.credentials(prefix))
        };
        contents.doors.iter().map(of).collect()
    }

    /// The number of the simulator behind a door.
    fn behind(&self, door: usize) -> Option<usize> {
        self.doors.get(door).map(|door| door.simulator_number)
    }

    /// The simulator behind a door, and the FHIR store that it may look into.
    fn inside(&mut self, door: usize) -> Option<(&mut dyn AnyMachine, Option<&fhir::State>)> {
        let number = self.behind(door)?;
        match self.fhir {
            Some(store) if store != number => {
                let both = self.simulators.get_disjoint_mut([number, store]);
                let [simulator, store] = both.ok()?;
                Some((&mut **simulator, store.fhir()))
            }
            _ => Some((&mut **self.simulators.get_mut(number)?, None)),
        }
    }

    /// Whether the path is one of the door's.
    fn is_for(&self, door: usize, request: &Request) -> bool {
        crate::environment::kind_of_path(&request.path) == self.doors.get(door).map(|one| one.kind)
    }
}

/// What belongs to a door, where one machine is behind several.
fn of_door(kind: SimulatorType, mut credentials: Value) -> Value {
    if let Value::Object(members) = &mut credentials {
        let is_clearinghouse = |name: &str| name == "clearinghouse_url";
        match kind {
            SimulatorType::Payer => members.retain(|name, _| !is_clearinghouse(name)),
            SimulatorType::Clearinghouse => members.retain(|name, _| is_clearinghouse(name)),
            _ => {}
        }
    }
    credentials
}

/// The answer at a door that does not know the path.
fn nothing_there(request: &Request) -> Answered {
    let line = json!({
        "at": request.at.as_millis(),
        "type": "request",
        "direction": "outbound",
        "payload": {"method": request.method.as_str(), "path": request.path, "status": 404},
    });
    Answered {
        response: Response::not_found(format!("this simulator has nothing at /{}", request.path)),
        happened: Happened {
            is_change: false,
            body: Box::new(move || line.to_string().into_bytes()),
        },
    }
}
