//! What searches find, kind by kind.

use proctor_core::time::Timestamp;
use serde_json::{Value, json};

use super::{Filter, QueryContext};
use crate::definitions::SearchDefinitions;
use crate::index::extract;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

pub(super) fn context() -> QueryContext<'static> {
    QueryContext {
        now: NOW,
        own_bases: &["http://own/fhir"],
    }
}

/// Whether a search such as `name:exact=Ann` finds the resource.
#[track_caller]
fn finds(resource: &Value, search: &str) -> bool {
    let definitions = SearchDefinitions::r4();
    let (key, text) = search.split_once('=').unwrap();
    let (code, modifier) = key
        .split_once(':')
        .map_or((key, None), |(code, modifier)| (code, Some(modifier)));
    let parameter = definitions
        .find(resource["resourceType"].as_str().unwrap(), code)
        .unwrap();
    let filter = Filter::parse(parameter, modifier, text, &context())
        .unwrap_or_else(|error| panic!("{search}: {error}"));
    let values = extract(definitions, resource);
    filter.holds(
        values
            .iter()
            .filter(|(id, _)| *id == parameter.id)
            .map(|(_, value)| value),
    )
}

#[track_caller]
fn check(resource: &Value, found: &[&str], not_found: &[&str]) {
    for search in found {
        assert!(finds(resource, search), "{search} should find {resource}");
    }
    for search in not_found {
        assert!(
            !finds(resource, search),
            "{search} should not find {resource}"
        );
    }
}

fn refused(resource_type: &str, search: &str) -> String {
    let (key, text) = search.split_once('=').unwrap();
    let (code, modifier) = key
        .split_once(':')
        .map_or((key, None), |(code, modifier)| (code, Some(modifier)));
    let parameter = SearchDefinitions::r4().find(resource_type, code).unwrap();
    Filter::parse(parameter, modifier, text, &context())
        .unwrap_err()
        .to_string()
}

#[test]
fn tokens_are_found_by_code_and_system() {
    let condition = json!({"resourceType": "Condition", "id": "Ab", "code": {
        "coding": [{"system": "http://s", "code": "A|1", "display": "Flu, seasonal"}, {"code": "LOCAL"}], "text": "Influenza  Á"}});
    check(
        &condition,
        &[
            r"code=A\|1",
            r"code=a\|1",
            r"code=http://s|A\|1",
            "code=http://s|",
            "code=|local",
            "code=x,LOCAL",
            "_id=Ab",
            "code:text=influenza a",
            "code:text=flu",
            "code:not=other",
            "code:missing=false",
            "subject:missing=true",
            "category:not=x",
        ],
        &[
            "code=A",
            r"code=http://t|A\|1",
            r"code=|A\|1",
            "code=http://s|LOCAL",
            "code=http://t|",
            "_id=ab",
            "code:text=seasonal",
            "code:not=LOCAL",
            "code:not=x,LOCAL",
            "code:missing=true",
            "subject:missing=false",
        ],
    );
}

#[test]
fn codes_booleans_and_contacts_are_tokens_too() {
    let patient = json!({"resourceType": "Patient", "gender": "female", "active": false, "telecom": [{"system": "phone", "value": "555-1"}],
        "identifier": [{"system": "http://mrn", "value": "X1", "type": {"coding": [{"system": "http://types", "code": "MR"}], "text": "Record number"}}]});
    check(
        &patient,
        &[
            "gender=female",
            "gender=http://hl7.org/fhir/administrative-gender|female",
            "gender=|female",
            "gender:not=male",
            "active=false",
            "active=http://terminology.hl7.org/CodeSystem/special-values|false",
            "deceased=false",
            "phone=555-1",
            "telecom=phone|555-1",
            "telecom=|555-1",
            "identifier=http://mrn|X1",
            "identifier=x1",
            "identifier:of-type=http://types|MR|X1",
            "identifier:text=record",
        ],
        &[
            "gender=male",
            "gender=http://other|female",
            "active=true",
            "deceased=true",
            "email=555-1",
            "telecom=email|555-1",
            "identifier=|X1",
            "identifier:of-type=http://types|DL|X1",
            "identifier:of-type=http://types|MR|X2",
        ],
    );
}

