//! What level-1 validation finds, rule by rule. That it finds nothing in well-formed resources, the official examples show.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{MOST_ISSUES, validate};

/// One line for each issue: where, what kind, and why.
fn issues(resource: &Value) -> String {
    let lines = validate(resource).into_iter().map(|issue| {
        format!(
            "{} ({}): {}",
            issue.expression,
            issue.code.as_str(),
            issue.diagnostics
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The issues of a patient with these further elements.
fn patient(elements: Value) -> String {
    let Value::Object(mut resource) = elements else {
        panic!("elements are an object")
    };
    resource.insert("resourceType".to_owned(), json!("Patient"));
    issues(&Value::Object(resource))
}

#[test]
fn the_type_must_be_known() {
    let lines = [
        json!(5),
        json!({}),
        json!({"resourceType": 1}),
        json!({"resourceType": "Pacient"}),
        json!({"resourceType": "DomainResource"}),
    ];
    let lines = lines.each_ref().map(issues).join("\n");
    insta::assert_snapshot!(lines);
}

#[test]
fn elements_must_be_known_and_in_the_right_number() {
    let lines = [
        patient(json!({"nickname": "x"})),
        patient(json!({"deceased": true})),
        patient(json!({"name": {"family": "x"}})),
        patient(json!({"birthDate": ["1970"]})),
        patient(json!({"name": []})),
        patient(json!({"name": [{}]})),
        patient(json!({"name": [{"family": "x"}, "y"]})),
        patient(json!({"name": [null]})),
        patient(json!({"deceasedBoolean": true, "deceasedDateTime": "2020"})),
        patient(json!({"deceasedBoolean": true, "_deceasedDateTime": {"id": "x"}})),
        patient(json!({"link": [{"type": "seealso"}]})),
        issues(&json!({"resourceType": "Observation"})),
    ];
    let lines = lines.join("\n");
    insta::assert_snapshot!(lines);
}

#[test]
fn primitives_must_have_the_form_of_their_type() {
    let lines = [
        patient(json!({"birthDate": "14.01.1970"})),
        patient(json!({"birthDate": 1970})),
        patient(json!({"active": "true"})),
        patient(json!({"id": "a b"})),
        patient(json!({"multipleBirthInteger": 1.5})),
        patient(json!({"name": [{"given": ["x", ""]}]})),
        patient(json!({"birthDate": null})),
        patient(json!({"text": {"status": "generated", "div": "plain"}})),
        patient(json!({"meta": {"lastUpdated": "2020-01-01"}})),
    ];
    let lines = lines.join("\n");
    insta::assert_snapshot!(lines);
}

#[test]
fn companions_hold_what_primitives_have_beside_their_value() {
    let extension = json!({"extension": [{"url": "u", "valueCode": "x"}]});
    assert_eq!(patient(json!({"_birthDate": extension})), "");
    assert_eq!(
        patient(json!({"name": [{"given": [null, "B"], "_given": [extension, null]}]})),
        ""
    );
    for given in [
        json!({"given": [null], "_given": [extension]}),
        json!({"given": [null, null], "_given": [extension, extension]}),
    ] {
        assert_eq!(patient(json!({"name": [given]})), "", "{given}");
    }
    let lines = [
        patient(json!({"_birthDate": "x"})),
        patient(json!({"_birthDate": [extension]})),
        patient(json!({"_name": [extension]})),
        patient(json!({"_birthDate": {"value": 1}})),
        patient(json!({"name": [{"given": ["A"], "_given": [null, extension]}]})),
        patient(json!({"name": [{"_given": [null, extension]}]})),
        patient(json!({"name": [{"_given": [null, null]}]})),
        patient(json!({"name": [{"given": ["A"], "_given": [null]}]})),
        patient(json!({"name": [{"given": [null]}]})),
        patient(json!({"name": [{"given": [null, null], "_given": [extension, null]}]})),
        patient(json!({"name": [{"given": [null, "B"]}]})),
        patient(json!({"_birthDate": {"extension": {"url": "u", "valueCode": "x"}}})),
        patient(json!({"_birthDate": {"extension": ["u"]}})),
        patient(json!({"_birthDate": {"extension": [{"url": "u", "valueCode": 5}]}})),
        patient(json!({"_birthDate": {"extension": [{"url": "u", "valueAnything": 5}]}})),
        patient(json!({"extension": [{"url": "u", "_url": extension, "valueCode": "x"}]})),
        patient(json!({"_id": extension})),
        patient(json!({"text": {"status": "generated", "div": "<div>x</div>", "_div": extension}})),
    ];
    let lines = lines.join("\n");
    insta::assert_snapshot!(lines);
}

#[test]
fn required_bindings_are_kept() {
    let allergy = |code: &str, system: &str| json!({"resourceType": "AllergyIntolerance", "patient": {"reference": "Patient/1"}, "clinicalStatus": {"coding": [{"system": system, "code": code}]}});
    let system = "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical";
    assert_eq!(issues(&allergy("active", system)), "");
    let lines = [
        patient(json!({"gender": "f"})),
        issues(&allergy("active", "http://other")),
        issues(&allergy("ill", system)),
    ];
    let lines = lines.join("\n");
    insta::assert_snapshot!(lines);
}

#[test]
fn references_extensions_and_contained_resources_follow_their_rules() {
    let doctor = |reference: &str| {
        patient(
            json!({"generalPractitioner": [{"reference": reference}], "contained": [{"resourceType": "Practitioner", "id": "doc"}]}),
        )
    };
    for good in [
        "Practitioner/1",
        "Practitioner/1/_history/2",
        "http://x/y",
        "urn:uuid:1",
        "#doc",
        "#",
        "Practitioner?identifier=1",
    ] {
        assert_eq!(doctor(good), "", "{good}");
    }
    let lines = [
        doctor("1"),
        doctor("Doctor/1"),
        doctor("#other"),
        doctor("Doctor?x=1"),
        patient(json!({"extension": [{"url": "u"}]})),
        patient(json!({"extension": [{"valueCode": "x"}]})),
        patient(
            json!({"extension": [{"url": "u", "valueCode": "x", "extension": [{"url": "v", "valueCode": "y"}]}]}),
        ),
        patient(json!({"contained": [{"resourceType": "Practitioner"}]})),
        patient(
            json!({"contained": [{"resourceType": "Practitioner", "id": "a", "contained": [{"resourceType": "Practitioner", "id": "b"}]}]}),
        ),
        patient(json!({"contained": [{"id": "a"}]})),
    ];
    let lines = lines.join("\n");
    insta::assert_snapshot!(lines);
}

#[test]
fn resources_inside_others_are_checked_where_they_stand() {
    let bundle = json!({"resourceType": "Bundle", "type": "collection", "entry": [
        {"resource": {"resourceType": "Patient", "gender": "x"}},
        {"resource": {"resourceType": "Patient", "contained": [{"resourceType": "Organization", "id": "o"}], "managingOrganization": {"reference": "#o"}}},
        {"resource": {"resourceType": "Patient", "managingOrganization": {"reference": "#o"}}},
    ]});
    let lines = issues(&bundle);
    insta::assert_snapshot!(lines);
}

#[test]
fn the_number_of_issues_is_bounded() {
    let names: Vec<Value> = (0..1_000).map(|_| json!({"x": 1})).collect();
    assert_eq!(
        validate(&json!({"resourceType": "Patient", "name": names})).len(),
        MOST_ISSUES
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = "resourceType|id|name|given|_given|contained|extension|url|valueString|reference|generalPractitioner|coding|code|[a-z]{1,3}";
    let text = "Patient|Bundle|Observation|#x|\\PC{0,8}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text.prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::btree_map(key, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_judged_indexed_and_summarized_without_a_panic(mut value in any_json()) {
        if let Some(map) = value.as_object_mut() {
            map.insert("resourceType".to_owned(), json!("Patient"));
        }
        let _ = validate(&value);
        let _ = crate::index::extract(crate::definitions::SearchDefinitions::r4(), &value);
        let _ = crate::summary::summarized(&value, crate::summary::SummaryView::True);
        let _ = crate::summary::with_elements(&value, &["name"]);
    }
}
