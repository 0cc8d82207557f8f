//! FHIRPath Patch, operation by operation.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fhirpath_patch;

fn patient() -> Value {
    json!({
        "resourceType": "Patient", "id": "p", "birthDate": "1970", "deceasedBoolean": false,
        "name": [{"use": "official", "family": "Roe", "given": ["Ann", "Bea"]}, {"use": "nickname", "given": ["A"]}],
        "identifier": [{"system": "a", "value": "1"}, {"system": "b", "value": "2"}, {"system": "c", "value": "3"}],
    })
}

/// A patch of one operation; `value` is the part's own content, such as `{"valueString": "x"}`.
fn patch(parts: &[(&str, Value)]) -> Value {
    let parts: Vec<Value> = parts
        .iter()
        .map(|(name, content)| {
            let mut part = content.clone();
            part["name"] = json!(name);
            part
        })
        .collect();
    json!({"resourceType": "Parameters", "parameter": [{"name": "operation", "part": parts}]})
}

fn code(text: &str) -> Value {
    json!({"valueCode": text})
}

fn path(text: &str) -> Value {
    json!({"valueString": text})
}

fn patched(parts: &[(&str, Value)]) -> Value {
    fhirpath_patch(&patient(), &patch(parts)).unwrap()
}

fn refused(parts: &[(&str, Value)]) -> String {
    fhirpath_patch(&patient(), &patch(parts))
        .unwrap_err()
        .to_string()
}

#[test]
fn add_sets_what_is_not_there_and_appends_to_lists() {
    let added = patched(&[
        ("type", code("add")),
        ("path", path("Patient")),
        ("name", path("gender")),
        ("value", code("female")),
    ]);
    assert_eq!(added["gender"], "female");
    let added = patched(&[
        ("type", code("add")),
        ("path", path("Patient.name[0]")),
        ("name", path("given")),
        ("value", json!({"valueString": "Cea"})),
    ]);
    assert_eq!(added["name"][0]["given"], json!(["Ann", "Bea", "Cea"]));
    let added = patched(&[
        ("type", code("add")),
        ("path", path("Patient")),
        ("name", path("maritalStatus")),
        ("value", json!({"valueCodeableConcept": {"text": "M"}})),
    ]);
    assert_eq!(added["maritalStatus"], json!({"text": "M"}));
    let added = patched(&[
        ("type", code("add")),
        ("path", path("Patient")),
        ("name", path("multipleBirth")),
        ("value", json!({"valueInteger": 2})),
    ]);
    assert_eq!(added["multipleBirthInteger"], 2);
}

#[test]
fn add_makes_inner_elements_of_parts() {
    let value = json!({"part": [
        {"name": "name", "valueHumanName": {"text": "Kin"}},
        {"name": "telecom", "valueContactPoint": {"system": "phone", "value": "1"}},
        {"name": "telecom", "valueContactPoint": {"system": "phone", "value": "2"}},
    ]});
    let added = patched(&[
        ("type", code("add")),
        ("path", path("Patient")),
        ("name", path("contact")),
        ("value", value),
    ]);
    assert_eq!(
        added["contact"],
        json!([{"name": {"text": "Kin"}, "telecom": [{"system": "phone", "value": "1"}, {"system": "phone", "value": "2"}]}])
    );
}

#[test]
fn add_extends_a_primitive_beside_it() {
    let added = patched(&[
        ("type", code("add")),
        ("path", path("Patient.birthDate")),
        ("name", path("extension")),
        (
            "value",
            json!({"valueExtension": {"url": "u", "valueCode": "c"}}),
        ),
    ]);
    assert_eq!(
        added["_birthDate"],
        json!({"extension": [{"url": "u", "valueCode": "c"}]})
    );
}

#[test]
fn insert_puts_an_item_at_its_place() {
    let inserted = patched(&[
        ("type", code("insert")),
        ("path", path("Patient.identifier")),
        ("index", json!({"valueInteger": 1})),
        ("value", json!({"valueIdentifier": {"value": "x"}})),
    ]);
    assert_eq!(inserted["identifier"][1], json!({"value": "x"}));
    assert_eq!(inserted["identifier"].as_array().unwrap().len(), 4);
    let inserted = patched(&[
        ("type", code("insert")),
        ("path", path("Patient.photo")),
        ("index", json!({"valueInteger": 0})),
        ("value", json!({"valueAttachment": {"title": "t"}})),
    ]);
    assert_eq!(inserted["photo"], json!([{"title": "t"}]));
}

#[test]
fn delete_removes_one_element_and_nothing_is_no_mistake() {
    let deleted = patched(&[
        ("type", code("delete")),
        ("path", path("Patient.name.where(use = 'nickname')")),
    ]);
    assert_eq!(deleted["name"].as_array().unwrap().len(), 1);
    let deleted = patched(&[("type", code("delete")), ("path", path("Patient.deceased"))]);
    assert_eq!(deleted.get("deceasedBoolean"), None);
    assert_eq!(
        patched(&[("type", code("delete")), ("path", path("Patient.photo"))]),
        patient()
    );
}

#[test]
fn replace_also_changes_the_type_of_a_choice() {
    let replaced = patched(&[
        ("type", code("replace")),
        ("path", path("Patient.birthDate")),
        ("value", json!({"valueDate": "1980-01-01"})),
    ]);
    assert_eq!(replaced["birthDate"], "1980-01-01");
    let replaced = patched(&[
        ("type", code("replace")),
        ("path", path("Patient.name.where(use='official').given[1]")),
        ("value", json!({"valueString": "Bee"})),
    ]);
    assert_eq!(replaced["name"][0]["given"], json!(["Ann", "Bee"]));
    let replaced = patched(&[
        ("type", code("replace")),
        ("path", path("Patient.deceased")),
        ("value", json!({"valueDateTime": "2024"})),
    ]);
    assert_eq!(
        (
            replaced.get("deceasedBoolean"),
            &replaced["deceasedDateTime"]
        ),
        (None, &json!("2024"))
    );
}

