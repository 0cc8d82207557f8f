//! Search by the values of one resource.

use http::Method;
use serde_json::{Value, json};

use super::support::{BASE, Group, Store};
use crate::checks;

fn patients() -> Store {
    let mut store = Store::new();
    store.put(json!({"resourceType": "Patient", "id": "a", "gender": "male", "birthDate": "1970-05-17",
        "name": [{"family": "Müller", "given": ["Jörg", "Ben"]}], "active": true,
        "identifier": [{"system": "urn:mrn", "value": "1", "type": {"coding": [{"system": "urn:types", "code": "MR"}]}}],
        "meta": {"tag": [{"system": "urn:tags", "code": "x"}], "profile": ["http://p.org/one"], "source": "http://src.org/1"}}));
    store.put(
        json!({"resourceType": "Patient", "id": "b", "gender": "female", "birthDate": "1970-05",
        "name": [{"family": "Mulligan"}, {"text": "Maiden, Jane"}],
        "identifier": [{"system": "urn:ssn", "value": "1"}],
        "telecom": [{"system": "email", "value": "b@x.org"}],
        "meta": {"security": [{"system": "urn:sec", "code": "R"}]}}),
    );
    store.put(json!({"resourceType": "Patient", "id": "c", "birthDate": "1980", "name": [{"family": "O'Neil, Jr"}],
        "identifier": [{"value": "1"}]}));
    store
}

fn observation(id: &str, code: &str, value: Value, at: &str) -> Value {
    let mut observation = json!({"resourceType": "Observation", "id": id, "status": "final",
        "code": {"coding": [{"system": "http://loinc.org", "code": code, "display": "Body weight"}], "text": "Weight of body"},
        "effectiveDateTime": at});
    observation["valueQuantity"] = value;
    observation
}

fn observations() -> Store {
    let kg = |value: &str| -> Value {
        serde_json::from_str(&format!(
            r#"{{"value": {value}, "unit": "kg", "system": "http://unitsofmeasure.org", "code": "kg"}}"#
        ))
        .unwrap()
    };
    let mut store = Store::new();
    store.put(observation("a", "29463-7", kg("70"), "2024-01-10"));
    store.put(observation(
        "b",
        "29463-7",
        kg("70.4"),
        "2024-01-10T08:30:00Z",
    ));
    store.put(observation(
        "c",
        "29463-7",
        kg("80.25"),
        "2024-02-01T23:30:00+02:00",
    ));
    store.put(observation(
        "d",
        "8302-2",
        json!({"value": 70, "unit": "cm", "system": "http://unitsofmeasure.org", "code": "cm"}),
        "2023",
    ));
    store
}

