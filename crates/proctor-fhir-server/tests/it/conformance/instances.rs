//! Reading and writing one resource.

use http::Method;
use serde_json::json;

use super::support::{BASE, Group, Store, text};
use crate::checks;

pub(crate) fn group() -> Group {
    checks! {
        "One resource":
        "create: 201, id chosen by the server, `Location`, `ETag`, `Last-Modified`" => || {
            let mut store = Store::new();
            let reply = store.post("Patient", json!({"resourceType": "Patient", "id": "mine", "gender": "female"}));
            let id = text(&reply.json["id"]);
            assert_ne!(id, "mine");
            let headers = reply.response.http_headers();
            assert_eq!(headers["location"], format!("{BASE}/Patient/{id}/_history/1"));
            assert_eq!(headers["etag"], "W/\"1\"");
            assert_eq!(headers["last-modified"], "Tue, 21 Apr 2026 17:00:01 GMT");
            let body = reply.expect(201);
            assert_eq!(body["meta"]["versionId"], "1");
            assert_eq!(body["meta"]["lastUpdated"], "2026-04-21T17:00:01.000Z");
            assert_eq!(store.get(&format!("Patient/{id}")).expect(200), body);
        },
        "read: the stored bytes, with `ETag` and `Last-Modified`; decimals keep their digits" => || {
            let mut store = Store::new();
            let body = r#"{"resourceType":"Observation","id":"o","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.10}}"#;
            store.ask(Method::PUT, "Observation/o").body(body).send().expect(201);
            let reply = store.get("Observation/o");
            assert!(std::str::from_utf8(&reply.response.body).unwrap().contains("\"value\":1.10"));
            assert_eq!(reply.response.http_headers()["etag"], "W/\"1\"");
        },
        "read: `HEAD` has headers and no body" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            let reply = store.ask(Method::HEAD, "Patient/a").send();
            assert_eq!(reply.status, 200);
            assert!(reply.response.body.is_empty());
            assert!(reply.response.etag().is_some());
        },
        "conditional read: `If-None-Match` and `If-Modified-Since` → 304" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            let tagged = |store: &mut Store, tag: &str| store.ask(Method::GET, "Patient/a").header("If-None-Match", tag).send().status;
            assert_eq!(tagged(&mut store, "W/\"1\""), 304);
            assert_eq!(tagged(&mut store, "W/\"2\", W/\"1\""), 304);
            assert_eq!(tagged(&mut store, "W/\"2\""), 200);
            let dated = |store: &mut Store, date: &str| store.ask(Method::GET, "Patient/a").header("If-Modified-Since", date).send().status;
            assert_eq!(dated(&mut store, "Tue, 21 Apr 2026 17:00:01 GMT"), 304);
            assert_eq!(dated(&mut store, "Tue, 21 Apr 2026 17:00:00 GMT"), 200);
        },
        "vread: every version can be read for ever" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male"}));
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "female"}));
            assert_eq!(store.get("Patient/a/_history/1").expect(200)["gender"], "male");
            assert_eq!(store.get("Patient/a/_history/2").expect(200)["gender"], "female");
            store.get("Patient/a/_history/3").refused(404, "newest is 2");
        },
        "update: a new version; 200" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            let reply = store.put(json!({"resourceType": "Patient", "id": "a", "active": true}));
            assert_eq!(reply.expect(200)["meta"]["versionId"], "2");
        },
        "update as create: 201 under the client's id" => || {
            let mut store = Store::new();
            assert_eq!(store.put(json!({"resourceType": "Patient", "id": "a.b-C"})).status, 201);
            store.get("Patient/a.b-C").expect(200);
        },
        "update with `If-Match`: 412 when the version is stale, whoever comes second" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            let mut update = |gender: &str| {
                let body = json!({"resourceType": "Patient", "id": "a", "gender": gender});
                store.ask(Method::PUT, "Patient/a").header("If-Match", "W/\"1\"").json(body).send()
            };
            assert_eq!(update("male").status, 200);
            let second = update("female");
            assert_eq!(second.response.etag().as_deref(), Some("W/\"2\""));
            second.refused(412, "newest is 2");
        },
        "delete: 204, then 410; the id can be written again" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            assert_eq!(store.delete("Patient/a").status, 204);
            store.get("Patient/a").refused(410, "deleted");
            assert!(store.ids("Patient").is_empty());
            assert_eq!(store.delete("Patient/a").status, 204);
            let reply = store.put(json!({"resourceType": "Patient", "id": "a"}));
            assert_eq!(reply.expect(201)["meta"]["versionId"], "3");
            assert_eq!(store.ids("Patient"), ["a"]);
        },
        "delete with `If-Match`: 412 when the version is stale" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            store.ask(Method::DELETE, "Patient/a").header("If-Match", "W/\"1\"").send().expect(412);
            store.get("Patient/a").expect(200);
        },
        "`Prefer: return=minimal`, `representation`, `OperationOutcome`" => || {
            let mut store = Store::new();
            let mut create = |prefer: &str| {
                store.ask(Method::POST, "Patient").header("Prefer", prefer).json(json!({"resourceType": "Patient"})).send()
            };
            assert!(create("return=minimal").response.body.is_empty());
            assert_eq!(create("return=representation").json["resourceType"], "Patient");
            assert_eq!(create("return=OperationOutcome").expect(201)["resourceType"], "OperationOutcome");
        },
        "ids: the same seed and requests give the same ids, times and versions" => || {
            let run = || {
                let mut store = Store::new();
                let created = store.post("Patient", json!({"resourceType": "Patient"})).json;
                store.post("Observation", json!({"resourceType": "Observation", "status": "final", "code": {"text": "x"}}));
                (created, store.state.digest())
            };
            assert_eq!(run(), run());
        },
        "a base is shared: what one store changes, the other does not see" => || {
            let mut builder = proctor_fhir_store::BaseBuilder::new(
                proctor_fhir_store::Seed::from_number(7),
                proctor_core::time::Timestamp::from_millis(0),
            );
            builder.load(json!({"resourceType": "Patient", "id": "a", "gender": "male"})).unwrap();
            builder.load(json!({"resourceType": "Patient", "id": "b", "gender": "male"})).unwrap();
            let base = std::sync::Arc::new(builder.finish());
            let (mut one, mut other) = (Store::on(base.clone()), Store::on(base));
            one.put(json!({"resourceType": "Patient", "id": "a", "gender": "female"}));
            one.delete("Patient/b");
            assert_eq!(one.ids("Patient?gender=male"), [""; 0]);
            assert_eq!(one.ids("Patient?gender=female"), ["a"]);
            assert_eq!(other.ids("Patient?gender=male"), ["a", "b"]);
            assert_eq!(one.get("Patient/a/_history/1").expect(200)["gender"], "male");
            assert_eq!(one.get("Patient/a").expect(200)["meta"]["versionId"], "2");
        },
    }
}

