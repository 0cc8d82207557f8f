//! A small world, and short words to ask about it.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Method;
use proctor_core::{
    definition::{Check, Criterion, Requirements, Task, World as Where},
    environment::{Entity, SimulatorType},
    id::kinds::{CriterionId, EntityId, EnvironmentId, EventId, TaskId, TaskRunId},
    scoring::{Score, Weight},
    time::Timestamp,
};
use proctor_fhir_store::{Base, Seed, Settings, State, rest::Request};
use proctor_office::{
    files::StoredFile,
    hl7::SentMessage,
    voice::{Call, Speaker, Turn},
};
use proctor_payer::X12Response;
use proctor_simulation::{
    exhibits::{Exhibits, StateRow},
    record::{Actor, RecordedEvent, WorldRecord, Write},
};
use proctor_verify::{CheckRegistry, Context, Finding, Judgement, judge};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const STARTED: Timestamp = Timestamp::from_millis(1_776_790_800_000);

/// Everything that can be in a world. Each thing is a second younger than the one before.
#[derive(Default)]
pub(crate) struct World {
    fhir: Option<State>,
    hl7: Option<Vec<SentMessage>>,
    rows: BTreeMap<String, Vec<(String, Value)>>,
    files: Option<BTreeMap<String, StoredFile>>,
    calls: Option<Vec<Call>>,
    x12: Option<Vec<X12Response>>,
    record: Option<WorldRecord>,
    things: u64,
}

impl World {
    /// A world in which every simulator is there and nothing was done.
    pub(crate) fn untouched() -> Self {
        Self {
            fhir: Some(empty_store()),
            hl7: Some(Vec::new()),
            rows: BTreeMap::new(),
            files: Some(BTreeMap::new()),
            calls: Some(Vec::new()),
            x12: Some(Vec::new()),
            record: None,
            things: 0,
        }
    }

    fn next(&mut self) -> Timestamp {
        self.things += 1;
        STARTED.plus(Duration::from_secs(self.things))
    }

    pub(crate) fn resource(mut self, resource: &Value) -> Self {
        let at = self.next();
        let path = format!(
            "{}/{}",
            resource["resourceType"].as_str().unwrap_or_default(),
            resource["id"].as_str().unwrap_or_default()
        );
        let mut request = Request::new(Method::PUT, &path, at);
        request.body = resource.to_string().into();
        let (response, _) = self.fhir.get_or_insert_with(empty_store).apply(request);
        assert!(response.status.is_success(), "{resource}");
        self
    }

    pub(crate) fn message(self, payload: &str) -> Self {
        self.message_with("AA", payload)
    }

    pub(crate) fn message_with(mut self, ack_code: &str, payload: &str) -> Self {
        let at = self.next();
        let control_id = payload.split('|').nth(9).unwrap_or_default();
        let sent = SentMessage {
            id: format!("evt_{}", self.things),
            payload: payload.to_owned(),
            message_control_id: control_id.to_owned(),
            ack_code: ack_code.to_owned(),
            at,
        };
        self.hl7.get_or_insert_default().push(sent);
        self
    }

    pub(crate) fn row(mut self, resource: &str, key: &str, fields: Value) -> Self {
        self.next();
        let rows = self.rows.entry(resource.to_owned()).or_default();
        rows.push((key.to_owned(), fields));
        self
    }

    pub(crate) fn file(self, path: &str, content: &str) -> Self {
        self.file_of(path, content.as_bytes(), false)
    }

    pub(crate) fn file_of(mut self, path: &str, content: &[u8], is_given: bool) -> Self {
        let at = self.next();
        let file = StoredFile {
            content: Bytes::copy_from_slice(content),
            at,
            is_given,
        };
        self.files
            .get_or_insert_default()
            .insert(path.to_owned(), file);
        self
    }

    pub(crate) fn call(mut self, turns: &[(Speaker, &str)]) -> Self {
        let at = self.next();
        let turns = turns.iter().map(|(speaker, text)| Turn {
            speaker: *speaker,
            text: (*text).to_owned(),
            is_dtmf: false,
            at,
        });
        let call = Call {
            id: format!("call_{}", self.things),
            turns: turns.collect(),
            started_at: at,
            ended_at: None,
        };
        self.calls.get_or_insert_default().push(call);
        self
    }

    /// An answer with one transaction of these segments.
    pub(crate) fn answer(self, transaction: &str, body: &str) -> Self {
        let number = format!("{:09}", self.things + 1);
        let count = body.matches('~').count() + 2;
        let envelope = format!(
            "ISA*00*          *00*          *ZZ*PAYER          *ZZ*PROVIDER       *260421*1700*^*00501*{number}*0*T*:~\
             GS*HB*PAYER*PROVIDER*20260421*1700*1*X*005010X279A1~ST*{transaction}*0001~{body}SE*{count}*0001~GE*1*1~IEA*1*{number}~"
        );
        self.raw_answer(transaction, &number, &envelope)
    }

    pub(crate) fn raw_answer(mut self, transaction: &str, number: &str, raw: &str) -> Self {
        let at = self.next();
        let response = X12Response {
            transaction: transaction.to_owned(),
            control_number: number.to_owned(),
            raw: raw.to_owned(),
            at,
        };
        self.x12.get_or_insert_default().push(response);
        self
    }

