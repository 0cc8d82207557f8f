//! For tests of simulators: a machine that is asked and lets its changes happen, through the JSON they are kept in.

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
    registry::{SimulatorPlugin, SimulatorRegistry},
    simulator::{Around, Machine, NotProvided, Provided, Provision, Recorded},
};

/// The time at which rehearsals begin: 2026-01-05T09:00:00Z.
const START: i64 = 1_767_603_600_000;

/// A simulator as an environment has it.
pub fn simulator(kind: &'static str, config: Value, datasets: Vec<Dataset>) -> Simulator {
    Simulator {
        id: SimulatorId::from_uuid(Uuid::from_u128(1)),
        kind: SimulatorType::named(kind),
        name: "test".to_owned(),
        config,
        datasets,
    }
}

/// A data set.
pub fn dataset(kind: DatasetType, data: Value) -> Dataset {
    Dataset {
        id: DatasetId::from_uuid(Uuid::from_u128(2)),
        name: "data".to_owned(),
        kind,
        data,
    }
}

/// A machine under test, and everything that happened to it.
pub struct Rehearsal<M: Machine> {
    /// The machine.
    pub machine: M,
    /// What was remembered, oldest first.
    pub events: Vec<Recorded>,
    /// The changes as a journal keeps them.
    pub kept: Vec<String>,
    asked: i64,
}

impl<M: Machine> Rehearsal<M> {
    /// The machine before anything happens to it.
    pub fn of(machine: M) -> Self {
        Self {
            machine,
            events: Vec::new(),
            kept: Vec::new(),
            asked: 0,
        }
    }

    /// The time now: a second passes with everything that happens.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(START + self.asked * 1000)
    }

    /// Asks the machine.
    pub fn send(&mut self, mut request: Request) -> Response {
        request.at = self.now();
        let around = Around::alone(self.now());
        let decision = self.machine.decide(&request, &around);
        assert_ne!(decision.response.status, 500);
        if decision.response.status.is_client_error() {
            assert!(decision.changes.is_empty(), "a refusal changes nothing");
        }
        self.happen(decision.event, decision.changes);
        decision.response
    }

    /// Asks with GET.
    pub fn get(&mut self, target: &str) -> Response {
        self.send(Request::new(Method::GET, target, self.now()))
    }

    /// Asks with POST and a JSON body.
    pub fn post(&mut self, target: &str, body: &Value) -> Response {
        self.send(Request::new(Method::POST, target, self.now()).with_json(body))
    }

    /// Carries out a step of a scenario, as the plugin reads it.
    pub fn step(&mut self, plugin: impl SimulatorPlugin, step: &Value) -> Result<(), NotProvided> {
        let registry = SimulatorRegistry::default().with(plugin);
        let step = registry.read_step(step).expect("the step can be read");
        self.provide(&Provision::Step(&step))
    }

    /// Puts something in.
    pub fn provide(&mut self, provision: &Provision<'_>) -> Result<(), NotProvided> {
        let around = Around::alone(self.now());
        let Provided { event, changes } = self.machine.provide(provision, &around)?;
        self.happen(event, changes);
        Ok(())
    }

    fn happen(&mut self, event: Recorded, changes: Vec<M::Change>) {
        self.asked += 1;
        self.events.push(event);
        for change in changes {
            let text = serde_json::to_string(&change).expect("a change can be written");
            let change = serde_json::from_str(&text).expect("a change can be read again");
            self.machine.evolve(change);
            self.kept.push(text);
        }
    }

    /// What checks may look at.
    pub fn exhibits(&self) -> Exhibits<'_> {
        let mut exhibits = Exhibits::at(Timestamp::from_millis(0));
        self.machine.exhibit(&mut exhibits);
        exhibits
    }

    /// The last event, for a snapshot.
    pub fn last_event(&self) -> String {
        let event = self.events.last().expect("something happened");
        let direction = event.direction.as_str();
        format!("{} {direction} {:#}", event.kind, event.payload)
    }
}

/// An answer, for a snapshot.
pub fn shown(response: &Response) -> String {
    let mut text = format!("{}\n", response.status);
    for (name, value) in &response.headers {
        text.push_str(&format!(
            "{name}: {}\n",
            value.to_str().expect("headers are text")
        ));
    }
    match serde_json::from_slice::<Value>(&response.body) {
        Ok(body) => text.push_str(&format!("{body:#}")),
        Err(_) => text.push_str(&String::from_utf8_lossy(&response.body)),
    }
    text
}

/// The JSON body of an answer.
pub fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).expect("the body is JSON")
}

/// Any request to the paths and with the bodies given, mixed with nonsense.
pub fn any_request<T: AsRef<str>>(
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
pub fn is_a_function<M: Machine + PartialEq + Debug>(fresh: impl Fn() -> M, requests: &[Request]) {
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
        let change: Value = serde_json::from_str(change).expect("a change can be read again");
        replayed.evolve(serde_json::from_value(change).expect("a change can be read again"));
    }
    assert_eq!(replayed, first.machine);
}