#[test]
fn text_is_found_by_its_beginning_unless_a_modifier_says_otherwise() {
    let patient = json!({"resourceType": "Patient", "name": [{"family": "Muñoz  Ruiz", "given": ["Ana", "Lía"]}], "address": [{"city": "Zürich", "line": ["1, High Street"]}]});
    check(
        &patient,
        &[
            "family=munoz",
            "family=MUÑOZ RU",
            "family:contains=ruiz",
            "family:exact=Muñoz  Ruiz",
            "given=li",
            "name=ana",
            "name=Ana Muñoz",
            "name=ana lia mun",
            "address=zur",
            "address-city=ZURICH",
            r"address=1\, high",
        ],
        &[
            "family=ruiz",
            "family:contains=gomez",
            "family:exact=munoz ruiz",
            "given=ia",
            "name=muñoz ana",
            "address=high",
        ],
    );
}

#[test]
fn dates_are_compared_as_the_stretches_they_cover() {
    let patient = json!({"resourceType": "Patient", "birthDate": "2013-01-14"});
    check(
        &patient,
        &[
            "birthdate=2013-01-14",
            "birthdate=2013-01",
            "birthdate=2013",
            "birthdate=ne2013-01-15",
            "birthdate=ne2013-01-14T10:00",
            "birthdate=lt2013-01-14T10:00",
            "birthdate=gt2013-01-14T10:00",
            "birthdate=gt2013-01-13",
            "birthdate=ge2013-01-14",
            "birthdate=le2013-01-14",
            "birthdate=sa2013-01-13",
            "birthdate=eb2013-01-15",
            "birthdate=ap2013-01-14",
            "birthdate=ap2013-06",
            "birthdate=2013-01-14,1999",
        ],
        &[
            "birthdate=2013-01-14T00:00",
            "birthdate=2013-01-15",
            "birthdate=2012",
            "birthdate=ne2013-01",
            "birthdate=gt2013-01-14",
            "birthdate=lt2013-01-14",
            "birthdate=lt2013",
            "birthdate=sa2013-01-14",
            "birthdate=eb2013-01-14",
            "birthdate=ap2000",
        ],
    );
}

#[test]
fn periods_may_be_open_and_zones_count() {
    let open = json!({"resourceType": "Encounter", "period": {"start": "2020-01-01"}});
    check(
        &open,
        &[
            "date=ge2021",
            "date=gt2050",
            "date=sa2019",
            "date=lt2021",
            "date=ap2030",
        ],
        &[
            "date=2020",
            "date=eb2050",
            "date=le2020",
            "date=sa2020",
            "date=lt2020",
        ],
    );
    let timed =
        json!({"resourceType": "Observation", "effectiveDateTime": "2020-01-01T01:30:00+02:00"});
    check(
        &timed,
        &[
            "date=2019-12-31",
            "date=2019-12-31T23:30Z",
            "date=2020-01-01T01:30:00+02:00",
            "date=2020-01-01T01:30:00 02:00",
            "date=2019-12-31T23:30:00",
        ],
        &["date=2020-01-01", "date=2020-01-01T01:30:00Z"],
    );
    let schedule = json!({"resourceType": "ServiceRequest", "occurrenceTiming": {"event": ["2020-01-05", "2020-03-01"]}});
    check(
        &schedule,
        &[
            "occurrence=2020",
            "occurrence=ge2020-02",
            "occurrence=sa2020-01-04",
        ],
        &["occurrence=2020-01", "occurrence=eb2020-03-01"],
    );
}

