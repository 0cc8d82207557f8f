//! For tests: a machine that is asked and lets its changes happen, through the JSON they are kept in.

use std::fmt::Debug;

use http::{HeaderValue, Method, header};
use proctor_core::{
    environment::{Dataset, DatasetType, Simulator, SimulatorType},
    id::kinds::{DatasetId, SimulatorId},
    time::Timestamp,
};
use proptest::prelude::*;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    scenario::Step,
    simulator::{Around, Machine, NotProvided, Provided, Provision, Recorded},
};

/// The time at which rehearsals begin: 2026-01-05T09:00:00Z.
const START: i64 = 1_767_603_600_000;

/// A simulator as an environment has it.
pub(crate) fn simulator(kind: SimulatorType, config: Value, datasets: Vec<Dataset>) -> Simulator {
    Simulator {
        id: SimulatorId::from_uuid(Uuid::from_u128(1)),
        kind,
        name: "test".to_owned(),
        config,
        datasets,
    }
}

/// A data set.
pub(crate) fn dataset(kind: DatasetType, data: Value) -> Dataset {
    Dataset {
        id: DatasetId::from_uuid(Uuid::from_u128(2)),
        name: "data".to_owned(),
        kind,
        data,
    }
}

/// A machine under test, and everything that happened to it.
pub(crate) struct Rehearsal<M: Machine> {
    pub(crate) machine: M,
    pub(crate) events: Vec<Recorded>,
    /// The changes as a journal keeps them.
    pub(crate) kept: Vec<String>,
    asked: i64,
}

impl<M: Machine> Rehearsal<M> {
    pub(crate) fn of(machine: M) -> Self {
        Self {
            machine,
            events: Vec::new(),
            kept: Vec::new(),
            asked: 0,
        }
    }

    /// The time now: a second passes with everything that happens.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(START + self.asked * 1000)
    }

    /// Asks the machine.
    pub(crate) fn send(&mut self, mut request: Request) -> Response {
        request.at = self.now();
        let around = Around {
            now: self.now(),
            fhir: None,
        };
        let decision = self.machine.decide(&request, &around);
        assert_ne!(decision.response.status, 500);
        if decision.response.status.is_client_error() {
            assert!(decision.changes.is_empty(), "a refusal changes nothing");
        }
        self.happen(decision.event, decision.changes);
        decision.response
    }

    pub(crate) fn get(&mut self, target: &str) -> Response {
        self.send(Request::new(Method::GET, target, self.now()))
    }

    pub(crate) fn post(&mut self, target: &str, body: &Value) -> Response {
        self.send(Request::new(Method::POST, target, self.now()).with_json(body))
    }

    /// Carries out a step of a scenario.
    pub(crate) fn step(&mut self, step: &Value) -> Result<(), NotProvided> {
        let step = Step::read(step).unwrap();
        self.provide(&Provision::Step(&step))
    }

    pub(crate) fn provide(&mut self, provision: &Provision<'_>) -> Result<(), NotProvided> {
        let around = Around {
            now: self.now(),
            fhir: None,
        };
        let Provided { event, changes } = self.machine.provide(provision, &around)?;
        self.happen(event, changes);
        Ok(())
    }

    fn happen(&mut self, event: Recorded, changes: Vec<M::Change>) {
        self.asked += 1;
        self.events.push(event);
        for change in changes {
            let text = serde_json::to_string(&change).unwrap();
            self.machine.evolve(serde_json::from_str(&text).unwrap());
            self.kept.push(text);
        }
    }

    /// What checks may look at.
    pub(crate) fn exhibits(&self) -> Exhibits<'_> {
        let mut exhibits = Exhibits::default();
        self.machine.exhibit(&mut exhibits);
        exhibits
    }

    /// The last event, for a snapshot.
    pub(crate) fn last_event(&self) -> String {
        let event = self.events.last().unwrap();
        let direction = event.direction.as_str();
        format!("{} {direction} {:#}", event.kind, event.payload)
    }
}

/// An answer, for a snapshot.
pub(crate) fn shown(response: &Response) -> String {
    let mut text = format!("{}\n", response.status);
    for (name, value) in &response.headers {
        text.push_str(&format!("{name}: {}\n", value.to_str().unwrap()));
    }
    match serde_json::from_slice::<Value>(&response.body) {
        Ok(body) => text.push_str(&format!("{body:#}")),
        Err(_) => text.push_str(&String::from_utf8_lossy(&response.body)),
    }
    text
}

/// The JSON body of an answer.
pub(crate) fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

/// Any request to the paths and with the bodies given, mixed with nonsense.
pub(crate) fn any_request<T: AsRef<str>>(
    paths: &[T],
    bodies: &'static [&'static str],
) -> impl Strategy<Value = Request> + use<T> {
    let paths: Vec<String> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
    let method = prop::sample::select(vec![
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
    ]);
    let path = prop_oneof![
        8 => prop::sample::select(paths.clone()),
        1 => (prop::sample::select(paths), "\\PC{0,12}").prop_map(|(path, more)| format!("{path}/{more}")),
        1 => "\\PC{0,20}",
    ];
    let body = prop_oneof![
        8 => prop::sample::select(bodies).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    let content_type = prop::sample::select(vec![
        "application/json",
        "text/plain",
        "application/hl7-v2",
        "",
    ]);
    (method, path, body, content_type).prop_map(|(method, path, body, content_type)| {
        let mut request =
            Request::new(method, &path, Timestamp::from_millis(START)).with_body(body);
        request
            .headers
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        request
    })
}

/// Checks that a machine is a function of its requests and of the changes it named: asked the same
/// twice it answers the same, and its changes alone lead a fresh one to the same state.
pub(crate) fn is_a_function<M: Machine + PartialEq + Debug>(
    fresh: impl Fn() -> M,
    requests: &[Request],
) {
    let mut first = Rehearsal::of(fresh());
    let mut second = Rehearsal::of(fresh());
    for request in requests {
        let one = first.send(request.clone());
        let other = second.send(request.clone());
        assert_eq!(shown(&one), shown(&other));
    }
    assert_eq!(first.events, second.events);
    let mut replayed = fresh();
    for change in &first.kept {
        let change: Value = serde_json::from_str(change).unwrap();
        replayed.evolve(serde_json::from_value(change).unwrap());
    }
    assert_eq!(replayed, first.machine);
}
