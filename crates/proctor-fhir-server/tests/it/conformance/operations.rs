//! Operations and what the store says of itself.

use http::Method;
use serde_json::json;

use super::support::{Group, Store, entries, link, text};
use crate::checks;

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
        "`Patient/$everything`: all patients, what belongs to any of them, and no other" => || {
            let mut store = Store::new();
            for id in ["a", "b", "gone"] {
                store.put(json!({"resourceType": "Patient", "id": id}));
            }
            store.put(json!({"resourceType": "Group", "id": "g", "type": "person", "actual": true}));
            store.put(json!({"resourceType": "Condition", "id": "c", "subject": {"reference": "Patient/b"}}));
            // R4 does not count devices among what belongs to a patient.
            store.put(json!({"resourceType": "Device", "id": "d", "patient": {"reference": "Patient/b"}}));
            for (id, subject) in [("of-a", "Patient/a"), ("of-b", "Patient/b"), ("of-g", "Group/g"), ("of-gone", "Patient/gone"), ("of-nobody", "Patient/nobody")] {
                store.put(json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"text": "x"}, "subject": {"reference": subject}}));
            }
            store.put(json!({"resourceType": "Observation", "id": "alone", "status": "final", "code": {"text": "x"}}));
            store.delete("Patient/gone");
            let all = store.set("Patient/$everything");
            assert_eq!(all, ["a", "b", "c", "of-a", "of-b"]);
            let mut each = store.set("Patient/a/$everything");
            each.extend(store.set("Patient/b/$everything"));
            each.sort();
            assert_eq!(all, each);
        },
        "pages of `$everything` lead to its end" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            for number in 0..5 {
                store.put(json!({"resourceType": "Observation", "id": format!("o{number}"), "status": "final", "code": {"text": "x"}, "subject": {"reference": "Patient/a"}}));
            }
            for path in ["Patient/a/$everything?_since=2026-04-21&_count=2", "Patient/$everything?_since=2026-04-21&_count=2"] {
                let mut next = Some(path.to_owned());
                let mut found = Vec::new();
                while let Some(path) = next {
                    let page = store.get(&path).expect(200);
                    found.extend(entries(&page).iter().filter(|entry| entry["search"]["mode"] == "match").map(|entry| text(&entry["resource"]["id"])));
                    next = link(&page, "next");
                }
                assert_eq!(found, ["a", "o0", "o1", "o2", "o3", "o4"]);
            }
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
        "`$validate` on the whole store: any resource, or Parameters with one" => || {
            let mut store = Store::new();
            let bad = json!({"resourceType": "Observation", "status": "final", "code": {"text": "x"}, "valueInteger": "7"});
            let wrapped = json!({"resourceType": "Parameters", "parameter": [
                {"name": "mode", "valueCode": "create"}, {"name": "resource", "resource": bad}]});
            for body in [bad, wrapped] {
                let outcome = store.post("$validate", body).expect(200);
                assert_eq!(outcome["issue"][0]["expression"], json!(["Observation.value.ofType(integer)"]));
            }
            let nothing = json!({"resourceType": "Parameters", "parameter": [{"name": "mode", "valueCode": "create"}]});
            store.post("$validate", nothing).expect(400);
            store.get("$validate").expect(405);
            store.post("$translate", json!({})).expect(404);
            let statement = store.get("metadata").expect(200);
            assert_eq!(statement["rest"][0]["operation"][0]["name"], "validate");
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