#[test]
fn numbers_and_quantities_regard_precision_only_where_the_standard_does() {
    let observation = |value: &str| -> Value {
        let text = format!(
            r#"{{"resourceType": "Observation", "valueQuantity": {{"value": {value}, "unit": "milligram", "system": "http://unitsofmeasure.org", "code": "mg"}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    };
    check(
        &observation("5.35"),
        &[
            "value-quantity=5.4",
            "value-quantity=5.4|http://unitsofmeasure.org|mg",
            "value-quantity=5.4||mg",
            "value-quantity=5.4||milligram",
            "value-quantity=5",
            "value-quantity=gt5.3",
            "value-quantity=ge5.35",
            "value-quantity=le5.35",
            "value-quantity=ne5.35000001",
            "value-quantity=ap5",
            "value-quantity=sa5.3",
            "value-quantity=eb5.4",
        ],
        &[
            "value-quantity=5.3",
            "value-quantity=5.40",
            "value-quantity=5.4|http://other|mg",
            "value-quantity=5.4||g",
            "value-quantity=ge5.4",
            "value-quantity=lt5.35",
            "value-quantity=gt5.35",
            "value-quantity=ne5.4",
            "value-quantity=ap4",
            "value-quantity=sa5.35",
            "value-quantity=eb5.35",
        ],
    );
    check(
        &observation("100"),
        &[
            "value-quantity=100",
            "value-quantity=100.00",
            "value-quantity=1e2",
            "value-quantity=100|http://unitsofmeasure.org|",
        ],
        &["value-quantity=99"],
    );
}

#[test]
fn bounded_quantities_reach_as_far_as_they_may() {
    let below =
        json!({"resourceType": "Observation", "valueQuantity": {"value": 5, "comparator": "<"}});
    check(
        &below,
        &[
            "value-quantity=lt3",
            "value-quantity=le5",
            "value-quantity=eb6",
        ],
        &[
            "value-quantity=5",
            "value-quantity=gt5",
            "value-quantity=sa1",
        ],
    );
    let risk = json!({"resourceType": "RiskAssessment", "status": "final", "prediction": [{"probabilityDecimal": 0.2}, {"probabilityRange": {"low": {"value": 0.5}, "high": {"value": 0.7}}}]});
    check(
        &risk,
        &[
            "probability=0.2",
            "probability=gt0.6",
            "probability=lt0.55",
            "probability=0.6,0.2",
            "probability=ap0.6",
        ],
        &["probability=0.6", "probability=gt0.7", "probability=sa0.7"],
    );
}

#[test]
fn references_are_found_in_every_form_they_are_asked_for() {
    let observation = |reference: &str| json!({"resourceType": "Observation", "subject": {"reference": reference, "identifier": {"system": "http://mrn", "value": "7"}}});
    check(
        &observation("Patient/1"),
        &[
            "subject=Patient/1",
            "subject=1",
            "subject:Patient=1",
            "subject:Patient=Patient/1",
            "subject=http://own/fhir/Patient/1",
            "patient=1",
            "subject:identifier=http://mrn|7",
            "subject:identifier=7",
        ],
        &[
            "subject=2",
            "subject=Group/1",
            "subject:Group=1",
            "subject=http://other/fhir/Patient/1",
            "subject:identifier=8",
            "subject=Patient/1/_history/2",
        ],
    );
    check(
        &observation("Patient/1/_history/2"),
        &["subject=Patient/1", "subject=Patient/1/_history/2"],
        &["subject=Patient/1/_history/3"],
    );
    check(
        &observation("http://own/fhir/Patient/1"),
        &[
            "subject=Patient/1",
            "subject=1",
            "subject=http://own/fhir/Patient/1",
        ],
        &["subject=http://other/fhir/Patient/1"],
    );
    check(
        &observation("http://other/fhir/Patient/1"),
        &["subject=http://other/fhir/Patient/1"],
        &["subject=Patient/1", "subject=1"],
    );
    check(
        &observation("urn:uuid:11111111-2222-3333-4444-555555555555"),
        &["subject=urn:uuid:11111111-2222-3333-4444-555555555555"],
        &["subject=1"],
    );
    check(
        &observation("#1"),
        &["subject:missing=false"],
        &["subject=1", "subject=Patient/1"],
    );
}

#[test]
fn canonicals_are_found_with_and_without_version() {
    let plan = json!({"resourceType": "CarePlan", "instantiatesCanonical": ["http://x/PlanDefinition/p|2.0"]});
    check(
        &plan,
        &[
            "instantiates-canonical=http://x/PlanDefinition/p",
            r"instantiates-canonical=http://x/PlanDefinition/p|2.0",
        ],
        &[
            "instantiates-canonical=http://x/PlanDefinition/p|1.0",
            "instantiates-canonical=http://x/PlanDefinition",
        ],
    );
}

#[test]
fn uris_are_found_exactly_or_by_their_place_in_a_path() {
    let value_set = json!({"resourceType": "ValueSet", "url": "http://acme.org/fhir/ValueSet/123", "meta": {"profile": ["http://p|1"]}});
    check(
        &value_set,
        &[
            "url=http://acme.org/fhir/ValueSet/123",
            "url:below=http://acme.org/fhir",
            "url:below=http://acme.org/fhir/",
            "url:below=http://acme.org/fhir/ValueSet/123",
            "url:above=http://acme.org/fhir/ValueSet/123/_history/5",
            "_profile=http://p",
            r"_profile=http://p\|1",
        ],
        &[
            "url=http://acme.org/fhir/ValueSet",
            "url=http://ACME.org/fhir/ValueSet/123",
            "url:below=http://acme.org/fhir/ValueSet/12",
            "url:above=http://acme.org/fhir",
            "_profile=http://q",
        ],
    );
}

#[test]
fn the_parts_of_a_composite_belong_to_the_same_element() {
    let pressure = |code: &str, value: i32| json!({"code": {"coding": [{"system": "http://loinc.org", "code": code}]}, "valueQuantity": {"value": value}});
    let observation = json!({"resourceType": "Observation", "component": [pressure("8480-6", 120), pressure("8462-4", 80)]});
    check(
        &observation,
        &[
            "component-code-value-quantity=8480-6$120",
            "component-code-value-quantity=http://loinc.org|8462-4$lt90",
            "combo-code-value-quantity=8462-4$80",
            "component-code-value-quantity=x$1,8480-6$gt100",
        ],
        &[
            "component-code-value-quantity=8480-6$80",
            "component-code-value-quantity=8462-4$gt90",
            "code-value-quantity=8480-6$120",
        ],
    );
}

#[test]
fn places_are_found_by_distance() {
    let location =
        json!({"resourceType": "Location", "position": {"latitude": 42.25, "longitude": -83.69}});
    check(
        &location,
        &[
            "near=42.25|-83.69",
            "near=42.26|-83.69|2",
            "near=42.26|-83.69|1200|m",
            "near=42.30|-83.69|4|[mi_us]",
        ],
        &[
            "near=42.26|-83.69|1",
            "near=-42.25|83.69",
            "near=42.26|-83.69|1000|m",
        ],
    );
}

#[test]
fn each_mistake_is_named() {
    let messages = [
        refused("Patient", "birthdate=yesterday"),
        refused("Patient", "birthdate=2013-02-30"),
        refused("Patient", "birthdate=gt"),
        refused("Patient", "birthdate="),
        refused("Patient", "gender=male,"),
        refused("Patient", "identifier=a|b|c"),
        refused("Patient", "identifier=|"),
        refused("Patient", "identifier:of-type=a|b"),
        refused("Patient", "birthdate:exact=2013"),
        refused("Patient", "name= "),
        refused("Patient", "name:contains=\u{301}"),
        refused("Patient", "identifier:text= "),
        refused("Patient", "name:nonsense=x"),
        refused("Patient", "name:Patient=x"),
        refused("Patient", "gender:in=http://vs"),
        refused("Patient", "name:in=http://vs"),
        refused("Patient", "gender:below=x"),
        refused("Patient", "active:missing=maybe"),
        refused("Observation", "value-quantity=5|mg"),
        refused("Observation", "value-quantity=five"),
        refused("Observation", "subject=Patient 1"),
        refused("Observation", "subject:Group=Patient/1"),
        refused("Observation", "subject:Nonsense=1"),
        refused("Observation", "code-value-quantity=8480-6"),
        refused("Observation", "code-value-quantity=8480-6$x"),
        refused("Observation", "code-value-quantity:missing=true"),
        refused("RiskAssessment", "probability=.5"),
        refused("Location", "near=42.25"),
        refused("Location", "near=99|0"),
        refused("Location", "near=9|0|inf"),
    ]
    .join("\n");
    insta::assert_snapshot!(messages);
}
