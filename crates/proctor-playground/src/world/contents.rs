//! The state of a playground: its simulators' states, and what changes them. Pure.

use std::{fmt, sync::Arc};

use proctor_core::{environment::SimulatorType, time::Timestamp};
use proctor_store::journal;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CHANGE, Origin, PROVISION};
use crate::{
    environment::{Door, FhirBlueprint, Target, word},
    exchange::{Request, Response},
    exhibits::Exhibits,
    fhir::{self, Settings},
    machine::{Answered, AnyMachine, Happened},
    payload::unpack,
    simulator::{Around, NotProvided, Provision},
};

/// The state of a playground.
pub struct Contents {
    doors: Vec<Door>,
    fhir: Vec<fhir::State>,
    machines: Vec<Box<dyn AnyMachine>>,
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

/// A line about a machine.
#[derive(Deserialize)]
pub(super) struct Body {
    pub(super) at: i64,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) direction: String,
    pub(super) payload: Value,
    #[serde(default)]
    pub(super) changes: Vec<Value>,
}

/// The door that a line is about.
pub(super) fn door_of(line: &[u8]) -> Result<usize, serde_json::Error> {
    #[derive(Deserialize)]
    struct Address {
        sandbox: usize,
    }
    serde_json::from_slice::<Address>(line).map(|address| address.sandbox)
}

impl Contents {
    /// The state before anything happened.
    pub(super) fn branch(origin: &Origin) -> Self {
        let blueprint = &origin.blueprint;
        let seed = |purpose, number: usize| {
            crate::seed::Seed::from_bytes(&origin.seed.derive(purpose, number as u64))
        };
        let fhir = |(number, one): (usize, &FhirBlueprint)| {
            let settings = Settings {
                validation: one.validation,
                ..Settings::at(format!("{}/fhir", origin.base_url))
            };
            fhir::State::branch(
                Arc::clone(&one.base),
                Arc::new(settings),
                seed("fhir", number),
            )
        };
        let machines = blueprint.machines.iter().enumerate();
        Self {
            doors: blueprint.doors().to_vec(),
            fhir: blueprint.fhir.iter().enumerate().map(fhir).collect(),
            machines: machines
                .map(|(number, branch)| branch(seed("machine", number)))
                .collect(),
            latest: Timestamp::from_millis(i64::MIN),
        }
    }

    /// The state that follows from a journal.
    pub fn replay(origin: &Origin, events: &[journal::Event]) -> Result<Self, BadEvent> {
        let mut contents = Self::branch(origin);
        for event in events {
            if matches!(&*event.kind, CHANGE | PROVISION) {
                let repeated = contents.repeat(&event.payload);
                repeated.map_err(|problem| BadEvent::new(event.seq, problem))?;
            }
            contents.latest = contents.latest.max(event.at);
        }
        Ok(contents)
    }

    fn repeat(&mut self, payload: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
        let line = unpack(payload)?;
        let door = door_of(&line)?;
        match self.target(door).ok_or("there is no such sandbox")? {
            Target::Fhir(number) => fhir::service::replay(&mut self.fhir[number], &line)?,
            Target::Machine(number) => {
                let body: Body = serde_json::from_slice(&line)?;
                self.machines[number].replay(body.changes)?;
            }
        }
        Ok(())
    }

    /// When something last happened.
    pub(super) fn latest(&self) -> Timestamp {
        self.latest
    }

    /// One of the FHIR stores.
    pub(super) fn fhir(&self, number: usize) -> &fhir::State {
        &self.fhir[number]
    }

    /// Answers a request that changes nothing; nothing for one that would.
    pub(super) fn look(&self, door: usize, request: &Request) -> Option<Answered> {
        match self.target(door) {
            None => Some(nothing_there(request)),
            Some(_) if !self.is_for(door, request) => Some(nothing_there(request)),
            Some(Target::Fhir(number)) => {
                let asked = to_fhir(request, request.at.max(self.latest));
                let response = self.fhir[number].answer(&asked)?;
                let event = fhir::change::Event::new(asked, &response, Vec::new(), 0);
                Some(from_fhir(response, event))
            }
            Some(Target::Machine(number)) => {
                self.machines[number].look(request, &self.around(request.at))
            }
        }
    }

