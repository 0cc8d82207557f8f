//! Operations and what the store says of itself.

use http::Method;
use serde_json::json;

use crate::{
    checks,
    support::{Group, Store, entries, text},
};

pub(crate) fn group() -> Group {
    checks! {
        "Operations":
        "`Patient/id/$everything`: the patient, their compartment, what it refers to" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Practitioner", "id": "dr"}));
            store.put(json!({"resourceType": "Patient", "id": "a", "generalPractitioner": [{"reference": "Practitioner/dr"}]}));
            store.put(json!({"resourceType": "Patient", "id": "b"}));
            store.put(json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"}, "subject": {"reference": "Patient/a"}}));
            let bundle = store.get("Patient/a/$everything").expect(200);
            let ids: Vec<String> = entries(&bundle).iter().map(|entry| text(&entry["resource"]["id"])).collect();
            assert_eq!(ids, ["a", "o", "dr"]);
            assert_eq!(store.ids("Patient/a/$everything?_type=Observation"), ["o"]);
            assert_eq!(store.ids("Patient/a/$everything?_since=2026-04-21T17:00:04Z"), ["o"]);
            assert_eq!(store.ask(Method::POST, "Patient/a/$everything").send().status, 200);
            store.get("Patient/zzz/$everything").expect(404);
            store.get("Patient/a/$everything?mood=x").refused(400, "mood");
        },
        "`$validate`: issues with their places, or that all is well; nothing is stored" => || {
            let mut store = Store::new();
            let good = store.post("Patient/$validate", json!({"resourceType": "Patient", "gender": "male"})).expect(200);
            assert_eq!(good["issue"][0]["severity"], "information");
            let bad = json!({"resourceType": "Patient", "gender": "neither", "birthday": "x", "birthDate": "1970-13-01"});
            let wrapped = json!({"resourceType": "Parameters", "parameter": [{"name": "resource", "resource": bad}]});
            for body in [bad, wrapped] {
                let outcome = store.post("Patient/$validate", body).expect(200);
                let mut places: Vec<String> = outcome["issue"].as_array().unwrap().iter().map(|issue| text(&issue["expression"][0])).collect();
                places.sort();
                assert_eq!(places, ["Patient.birthDate", "Patient.birthday", "Patient.gender"]);
            }
            assert!(store.ids("Patient").is_empty());
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            store.get("Patient/a/$validate").expect(200);
        },
        "validation on write: unknown elements, cardinality, formats, required codes → 422 with places" => || {
            let mut store = Store::new();
            let outcome = store.post("Observation", json!({"resourceType": "Observation", "status": "done", "valueString": 7, "colour": "red"})).expect(422);
            let places = outcome["issue"].to_string();
            for place in ["Observation.status", "Observation.code", "Observation.value", "Observation.colour"] {
                assert!(places.contains(place), "{place} in {places}");
            }
        },
        "validation can be relaxed: `Prefer: validation=none`, or by configuration" => || {
            let mut store = Store::new();
            let odd = json!({"resourceType": "Patient", "colour": "red"});
            store.ask(Method::POST, "Patient").header("Prefer", "validation=none").json(odd).send().expect(201);
        },
        "`metadata`: types, interactions and search parameters that work" => || {
            let mut store = Store::new();
            let statement = store.get("metadata").expect(200);
            assert_eq!(statement["fhirVersion"], "4.0.1");
            let resources = statement["rest"][0]["resource"].as_array().unwrap().clone();
            assert!(resources.len() > 140);
            for resource in &resources {
                let kind = text(&resource["type"]);
                for parameter in resource["searchParam"].as_array().unwrap() {
                    let code = text(&parameter["name"]);
                    let value = match parameter["type"].as_str().unwrap() {
                        "date" => "2020-01-01",
                        "number" | "quantity" => "1",
                        "composite" | "special" => continue,
                        _ => "x",
                    };
                    let reply = store.ask(Method::GET, &format!("{kind}?{code}={value}&_sort={code}")).header("Prefer", "handling=strict").send();
                    assert_eq!(reply.status, 200, "{kind}?{code}: {}", reply.json);
                }
                for include in resource["searchInclude"].as_array().unwrap() {
                    store.get(&format!("{kind}?_include={}", text(include))).expect(200);
                }
            }
        },
    }
}