pub(crate) fn conditional_group() -> Group {
    checks! {
        "Conditional writes":
        "conditional create (`If-None-Exist`): creates, finds, or refuses when several match" => || {
            let mut store = Store::new();
            let patient = json!({"resourceType": "Patient", "identifier": [{"system": "urn:s", "value": "1"}]});
            let create = |store: &mut Store| {
                store.ask(Method::POST, "Patient").header("If-None-Exist", "identifier=urn:s|1").json(patient.clone()).send()
            };
            assert_eq!(create(&mut store).status, 201);
            let again = create(&mut store);
            assert!(again.response.location.is_some());
            assert_eq!(again.status, 200);
            store.post("Patient", patient.clone());
            create(&mut store).refused(412, "matches 2");
        },
        "conditional update: creates, updates the one match, or refuses" => || {
            let mut store = Store::new();
            let body = json!({"resourceType": "Patient", "identifier": [{"system": "urn:s", "value": "1"}]});
            let update = |store: &mut Store| store.ask(Method::PUT, "Patient?identifier=urn:s|1").json(body.clone()).send();
            let created = update(&mut store).expect(201);
            let updated = update(&mut store).expect(200);
            assert_eq!(created["id"], updated["id"]);
            assert_eq!(updated["meta"]["versionId"], "2");
            store.post("Patient", body.clone());
            update(&mut store).refused(412, "matches 2");
        },
        "conditional delete: the one match; several are refused" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male"}));
            store.put(json!({"resourceType": "Patient", "id": "b", "gender": "female"}));
            store.put(json!({"resourceType": "Patient", "id": "c", "gender": "female"}));
            assert_eq!(store.delete("Patient?gender=male").status, 204);
            store.get("Patient/a").expect(410);
            store.delete("Patient?gender=female").refused(412, "matches 2");
            assert_eq!(store.delete("Patient?gender=other").status, 204);
        },
        "conditional patch: the one match; none is 404" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male"}));
            let patch = json!([{"op": "replace", "path": "/gender", "value": "other"}]);
            let reply = store.ask(Method::PATCH, "Patient?gender=male").json(patch.clone()).send();
            assert_eq!(reply.expect(200)["gender"], "other");
            store.ask(Method::PATCH, "Patient?gender=male").json(patch).send().expect(404);
        },
        "criteria that are not understood, or missing, refuse a conditional write" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a"}));
            store.delete("Patient?nickname=x").refused(400, "nickname");
            store.delete("Patient").refused(400, "criteria");
            store.get("Patient/a").expect(200);
        },
    }
}

