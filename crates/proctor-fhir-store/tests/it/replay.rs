//! A store is a function of its requests, and of its journal.

use std::{sync::Arc, time::Duration};

use http::Method;
use proctor_core::time::Timestamp;
use proctor_fhir_store::{
    Base, BaseBuilder, Seed, Settings, State,
    change::{Effects, Event, replay},
    interaction::Interaction,
    rest::{Request, Response},
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a client may do, with ids and values from small sets so that things meet.
#[derive(Clone, Debug)]
enum Step {
    Create(Value, Option<String>),
    Put(String, Value, Option<u32>),
    ConditionalPut(String, Value),
    Patch(String, Value),
    Delete(String),
    ConditionalDelete(String),
    Transaction(Vec<Value>, bool),
    Read(String),
    Nonsense(String),
}

fn id() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d", "e"]).prop_map(str::to_owned)
}

fn patient() -> impl Strategy<Value = Value> {
    let gender = prop::sample::select(vec!["male", "female", "other", "unsure"]);
    let birth = prop::sample::select(vec!["1970", "1970-05", "1970-05-17", "1980-01-01", "19"]);
    let family = prop::sample::select(vec!["Müller", "Mulligan", "Smith"]);
    (prop::option::of(gender), prop::option::of(birth), family).prop_map(
        |(gender, birth, family)| {
            let mut patient = json!({
                "resourceType": "Patient",
                "name": [{"family": family}],
                "identifier": [{"system": "urn:s", "value": family}],
            });
            if let Some(gender) = gender {
                patient["gender"] = gender.into();
            }
            if let Some(birth) = birth {
                patient["birthDate"] = birth.into();
            }
            patient
        },
    )
}

fn observation() -> impl Strategy<Value = Value> {
    (id(), 60..90i32, prop::sample::select(vec!["1", "2"])).prop_map(|(subject, value, code)| {
        json!({
            "resourceType": "Observation", "status": "final",
            "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
            "subject": {"reference": format!("Patient/{subject}")},
            "valueQuantity": {"value": value, "unit": "kg"},
        })
    })
}

fn criteria() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "gender=male",
        "identifier=urn:s|Smith",
        "family=Mul&birthdate=lt1975",
        "nothing=1",
        "_id=a",
    ])
    .prop_map(str::to_owned)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (prop_oneof![patient(), observation()], prop::option::of(criteria())).prop_map(|(body, condition)| Step::Create(body, condition)),
        4 => (id(), patient(), prop::option::weighted(0.3, 1..4u32)).prop_map(|(id, body, version)| Step::Put(id, body, version)),
        1 => (criteria(), patient()).prop_map(|(criteria, body)| Step::ConditionalPut(criteria, body)),
        1 => (id(), prop::sample::select(vec!["male", "wrong"])).prop_map(|(id, gender)| Step::Patch(id, json!([{"op": "add", "path": "/gender", "value": gender}]))),
        2 => id().prop_map(Step::Delete),
        1 => criteria().prop_map(Step::ConditionalDelete),
        2 => (prop::collection::vec((id(), patient()), 1..4), any::<bool>()).prop_map(|(writes, is_transaction)| {
            let entries = writes.into_iter().enumerate().map(|(place, (id, mut body))| {
                if place % 2 == 0 {
                    body["id"] = id.clone().into();
                    json!({"request": {"method": "PUT", "url": format!("Patient/{id}")}, "resource": body})
                } else {
                    json!({"fullUrl": format!("urn:uuid:{place}"), "request": {"method": "POST", "url": "Patient"}, "resource": body})
                }
            });
            Step::Transaction(entries.collect(), is_transaction)
        }),
        1 => id().prop_map(Step::Read),
        1 => ".{0,20}".prop_map(Step::Nonsense),
    ]
}

fn request(step: &Step, at: Timestamp) -> Request {
    let with = |method: Method, path: &str, body: &Value| {
        Request::new(method, path, at).with_body(body.to_string())
    };
    match step {
        Step::Create(body, condition) => {
            let path = format!("/{}", body["resourceType"].as_str().unwrap());
            let mut request = with(Method::POST, &path, body);
            request.headers.if_none_exist = condition.clone();
            request
        }
        Step::Put(id, body, version) => {
            let mut body = body.clone();
            body["id"] = id.clone().into();
            let mut request = with(Method::PUT, &format!("Patient/{id}"), &body);
            request.headers.if_match = version.map(|version| format!("W/\"{version}\""));
            request
        }
        Step::ConditionalPut(criteria, body) => {
            with(Method::PUT, &format!("Patient?{criteria}"), body)
        }
        Step::Patch(id, patch) => with(Method::PATCH, &format!("Patient/{id}"), patch),
        Step::Delete(id) => Request::new(Method::DELETE, &format!("Patient/{id}"), at),
        Step::ConditionalDelete(criteria) => {
            Request::new(Method::DELETE, &format!("Patient?{criteria}"), at)
        }
        Step::Transaction(entries, is_transaction) => {
            let kind = if *is_transaction {
                "transaction"
            } else {
                "batch"
            };
            let body = json!({"resourceType": "Bundle", "type": kind, "entry": entries});
            with(Method::POST, "", &body)
        }
        Step::Read(id) => Request::new(Method::GET, &format!("Patient/{id}"), at),
        Step::Nonsense(text) => Request::new(Method::POST, text, at).with_body(text.clone()),
    }
}

