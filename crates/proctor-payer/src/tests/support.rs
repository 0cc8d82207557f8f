//! A desk with a clock, driven like the real one.

use std::{sync::Arc, time::Duration};

use http::Method;
use proctor_core::{
    environment::{Dataset, DatasetType, Simulator, SimulatorType},
    id::kinds::{DatasetId, SimulatorId},
    time::Timestamp,
};
use proctor_fhir_store::FhirPlugin;
use proctor_simulation::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    registry::SimulatorRegistry,
    seed::Seed,
    simulator::{Around, Machine, NotProvided, Provision, Recorded},
};
use serde_json::{Value, json};

use crate::{Blueprint, Change, PayerDesk, PayerPlugin};

/// 2026-04-21 17:00 UTC.
pub(super) const START: Timestamp = Timestamp::from_millis(1_776_790_800_000);
pub(super) const NPI: &str = "1234567893";
pub(super) const MEMBER: &str = "BCB123456789";

pub(super) fn members() -> Value {
    json!({
        "payer": {"name": "Blue Harbor Health", "id": "BHH01"},
        "members": [
            {"member_id": MEMBER, "last_name": "Smith", "first_name": "Ada", "birth_date": "1984-03-09",
             "gender": "female", "patient_id": "ada",
             "coverages": [{"plan_name": "Harbor Gold PPO", "insurance_type": "PR", "start": "2026-01-01",
                "benefits": [{"kind": "copay", "service_types": ["98"], "amount": 25.00, "period": "visit"}]}]},
            {"member_id": "BCB987654321", "last_name": "O'Brien", "first_name": "Liam", "birth_date": "1970-12-01",
             "coverages": [{"plan_name": "Harbor Silver HMO", "start": "2024-01-01", "end": "2025-12-31"}]},
        ],
        "providers": [
            {"npi": NPI, "name": "Dr. Elena Rivera", "specialty": "Orthopedics"},
            {"npi": "1111111112", "name": "Northside Imaging"},
        ],
        "claims": [
            {"claim_id": "CLM0001", "member_id": MEMBER, "service_from": "2026-02-10", "charge": 240.50,
             "paid": 180, "status": "paid", "status_date": "2026-02-20"},
        ],
    })
}

pub(super) fn rules() -> Value {
    json!({
        "determinations": [
            {"procedure_code": "72148", "status": "approved", "delay_seconds": 3600},
            {"procedure_code": "70450", "status": "denied", "reason": "Not medically necessary."},
            {"procedure_code": "J0135", "status": "need_more_info", "reason": "Send the last visit note."},
        ],
    })
}

pub(super) fn dataset(data: Value) -> Dataset {
    Dataset {
        id: DatasetId::from_uuid(uuid::Uuid::from_u128(1)),
        name: "members".to_owned(),
        kind: DatasetType::Members,
        data,
    }
}

pub(super) fn simulator(kind: &'static str, config: Value, data: Option<Value>) -> Simulator {
    Simulator {
        id: SimulatorId::from_uuid(uuid::Uuid::from_u128(2)),
        kind: SimulatorType::named(kind),
        name: kind.to_lowercase(),
        config,
        datasets: data.into_iter().map(dataset).collect(),
    }
}

/// The desk that most tests use: a payer with rules and members, and a clearinghouse.
pub(super) fn blueprint(config: Value) -> Arc<Blueprint> {
    let payer = simulator("Payer", config, Some(members()));
    let house = simulator("Clearinghouse", Value::Null, None);
    Arc::new(Blueprint::read(&[&payer, &house]).unwrap())
}

/// A desk, the time, and everything that happened.
pub(super) struct Bench {
    pub(super) desk: PayerDesk,
    pub(super) now: Timestamp,
    pub(super) events: Vec<Recorded>,
    pub(super) changes: Vec<Change>,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::of(blueprint(rules()))
    }

    pub(super) fn of(blueprint: Arc<Blueprint>) -> Self {
        Self {
            desk: PayerDesk::branch(blueprint, Seed::from_number(7)),
            now: START,
            events: Vec::new(),
            changes: Vec::new(),
        }
    }

    pub(super) fn wait(&mut self, seconds: u64) {
        self.now = self.now.plus(Duration::from_secs(seconds));
    }

    pub(super) fn send(&mut self, mut request: Request) -> Response {
        request.at = self.now;
        let around = Around::alone(self.now);
        let decision = self.desk.decide(&request, &around);
        self.events.push(decision.event);
        self.let_happen(decision.changes);
        decision.response
    }

    fn let_happen(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.changes.push(change.clone());
            self.desk.evolve(change);
        }
    }

    pub(super) fn provide(&mut self, provision: &Provision<'_>) -> Result<(), NotProvided> {
        let around = Around::alone(self.now);
        let provided = self.desk.provide(provision, &around)?;
        self.events.push(provided.event);
        self.let_happen(provided.changes);
        Ok(())
    }

    pub(super) fn step(&mut self, step: &Value) -> Result<(), NotProvided> {
        // The second is for steps that are somebody else's.
        let registry = SimulatorRegistry::default()
            .with(PayerPlugin)
            .with(FhirPlugin);
        let step = registry.read_step(step).unwrap();
        self.provide(&Provision::Step(&step))
    }

    pub(super) fn get(&mut self, target: &str) -> (u16, Value) {
        let response = self.send(Request::new(Method::GET, target, START));
        read(&response)
    }

    pub(super) fn call(&mut self, method: Method, target: &str, body: &Value) -> (u16, Value) {
        let response = self.send(Request::new(method, target, START).with_json(body));
        read(&response)
    }

    pub(super) fn post(&mut self, target: &str, body: &Value) -> (u16, Value) {
        self.call(Method::POST, target, body)
    }

    /// The rows of a resource as checks see them now.
    pub(super) fn rows(&self, resource: &str) -> Vec<Value> {
        let mut exhibits = Exhibits::at(self.now);
        self.desk.exhibit(&mut exhibits);
        let rows = exhibits.rows.get(resource);
        rows.into_iter()
            .flatten()
            .map(|row| row.fields.clone().into_owned())
            .collect()
    }

    /// Asserts that the recorded changes alone lead to the same desk.
    pub(super) fn assert_replays(&self) {
        let mut fresh = PayerDesk::branch(self.desk.blueprint.clone(), self.desk.seed);
        for change in &self.changes {
            let kept = serde_json::to_value(change).unwrap();
            let text = kept.to_string();
            let kept: Value = serde_json::from_str(&text).unwrap();
            fresh.evolve(serde_json::from_value(kept).unwrap());
        }
        assert!(fresh == self.desk, "replay leads elsewhere");
    }
}

pub(super) fn read(response: &Response) -> (u16, Value) {
    let body = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
    (response.status.as_u16(), body)
}

pub(super) fn wanted(code: &str) -> Value {
    json!({
        "patient_member_id": MEMBER, "provider_npi": NPI, "procedure_code": code,
        "diagnosis_codes": ["M54.16", "m5126"], "clinical_notes": "Six weeks of therapy.",
        "attachments": ["DocumentReference/1"],
    })
}
