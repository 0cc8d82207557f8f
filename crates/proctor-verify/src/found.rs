//! What a path led to, and how much of it evidence shows.

use std::borrow::Cow;

use serde_json::Value;

use crate::json_path::JsonPath;

/// The longest text that evidence shows whole, in characters.
const LONGEST_TEXT: usize = 1_000;
/// How many parts of a list or an object evidence shows, in all its depth.
const MOST_PARTS: usize = 200;

/// What a path led to. Null is nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found<'w> {
    /// A path to one place.
    One(Option<Cow<'w, Value>>),
    /// A path with a star.
    Many(Vec<Cow<'w, Value>>),
}

impl<'w> Found<'w> {
    /// What a JSON path leads to.
    pub(crate) fn at(path: &JsonPath, root: &'w Value) -> Self {
        if path.is_any() {
            Self::Many(path.all(root).into_iter().map(Cow::Borrowed).collect())
        } else {
            Self::One(path.one(root).map(Cow::Borrowed))
        }
    }

    /// A text, or nothing.
    pub(crate) fn text(text: Option<impl Into<String>>) -> Self {
        Self::One(text.map(|text| Cow::Owned(Value::String(text.into()))))
    }

    /// Texts, each of which may be nothing.
    pub(crate) fn many(texts: impl Iterator<Item = Option<String>>) -> Self {
        Self::Many(texts.map(|text| Cow::Owned(Value::from(text))).collect())
    }

    /// The values that are there.
    pub(crate) fn present(&self) -> Vec<&Value> {
        let all: &[Cow<'w, Value>] = match self {
            Self::One(value) => value.as_slice(),
            Self::Many(values) => values,
        };
        let values = all.iter().map(Cow::as_ref);
        values.filter(|value| !value.is_null()).collect()
    }

    /// A value as evidence shows it, with room for `parts` parts.
    pub(crate) fn shown_within(value: &Value, parts: usize) -> Value {
        let mut room = parts;
        shown(value, &mut room)
    }

    /// What evidence shows: the value, or for a path with a star the list of all values.
    pub(crate) fn shown(&self) -> Value {
        let mut room = MOST_PARTS;
        match self {
            Self::One(None) => Value::Null,
            Self::One(Some(value)) => shown(value, &mut room),
            Self::Many(values) => shown_list(values.iter().map(Cow::as_ref), &mut room),
        }
    }
}

/// A value, cut where it is too large for evidence.
fn shown(value: &Value, room: &mut usize) -> Value {
    *room = room.saturating_sub(1);
    match value {
        Value::String(text) => cut(text).into(),
        Value::Array(items) => shown_list(items.iter(), room),
        Value::Object(members) => {
            let mut kept = serde_json::Map::new();
            for (name, member) in members {
                if *room == 0 {
                    break;
                }
                kept.insert(name.clone(), shown(member, room));
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn shown_list<'v>(items: impl Iterator<Item = &'v Value>, room: &mut usize) -> Value {
    let mut kept = Vec::new();
    for item in items {
        if *room == 0 {
            break;
        }
        kept.push(shown(item, room));
    }
    Value::Array(kept)
}

/// A text, cut where it is too long for evidence.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn evidence_is_bounded() {
        let long = "é".repeat(LONGEST_TEXT + 1);
        let found = Found::One(Some(Cow::Owned(json!(long))));
        assert_eq!(
            found.shown().as_str().unwrap().chars().count(),
            LONGEST_TEXT + 1
        );
        let many = json!({"list": vec![json!({"a": [1, 2, 3]}); 1_000]});
        let shown = Found::One(Some(Cow::Borrowed(&many))).shown();
        assert!(shown.to_string().len() < 2_000, "{shown}");
    }

    #[test]
    fn null_is_nothing() {
        assert_eq!(
            Found::One(Some(Cow::Owned(Value::Null))).present(),
            [] as [&Value; 0]
        );
        let list = [json!(null), json!(1)];
        let many = Found::Many(list.iter().map(Cow::Borrowed).collect());
        assert_eq!(many.present(), [&json!(1)]);
        assert_eq!(many.shown(), json!([null, 1]));
    }
}