fn base() -> Arc<Base> {
    let mut builder = BaseBuilder::new(Seed::from_number(3), Timestamp::from_millis(0));
    for resource in base_resources() {
        builder.load(resource).unwrap();
    }
    Arc::new(builder.finish())
}

fn base_resources() -> Vec<Value> {
    vec![
        json!({"resourceType": "Patient", "id": "a", "gender": "male", "birthDate": "1970-05-17", "name": [{"family": "Smith"}]}),
        json!({"resourceType": "Patient", "id": "b", "gender": "female", "birthDate": "1960", "name": [{"family": "Mulligan"}]}),
        json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"coding": [{"code": "1"}]}, "subject": {"reference": "Patient/a"}, "valueQuantity": {"value": 70}}),
    ]
}

fn branch(base: Arc<Base>) -> State {
    State::branch(
        base,
        Arc::new(Settings::at("http://x")),
        Seed::from_number(5),
    )
}

fn run(state: &mut State, steps: &[Step]) -> Vec<(Response, Event)> {
    let mut at = Timestamp::from_millis(1_000_000);
    steps
        .iter()
        .map(|step| {
            at = at.plus(Duration::from_millis(7));
            state.apply(request(step, at))
        })
        .collect()
}

/// Searches of every kind; what they find must not depend on how the data came to be there.
const SEARCHES: &[&str] = &[
    "Patient",
    "Patient?gender=male",
    "Patient?gender:not=male",
    "Patient?gender:missing=true",
    "Patient?family=mul",
    "Patient?family:exact=Smith",
    "Patient?birthdate=1970",
    "Patient?birthdate=gt1970-05-01",
    "Patient?birthdate=le1970",
    "Patient?identifier=urn:s|Smith",
    "Patient?_has:Observation:patient:code=1",
    "Patient?gender=male,female&birthdate=ge1960&_sort=-birthdate,family&_count=3",
    "Patient?_sort=family&_count=2",
    "Patient?_revinclude=Observation:patient&_id=a,b,c",
    "Observation?patient.gender=male",
    "Observation?subject=Patient/a",
    "Observation?value-quantity=ge70",
    "Observation?code-value-quantity=1$gt65",
    "Observation?_include=Observation:subject",
    "Patient/a/*",
    "?_type=Patient,Observation&_sort=_id",
];

fn found(state: &State, path: &str) -> Vec<String> {
    let request = Request::new(Method::GET, path, Timestamp::from_millis(9_000_000));
    let response = state.answer(&request).unwrap();
    let bundle: Value = serde_json::from_slice(&response.body).unwrap();
    let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
    let name = |entry: &Value| {
        format!(
            "{}/{} {}",
            entry["resource"]["resourceType"], entry["resource"]["id"], entry["search"]["mode"]
        )
    };
    let mut names: Vec<String> = entries.iter().map(name).collect();
    if !path.contains("_sort") {
        names.sort();
    }
    names.push(bundle["total"].to_string());
    names
}

/// Reads whose answers are made in ways of their own.
const READS: &[&str] = &[
    "Patient/a",
    "Patient/a/_history/1",
    "Patient/a?_pretty=true",
    "Patient/b?_elements=gender",
    "Patient/nobody",
    "Patient/a/_history",
    "_history?_count=5",
    "Patient?_summary=true",
    "Patient?_pretty=true&gender=male",
    "Patient?unknown=1",
    "Patient/a/$everything",
];

/// A batch that reads in every way, and writes.
fn mixed_batch(at: Timestamp) -> Request {
    let mut entries: Vec<Value> = SEARCHES
        .iter()
        .chain(READS)
        .filter(|url| !url.contains("_pretty"))
        .map(|url| json!({"request": {"method": "GET", "url": url}}))
        .collect();
    entries.push(json!({
        "request": {"method": "PUT", "url": "Patient/a"},
        "resource": {"resourceType": "Patient", "id": "a", "gender": "other"},
    }));
    let body = json!({"resourceType": "Bundle", "type": "batch", "entry": entries});
    let mut request = Request::new(Method::POST, "", at).with_body(body.to_string());
    request.headers.prefer = Some("return=representation".to_owned());
    request
}

