//! Other values in place of those of a JSON document: of the same form, and never right.

use serde_json::Value;

use crate::admission::scalars::is_date;

/// What stands in place of a text of several words. A rubric must hold for every wording, so a mutant says something else
/// altogether instead of the same with a word changed.
const OTHER_WORDS: &str = "Something else";

/// Every document that differs in one value: the path of the value, and the document.
pub(super) fn changed(value: &Value) -> Vec<(String, Value)> {
    let count = scalars(value);
    let one = |number: usize| {
        let (mut changed, mut which) = (value.clone(), number);
        let path = change(&mut changed, &mut which, "")?;
        Some((path, changed))
    };
    (0..count).filter_map(one).collect()
}

fn scalars(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(scalars).sum(),
        Value::Object(members) => members.values().map(scalars).sum(),
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// Changes the scalar with this number; its path.
fn change(value: &mut Value, which: &mut usize, path: &str) -> Option<String> {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Array(items) => {
            let mut items = items.iter_mut().enumerate();
            items.find_map(|(place, item)| change(item, which, &below(&place.to_string())))
        }
        Value::Object(members) => {
            let mut members = members.iter_mut();
            members.find_map(|(name, member)| change(member, which, &below(name)))
        }
        Value::Null => None,
        scalar => {
            if *which > 0 {
                *which -= 1;
                return None;
            }
            *scalar = match &*scalar {
                Value::Bool(flag) => (!flag).into(),
                Value::Number(number) => (number.as_f64().unwrap_or_default() + 1.0).into(),
                Value::String(text) => altered(text).into(),
                _ => Value::Null,
            };
            Some(path.to_owned())
        }
    }
}

/// Another text of the same form.
pub(super) fn altered(text: &str) -> String {
    let has_letters = text.chars().any(char::is_alphabetic);
    if has_letters && text.trim().contains(char::is_whitespace) {
        return OTHER_WORDS.to_owned();
    }
    if is_date(text) {
        // Another year: no tolerance of days hides it.
        return with_other_digit(text, 3);
    }
    let last_digit = text.rfind(|letter: char| letter.is_ascii_digit());
    match last_digit {
        Some(place) => with_other_digit(text, place),
        None => {
            // What stands before a slash says of what kind it is: `Patient/…`, `http://…`.
            let (kind, name) = text.split_at(text.rfind('/').map_or(0, |place| place + 1));
            let other: String = name.chars().map(other_letter).collect();
            format!("{kind}{other}")
        }
    }
}

fn with_other_digit(text: &str, place: usize) -> String {
    let other = if text[place..].starts_with('1') {
        "2"
    } else {
        "1"
    };
    format!("{}{other}{}", &text[..place], &text[place + 1..])
}

/// The letter half an alphabet further, so that no letter stays what it is.
fn other_letter(letter: char) -> char {
    let turn = |first: u8| {
        let place = (letter as u8 - first + 13) % 26;
        char::from(first + place)
    };
    match letter {
        'a'..='z' => turn(b'a'),
        'A'..='Z' => turn(b'A'),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_value_is_changed_in_its_turn() {
        let body = json!({"a": [1, true], "b": {"c": "2026-01-05", "d": null}});
        let changed = changed(&body);
        assert_eq!(
            changed,
            [
                (
                    "a.0".to_owned(),
                    json!({"a": [2.0, true], "b": {"c": "2026-01-05", "d": null}})
                ),
                (
                    "a.1".to_owned(),
                    json!({"a": [1, false], "b": {"c": "2026-01-05", "d": null}})
                ),
                (
                    "b.c".to_owned(),
                    json!({"a": [1, true], "b": {"c": "2021-01-05", "d": null}})
                ),
            ]
        );
    }

    #[test]
    fn another_text_has_the_same_form_and_says_something_else() {
        for (text, other) in [
            ("Patient/ada-moreau", "Patient/nqn-zbernh"),
            ("http://loinc.org", "http://ybvap.bet"),
            ("2823-3", "2823-1"),
            ("+1 555 010 6121", "+1 555 010 6122"),
            ("HH", "UU"),
            ("Please see the patient.", OTHER_WORDS),
            ("2030-03-04T10:00:00Z", "2031-03-04T10:00:00Z"),
        ] {
            assert_eq!(altered(text), other);
        }
    }
}
