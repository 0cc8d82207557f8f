//! Rules of single types that cardinality and form do not express.

use serde_json::{Map, Value};

use super::IssueCode;
use super::place::Place;
use super::walk::Walker;
use crate::definitions::{Key, Structure, Structures, ValueSetCodes};
use crate::primitive::text::excerpt;
use crate::reference::Literal;

/// Whether `inner` is one of the contained resources of `outer`.
pub(super) fn contains(outer: &Map<String, Value>, inner: &Map<String, Value>) -> bool {
    let contained = outer.get("contained").and_then(Value::as_array);
    contained
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .any(|candidate| std::ptr::eq(candidate, inner))
}

/// A contained resource has an id and contains no others.
pub(super) fn resource(
    walker: &mut Walker<'_>,
    map: &Map<String, Value>,
    contained: bool,
    place: &Place<'_>,
) {
    if !contained {
        return;
    }
    if map.contains_key("contained") {
        walker.report(
            IssueCode::Invariant,
            place,
            "a contained resource must not contain others".to_owned(),
        );
    }
    if !map.contains_key("id") {
        walker.report(
            IssueCode::Required,
            place,
            "a contained resource needs an id".to_owned(),
        );
    }
}

/// What the type of an object asks for.
pub(super) fn object(
    walker: &mut Walker<'_>,
    map: &Map<String, Value>,
    structure: &Structure,
    place: &Place<'_>,
) {
    match structure.name {
        "Reference" => reference(walker, map, place),
        "Extension" => extension(walker, map, place),
        _ => {}
    }
}

/// Whether a primitive element may have an id and extensions of its own: ids, the urls of extensions and narratives are plain text.
pub(super) fn may_be_extended(structure: &Structure, name: &str) -> bool {
    !matches!(
        (structure.name, name),
        (_, "id") | ("Extension", "url") | ("Narrative", "div")
    )
}

/// An extension holds a value or further extensions, never both and never neither.
fn extension(walker: &mut Walker<'_>, map: &Map<String, Value>, place: &Place<'_>) {
    let value = map
        .keys()
        .any(|key| key.trim_start_matches('_').starts_with("value"));
    if value == map.contains_key("extension") {
        walker.report(
            IssueCode::Invariant,
            place,
            "an extension must have either a value or extensions of its own".to_owned(),
        );
    }
}

fn reference(walker: &mut Walker<'_>, map: &Map<String, Value>, place: &Place<'_>) {
    let Some(text) = map.get("reference").and_then(Value::as_str) else {
        return;
    };
    let place = place.child("reference");
    if let Some(id) = text.strip_prefix('#') {
        if !is_contained(walker.container, id) {
            walker.report(
                IssueCode::Invariant,
                &place,
                format!("`{}` is not among the contained resources", excerpt(text)),
            );
        }
    } else if !has_form_of_reference(text) {
        walker.report(
            IssueCode::Value,
            &place,
            format!("`{}` is no reference: `Type/id`, `Type?query`, an absolute URL, a URN or `#id` is expected",
                excerpt(text)),
        );
    }
}

/// The empty fragment is the containing resource itself.
fn is_contained(container: Option<&Map<String, Value>>, id: &str) -> bool {
    let contained = container
        .and_then(|container| container.get("contained"))
        .and_then(Value::as_array);
    id.is_empty()
        || contained
            .into_iter()
            .flatten()
            .any(|candidate| candidate.get("id").and_then(Value::as_str) == Some(id))
}

fn has_form_of_reference(text: &str) -> bool {
    let known = |kind: &str| Structures::r4().resource(kind).is_some();
    match Literal::parse(text) {
        Some(literal) => literal.base.is_some() || known(literal.kind),
        None => {
            has_scheme(text)
                || text
                    .split_once('?')
                    .is_some_and(|(kind, query)| known(kind) && !query.is_empty())
        }
    }
}

/// `scheme:…`, as URLs and URNs start.
fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        !rest.is_empty()
            && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

/// A concept with a required binding has a coding of the value set, unless it has only text.
pub(super) fn bound_concept(
    walker: &mut Walker<'_>,
    map: &Map<String, Value>,
    key: &Key<'_>,
    place: &Place<'_>,
) {
    let Some(binding) = key
        .element
        .binding
        .as_ref()
        .filter(|_| key.kind == "CodeableConcept")
    else {
        return;
    };
    let codings = map
        .get("coding")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let coded = codings.filter_map(|coding| {
        Some((
            coding
                .get("system")
                .and_then(Value::as_str)
                .unwrap_or_default(),
            coding.get("code")?.as_str()?,
        ))
    });
    let mut first = None;
    for (system, code) in coded {
        if binding.has(system, code) {
            return;
        }
        first = first.or(Some((system, code)));
    }
    if let Some((system, code)) = first {
        let coding = format!("{system}|{code}");
        walker.report(
            IssueCode::CodeInvalid,
            place,
            not_in_value_set(&coding, binding, Coding::WithSystem),
        );
    }
}

/// How the codes of a value set are written in a message.
#[derive(Clone, Copy)]
pub(super) enum Coding {
    CodeOnly,
    WithSystem,
}

pub(super) fn not_in_value_set(given: &str, binding: &ValueSetCodes, coding: Coding) -> String {
    const LISTED: usize = 20;
    let written = |system: &str, code: &str| match coding {
        Coding::CodeOnly => code.to_owned(),
        Coding::WithSystem => format!("{system}|{code}"),
    };
    let codes: Vec<String> = binding
        .systems
        .iter()
        .flat_map(|(system, codes)| codes.iter().map(|code| written(system, code)))
        .take(LISTED + 1)
        .collect();
    let given = excerpt(given);
    if codes.len() > LISTED {
        return format!("`{given}` is not in the value set {}", binding.url);
    }
    format!(
        "`{given}` is not in the value set {}: one of {} is expected",
        binding.url,
        codes.join(", ")
    )
}