pub(crate) fn patch_group() -> Group {
    checks! {
        "Patch":
        "JSON Patch: add, replace, remove, test" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male", "active": true}));
            let patch = json!([
                {"op": "test", "path": "/gender", "value": "male"},
                {"op": "replace", "path": "/gender", "value": "female"},
                {"op": "add", "path": "/birthDate", "value": "1970-01-01"},
                {"op": "remove", "path": "/active"},
            ]);
            let ask = store.ask(Method::PATCH, "Patient/a").header("Content-Type", "application/json-patch+json");
            let patched = ask.json(patch).send().expect(200);
            assert_eq!(patched["gender"], "female");
            assert_eq!(patched["birthDate"], "1970-01-01");
            assert_eq!(patched.get("active"), None);
            assert_eq!(store.ids("Patient?birthdate=1970-01-01"), ["a"]);
        },
        "JSON Patch: a `test` that does not hold is 412, a path that is not there 422; nothing changes" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male"}));
            let mut patch = |operation| store.ask(Method::PATCH, "Patient/a").json(json!([operation])).send().status;
            assert_eq!(patch(json!({"op": "test", "path": "/gender", "value": "female"})), 412);
            assert_eq!(patch(json!({"op": "remove", "path": "/nothing"})), 422);
            assert_eq!(patch(json!({"op": "replace", "path": "/id", "value": "b"})), 422);
            assert_eq!(patch(json!({"op": "fly", "path": "/id"})), 400);
            assert_eq!(store.get("Patient/a").expect(200)["meta"]["versionId"], "1");
        },
        "FHIRPath Patch: `Parameters` with add, insert, delete, replace, move" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male", "name": [{"family": "A"}]}));
            let operation = |parts: serde_json::Value| json!({"name": "operation", "part": parts});
            let patch = json!({"resourceType": "Parameters", "parameter": [
                operation(json!([{"name": "type", "valueCode": "replace"}, {"name": "path", "valueString": "Patient.gender"}, {"name": "value", "valueCode": "female"}])),
                operation(json!([{"name": "type", "valueCode": "add"}, {"name": "path", "valueString": "Patient"}, {"name": "name", "valueString": "birthDate"}, {"name": "value", "valueDate": "1980-02-03"}])),
                operation(json!([{"name": "type", "valueCode": "delete"}, {"name": "path", "valueString": "Patient.name[0]"}])),
            ]});
            let ask = store.ask(Method::PATCH, "Patient/a").header("Content-Type", "application/fhir+json");
            let patched = ask.json(patch).send().expect(200);
            assert_eq!(patched["gender"], "female");
            assert_eq!(patched["birthDate"], "1980-02-03");
            assert_eq!(patched.get("name"), None);
        },
        "merge patch: plain `application/json`, as some clients send it; null removes" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male", "active": true}));
            let mut patch = |body| store.ask(Method::PATCH, "Patient/a").header("Content-Type", "application/json").json(body).send();
            let patched = patch(json!({"gender": "female", "active": null})).expect(200);
            assert_eq!(patched["gender"], "female");
            assert_eq!(patched.get("active"), None);
            patch(json!({"id": "b"})).expect(422);
        },
        "a patch must leave a valid resource, and honours `If-Match`" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male"}));
            let patch = json!([{"op": "replace", "path": "/gender", "value": "neither"}]);
            store.ask(Method::PATCH, "Patient/a").json(patch.clone()).send().expect(422);
            store.ask(Method::PATCH, "Patient/a").header("If-Match", "W/\"9\"").json(patch).send().expect(412);
        },
    }
}
