//! Expressions, read, compiled and evaluated.

use super::{Expression, Item};
use crate::definitions::Structures;
use proptest::prelude::*;
use serde_json::{Value, json};

fn patient() -> Value {
    json!({
        "resourceType": "Patient", "active": true, "birthDate": "1970", "deceasedDateTime": "2020", "multipleBirthInteger": 2,
        "contained": [{"resourceType": "Practitioner", "id": "doc"}],
        "extension": [{"url": "http://e/1", "valueString": "x"}, {"url": "http://e/2", "valueString": "y"}],
        "name": [{"use": "official", "family": "Roe", "given": ["Ann", "Bea"]}, {"use": "usual", "given": ["A", null]}],
        "telecom": [{"system": "phone", "value": "1"}, {"system": "email", "value": "2"}],
        "generalPractitioner": [
            {"reference": "#doc"}, {"reference": "Organization/1"}, {"reference": "http://x/fhir/Practitioner/2"}, {"type": "Practitioner", "display": "d"}, {"reference": "urn:uuid:1"},
        ],
    })
}

fn evaluate(text: &str) -> Value {
    let patient = patient();
    let expression = Expression::compile(text, Structures::r4(), "Patient").unwrap();
    let mut found = Vec::new();
    expression.each(&patient, &mut |item| {
        found.push(match item {
            Item::Node(node) => node.value.clone(),
            Item::Boolean(value) => json!(value),
        });
    });
    Value::Array(found)
}

#[test]
fn paths_lead_through_arrays_and_choices() {
    assert_eq!(evaluate("Patient.name.given"), json!(["Ann", "Bea", "A"]));
    assert_eq!(evaluate("name.family"), json!(["Roe"]));
    assert_eq!(evaluate("Patient.deceased"), json!(["2020"]));
    assert_eq!(evaluate("Patient.photo"), json!([]));
    assert_eq!(
        evaluate("Practitioner.name | Patient.birthDate"),
        json!(["1970"])
    );
    assert_eq!(evaluate("%resource.birthDate"), json!(["1970"]));
    assert_eq!(evaluate("DomainResource.contained.id"), json!(["doc"]));
}

#[test]
fn items_are_picked_out_of_all_that_a_path_leads_to() {
    assert_eq!(evaluate("Patient.name.given[2]"), json!(["A"]));
    assert_eq!(evaluate("Patient.name[1].given"), json!(["A"]));
    assert_eq!(evaluate("Patient.name.given[9]"), json!([]));
    assert_eq!(
        evaluate("Patient.name.first().given.last()"),
        json!(["Bea"])
    );
    assert_eq!(
        evaluate("(Patient.name.given | Patient.birthDate)[3]"),
        json!(["1970"])
    );
}

#[test]
fn types_narrow_what_a_path_leads_to() {
    assert_eq!(evaluate("Patient.deceased as dateTime"), json!(["2020"]));
    assert_eq!(evaluate("(Patient.deceased as boolean)"), json!([]));
    assert_eq!(
        evaluate("Patient.deceased.ofType(dateTime)"),
        json!(["2020"])
    );
    assert_eq!(evaluate("Patient.deceased.as(DateTime)"), json!(["2020"]));
    assert_eq!(
        evaluate("Patient.multipleBirth as FHIR.integer"),
        json!([2])
    );
    assert_eq!(
        evaluate("Patient.contained.ofType(Practitioner).id"),
        json!(["doc"])
    );
    assert_eq!(
        evaluate("Patient.contained.ofType(Organization).id"),
        json!([])
    );
    assert_eq!(evaluate("Patient.deceased is dateTime"), json!([true]));
    assert_eq!(evaluate("Patient.deceased is boolean"), json!([false]));
}

#[test]
fn conditions_filter() {
    assert_eq!(
        evaluate("Patient.telecom.where(system='email').value"),
        json!(["2"])
    );
    assert_eq!(
        evaluate("Patient.telecom.where(system != 'email').value"),
        json!(["1"])
    );
    assert_eq!(
        evaluate("Patient.name.where(use = 'usual' or family = 'Roe').use"),
        json!(["official", "usual"])
    );
    assert_eq!(
        evaluate("Patient.name.where(use = 'usual' and family.exists()).use"),
        json!([])
    );
    assert_eq!(
        evaluate("Patient.name.where(family.exists().not()).use"),
        json!(["usual"])
    );
    assert_eq!(
        evaluate("Patient.name.where(family.empty()).use"),
        json!(["usual"])
    );
    assert_eq!(
        evaluate("Patient.name.where(given = 'A').use"),
        json!(["usual"]),
        "the null in the list does not count"
    );
    assert_eq!(evaluate("Patient.where(active).birthDate"), json!(["1970"]));
    assert_eq!(
        evaluate("Patient.where(multipleBirth = 2).birthDate"),
        json!(["1970"])
    );
    assert_eq!(
        evaluate("Patient.extension('http://e/2').value"),
        json!(["y"])
    );
    assert_eq!(
        evaluate("Patient.where(hasExtension('http://e/3')).birthDate"),
        json!([])
    );
    assert_eq!(
        evaluate("Patient.name.exists(use = 'usual')"),
        json!([true])
    );
    assert_eq!(
        evaluate("Patient.deceased.exists() and Patient.deceased != false"),
        json!([true])
    );
}

#[test]
fn references_say_what_they_resolve_to() {
    let practitioners = evaluate("Patient.generalPractitioner.where(resolve() is Practitioner)");
    assert_eq!(
        practitioners,
        json!([{"reference": "#doc"}, {"reference": "http://x/fhir/Practitioner/2"}, {"type": "Practitioner", "display": "d"}])
    );
    assert_eq!(
        evaluate("Patient.generalPractitioner.where(resolve() is Organization).reference"),
        json!(["Organization/1"])
    );
}

#[test]
fn what_cannot_be_used_is_refused_when_it_is_compiled() {
    let refused = |text: &str| {
        Expression::compile(text, Structures::r4(), "Patient")
            .unwrap_err()
            .to_string()
    };
    let messages = [
        refused(""),
        refused("Patient."),
        refused("Patient.name["),
        refused("Patient.name[x]"),
        refused("Patient.name.where(use = 'a'"),
        refused("Patient.name.where(use = 'a"),
        refused("Patient.name name"),
        refused("Patient.name + 1"),
        refused("Patient.name.select(given)"),
        refused("Patient.deceased as Nonsense"),
        refused("Patient.name.where(use = given)"),
        refused("'text'"),
        refused(&"(".repeat(100)),
        refused(&"a.".repeat(100_000)),
        refused(&"a|".repeat(100_000)),
    ]
    .join("\n");
    insta::assert_snapshot!(messages);
}

proptest! {
    #[test]
    fn any_text_is_compiled_or_refused_without_a_panic(text in "\\PC*|[A-Za-z.()'=|\\[\\]0-9 ]*") {
        let _ = Expression::compile(&text, Structures::r4(), "Patient");
    }
}
