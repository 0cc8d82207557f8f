//! What is said when a search finds nothing: what it would find if one thing were different.

use std::collections::BTreeMap;

use proctor_core::time::Timestamp;
use proctor_fhir::{
    definitions::SearchDefinitions,
    index::{IndexValue, ReferenceTarget, extract},
};
use proctor_fhir_store::{State, kind::ResourceKind, search::Hits};
use serde_json::Value;

use super::search::Asked;
use crate::matching::MOST_NEAR;

/// How many parameters are left out in turn.
const MOST_RELAXED: usize = 8;
/// How many resources are looked at to say what they have instead.
const MOST_READ: usize = 20;

/// What is missing, and what is there instead.
pub(super) fn misses(store: &State, asked: &Asked<'_>) -> String {
    let mut said = format!("no {}", asked.in_words());
    let kind = asked.kind;
    let mut near = Vec::new();
    let parameters = asked.parameters.iter().enumerate().take(MOST_RELAXED);
    for (place, (name, value)) in parameters.filter(|(_, (name, _))| *name != "_sort") {
        if asked.parameters.len() > 1
            && let Ok(hits) = asked.run_without(Some(place), store, MOST_READ)
            && hits.total > 0
        {
            near.extend(instead(kind, name, value, &hits));
        }
    }
    if near.is_empty() {
        let of_kind = Asked::everything(kind, asked).run(store, MOST_READ);
        let total = of_kind.as_ref().map_or(0, |hits| hits.total);
        let only = asked
            .parameters
            .first()
            .filter(|_| asked.parameters.len() == 1);
        match (total, only, of_kind) {
            (0, _, _) => near.push(format!("there is no {kind} at all")),
            (_, Some((name, value)), Ok(hits)) => near.extend(instead(kind, name, value, &hits)),
            (1, _, _) => near.push(format!("the only {kind} differs in more than one point")),
            (total, _, _) => near.push(format!(
                "all {total} of type {kind} differ in more than one point"
            )),
        }
    }
    said.push_str("; ");
    said.push_str(&near.join("; "));
    said
}

/// What resources have instead of the value of one parameter: `2 exist with status proposed`.
fn instead(kind: ResourceKind, name: &str, value: &str, hits: &Hits) -> Vec<String> {
    let exist = |number: usize| if number == 1 { "exists" } else { "exist" };
    let mut values: BTreeMap<String, usize> = BTreeMap::new();
    // With more than are read the counts would not be true.
    if hits.total <= hits.hits.len() {
        for hit in &hits.hits {
            let resource: Value = serde_json::from_slice(&hit.body).unwrap_or_default();
            if let Some(text) = value_of(kind, name, &resource) {
                *values.entry(text).or_default() += 1;
            }
        }
    }
    if values.is_empty() || values.len() > MOST_NEAR || values.values().sum::<usize>() != hits.total
    {
        let total = hits.total;
        return vec![format!("{total} {} without {name} {value}", exist(total))];
    }
    let values = values.into_iter();
    values
        .map(|(text, number)| format!("{number} {} with {name} {text}", exist(number)))
        .collect()
}

/// The values of a search parameter in a resource, in words; none for what has no short form.
fn value_of(kind: ResourceKind, name: &str, resource: &Value) -> Option<String> {
    let definitions = SearchDefinitions::r4();
    let code = name.split(':').next().unwrap_or_default();
    if code == "_id" {
        return resource["id"].as_str().map(str::to_owned);
    }
    definitions.find(kind.name(), code)?;
    let values = extract(definitions, resource)
        .into_iter()
        .filter(|(id, _)| definitions.parameter(*id).code == code)
        .map(|(_, value)| in_words(value));
    let mut values = values.collect::<Option<Vec<String>>>()?;
    values.sort();
    values.dedup();
    if values.is_empty() {
        return Some("absent".to_owned());
    }
    (values.len() <= MOST_NEAR).then(|| values.join(" and "))
}

fn in_words(value: IndexValue) -> Option<String> {
    match value {
        IndexValue::Token(token) => token.code.or(token.text).map(String::from),
        IndexValue::String(text) => Some(text.original.into()),
        IndexValue::Date(span) => Some(Timestamp::from_millis(span.start).to_string()),
        IndexValue::Reference(reference) => match reference.target {
            ReferenceTarget::Literal { kind, id, .. } => Some(format!("{kind}/{id}")),
            ReferenceTarget::Canonical { url, .. } | ReferenceTarget::Url(url) => Some(url.into()),
            _ => None,
        },
        IndexValue::Uri(uri) => Some(uri.into()),
        IndexValue::Quantity(_)
        | IndexValue::Number(_)
        | IndexValue::Composite(_)
        | IndexValue::Position(_) => None,
    }
}
