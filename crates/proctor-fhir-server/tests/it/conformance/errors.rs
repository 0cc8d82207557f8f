//! Bad input: an `OperationOutcome` that helps, never a 500.

use http::Method;
use serde_json::json;

use super::support::{Group, Store};
use crate::checks;

pub(crate) fn group() -> Group {
    checks! {
        "Bad input":
        "malformed JSON, an empty body, no object → 400 with the place" => || {
            let mut store = Store::new();
            let mut post = |body: &str| store.ask(Method::POST, "Patient").body(body).send();
            post("{\"resourceType\":\"Patient\",").refused(400, "line 1 column");
            post("").refused(400, "empty");
            post("[1]").refused(400, "object");
            post("\u{feff}x").refused(400, "well-formed");
            let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
            post(&deep).refused(400, "well-formed");
        },
        "wrong or missing `resourceType` → 400" => || {
            let mut store = Store::new();
            store.post("Patient", json!({"gender": "male"})).refused(400, "resourceType");
            store.post("Patient", json!({"resourceType": "Observation"})).refused(400, "Observation");
            store.post("Patient", json!({"resourceType": "Pacient"})).refused(400, "Pacient");
            store.get("Pacient/1").refused(404, "Pacient");
        },
        "ids that do not fit the address, or no id at all → 400" => || {
            let mut store = Store::new();
            let mut put = |path: &str, id: serde_json::Value| store.ask(Method::PUT, path).json(json!({"resourceType": "Patient", "id": id})).send();
            put("Patient/a", json!("b")).refused(400, "'b'");
            put("Patient/a_b", json!("a_b")).expect(422);
            assert!(matches!(put("Patient/a", json!(7)).status, 400 | 422));
            store.ask(Method::PUT, "Patient/a").json(json!({"resourceType": "Patient"})).send().refused(400, "'a'");
        },
        "bad values: dates, numbers, booleans of `:missing`, empty ones" => || {
            let mut store = Store::new();
            store.get("Patient?birthdate=1970-13-01").refused(400, "1970-13-01");
            store.get("Patient?birthdate=ge").refused(400, "birthdate");
            store.get("Observation?value-quantity=heavy").refused(400, "heavy");
            store.get("Patient?gender:missing=perhaps").refused(400, "perhaps");
            store.get("Patient?_count=many").refused(400, "many");
            store.get("Patient?_count=-1").refused(400, "-1");
            store.get("Patient?_total=some").refused(400, "some");
            store.get("Patient?_summary=some").refused(400, "some");
            store.get("Observation?code-value-quantity=1").refused(400, "$");
            store.ask(Method::GET, "Patient?gender=").header("Prefer", "handling=strict").send().refused(400, "no value");
        },
        "modifiers that are unknown or do not fit → 400" => || {
            let mut store = Store::new();
            store.get("Patient?name:loud=x").refused(400, "loud");
            store.get("Patient?birthdate:exact=1970").refused(400, "exact");
            store.get("Patient?gender:in=http://vs").refused(400, "http://vs");
            store.get("Patient?gender:not-in=ValueSet/none").refused(400, "ValueSet/none");
            store.get("Patient?name:in=http://vs").refused(400, "in");
            store.get("Patient?_id:text=a").refused(400, "text");
        },
        "bad `_include`, `_sort`, `_type`, page tokens → 400" => || {
            let mut store = Store::new();
            for bad in ["Observation", "Observation:nothing", "Nothing:subject", "Observation:code", "Observation:subject:Nothing", "a:b:c:d"] {
                store.get(&format!("Observation?_include={bad}")).expect(400);
                store.get(&format!("Patient?_revinclude={bad}")).expect(400);
            }
            store.ask(Method::GET, "Patient?_sort=nothing").header("Prefer", "handling=strict").send().refused(400, "nothing");
            store.get("?_type=Nothing").refused(400, "Nothing");
            for token in ["x", "after.Patient.99.1", "after.Nothing.0.1", "after.Patient.0.1.2"] {
                store.get(&format!("Patient?_page_token={token}")).expect(400);
            }
        },
        "chains: unknown, through what is no reference, to a wrong type, endless → 400" => || {
            let mut store = Store::new();
            store.get("Observation?code.name=x").refused(400, "not a reference");
            store.get("Observation?subject:Medication.name=x").refused(400, "Medication");
            store.ask(Method::GET, "Observation?subject.nothing=x").header("Prefer", "handling=strict").send().refused(400, "nothing");
            let endless = format!("Organization?{}name=x", "partof.".repeat(40));
            store.get(&endless).refused(400, "at most");
            store.get("Patient?_has:Observation:code=x").refused(400, "_has");
            store.get("Patient?_has:Nothing:patient:code=x").refused(400, "Nothing");
            let broad = format!("Observation?{}_id=x", "focus.".repeat(7));
            store.get(&broad).refused(400, "too many types");
            let endless = format!("Patient?{}name=x", "_has:Patient:link:".repeat(40));
            store.get(&endless).refused(400, "at most");
        },
        "unknown addresses, operations and compartments → 404" => || {
            let mut store = Store::new();
            store.get("Patient/a/b/c/d").expect(404);
            store.get("Patient/$fly").refused(404, "$fly");
            store.get("Observation/o/$everything").expect(404);
            store.get("Patient/a").refused(404, "Patient/a");
        },
        "text that is not UTF-8, and names with odd characters, are refused calmly" => || {
            let mut store = Store::new();
            store.get("Patient?name=%ff").refused(400, "UTF-8");
            store.get("Patient/%ff").refused(400, "UTF-8");
            store.get("Patient/%00").expect(404);
            store.get("Patient?%00=1&=2&&&x").expect(200);
        },
        "patches of the wrong kind → 400 or 415" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            store.ask(Method::PATCH, "Patient/a").json(json!({"gender": "male"})).send().refused(400, "patch");
            store.ask(Method::PATCH, "Patient/a").header("Content-Type", "text/plain").body("x").send().expect(415);
            store.ask(Method::PATCH, "Patient/a").body("{").send().expect(400);
        },
        "a search form that is no form → 415" => || {
            let mut store = Store::new();
            store.ask(Method::POST, "Patient/_search").header("Content-Type", "application/json").body("{}").send().expect(415);
        },
    }
}