#[test]
fn a_first_transaction_that_fails_leaves_the_store_as_new() {
    let entries = json!([
        {"fullUrl": "urn:uuid:1", "request": {"method": "POST", "url": "Patient"}, "resource": {"resourceType": "Patient"}},
        {"request": {"method": "PUT", "url": "Patient/a"}, "resource": {"resourceType": "Patient", "id": "a", "gender": "unsure"}},
    ]);
    let body = json!({"resourceType": "Bundle", "type": "transaction", "entry": entries});
    let request = Request::new(Method::POST, "", Timestamp::from_millis(1_000_000));
    let (mut state, untouched) = (branch(base()), branch(base()));
    let (response, _) = state.apply(request.with_body(body.to_string()));
    assert_eq!(response.status.as_u16(), 422);
    assert!(state == untouched);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_state_rebuilt_from_the_journal_is_the_same(steps in prop::collection::vec(step(), 0..40)) {
        let base = base();
        let mut state = branch(base.clone());
        let events = run(&mut state, &steps);
        let mut rebuilt = branch(base);
        for (_, event) in &events {
            let written: Value = serde_json::from_slice(&event.to_json()).unwrap();
            if let Some(effects) = Effects::from_json(&written).unwrap() {
                prop_assert_eq!(&effects.changes, &event.changes);
                rebuilt.replay(&effects.changes, effects.drawn).unwrap();
            }
        }
        prop_assert_eq!(state.digest(), rebuilt.digest());
        prop_assert!(state == rebuilt);
        prop_assert_eq!(state.resource_count(), rebuilt.resource_count());
    }

    #[test]
    fn the_same_requests_give_the_same_answers_and_events(steps in prop::collection::vec(step(), 0..25)) {
        let (mut one, mut other) = (branch(base()), branch(base()));
        let (first, second) = (run(&mut one, &steps), run(&mut other, &steps));
        for ((answer, event), (other_answer, other_event)) in first.iter().zip(&second) {
            prop_assert_eq!(&answer.body, &other_answer.body);
            prop_assert_eq!(event.to_json(), other_event.to_json());
        }
        prop_assert_eq!(one.digest(), other.digest());
    }

    #[test]
    fn no_request_is_answered_with_a_server_error(steps in prop::collection::vec(step(), 0..15), path in "[A-Za-z/?$_=:.&|,%-]{0,40}") {
        let mut state = branch(base());
        for (response, _) in run(&mut state, &steps) {
            prop_assert!(response.status.as_u16() < 500);
        }
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            let (response, _) = state.apply(Request::new(method, &path, Timestamp::from_millis(5)));
            prop_assert!(response.status.as_u16() < 500);
        }
    }

    #[test]
    fn a_refused_request_leaves_no_trace(steps in prop::collection::vec(step(), 0..25)) {
        let mut state = branch(base());
        let mut at = Timestamp::from_millis(1_000_000);
        for step in &steps {
            at = at.plus(Duration::from_millis(7));
            let before = state.digest();
            let (response, event) = state.apply(request(step, at));
            if response.status.as_u16() >= 400 {
                prop_assert!(event.changes.is_empty());
                prop_assert_eq!(before, state.digest());
            }
        }
    }

    #[test]
    fn searches_find_the_same_whether_data_was_seeded_or_written(steps in prop::collection::vec(step(), 0..25)) {
        let mut seeded = branch(base());
        let mut written = branch(Base::empty());
        for (place, resource) in (0..).zip(base_resources()) {
            let path = format!("{}/{}", resource["resourceType"].as_str().unwrap(), resource["id"].as_str().unwrap());
            let request = Request::new(Method::PUT, &path, Timestamp::from_millis(place)).with_body(resource.to_string());
            prop_assert_eq!(written.apply(request).0.status.as_u16(), 201);
        }
        run(&mut seeded, &steps);
        run(&mut written, &steps);
        for search in SEARCHES {
            prop_assert_eq!(found(&seeded, search), found(&written, search), "{}", search);
        }
    }
}

proptest! {
    // Each case asks a great deal.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_event_tells_request_and_answer_byte_for_byte(steps in prop::collection::vec(step(), 0..25)) {
        let base = base();
        let mut state = branch(base.clone());
        let mut events = run(&mut state, &steps);
        let at = Timestamp::from_millis(2_000_000);
        for path in SEARCHES.iter().chain(READS) {
            for method in [Method::GET, Method::HEAD] {
                events.push(state.apply(Request::new(method, path, at)));
            }
        }
        events.push(state.apply(mixed_batch(at)));
        events.push(state.apply(Request::new(Method::POST, "Patient", at).with_body(&b"\xff{"[..])));
        // A store that knows only the journal, and the newest versions at that.
        let mut rebuilt = branch(base);
        for (_, event) in &events {
            replay(&mut rebuilt, &event.to_json()).unwrap();
        }
        for (response, event) in &events {
            let told = Interaction::read(&rebuilt, &event.to_json()).unwrap();
            prop_assert_eq!(told.len(), 1);
            prop_assert_eq!(&told[0].response_body, &response.body);
            prop_assert_eq!(&told[0].request_body, &event.request.body);
            prop_assert_eq!(told[0].status, response.status.as_u16());
            prop_assert_eq!(told[0].method.as_str(), event.request.method.as_str());
        }
        let lines = events.iter().map(|(_, event)| event.to_json()).collect::<Vec<_>>().join(&b'\n');
        prop_assert_eq!(Interaction::read(&rebuilt, &lines).unwrap().len(), events.len());
    }
}
