//! Batches and transactions.

use http::Method;
use serde_json::{Value, json};

use super::support::{Group, Reply, Store, text};
use crate::checks;

fn bundle(kind: &str, entries: Value) -> Value {
    json!({"resourceType": "Bundle", "type": kind, "entry": entries})
}

fn transact(store: &mut Store, entries: Value) -> Reply {
    store.post("", bundle("transaction", entries))
}

fn observation(subject: &str) -> Value {
    json!({"resourceType": "Observation", "status": "final", "code": {"text": "x"}, "subject": {"reference": subject}})
}

fn statuses(reply: &Value) -> Vec<String> {
    let entries = reply["entry"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| text(&entry["response"]["status"])[..3].to_owned())
        .collect()
}

pub(crate) fn group() -> Group {
    checks! {
        "Batch and transaction":
        "batch: every entry by itself, failures included" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            let reply = store.post("", bundle("batch", json!([
                {"request": {"method": "GET", "url": "Patient/a"}},
                {"request": {"method": "GET", "url": "Patient/zzz"}},
                {"request": {"method": "POST", "url": "Patient"}, "resource": {"resourceType": "Patient"}},
                {"request": {"method": "POST", "url": "Patient"}, "resource": {"resourceType": "Patient", "gender": "x"}},
                {"request": {"method": "DELETE", "url": "Patient/a"}},
                {"request": {"method": "GET", "url": "Patient?gender=male"}},
            ]))).expect(200);
            assert_eq!(reply["type"], "batch-response");
            assert_eq!(statuses(&reply), ["200", "404", "201", "422", "204", "200"]);
            assert_eq!(reply["entry"][0]["resource"]["id"], "a");
            assert_eq!(reply["entry"][1]["response"]["outcome"]["resourceType"], "OperationOutcome");
            assert_eq!(reply["entry"][5]["resource"]["type"], "searchset");
            assert_eq!(store.ids("Patient").len(), 1);
        },
        "transaction: `urn:uuid` references are rewritten, in any order of entries" => || {
            let mut store = Store::new();
            let reply = transact(&mut store, json!([
                {"fullUrl": "urn:uuid:00000000-0000-4000-8000-000000000002", "request": {"method": "POST", "url": "Observation"},
                    "resource": observation("urn:uuid:00000000-0000-4000-8000-000000000001")},
                {"fullUrl": "urn:uuid:00000000-0000-4000-8000-000000000001", "request": {"method": "POST", "url": "Patient"},
                    "resource": {"resourceType": "Patient", "name": [{"family": "Smith"}]}},
            ])).expect(200);
            assert_eq!(reply["type"], "transaction-response");
            assert_eq!(statuses(&reply), ["201", "201"]);
            assert!(text(&reply["entry"][0]["response"]["location"]).contains("/Observation/"));
            assert_eq!(store.ids("Observation?patient.name=smith").len(), 1);
        },
        "transaction: DELETE, then POST, then PUT and PATCH, then GET" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "old", "identifier": [{"value": "7"}]}));
            store.put(json!({"resourceType": "Patient", "id": "patched"}));
            let reply = transact(&mut store, json!([
                {"request": {"method": "GET", "url": "Patient?identifier=7"}},
                {"request": {"method": "PUT", "url": "Patient/put"}, "resource": {"resourceType": "Patient", "id": "put", "identifier": [{"value": "7"}]}},
                {"request": {"method": "PATCH", "url": "Patient/patched"}, "resource": {"resourceType": "Parameters", "parameter": [{"name": "operation", "part": [
                    {"name": "type", "valueCode": "add"}, {"name": "path", "valueString": "Patient"}, {"name": "name", "valueString": "gender"}, {"name": "value", "valueCode": "male"}]}]}},
                {"request": {"method": "POST", "url": "Patient", "ifNoneExist": "identifier=7"}, "resource": {"resourceType": "Patient", "identifier": [{"value": "7"}]}},
                {"request": {"method": "DELETE", "url": "Patient?identifier=7"}},
            ])).expect(200);
            assert_eq!(statuses(&reply), ["200", "201", "200", "201", "204"]);
            assert_eq!(reply["entry"][0]["resource"]["total"], 2);
            assert_eq!(store.ids("Patient?gender=male"), ["patched"]);
            store.get("Patient/old").expect(410);
        },
        "transaction: `ifNoneExist` finds what is there, and references point at it" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "there", "identifier": [{"system": "urn:s", "value": "1"}]}));
            let reply = transact(&mut store, json!([
                {"fullUrl": "urn:uuid:p", "request": {"method": "POST", "url": "Patient", "ifNoneExist": "identifier=urn:s|1"},
                    "resource": {"resourceType": "Patient", "identifier": [{"system": "urn:s", "value": "1"}]}},
                {"request": {"method": "POST", "url": "Observation"}, "resource": observation("urn:uuid:p")},
            ])).expect(200);
            assert_eq!(statuses(&reply), ["200", "201"]);
            assert_eq!(store.ids("Observation?subject=Patient/there").len(), 1);
            assert_eq!(store.ids("Patient"), ["there"]);
        },
        "transaction: conditional references, conditional updates" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "there", "identifier": [{"system": "urn:s", "value": "1"}]}));
            transact(&mut store, json!([
                {"request": {"method": "POST", "url": "Observation"}, "resource": observation("Patient?identifier=urn:s|1")},
                {"request": {"method": "PUT", "url": "Patient?identifier=urn:s|1"}, "resource": {"resourceType": "Patient", "active": true, "identifier": [{"system": "urn:s", "value": "1"}]}},
            ])).expect(200);
            assert_eq!(store.ids("Observation?subject=Patient/there").len(), 1);
            assert_eq!(store.get("Patient/there").expect(200)["meta"]["versionId"], "2");
            transact(&mut store, json!([
                {"request": {"method": "POST", "url": "Observation"}, "resource": observation("Patient?identifier=urn:s|2")},
            ])).refused(412, "matches nothing");
        },
        "transaction: a failure anywhere leaves nothing behind, not even a drawn id" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male"}));
            store.put(json!({"resourceType": "Patient", "id": "b"}));
            let (before, drawn) = (store.state.digest(), store.state.drawn());
            let reply = transact(&mut store, json!([
                {"request": {"method": "DELETE", "url": "Patient/b"}},
                {"request": {"method": "POST", "url": "Patient"}, "resource": {"resourceType": "Patient"}},
                {"request": {"method": "PUT", "url": "Patient/a"}, "resource": {"resourceType": "Patient", "id": "a", "gender": "female"}},
                {"request": {"method": "PUT", "url": "Patient/new"}, "resource": {"resourceType": "Patient", "id": "new", "birthDate": "19"}},
            ]));
            let said = text(&reply.json["issue"][0]["expression"][0]);
            assert!(said.starts_with("Bundle.entry[3].resource.birthDate"), "{said}");
            reply.expect(422);
            assert_eq!((store.state.digest(), store.state.drawn()), (before, drawn));
            assert_eq!(store.ids("Patient?gender=male"), ["a"]);
            assert_eq!(store.set("Patient"), ["a", "b"]);
        },
        "transaction: `ifMatch` that is stale → 412" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            let update = json!([{"request": {"method": "PUT", "url": "Patient/a", "ifMatch": "W/\"1\""}, "resource": {"resourceType": "Patient", "id": "a"}}]);
            transact(&mut store, update.clone()).expect(200);
            transact(&mut store, update).expect(412);
        },
        "transaction: duplicate `fullUrl`, the same resource twice, references to nowhere → 400" => || {
            let mut store = Store::new();
            let patient = json!({"resourceType": "Patient"});
            transact(&mut store, json!([
                {"fullUrl": "urn:uuid:1", "request": {"method": "POST", "url": "Patient"}, "resource": patient},
                {"fullUrl": "urn:uuid:1", "request": {"method": "POST", "url": "Patient"}, "resource": patient},
            ])).refused(400, "twice");
            transact(&mut store, json!([
                {"request": {"method": "PUT", "url": "Patient/a"}, "resource": {"resourceType": "Patient", "id": "a"}},
                {"request": {"method": "DELETE", "url": "Patient/a"}},
            ])).refused(400, "another entry");
            transact(&mut store, json!([
                {"request": {"method": "POST", "url": "Observation"}, "resource": observation("urn:uuid:nowhere")},
            ])).refused(400, "urn:uuid:nowhere");
            assert!(store.ids("Patient").is_empty());
        },
        "bundles: too large → 413, no request or another type → 400; `Prefer: return=representation` shows what was stored" => || {
            let mut store = Store::new();
            let many: Vec<Value> = (0..10_001).map(|_| json!({"request": {"method": "GET", "url": "Patient/a"}})).collect();
            store.post("", bundle("batch", json!(many))).refused(413, "10001 entries");
            transact(&mut store, json!([{"resource": {"resourceType": "Patient"}}])).refused(400, "request");
            store.post("", bundle("collection", json!([]))).refused(400, "collection");
            store.post("", json!({"resourceType": "Patient"})).refused(400, "only a Bundle");
            let body = bundle("transaction", json!([{"request": {"method": "POST", "url": "Patient"}, "resource": {"resourceType": "Patient"}}]));
            let reply = store.ask(Method::POST, "").header("Prefer", "return=representation").json(body).send().expect(200);
            assert_eq!(reply["entry"][0]["resource"]["resourceType"], "Patient");
        },
    }
}
