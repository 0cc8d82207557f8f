//! The official examples of R4 go through everything that the crate does with a resource.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};

use proctor_core::time::Timestamp;
use proctor_fhir::definitions::SearchDefinitions;
use proctor_fhir::index::{
    IndexValue, NumberValue, QuantityValue, ReferenceTarget, TokenValue, extract,
};
use proctor_fhir::query::{Filter, QueryContext, escape};
use proctor_fhir::summary::{SummaryView, summarized};
use proctor_fhir::validate::validate;
use serde_json::Value;

fn examples() -> impl Iterator<Item = Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/fhir-r4-examples.ndjson.zst"
    );
    let file = fs_err::File::open(path)
        .expect("the examples, made by `scripts/fhir-definitions --examples`");
    let lines = BufReader::new(zstd::Decoder::new(file).expect("a decoder")).lines();
    lines.map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON"))
}

/// The examples that break the standard themselves, and how.
const WRONG: [(&str, &[&str]); 13] = [
    (
        "ImplementationGuide/fhir",
        &[
            "`ImplementationGuide.name` is missing",
            "`ImplementationGuide.status` is missing",
            "is no reference",
        ],
    ),
    (
        "Questionnaire/qs1",
        &["`Questionnaire.item.linkId` is missing"],
    ),
    (
        "SearchParameter/codesystem-extensions-CodeSystem-author",
        &["`SearchParameter.base` is missing"],
    ),
    (
        "SearchParameter/codesystem-extensions-CodeSystem-effective",
        &["`SearchParameter.base` is missing"],
    ),
    (
        "SearchParameter/codesystem-extensions-CodeSystem-end",
        &["`SearchParameter.base` is missing"],
    ),
    (
        "SearchParameter/codesystem-extensions-CodeSystem-keyword",
        &["`SearchParameter.base` is missing"],
    ),
    (
        "SearchParameter/codesystem-extensions-CodeSystem-workflow",
        &["`SearchParameter.base` is missing"],
    ),
    (
        "SearchParameter/questionnaireresponse-extensions-QuestionnaireResponse-item-subject",
        &["is not an id of 1 to 64"],
    ),
    (
        "SearchParameter/valueset-extensions-ValueSet-author",
        &["`SearchParameter.base` is missing"],
    ),
    (
        "SearchParameter/valueset-extensions-ValueSet-effective",
        &["`SearchParameter.base` is missing"],
    ),
    (
        "SearchParameter/valueset-extensions-ValueSet-end",
        &["`SearchParameter.base` is missing"],
    ),
    (
        "SearchParameter/valueset-extensions-ValueSet-keyword",
        &["`SearchParameter.base` is missing"],
    ),
    (
        "SearchParameter/valueset-extensions-ValueSet-workflow",
        &["`SearchParameter.base` is missing"],
    ),
];

#[test]
fn all_examples_are_valid_but_for_those_that_break_the_standard() {
    let mut wrong = BTreeSet::new();
    let mut count = 0;
    for example in examples() {
        count += 1;
        let name = format!(
            "{}/{}",
            example["resourceType"].as_str().unwrap(),
            example["id"].as_str().unwrap()
        );
        let issues = validate(&example);
        let expected = WRONG
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(&[][..], |(_, reasons)| reasons);
        for issue in &issues {
            assert!(
                expected
                    .iter()
                    .any(|reason| issue.diagnostics.contains(reason)),
                "{name} at {}: {}",
                issue.expression,
                issue.diagnostics
            );
        }
        if !issues.is_empty() {
            wrong.insert(name);
        }
    }
    assert_eq!(count, 5_306);
    assert_eq!(
        wrong,
        WRONG.iter().map(|(name, _)| (*name).to_owned()).collect()
    );
}

#[test]
fn every_value_of_every_example_is_found_by_asking_for_it() {
    let definitions = SearchDefinitions::r4();
    let context = QueryContext {
        now: Timestamp::from_millis(1_700_000_000_000),
        own_bases: &["http://own.example/fhir"],
    };
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut values = 0;
    for example in examples() {
        for (id, value) in extract(definitions, &example) {
            let parameter = definitions.parameter(id);
            let Some((modifier, text)) = question(&value) else {
                continue;
            };
            let filter = Filter::parse(parameter, modifier, &text, &context)
                .unwrap_or_else(|error| panic!("{}={text}: {error}", parameter.name));
            assert!(
                filter.holds([&value]),
                "{}={text} does not find {value:?}",
                parameter.name
            );
            values += 1;
            found.insert(parameter.name);
        }
    }
    assert!(values > 40_000, "{values}");
    assert_eq!(
        found.len(),
        1_047,
        "parameters with a value in some example"
    );
}

