//! The shapes on the wire, whole. Everything is a function of the requests, so nothing is masked.

use std::{sync::Arc, time::Duration};

use http::Method;
use proctor_core::time::Timestamp;
use proctor_fhir_store::{Base, Seed, Settings, State, rest::Request};
use serde_json::{Value, json};

struct Store {
    state: State,
    now: Timestamp,
}

impl Store {
    fn new() -> Self {
        let settings = Arc::new(Settings::at("http://fhir.test/base/"));
        let mut store = Self {
            state: State::branch(Base::empty(), settings, Seed::from_number(1)),
            now: Timestamp::from_millis(1_776_790_800_000),
        };
        store.send(
            Method::PUT,
            "Organization/org",
            Some(json!({"resourceType": "Organization", "id": "org", "name": "Clinic"})),
        );
        store.send(
            Method::PUT,
            "Patient/a",
            Some(json!({
                "resourceType": "Patient", "id": "a", "name": [{"family": "Smith"}],
                "managingOrganization": {"reference": "Organization/org"},
            })),
        );
        store.send(
            Method::PUT,
            "Patient/b",
            Some(json!({"resourceType": "Patient", "id": "b", "name": [{"family": "Smithers"}]})),
        );
        store
    }

    /// Status, headers and body of the answer.
    fn send(&mut self, method: Method, path: &str, body: Option<Value>) -> Value {
        self.now = self.now.plus(Duration::from_secs(1));
        let mut request = Request::new(method, path, self.now);
        if let Some(body) = body {
            request = request.with_body(body.to_string());
        }
        let (response, _) = self.state.apply(request);
        let headers: serde_json::Map<String, Value> = response
            .http_headers()
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()))
            .collect();
        let body: Value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
        json!({"status": response.status.as_u16(), "headers": headers, "body": body})
    }
}

#[test]
fn a_create() {
    let body =
        json!({"resourceType": "Patient", "gender": "female", "meta": {"tag": [{"code": "x"}]}});
    insta::assert_snapshot!(format!(
        "{:#}",
        Store::new().send(Method::POST, "Patient", Some(body))
    ));
}

#[test]
fn a_page_of_a_search_with_an_include_and_a_warning() {
    let path = "Patient?name=smith&nickname=x&_include=Patient:organization&_count=1";
    insta::assert_snapshot!(format!("{:#}", Store::new().send(Method::GET, path, None)));
}

#[test]
fn a_history() {
    let mut store = Store::new();
    store.send(Method::DELETE, "Patient/a", None);
    insta::assert_snapshot!(format!(
        "{:#}",
        store.send(Method::GET, "Patient/a/_history", None)
    ));
}

#[test]
fn a_transaction() {
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [
        {"request": {"method": "GET", "url": "Patient/a"}},
        {"fullUrl": "urn:uuid:1", "request": {"method": "POST", "url": "Patient"}, "resource": {"resourceType": "Patient"}},
        {"request": {"method": "DELETE", "url": "Patient/b"}},
    ]});
    insta::assert_snapshot!(format!(
        "{:#}",
        Store::new().send(Method::POST, "", Some(bundle))
    ));
}

#[test]
fn a_refused_transaction() {
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [
        {"request": {"method": "POST", "url": "Patient"}, "resource": {"resourceType": "Patient", "gender": "neither", "colour": "red"}},
    ]});
    insta::assert_snapshot!(format!(
        "{:#}",
        Store::new().send(Method::POST, "", Some(bundle))
    ));
}

#[test]
fn what_was_deleted() {
    let mut store = Store::new();
    store.send(Method::DELETE, "Patient/a", None);
    insta::assert_snapshot!(format!("{:#}", store.send(Method::GET, "Patient/a", None)));
}

#[test]
fn what_patients_can_be_asked() {
    let statement = Store::new().send(Method::GET, "metadata", None);
    let rest = &statement["body"]["rest"][0];
    let resources = rest["resource"].as_array().unwrap();
    let patient = resources
        .iter()
        .find(|resource| resource["type"] == "Patient")
        .unwrap();
    let shown = json!({
        "patient": patient,
        "interaction": rest["interaction"],
        "searchParam": rest["searchParam"],
        "types": resources.len(),
    });
    insta::assert_snapshot!(format!("{shown:#}"));
}
