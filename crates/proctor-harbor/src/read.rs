//! What Harbor's documents have in common when they are read: scalars, lists of texts, environment maps, and keys that nobody knows.

use std::collections::BTreeMap;

use proctor_core::reader::{Node, Notes, Object};
use serde_json::Value;

use crate::warning::{Noted, Warning, unknown_key};

pub(crate) type DocumentNotes<'p> = Notes<'p, Noted>;
pub(crate) type DocumentNode<'a> = Node<'a, Noted>;
pub(crate) type DocumentObject<'a> = Object<'a, Noted>;

/// The longest time that can be asked for, in seconds: a year.
const LONGEST: f64 = 365.0 * 24.0 * 3600.0;

/// Notes something that does not stop anything.
pub(crate) fn warn(node: &DocumentNode<'_>, message: impl Into<String>) {
    node.extra().push(Warning::new(node.path(), message));
}

/// Notes every member that nobody asked for.
pub(crate) fn warn_of_unknown(object: &DocumentObject<'_>) {
    let (unknown, known) = object.not_asked_for();
    for name in unknown {
        let path = proctor_core::problem::join(object.node().path(), name);
        let warning = Warning::new(path, unknown_key(name, &known));
        object.node().extra().push(warning);
    }
}

/// Reads an object with `read`, and notes what is unknown in it.
pub(crate) fn object_of<'a, T>(
    node: &DocumentNode<'a>,
    read: impl FnOnce(&DocumentObject<'a>) -> T,
) -> Option<T> {
    let object = node.object()?;
    let value = read(&object);
    warn_of_unknown(&object);
    Some(value)
}

/// A text that may be left out.
pub(crate) fn text(object: &DocumentObject<'_>, name: &'static str) -> Option<String> {
    let text = object.optional(name)?.text()?;
    Some(text.to_owned())
}

/// A truth value that may be left out.
pub(crate) fn flag(object: &DocumentObject<'_>, name: &'static str) -> Option<bool> {
    object.optional(name)?.flag()
}

/// A number of seconds that may be left out.
pub(crate) fn seconds(object: &DocumentObject<'_>, name: &'static str) -> Option<f64> {
    let node = object.optional(name)?;
    let number = node.number()?;
    if !(0.0..=LONGEST).contains(&number) {
        node.refuse(format!("must be from 0 to {LONGEST} seconds"));
        return None;
    }
    Some(number)
}

/// A factor that may be left out.
pub(crate) fn factor(object: &DocumentObject<'_>, name: &'static str) -> Option<f64> {
    const MOST: f64 = 1000.0;
    let node = object.optional(name)?;
    let number = node.number()?;
    if !(number > 0.0 && number <= MOST) {
        node.refuse(format!("must be more than 0 and at most {MOST}"));
        return None;
    }
    Some(number)
}

/// A whole number that may be left out; `2.0` is one.
pub(crate) fn whole(
    object: &DocumentObject<'_>,
    name: &'static str,
    range: std::ops::RangeInclusive<u64>,
) -> Option<u64> {
    let node = object.optional(name)?;
    let number = match node.value() {
        Value::Number(number) => number.as_u64().or_else(|| {
            let number = number.as_f64()?;
            let is_whole = (0.0..=1e15).contains(&number) && number.fract() == 0.0;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it was just found to be whole and small"
            )]
            is_whole.then_some(number as u64)
        }),
        _ => None,
    };
    let number = number.filter(|number| range.contains(number));
    if number.is_none() {
        let (least, most) = range.into_inner();
        node.refuse(format!("must be a whole number from {least} to {most}"));
    }
    number
}

/// A list of texts; nothing if it is left out.
pub(crate) fn texts(object: &DocumentObject<'_>, name: &'static str) -> Vec<String> {
    let items = object.optional(name).map(|list| list.items());
    let items = items.unwrap_or_default();
    items
        .iter()
        .filter_map(|item| item.text().map(str::to_owned))
        .collect()
}

/// A list whose items `read` reads; nothing if it is left out.
pub(crate) fn list<'a, T>(
    object: &DocumentObject<'a>,
    name: &'static str,
    read: impl Fn(&DocumentNode<'a>) -> Option<T>,
) -> Vec<T> {
    let items = object.optional(name).map(|list| list.items());
    let items = items.unwrap_or_default();
    items.iter().filter_map(read).collect()
}

/// A map from variables to texts. Harbor once had lists of `KEY=VALUE` in their place; those are read where `has_lists`.
pub(crate) fn variables(
    object: &DocumentObject<'_>,
    name: &'static str,
    has_lists: bool,
) -> BTreeMap<String, String> {
    let Some(node) = object.optional(name) else {
        return BTreeMap::new();
    };
    if has_lists && node.value().is_array() {
        warn(
            &node,
            "a list of KEY=VALUE is the old form; a map from names to values is the new one",
        );
        let pair = |item: DocumentNode<'_>| match item.text()?.split_once('=') {
            Some((name, value)) => Some((name.trim().to_owned(), value.trim().to_owned())),
            None => {
                item.refuse("must be KEY=VALUE");
                None
            }
        };
        return node.items().into_iter().filter_map(pair).collect();
    }
    let entries = node.entries().into_iter();
    entries
        .filter_map(|(name, value)| {
            if name.is_empty() || name.contains(['=', '\0']) {
                value.refuse("is not the name of an environment variable");
                return None;
            }
            let text = value.text()?;
            if text.contains('\0') {
                value.refuse("must not contain a NUL");
                return None;
            }
            Some((name.to_owned(), text.to_owned()))
        })
        .collect()
}

/// A user by name or number; nothing if it is left out.
pub(crate) fn user(object: &DocumentObject<'_>, name: &'static str) -> Option<String> {
    let node = object.optional(name)?;
    match node.value() {
        Value::Number(number) if number.as_u64().is_some() => Some(number.to_string()),
        _ => node.filled_text().map(str::to_owned),
    }
}
