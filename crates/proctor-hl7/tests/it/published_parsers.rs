//! The same values as published parsers: see `fixtures/README.md`.

use std::collections::BTreeMap;

use proctor_hl7::{Charset, Message, Path, Value};
use serde_json::Value as Json;

fn cases() -> Vec<Json> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/messages.json");
    let text = fs_err::read_to_string(path).expect("the fixtures");
    serde_json::from_str(&text).expect("a list of cases")
}

fn text<'c>(case: &'c Json, key: &str) -> &'c str {
    case[key].as_str().expect("text")
}

fn bytes(case: &Json) -> Vec<u8> {
    let charset = match text(case, "charset") {
        "latin-1" => Charset::Latin1,
        _ => Charset::Utf8,
    };
    charset.encode(text(case, "message")).expect("encodable")
}

/// What is expected at each place.
fn expected(case: &Json) -> BTreeMap<String, Value<'static>> {
    let places = |key: &str| case[key].as_array().expect("a list").clone();
    let named = |place: Json| place.as_str().expect("a place").to_owned();
    let texts = case["texts"].as_object().expect("texts").iter();
    let ours = case["ours"].as_object().expect("ours").iter();
    let nulls = places("nulls").into_iter().map(named);
    let absents = places("absents").into_iter().map(named);
    texts
        .map(|(place, text)| (place.clone(), text))
        .chain(ours.map(|(place, ours)| (place.clone(), &ours["text"])))
        // Null: for us there is no such place.
        .filter_map(|(place, text)| Some((place, text.as_str()?.to_owned().into())))
        .chain(nulls.map(|place| (place, Value::Null)))
        .chain(absents.map(|place| (place, Value::Absent)))
        .collect()
}

#[test]
fn every_value_is_what_published_parsers_find() {
    let mut compared = 0;
    for case in cases() {
        let raw = bytes(&case);
        let message = Message::parse(&raw).expect("a message");
        for (place, expected) in expected(&case) {
            let path: Path = place.parse().expect("a path");
            assert_eq!(
                path.value(&message),
                expected,
                "{} {place}",
                text(&case, "name")
            );
            compared += 1;
        }
    }
    assert!(compared > 1_000, "only {compared} values");
}

#[test]
fn no_value_is_found_that_published_parsers_do_not_find() {
    for case in cases() {
        let raw = bytes(&case);
        let message = Message::parse(&raw).expect("a message");
        let expected = expected(&case);
        let mut seen = BTreeMap::<&str, usize>::new();
        let mut found = 0;
        for segment in message.segments() {
            let occurrence = seen.entry(segment.name()).or_default();
            *occurrence += 1;
            for (number, field) in (1..).zip(segment.fields()) {
                for (r, repetition) in field.repetitions().enumerate() {
                    for (c, component) in repetition.components().enumerate() {
                        for (s, _) in component.subcomponents().enumerate() {
                            let (r, c, s) = (r + 1, c + 1, s + 1);
                            let place =
                                format!("{}[{occurrence}].{number}[{r}].{c}.{s}", segment.name());
                            assert!(
                                expected.contains_key(&place),
                                "{} {place}",
                                text(&case, "name")
                            );
                            found += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(found, expected.len(), "{}", text(&case, "name"));
    }
}

#[test]
fn the_segments_are_the_lines() {
    for case in cases() {
        let raw = bytes(&case);
        let message = Message::parse(&raw).expect("a message");
        let names: Vec<Json> = message.segments().map(|each| each.name().into()).collect();
        assert_eq!(Json::Array(names), case["segments"]);
    }
}