#[test]
fn move_changes_the_order_of_a_list() {
    let moved = patched(&[
        ("type", code("move")),
        ("path", path("Patient.identifier")),
        ("source", json!({"valueInteger": 2})),
        ("destination", json!({"valueInteger": 0})),
    ]);
    let order: Vec<&str> = moved["identifier"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["system"].as_str().unwrap())
        .collect();
    assert_eq!(order, ["c", "a", "b"]);
}

#[test]
fn each_mistake_is_named() {
    let messages = [
        fhirpath_patch(&patient(), &json!([]))
            .unwrap_err()
            .to_string(),
        fhirpath_patch(&patient(), &json!({"resourceType": "Parameters"}))
            .unwrap_err()
            .to_string(),
        fhirpath_patch(
            &patient(),
            &json!({"resourceType": "Parameters", "parameter": [{"name": "x"}]}),
        )
        .unwrap_err()
        .to_string(),
        refused(&[("path", path("Patient"))]),
        refused(&[("type", code("put")), ("path", path("Patient"))]),
        refused(&[
            ("type", code("add")),
            ("path", path("Patient")),
            ("name", path("gender")),
        ]),
        refused(&[
            ("type", code("add")),
            ("path", path("Patient")),
            ("name", path("birthDate")),
            ("value", json!({"valueDate": "1980"})),
        ]),
        refused(&[
            ("type", code("add")),
            ("path", path("Patient")),
            ("name", path("deceased")),
            ("value", json!({"valueDateTime": "1980"})),
        ]),
        refused(&[
            ("type", code("add")),
            ("path", path("Patient")),
            ("name", path("multipleBirth")),
            ("value", json!({"valueString": "two"})),
        ]),
        refused(&[
            ("type", code("add")),
            ("path", path("Patient")),
            ("name", path("nickname")),
            ("value", json!({"valueString": "x"})),
        ]),
        refused(&[
            ("type", code("add")),
            ("path", path("Patient.name")),
            ("name", path("text")),
            ("value", json!({"valueString": "x"})),
        ]),
        refused(&[
            ("type", code("add")),
            ("path", path("Practitioner")),
            ("name", path("gender")),
            ("value", code("female")),
        ]),
        refused(&[
            ("type", code("insert")),
            ("path", path("Patient.identifier")),
            ("index", json!({"valueInteger": 9})),
            ("value", json!({"valueIdentifier": {}})),
        ]),
        refused(&[
            ("type", code("insert")),
            ("path", path("Patient.identifier")),
            ("index", json!({"valueInteger": -1})),
            ("value", json!({"valueIdentifier": {}})),
        ]),
        refused(&[
            ("type", code("insert")),
            ("path", path("Patient.gender")),
            ("index", json!({"valueInteger": 0})),
            ("value", code("male")),
        ]),
        refused(&[("type", code("delete")), ("path", path("Patient.name"))]),
        refused(&[("type", code("delete")), ("path", path("Patient.name["))]),
        refused(&[
            ("type", code("delete")),
            ("path", path("Patient.name.select(given)")),
        ]),
        refused(&[("type", code("delete")), ("path", path("Patient.id"))]),
        refused(&[("type", code("delete")), ("path", path("Patient"))]),
        refused(&[
            ("type", code("replace")),
            ("path", path("Patient.photo")),
            ("value", json!({"valueAttachment": {}})),
        ]),
        refused(&[
            ("type", code("move")),
            ("path", path("Patient.identifier")),
            ("source", json!({"valueInteger": 3})),
            ("destination", json!({"valueInteger": 0})),
        ]),
    ]
    .join("\n");
    insta::assert_snapshot!(messages);
}

#[test]
fn values_are_not_nested_too_deep() {
    let mut value = json!({"url": "u", "valueCode": "c"});
    for _ in 0..60 {
        value = json!({"url": "u", "extension": [value]});
    }
    let refused = refused(&[
        ("type", code("add")),
        ("path", path("Patient")),
        ("name", path("extension")),
        ("value", json!({"valueExtension": value})),
    ]);
    assert!(refused.contains("nested more than"), "{refused}");
}

proptest! {
    #[test]
    fn any_operation_is_applied_or_refused_without_a_panic(
        kind in "add|insert|delete|replace|move",
        target in "Patient(\\.(name|identifier|given|deceased|birthDate|photo|where\\(use='usual'\\)|first\\(\\)|x)|\\[[01]\\]){0,4}|\\PC{0,20}",
        name in "name|given|deceased|extension|contact|birthDate|x",
        (index, other) in (0u32..4, 0u32..4),
        value in 0usize..4,
    ) {
        let values = [
            json!({"valueString": "x"}),
            json!({"valueHumanName": {"family": "x"}}),
            json!({"part": [{"name": "family", "valueString": "x"}]}),
            json!({}),
        ];
        let parameters = patch(&[
            ("type", code(&kind)),
            ("path", path(&target)),
            ("name", path(&name)),
            ("index", json!({"valueInteger": index})),
            ("source", json!({"valueInteger": index})),
            ("destination", json!({"valueInteger": other})),
            ("value", values[value].clone()),
        ]);
        if let Ok(patched) = fhirpath_patch(&patient(), &parameters) {
            prop_assert_eq!(&patched["id"], "p");
        }
    }
}