    /// Answers a request and lets happen what follows; also when it happened.
    pub(super) fn act(&mut self, door: usize, request: &Request) -> (Answered, Timestamp) {
        let now = request.at.max(self.latest);
        let answered = match self.target(door) {
            None => nothing_there(request),
            Some(_) if !self.is_for(door, request) => nothing_there(request),
            Some(Target::Fhir(number)) => {
                let (response, event) = self.fhir[number].apply(to_fhir(request, now));
                from_fhir(response, event)
            }
            Some(Target::Machine(number)) => {
                let around = Around {
                    now,
                    fhir: self.fhir.first(),
                };
                let mut request = request.clone();
                request.at = now;
                self.machines[number].act(&request, &around)
            }
        };
        if answered.happened.is_change {
            self.latest = now;
        }
        (answered, now)
    }

    /// Puts something in at a door; also when it happened.
    pub(super) fn provide(
        &mut self,
        door: usize,
        provision: &Provision<'_>,
        now: Timestamp,
    ) -> Result<(Happened, Timestamp), NotProvided> {
        let now = now.max(self.latest);
        let happened = match self.target(door) {
            None => return Err(NotProvided("there is no such simulator".to_owned())),
            Some(Target::Fhir(number)) => {
                fhir::provide::provide(&mut self.fhir[number], provision, now)?
            }
            Some(Target::Machine(number)) => {
                let around = Around {
                    now,
                    fhir: self.fhir.first(),
                };
                self.machines[number].provide(provision, &around)?
            }
        };
        self.latest = now;
        Ok((happened, now))
    }

    /// What checks may look at, at the time `now`.
    pub fn exhibits(&self, now: Timestamp) -> Exhibits<'_> {
        let mut exhibits = Exhibits {
            fhir: self.fhir.iter().collect(),
            ..Exhibits::at(now)
        };
        for machine in &self.machines {
            machine.exhibit(&mut exhibits);
        }
        exhibits
    }

    /// What an agent needs to use each simulator of a world from `origin`, in the order of the
    /// doors; addresses begin with `prefix`.
    pub fn credentials(origin: &Origin, prefix: &str) -> Vec<Value> {
        Self::branch(origin).all_credentials(origin.seed, prefix)
    }

    fn all_credentials(&self, seed: crate::seed::Seed, prefix: &str) -> Vec<Value> {
        let of = |door: &Door| match door.target {
            Target::Fhir(number) => {
                let client = fhir::smart::Client::of(seed, number);
                let url = format!("{prefix}/{}", word(door.kind));
                json!({
                    "fhir_base_url": url,
                    "token_url": format!("{url}/token"),
                    "client_id": client.id,
                    "client_secret": client.secret,
                })
            }
            Target::Machine(number) => {
                of_door(door.kind, self.machines[number].credentials(prefix))
            }
        };
        self.doors.iter().map(of).collect()
    }

    fn target(&self, door: usize) -> Option<Target> {
        self.doors.get(door).map(|door| door.target)
    }

    /// Whether the path is one of the door's.
    fn is_for(&self, door: usize, request: &Request) -> bool {
        crate::environment::kind_of_path(&request.path) == self.doors.get(door).map(|one| one.kind)
    }

    fn around(&self, now: Timestamp) -> Around<'_> {
        Around {
            now: now.max(self.latest),
            fhir: self.fhir.first(),
        }
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

fn to_fhir(request: &Request, now: Timestamp) -> fhir::rest::Request {
    let path = request.path.trim_start_matches('/');
    let path = path.strip_prefix(word(SimulatorType::Fhir));
    fhir::rest::Request {
        method: request.method.clone(),
        path: path.unwrap_or_default().trim_start_matches('/').to_owned(),
        query: request.query.clone(),
        headers: fhir::rest::Headers::from_http(&request.headers),
        body: request.body.clone(),
        at: now,
    }
}

fn from_fhir(response: fhir::rest::Response, event: fhir::change::Event) -> Answered {
    Answered {
        happened: Happened {
            is_change: !event.changes.is_empty(),
            body: Box::new(move || event.to_json()),
        },
        response: Response {
            status: response.status,
            headers: response.http_headers(),
            body: response.body,
        },
    }
}