    /// A request of the agent, with what it changed.
    pub(crate) fn happened(mut self, kind: &str, payload: Value, writes: Vec<Write>) -> Self {
        let at = self.next();
        let record = self.record.get_or_insert_default();
        let simulator = match kind {
            "fhir_request" => "Fhir",
            "fax_outbound" => "Fax",
            _ => "Files",
        };
        let place = record.push_event(RecordedEvent {
            id: EventId::from_uuid(Uuid::from_u128(u128::from(self.things))),
            simulator: SimulatorType::named(simulator),
            name: simulator.to_owned(),
            kind: kind.to_owned(),
            direction: "outbound".to_owned(),
            payload,
            at,
            actor: Actor::Agent,
        });
        record.push_writes(0, place, writes);
        self
    }

    pub(crate) fn exhibits(&self) -> Exhibits<'_> {
        let row = |(key, fields)| StateRow {
            key: Cow::Borrowed(String::as_str(key)),
            fields: Cow::Borrowed(fields),
            at: STARTED,
        };
        let rows = self.rows.iter().map(|(name, rows)| {
            let rows = rows.iter().map(|(key, fields)| row((key, fields)));
            (name.as_str(), rows.collect())
        });
        let mut exhibits = Exhibits::at(context().now);
        exhibits.rows = rows.collect();
        exhibits.show(&self.fhir);
        if let Some(sent) = &self.hl7 {
            exhibits.show(sent);
        }
        if let Some(files) = &self.files {
            exhibits.show_named(files.iter().map(|(path, file)| (path.as_str(), file)));
        }
        if let Some(calls) = &self.calls {
            exhibits.show(calls);
        }
        if let Some(answers) = &self.x12 {
            exhibits.show(answers);
        }
        exhibits.show(&self.record);
        exhibits
    }

    /// What is found out about one assertion.
    pub(crate) fn check(&self, assertion: Value) -> Finding {
        self.judge(&task(vec![criterion("It is done", assertion)]))
            .findings
            .remove(0)
    }

    pub(crate) fn judge(&self, task: &Task) -> Judgement {
        judge(
            task,
            &CheckRegistry::shipped(),
            &self.exhibits(),
            &context(),
        )
    }
}

fn empty_store() -> State {
    let settings = Arc::new(Settings::at("http://fhir.test"));
    State::branch(Base::empty(), settings, Seed::from_number(1))
}

pub(crate) fn context() -> Context {
    Context {
        task_run: TaskRunId::from_uuid(Uuid::from_u128(7)),
        started_at: STARTED,
        now: STARTED.plus(Duration::from_secs(3_600)),
    }
}

pub(crate) fn criterion(label: &str, assertion: Value) -> Criterion {
    Criterion {
        id: CriterionId::from_uuid(Uuid::from_u128(1)),
        label: label.to_owned(),
        weight: Weight::default(),
        axis: None,
        input_entity: Some(EntityId::from_uuid(Uuid::from_u128(10))),
        key: None,
        critical: false,
        all: false,
        requires: Vec::new(),
        check: Check::Assertion(assertion),
    }
}

/// A task with two entities: `ada`, whom criteria mean by `entity`, and `order`.
pub(crate) fn task(criteria: Vec<Criterion>) -> Task {
    let entity = |number, key: &str, data| Entity {
        id: EntityId::from_uuid(Uuid::from_u128(number)),
        kind: "thing".to_owned(),
        key: key.to_owned(),
        data,
    };
    Task {
        id: TaskId::from_uuid(Uuid::from_u128(2)),
        name: "A task".to_owned(),
        timeout: None,
        tags: Vec::new(),
        brief: Value::Null,
        world: Where::Playground {
            environment: EnvironmentId::from_uuid(Uuid::from_u128(3)),
            frozen: None,
            scenario: Vec::new(),
        },
        entities: vec![
            entity(
                10,
                "ada",
                json!({"id": "ada", "mrn": "12345", "age": 36, "name": [{"family": "Lovelace, King", "given": ["Ada"]}], "middle": null}),
            ),
            entity(
                11,
                "order",
                json!({"code": "72148", "total": 240.5, "parts": [1, 2]}),
            ),
        ],
        clock: Default::default(),
        capture: BTreeMap::new(),
        criteria,
        reference: Value::Null,
        validation: None,
        scoring_timeout: None,
        requires: Requirements::default(),
        metadata: BTreeMap::new(),
    }
}

/// A finding as a snapshot shows it, with what is true of every finding checked.
pub(crate) fn shown(finding: &Finding) -> String {
    let score = finding.score;
    assert_eq!(finding.passed, score == Score::ONE, "{finding:?}");
    let verdict = if finding.passed { "passed" } else { "failed" };
    format!(
        "{verdict}, score {}\n{}\n{:#}",
        score.value(),
        finding.details,
        finding.evidence
    )
}

/// Several findings, each under a heading.
pub(crate) fn all_shown(findings: &[(&str, Finding)]) -> String {
    let parts = findings
        .iter()
        .map(|(heading, finding)| format!("## {heading}\n{}\n", shown(finding)));
    parts.collect::<Vec<_>>().join("\n")
}