/// A search that must find the value: its modifier and its text. None for values that no search can name.
fn question(value: &IndexValue) -> Option<(Option<&'static str>, String)> {
    if let IndexValue::Reference(reference) = value
        && reference.target == ReferenceTarget::Unresolved
    {
        return Some((Some("identifier"), token(reference.identifier.as_deref()?)?));
    }
    if let IndexValue::Token(TokenValue {
        code: None,
        text: Some(words),
        ..
    }) = value
    {
        return (!words.is_empty()).then(|| (Some("text"), escape(words)));
    }
    plain_question(value).map(|text| (None, text))
}

fn plain_question(value: &IndexValue) -> Option<String> {
    match value {
        IndexValue::Token(value) => token(value),
        IndexValue::String(value) => Some(escape(&value.original)).filter(|text| !text.is_empty()),
        IndexValue::Date(span) => {
            let start = jiff::Timestamp::from_millisecond(span.start).ok()?;
            Some(format!("ge{start}"))
        }
        IndexValue::Reference(reference) => match &reference.target {
            ReferenceTarget::Literal { base, kind, id, .. } => Some(match base {
                Some(base) => format!("{base}/{kind}/{id}"),
                None => format!("{kind}/{id}"),
            }),
            ReferenceTarget::Canonical { url, version } => {
                url.contains(':').then(|| match version {
                    Some(version) => escape(&format!("{url}|{version}")),
                    None => escape(url),
                })
            }
            ReferenceTarget::Url(url) => url.contains(':').then(|| escape(url)),
            ReferenceTarget::Contained | ReferenceTarget::Unresolved => None,
        },
        IndexValue::Number(number) => Some(number_text(*number)),
        IndexValue::Quantity(QuantityValue {
            number,
            system,
            code,
            ..
        }) => {
            let part = |text: &Option<Box<str>>| text.as_deref().map(escape).unwrap_or_default();
            Some(format!(
                "{}|{}|{}",
                number_text(*number),
                part(system),
                part(code)
            ))
        }
        IndexValue::Uri(uri) => Some(escape(uri)),
        IndexValue::Composite(parts) => {
            let texts: Option<Vec<String>> = parts
                .iter()
                .map(|values| values.iter().find_map(plain_question))
                .collect();
            texts.map(|texts| texts.join("$"))
        }
        IndexValue::Position(position) => {
            Some(format!("{}|{}|1|km", position.latitude, position.longitude))
        }
    }
}

fn token(value: &TokenValue) -> Option<String> {
    let system = value.system.as_str().map(escape).unwrap_or_default();
    let code = escape(value.code.as_deref().unwrap_or_default());
    (!code.is_empty() || !system.is_empty()).then(|| format!("{system}|{code}"))
}

fn number_text(number: NumberValue) -> String {
    if number.low == number.high {
        return number.low.to_string();
    }
    if number.low.is_finite() {
        format!("ge{}", number.low)
    } else {
        format!("le{}", number.high)
    }
}

#[test]
fn summaries_of_examples_are_valid_too() {
    let mut summaries = 0;
    for example in examples().filter(|example| validate(example).is_empty()) {
        for view in [SummaryView::True, SummaryView::Data] {
            let summary = summarized(&example, view);
            let issues: Vec<_> = validate(&summary)
                .into_iter()
                .filter(|issue| !issue.diagnostics.contains("contained"))
                .collect();
            assert!(issues.is_empty(), "{} {view:?}: {issues:?}", example["id"]);
            summaries += 1;
        }
    }
    assert!(summaries > 10_000);
}

#[test]
fn the_index_of_an_example_is_what_its_elements_say() {
    const SHOWN: [&str; 5] = [
        "Patient/example",
        "Observation/blood-pressure",
        "Encounter/f001",
        "Location/1",
        "DocumentReference/example",
    ];
    let definitions = SearchDefinitions::r4();
    let mut indexes = BTreeMap::new();
    for example in examples() {
        let name = format!(
            "{}/{}",
            example["resourceType"].as_str().unwrap(),
            example["id"].as_str().unwrap()
        );
        if SHOWN.contains(&name.as_str()) {
            let mut index: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for (id, value) in extract(definitions, &example) {
                index
                    .entry(definitions.parameter(id).code)
                    .or_default()
                    .push(format!("{value:?}"));
            }
            indexes.insert(name, index);
        }
    }
    assert_eq!(indexes.len(), SHOWN.len());
    insta::assert_debug_snapshot!(indexes);
}
