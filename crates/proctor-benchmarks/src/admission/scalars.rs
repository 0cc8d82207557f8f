//! Single values in documents.

use serde_json::Value;

use super::chance::Chance;

/// The scalars of a document that `is` accepts, in their order.
pub(crate) fn scalars(value: &mut Value, is: fn(&Value) -> bool) -> Vec<&mut Value> {
    match value {
        Value::Array(items) => items.iter_mut().flat_map(|one| scalars(one, is)).collect(),
        Value::Object(members) => {
            let members = members.values_mut();
            members.flat_map(|one| scalars(one, is)).collect()
        }
        scalar if is(scalar) => vec![scalar],
        _ => Vec::new(),
    }
}

/// Whether a document has such a scalar.
pub(crate) fn has(value: &Value, is: fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|one| has(one, is)),
        Value::Object(members) => members.values().any(|one| has(one, is)),
        scalar => is(scalar),
    }
}

/// The document with one of those scalars changed; nothing if it has none.
pub(crate) fn with_one_changed(
    value: &Value,
    is: fn(&Value) -> bool,
    chance: &mut Chance,
    change: impl FnOnce(&mut Value),
) -> Option<Value> {
    let mut changed = value.clone();
    let mut found = scalars(&mut changed, is);
    let places: Vec<usize> = (0..found.len()).collect();
    let place = *chance.pick(&places)?;
    change(found.swap_remove(place));
    Some(changed)
}

/// `2030-03-04`, perhaps with a time.
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_form = |(place, byte): (usize, &u8)| match place {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    bytes.len() >= 10
        && bytes.iter().take(10).enumerate().all(is_form)
        && matches!(bytes.get(10), None | Some(b'T'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dates_are_told_from_other_texts() {
        for date in ["1949-06-30", "2030-03-04T10:00:00Z"] {
            assert!(is_date(date), "{date}");
        }
        for other in [
            "1949-06",
            "+1 555 010 2210",
            "1949-06-30x",
            "19490630xx",
            "",
        ] {
            assert!(!is_date(other), "{other}");
        }
    }

    #[test]
    fn one_scalar_of_the_kind_is_changed() {
        let value = json!({"a": ["x", 1, {"b": 2}], "c": null});
        assert!(has(&value, Value::is_number) && !has(&value, Value::is_boolean));
        let mut chance = Chance::new(0, "test");
        let changed = with_one_changed(&value, Value::is_number, &mut chance, |one| {
            *one = json!(9);
        });
        let changed = changed.unwrap().to_string();
        assert_eq!(changed.matches('9').count(), 1, "{changed}");
        assert_eq!(
            with_one_changed(&value, Value::is_boolean, &mut chance, |_| {}),
            None
        );
    }
}
