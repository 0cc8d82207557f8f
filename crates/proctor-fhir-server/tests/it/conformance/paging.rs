//! The order, size and shape of what a search answers.

use serde_json::{Value, json};

use super::support::{Group, Store, entries, link, text};
use crate::checks;

fn ten() -> Store {
    let mut store = Store::new();
    for number in 0..10 {
        let mut patient = json!({"resourceType": "Patient", "id": format!("p{number}"), "gender": if number % 2 == 0 { "male" } else { "female" },
            "name": [{"family": format!("F{}", (number * 7) % 10), "given": ["G"]}], "text": {"status": "generated", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\">x</div>"}});
        if number != 3 {
            patient["birthDate"] = json!(format!("19{}0-01-01", 9 - number / 2));
        }
        store.put(patient);
    }
    store
}

fn walk(store: &mut Store, path: &str, relation: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        let bundle = store.get(&path).expect(200);
        pages.push(ids(&bundle));
        next = link(&bundle, relation);
        assert!(pages.len() < 20, "paging does not end");
    }
    pages
}

fn ids(bundle: &Value) -> Vec<String> {
    entries(bundle)
        .iter()
        .map(|entry| text(&entry["resource"]["id"]))
        .collect()
}

pub(crate) fn group() -> Group {
    checks! {
        "Order and pages":
        "`_sort`: ascending, descending, several; what has no value comes last" => || {
            let mut store = ten();
            assert_eq!(store.ids("Patient?_sort=birthdate&_count=3"), ["p8", "p9", "p6"]);
            assert_eq!(store.ids("Patient?_sort=-birthdate,-_id&_count=3"), ["p1", "p0", "p2"]);
            assert_eq!(store.ids("Patient?_sort=gender,-family&_count=2"), ["p7", "p1"]);
            assert_eq!(store.ids("Patient?_sort=birthdate").last().unwrap(), "p3");
            assert_eq!(store.ids("Patient?_sort=-birthdate").last().unwrap(), "p3");
            assert_eq!(store.ids("Patient?_sort=-_lastUpdated&_count=1"), ["p9"]);
        },
        "`_count` and `next` links: every match once, to the end" => || {
            let mut store = ten();
            let pages = walk(&mut store, "Patient?_count=3", "next");
            assert_eq!(pages.len(), 4);
            assert_eq!(pages.concat(), (0..10).map(|n| format!("p{n}")).collect::<Vec<_>>());
            let sorted = walk(&mut store, "Patient?_count=4&_sort=-family&gender=male,female", "next").concat();
            assert_eq!(sorted, store.ids("Patient?_sort=-family"));
        },
        "`previous` links lead back the same way" => || {
            let mut store = ten();
            for path in ["Patient?_count=4", "Patient?_count=4&_sort=birthdate"] {
                let mut last = store.get(path).json;
                while let Some(next) = link(&last, "next") {
                    last = store.get(&next).json;
                }
                let mut pages = vec![ids(&last)];
                while let Some(previous) = link(&last, "previous") {
                    last = store.get(&previous).json;
                    pages.insert(0, ids(&last));
                }
                let everything = path.replace("_count=4", "_count=100");
                assert_eq!(pages.concat(), store.ids(&everything));
            }
        },
        "pages stay right when resources come, go and change in between" => || {
            let mut store = ten();
            let first = store.get("Patient?_count=3&_sort=family").json;
            assert_eq!(ids(&first), ["p0", "p3", "p6"]);
            store.put(json!({"resourceType": "Patient", "id": "early", "name": [{"family": "A"}]}));
            store.put(json!({"resourceType": "Patient", "id": "p6", "name": [{"family": "Z"}]}));
            store.delete("Patient/p0");
            let second = store.get(&link(&first, "next").unwrap()).json;
            assert_eq!(ids(&second), ["p9", "p2", "p5"]);
            let first = store.get("Patient?_count=4").json;
            assert_eq!(ids(&first), ["p1", "p2", "p3", "p4"]);
            store.put(json!({"resourceType": "Patient", "id": "p0"}));
            store.put(json!({"resourceType": "Patient", "id": "p2", "active": true}));
            let second = store.get(&link(&first, "next").unwrap()).json;
            assert_eq!(ids(&second), ["p5", "p6", "p7", "p8"]);
        },
        "`_total`: accurate unless `none`; `_count=0` and `_summary=count` count only" => || {
            let mut store = ten();
            assert_eq!(store.get("Patient?_count=2").json["total"], 10);
            assert_eq!(store.get("Patient?_count=2&_total=none").json.get("total"), None);
            assert_eq!(store.get("Patient?_count=2&_total=accurate").json["total"], 10);
            for path in ["Patient?gender=male&_count=0", "Patient?gender=male&_summary=count"] {
                let bundle = store.get(path).json;
                assert_eq!(bundle["total"], 5);
                assert_eq!(bundle.get("entry"), None);
            }
        },
        "`_summary=true|text|data|false` and `_elements`, marked `SUBSETTED`; on searches and reads" => || {
            let mut store = ten();
            let shown = |store: &mut Store, path: &str| store.get(path).expect(200)["entry"][0]["resource"].clone();
            let summary = shown(&mut store, "Patient?_id=p0&_summary=true");
            assert_eq!(summary["meta"]["tag"][0]["code"], "SUBSETTED");
            assert_eq!(summary.get("text"), None);
            assert_eq!(summary["gender"], "male");
            let text_only = shown(&mut store, "Patient?_id=p0&_summary=text");
            assert!(text_only.get("text").is_some() && text_only.get("gender").is_none());
            assert_eq!(shown(&mut store, "Patient?_id=p0&_summary=data").get("text"), None);
            assert_eq!(shown(&mut store, "Patient?_id=p0&_summary=false")["meta"].get("tag"), None);
            let elements = shown(&mut store, "Patient?_id=p0&_elements=birthDate,name");
            assert!(elements.get("birthDate").is_some() && elements.get("name").is_some());
            assert_eq!(elements.get("gender"), None);
            let read = store.get("Patient/p0?_elements=gender").expect(200);
            assert!(read.get("gender").is_some() && read.get("name").is_none());
        },
        "sorting thousands of seeded resources, some of them changed, gives the same order as sorting written ones" => || {
            let patients: Vec<Value> = (0..1_500).map(|number: i64| {
                let mut patient = json!({"resourceType": "Patient", "id": format!("p{number}"), "gender": if number % 3 == 0 { "male" } else { "female" },
                    "name": [{"family": format!("F{}", number * 7_919 % 1_013), "given": [format!("A{}", number % 5)]}, {"family": format!("G{}", number % 11)}]});
                if number % 10 != 0 {
                    patient["birthDate"] = json!(format!("{}", 1_900 + number * 31 % 97));
                }
                patient
            }).collect();
            let mut builder = proctor_fhir_store::BaseBuilder::new(
                proctor_fhir_store::Seed::from_number(7),
                proctor_core::time::Timestamp::from_millis(0),
            );
            let mut written = Store::new();
            for patient in patients {
                builder.load(patient.clone()).unwrap();
                written.put(patient);
            }
            let mut seeded = Store::on(std::sync::Arc::new(builder.finish()));
            // Some is changed here: values move, go and come; resources too.
            for store in [&mut seeded, &mut written] {
                store.put(json!({"resourceType": "Patient", "id": "p7", "gender": "female", "birthDate": "1899", "name": [{"family": "A"}]}));
                store.put(json!({"resourceType": "Patient", "id": "p8", "gender": "female"}));
                store.put(json!({"resourceType": "Patient", "id": "new1", "gender": "male", "birthDate": "2020", "name": [{"family": "Z", "given": ["A1"]}]}));
                store.put(json!({"resourceType": "Patient", "id": "new2", "gender": "female", "birthDate": "1901", "name": [{"family": "F0"}]}));
                store.delete("Patient/p31");
                store.delete("Patient/p97");
            }
            for sort in ["birthdate", "-birthdate", "family", "-family,birthdate", "birthdate,-given,family", "-_id"] {
                for criteria in ["", "gender=female&", "gender=male&"] {
                    let path = format!("Patient?{criteria}_sort={sort}&_count=25");
                    assert_eq!(seeded.ids(&path), written.ids(&path), "{path}");
                    let second = |store: &mut Store| {
                        let next = link(&store.get(&path).json, "next").unwrap();
                        store.ids(&next)
                    };
                    assert_eq!(second(&mut seeded), second(&mut written), "{path}");
                }
            }
        },
        "at most 1,000 matches on a page, 100 by default" => || {
            let mut store = Store::new();
            for _ in 0..120 {
                store.post("Patient", json!({"resourceType": "Patient"}));
            }
            assert_eq!(store.ids("Patient").len(), 100);
            assert_eq!(store.ids("Patient?_count=5000").len(), 120);
        },
    }
}
