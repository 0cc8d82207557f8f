//! Histories.

use serde_json::json;

use super::support::{Group, Store, entries, link, text};
use crate::checks;

fn changed() -> Store {
    let mut store = Store::new();
    store.put(json!({"resourceType": "Patient", "id": "a"}));
    store.put(
        json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"}}),
    );
    store.put(json!({"resourceType": "Patient", "id": "a", "active": true}));
    store.delete("Patient/a");
    store
}

fn methods(bundle: &serde_json::Value) -> Vec<String> {
    entries(bundle)
        .iter()
        .map(|entry| text(&entry["request"]["method"]))
        .collect()
}

pub(crate) fn group() -> Group {
    checks! {
        "History":
        "of one resource: newest first, deletions included" => || {
            let mut store = changed();
            let bundle = store.get("Patient/a/_history").expect(200);
            assert_eq!(bundle["type"], "history");
            assert_eq!(bundle["total"], 3);
            assert_eq!(methods(&bundle), ["DELETE", "PUT", "PUT"]);
            assert_eq!(bundle["entry"][1]["resource"]["active"], true);
            assert_eq!(bundle["entry"][0].get("resource"), None);
            assert_eq!(bundle["entry"][0]["response"]["etag"], "W/\"3\"");
            store.get("Patient/never/_history").expect(404);
        },
        "of a type, and of the whole store" => || {
            let mut store = changed();
            assert_eq!(store.get("Patient/_history").expect(200)["total"], 3);
            assert_eq!(store.get("Observation/_history").expect(200)["total"], 1);
            let all = store.get("_history").expect(200);
            assert_eq!(methods(&all), ["DELETE", "PUT", "PUT", "PUT"]);
        },
        "`_count` and `_since`; pages to the end stay right when more happens" => || {
            let mut store = changed();
            let first = store.get("_history?_count=2").expect(200);
            assert_eq!(methods(&first), ["DELETE", "PUT"]);
            store.put(json!({"resourceType": "Patient", "id": "later"}));
            let second = store.get(&link(&first, "next").unwrap()).expect(200);
            assert_eq!(text(&second["entry"][0]["resource"]["id"]), "o");
            assert_eq!(text(&second["entry"][1]["resource"]["id"]), "a");
            assert_eq!(link(&second, "next"), None);
            let since = store.get("_history?_since=2026-04-21T17:00:04Z").expect(200);
            assert_eq!(methods(&since), ["PUT", "DELETE"]);
            store.get("_history?_since=yesterday").refused(400, "_since");
        },
        "`_at`: the versions that were current in a period, for one resource, a type and the store" => || {
            // Made at :01, changed at :03, deleted at :04; the observation was made at :02.
            let mut store = changed();
            let mut tags = |path: &str| -> Vec<String> {
                let bundle = store.get(path).expect(200);
                assert_eq!(bundle["total"], entries(&bundle).len());
                entries(&bundle).iter().map(|entry| text(&entry["response"]["etag"])).collect()
            };
            assert_eq!(tags("Patient/a/_history?_at=2026-04-21T17:00:02Z"), ["W/\"1\""]);
            assert_eq!(tags("Patient/a/_history?_at=2026-04-21T17:00:03Z"), ["W/\"2\""]);
            assert_eq!(tags("Patient/a/_history?_at=2026-04-21T17:00:04Z"), ["W/\"3\""]);
            assert!(tags("Patient/a/_history?_at=2026-04-21T17:00:05Z").is_empty());
            assert!(tags("Patient/_history?_at=2026-04-21T17:00:00Z").is_empty());
            assert_eq!(tags("Patient/_history?_at=2026-04-21T17:00").len(), 3);
            assert_eq!(tags("_history?_at=2026-04-21").len(), 4);
            assert_eq!(tags("_history?_at=2026-04-21T17:00:09Z"), ["W/\"1\""]);
            assert_eq!(tags("_history?_at=2026-04-21&_since=2026-04-21T17:00:03Z").len(), 2);
            store.get("_history?_at=now").refused(400, "_at");
        },
        "resources of a seeded base have their version 1" => || {
            let mut builder = proctor_fhir_store::BaseBuilder::new(
                proctor_fhir_store::Seed::from_number(7),
                proctor_core::time::Timestamp::from_millis(0),
            );
            builder.load(json!({"resourceType": "Patient", "id": "a"})).unwrap();
            let mut store = Store::on(std::sync::Arc::new(builder.finish()));
            store.put(json!({"resourceType": "Patient", "id": "a", "active": true}));
            assert_eq!(store.get("Patient/a/_history").expect(200)["total"], 2);
            assert_eq!(store.get("Patient/_history").expect(200)["total"], 2);
            assert_eq!(store.get("_history").expect(200)["entry"][1]["resource"]["meta"]["versionId"], "1");
        },
    }
}