pub(crate) fn group() -> Group {
    checks! {
        "Search by value":
        "`GET Type?…` and `POST Type/_search` with a form give the same" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?gender=male"), ["a"]);
            let form = "application/x-www-form-urlencoded";
            let ask = store.ask(Method::POST, "Patient/_search?active=true").header("Content-Type", form);
            let bundle = ask.body("gender=male&name=m%C3%BC").send().expect(200);
            assert_eq!(bundle["total"], 1);
            assert_eq!(bundle["type"], "searchset");
            assert_eq!(bundle["entry"][0]["fullUrl"], "http://fhir.test/base/Patient/a");
        },
        "comma is OR, repetition is AND, `\\,` is a comma" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?gender=male,female"), ["a", "b"]);
            assert_eq!(store.ids("Patient?name=m&name=jane"), [""; 0]);
            assert_eq!(store.ids("Patient?name=m&name=maiden"), ["b"]);
            assert_eq!(store.ids("Patient?family=O'Neil\\, Jr"), ["c"]);
            assert_eq!(store.ids("Patient?family=O'Neil, Jr"), ["c"]);
        },
        "string: beginnings, without case and accents" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?family=MULL"), ["a", "b"]);
            assert_eq!(store.ids("Patient?given=jorg"), ["a"]);
            assert_eq!(store.ids("Patient?name=ller"), [""; 0]);
        },
        "token: `code`, `system|code`, `|code`, `system|`; codes, booleans, contacts" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?identifier=1"), ["a", "b", "c"]);
            assert_eq!(store.ids("Patient?identifier=urn:mrn|1"), ["a"]);
            assert_eq!(store.ids("Patient?identifier=|1"), ["c"]);
            assert_eq!(store.ids("Patient?identifier=urn:ssn|"), ["b"]);
            assert_eq!(store.ids("Patient?active=true"), ["a"]);
            assert_eq!(store.ids("Patient?email=b@x.org"), ["b"]);
            assert_eq!(store.ids("Patient?gender=http://hl7.org/fhir/administrative-gender|male"), ["a"]);
        },
        "date: precision is a range; prefixes eq ne gt ge lt le sa eb ap" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?birthdate=1970-05-17"), ["a"]);
            assert_eq!(store.ids("Patient?birthdate=1970-05"), ["a", "b"]);
            assert_eq!(store.ids("Patient?birthdate=ne1970"), ["c"]);
            assert_eq!(store.ids("Patient?birthdate=gt1970-05-17"), ["b", "c"]);
            assert_eq!(store.ids("Patient?birthdate=ge1970-05-17"), ["a", "b", "c"]);
            assert_eq!(store.ids("Patient?birthdate=lt1970-05-17"), ["b"]);
            assert_eq!(store.ids("Patient?birthdate=le1970"), ["a", "b"]);
            assert_eq!(store.ids("Patient?birthdate=sa1970-05-31"), ["c"]);
            assert_eq!(store.ids("Patient?birthdate=eb1980"), ["a", "b"]);
            assert_eq!(store.ids("Patient?birthdate=ap1975"), ["a", "b", "c"]);
            assert_eq!(store.ids("Patient?birthdate=ge1970-05-01&birthdate=le1970-05-31"), ["a", "b"]);
        },
        "date: times and zones" => || {
            let mut store = observations();
            assert_eq!(store.ids("Observation?date=2024-01-10"), ["a", "b"]);
            assert_eq!(store.ids("Observation?date=2024-01-10T08:30:00Z"), ["b"]);
            assert_eq!(store.ids("Observation?date=2024-02-01T21:30:00Z"), ["c"]);
            assert_eq!(store.ids("Observation?date=ge2024-02"), ["c"]);
        },
        "quantity: precision is a range, units count when given" => || {
            let mut store = observations();
            assert_eq!(store.ids("Observation?value-quantity=70"), ["a", "b", "d"]);
            assert_eq!(store.ids("Observation?value-quantity=70.0"), ["a", "d"]);
            assert_eq!(store.ids("Observation?value-quantity=70||kg"), ["a", "b"]);
            assert_eq!(store.ids("Observation?value-quantity=70|http://unitsofmeasure.org|cm"), ["d"]);
            assert_eq!(store.ids("Observation?value-quantity=gt70||kg"), ["b", "c"]);
            assert_eq!(store.ids("Observation?value-quantity=le70"), ["a", "d"]);
            assert_eq!(store.ids("Observation?value-quantity=ap75||kg"), ["a", "b", "c"]);
        },
        "number: precision is a range" => || {
            let mut store = Store::new();
            for (id, probability) in [("a", "0.5"), ("b", "0.52"), ("c", "0.8")] {
                let body = format!(r#"{{"resourceType":"RiskAssessment","id":"{id}","status":"final","subject":{{"reference":"Patient/x"}},"prediction":[{{"probabilityDecimal":{probability}}}]}}"#);
                store.ask(Method::PUT, &format!("RiskAssessment/{id}")).body(&body).send().expect(201);
            }
            assert_eq!(store.ids("RiskAssessment?probability=0.5"), ["a", "b"]);
            assert_eq!(store.ids("RiskAssessment?probability=0.50"), ["a"]);
            assert_eq!(store.ids("RiskAssessment?probability=gt0.52"), ["c"]);
        },
        "composite: parts of the same element together" => || {
            let mut store = observations();
            assert_eq!(store.ids("Observation?code-value-quantity=http://loinc.org|29463-7$gt70"), ["b", "c"]);
            assert_eq!(store.ids("Observation?code-value-quantity=8302-2$70"), ["d"]);
            assert_eq!(store.ids("Observation?code-value-quantity=8302-2$71"), [""; 0]);
        },
        "uri: whole, `:contains`, `:below`, `:above`" => || {
            let mut store = Store::new();
            for (id, url) in [("a", "http://x.org/vs"), ("b", "http://x.org/vs/1"), ("c", "http://x.org/other")] {
                store.put(json!({"resourceType": "ValueSet", "id": id, "status": "active", "url": url}));
            }
            assert_eq!(store.ids("ValueSet?url=http://x.org/vs"), ["a"]);
            assert_eq!(store.ids("ValueSet?url:below=http://x.org/vs"), ["a", "b"]);
            assert_eq!(store.ids("ValueSet?url:contains=X.org/VS"), ["a", "b"]);
            assert_eq!(store.ids("ValueSet?url:contains=nowhere"), Vec::<String>::new());
            assert_eq!(store.ids("ValueSet?url:above=http://x.org/vs/1"), ["a", "b"]);
        },
        "special: `Location?near`" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Location", "id": "berlin", "position": {"latitude": 52.52, "longitude": 13.4}}));
            store.put(json!({"resourceType": "Location", "id": "paris", "position": {"latitude": 48.85, "longitude": 2.35}}));
            assert_eq!(store.ids("Location?near=52.5|13.4|20|km"), ["berlin"]);
        },
        "`_id`, `_lastUpdated`, `_tag`, `_profile`, `_security`, `_source`" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?_id=a,c,zzz"), ["a", "c"]);
            assert_eq!(store.ids("Patient?_id:not=a"), ["b", "c"]);
            assert_eq!(store.ids("Patient?_lastUpdated=ge2026-04-21T17:00:02Z"), ["b", "c"]);
            assert_eq!(store.ids("Patient?_tag=urn:tags|x"), ["a"]);
            assert_eq!(store.ids("Patient?_profile=http://p.org/one"), ["a"]);
            assert_eq!(store.ids("Patient?_security=R"), ["b"]);
            assert_eq!(store.ids("Patient?_source=http://src.org/1"), ["a"]);
        },
        "all types: `GET ?_type=…`, common parameters" => || {
            let mut store = observations();
            store.put(json!({"resourceType": "Patient", "id": "p"}));
            assert_eq!(store.set("?_type=Patient,Observation&_id=a,p"), ["a", "p"]);
            assert_eq!(store.ids("?_id=p"), ["p"]);
            assert_eq!(store.ids("?_type=Patient,Observation&_sort=-_lastUpdated&_count=2"), ["p", "d"]);
        },
        "a search sees writes, updates and deletions at once" => || {
            let mut store = patients();
            store.put(json!({"resourceType": "Patient", "id": "a", "gender": "other"}));
            store.delete("Patient/b");
            assert_eq!(store.ids("Patient?gender=male,female"), [""; 0]);
            assert_eq!(store.ids("Patient?gender=other"), ["a"]);
            assert_eq!(store.ids("Patient?name=m"), [""; 0]);
        },
    }
}

pub(crate) fn modifier_group() -> Group {
    checks! {
        "Search modifiers":
        "`:exact` and `:contains`" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?family:exact=Müller"), ["a"]);
            assert_eq!(store.ids("Patient?family:exact=Muller"), [""; 0]);
            assert_eq!(store.ids("Patient?family:contains=LLI"), ["b"]);
        },
        "`:missing`" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?gender:missing=true"), ["c"]);
            assert_eq!(store.ids("Patient?gender:missing=false"), ["a", "b"]);
        },
        "`:not`: resources without a value match" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?gender:not=male"), ["b", "c"]);
            assert_eq!(store.ids("Patient?gender:not=male,female"), ["c"]);
        },
        "`:in` and `:not-in`: value sets in the store that list their codes, and those that R4 binds codes to" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?gender:in=http://hl7.org/fhir/ValueSet/administrative-gender"), ["a", "b"]);
            assert_eq!(store.ids("Patient?gender:not-in=http://hl7.org/fhir/ValueSet/administrative-gender|4.0.1"), ["c"]);
            let system = "http://hl7.org/fhir/administrative-gender";
            let mut value_set = |id: &str, compose: Value| {
                store.put(json!({"resourceType": "ValueSet", "id": id, "url": format!("urn:vs:{id}"), "status": "active", "compose": compose}));
            };
            value_set("men", json!({"include": [{"system": system, "concept": [{"code": "male"}]}]}));
            value_set("all", json!({"include": [{"system": system}]}));
            value_set("women", json!({"include": [{"valueSet": ["http://hl7.org/fhir/ValueSet/administrative-gender"]}], "exclude": [{"valueSet": ["urn:vs:men"]}]}));
            value_set("both", json!({"include": [{"system": system, "valueSet": ["urn:vs:men"]}]}));
            value_set("nobody", json!({"include": [{"valueSet": ["urn:vs:men", "urn:vs:women"]}]}));
            value_set("filtered", json!({"include": [{"system": system, "filter": [{"property": "concept", "op": "is-a", "value": "x"}]}]}));
            value_set("circle", json!({"include": [{"valueSet": ["urn:vs:circle"]}]}));
            value_set("rest", json!({"include": [{"system": system}], "exclude": [{"valueSet": ["urn:vs:men"]}]}));
            store.put(json!({"resourceType": "ValueSet", "id": "expanded", "url": "urn:vs:expanded", "status": "active",
                "expansion": {"timestamp": "2026-01-01", "contains": [{"system": system, "code": "x", "abstract": true, "contains": [{"system": system, "code": "female"}]}]}}));
            assert_eq!(store.ids("Patient?gender:in=urn:vs:men"), ["a"]);
            assert_eq!(store.ids("Patient?gender:in=ValueSet/men"), ["a"]);
            assert_eq!(store.ids(&format!("Patient?gender:in={BASE}/ValueSet/men")), ["a"]);
            assert_eq!(store.ids("Patient?gender:not-in=urn:vs:men"), ["b", "c"]);
            assert_eq!(store.ids("Patient?gender:in=urn:vs:all"), ["a", "b"]);
            assert_eq!(store.ids("Patient?gender:in=urn:vs:women"), ["b"]);
            assert_eq!(store.ids("Patient?gender:in=urn:vs:men,urn:vs:women"), ["a", "b"]);
            assert_eq!(store.ids("Patient?gender:in=urn:vs:both"), ["a"]);
            assert_eq!(store.ids("Patient?gender:in=urn:vs:expanded"), ["b"]);
            assert_eq!(store.ids("Patient?gender:in=urn:vs:nobody"), [""; 0]);
            assert_eq!(store.ids("Patient?gender:not-in=urn:vs:nobody"), ["a", "b", "c"]);
            store.get("Patient?gender:in=urn:vs:filtered").refused(400, "filter");
            store.get("Patient?gender:in=urn:vs:circle").refused(400, "of itself");
            store.get("Patient?gender:in=urn:vs:rest").refused(400, "whole code system");
        },
        "`:text`" => || {
            let mut store = observations();
            assert_eq!(store.ids("Observation?code:text=body w&value-quantity=gt80"), ["c"]);
            assert_eq!(store.ids("Observation?code:text=weight of&date=2023"), ["d"]);
        },
        "`:of-type`" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?identifier:of-type=urn:types|MR|1"), ["a"]);
            assert_eq!(store.ids("Patient?identifier:of-type=urn:types|SS|1"), [""; 0]);
        },
        "`:identifier` on references" => || {
            let mut store = Store::new();
            store.put(json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"},
                "subject": {"identifier": {"system": "urn:mrn", "value": "7"}}}));
            assert_eq!(store.ids("Observation?subject:identifier=urn:mrn|7"), ["o"]);
            assert_eq!(store.ids("Observation?subject:identifier=urn:mrn|8"), [""; 0]);
        },
        "`:[type]` on references" => || {
            let mut store = Store::new();
            for (id, subject) in [("o1", "Patient/1"), ("o2", "Group/1")] {
                store.put(json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"text": "x"}, "subject": {"reference": subject}}));
            }
            assert_eq!(store.ids("Observation?subject:Patient=1"), ["o1"]);
            assert_eq!(store.ids("Observation?subject=1"), ["o1", "o2"]);
            assert_eq!(store.ids("Observation?subject=Group/1"), ["o2"]);
            assert_eq!(store.ids("Observation?subject=http://fhir.test/base/Patient/1"), ["o1"]);
        },
        "a parameter that is not known: left out with a warning; refused with `Prefer: handling=strict`" => || {
            let mut store = patients();
            assert_eq!(store.ids("Patient?gender=male&nickname=x"), ["a"]);
            let bundle = store.get("Patient?gender=male&nickname=x").json;
            let outcome = &bundle["entry"][1];
            assert_eq!(outcome["search"]["mode"], "outcome");
            assert!(outcome["resource"]["issue"][0]["diagnostics"].as_str().unwrap().contains("nickname"));
            assert!(!bundle["link"][0]["url"].as_str().unwrap().contains("nickname"));
            store.ask(Method::GET, "Patient?nickname=x").header("Prefer", "handling=strict").send().refused(400, "nickname");
        },
        "for checking: always strict, newest first" => || {
            let mut store = patients();
            let patient = proctor_fhir_store::kind::ResourceKind::named("Patient").unwrap();
            let criteria = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
            let hits = store.state.search_strictly(patient, &criteria("birthdate", "ge1970"), store.now).unwrap();
            let ids: Vec<&str> = hits.hits.iter().map(|hit| &*hit.name.id).collect();
            assert_eq!(ids, ["c", "b", "a"]);
            let refusal = store.state.search_strictly(patient, &criteria("nickname", "x"), store.now).unwrap_err();
            assert_eq!(refusal.status, 400);
            let _ = store.get("Patient/a");
        },
    }
}
