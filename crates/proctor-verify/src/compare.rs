//! How single values compare.

use proctor_fhir::primitive::moment::Moment;
use serde_json::Value;

use crate::{decimal::Decimal, template::scalar_text};

/// How the values of a format are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// JSON has types: a number is never a text, and numbers compare by their value.
    Typed,
    /// HL7, X12, CSV and plain text have only text, and what is expected is written out as text.
    AsText,
}

/// A side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    AtLeast,
    AtMost,
    /// Without the bound itself.
    Above,
    /// Without the bound itself.
    Below,
}

/// Whether a value is what is expected.
pub(crate) fn equal(actual: &Value, expected: &Value, manner: Manner) -> bool {
    match manner {
        Manner::AsText => match (scalar_text(actual), scalar_text(expected)) {
            (Some(actual), Some(expected)) => actual == expected,
            _ => false,
        },
        Manner::Typed => match (actual, expected) {
            (Value::String(actual), Value::String(expected)) => actual == expected,
            (Value::Bool(actual), Value::Bool(expected)) => actual == expected,
            (Value::Number(actual), Value::Number(expected)) => {
                actual.as_str() == expected.as_str()
                    || Decimal::parse(actual.as_str()) == Decimal::parse(expected.as_str())
            }
            _ => false,
        },
    }
}

/// Whether a value is on one side of a bound. The bound decides what is compared: dates with dates,
/// numbers with numbers, and other text by the order of its characters.
pub(crate) fn is_on(side: Side, actual: &Value, bound: &Value, manner: Manner) -> bool {
    let (Some(actual_text), Some(bound_text)) = (scalar_text(actual), scalar_text(bound)) else {
        return false;
    };
    let are_texts = |is_text: fn(&Value) -> bool| is_text(actual) && is_text(bound);
    let both_text = manner == Manner::AsText || are_texts(Value::is_string);
    if both_text {
        let bound_moment = moment(&bound_text);
        if let (Some(actual), Some(bound)) = (moment(&actual_text), bound_moment) {
            return match side {
                Side::AtLeast => actual.span.start >= bound.span.start,
                Side::AtMost => actual.span.end <= bound.span.end,
                Side::Above => actual.span.start >= bound.span.end,
                Side::Below => actual.span.end <= bound.span.start,
            };
        }
        let counts = manner == Manner::AsText && Decimal::parse(&bound_text).is_some();
        if !counts {
            return bound_moment.is_none() && side.holds(actual_text.cmp(&bound_text));
        }
    } else if !are_texts(Value::is_number) {
        return false;
    }
    match (Decimal::parse(&actual_text), Decimal::parse(&bound_text)) {
        (Some(actual), Some(bound)) => side.holds(actual.cmp(&bound)),
        _ => false,
    }
}

impl Side {
    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::AtLeast => order.is_ge(),
            Self::AtMost => order.is_le(),
            Self::Above => order.is_gt(),
            Self::Below => order.is_lt(),
        }
    }
}

/// A date or time, as ISO 8601 writes it (`2026-04-21T17:00:00Z`) or as HL7 and X12 do
/// (`20260421170000`, with or without a zone).
pub(crate) fn moment(text: &str) -> Option<Moment> {
    if let Some(moment) = Moment::parse(text) {
        return Some(moment);
    }
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let digits = text.bytes().take_while(|byte| is_digit(byte)).count();
    if !matches!(digits, 8 | 12 | 14) {
        return None;
    }
    let (date, rest) = text.split_at(8);
    let mut written = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
    let (time, zone) = rest.split_at(digits - 8);
    if !time.is_empty() {
        written.push_str(&format!("T{}:{}", &time[..2], &time[2..4]));
    }
    if time.len() == 6 {
        written.push_str(&format!(":{}", &time[4..]));
    }
    // A fraction of a second stays as it is; the zone gets its colon.
    let place = zone.find(['+', '-']).unwrap_or(zone.len());
    let (fraction, zone) = zone.split_at(place);
    written.push_str(fraction);
    match zone.len() {
        0 => {}
        5 if zone.is_char_boundary(3) => {
            written.push_str(&format!("{}:{}", &zone[..3], &zone[3..]));
        }
        _ => return None,
    }
    Moment::parse(&written)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn on(side: Side, actual: &str, bound: &str, manner: Manner) -> bool {
        let read = |text| serde_json::from_str::<Value>(text).unwrap();
        is_on(side, &read(actual), &read(bound), manner)
    }

    #[test]
    fn typed_numbers_compare_exactly_and_never_with_text() {
        let number = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert!(equal(&number("1.10"), &number("1.1"), Manner::Typed));
        assert!(equal(&number("1e2"), &number("100"), Manner::Typed));
        assert!(!equal(
            &number("0.1"),
            &number("0.10000000000000001"),
            Manner::Typed
        ));
        assert!(!equal(&json!("1"), &json!(1), Manner::Typed));
        assert!(equal(&json!("1"), &json!(1), Manner::AsText));
        assert!(!equal(&json!("1.0"), &json!(1), Manner::AsText));
        assert!(equal(&json!("true"), &json!(true), Manner::AsText));
    }

    #[test]
    fn bounds_compare_numbers_dates_and_text() {
        use Manner::{AsText, Typed};
        use Side::{AtLeast, AtMost};
        for (side, actual, bound, manner, expected) in [
            (AtLeast, "10", "9", Typed, true),
            (AtLeast, "\"10\"", "9", Typed, false),
            (AtLeast, "\"10\"", "9", AsText, true),
            (AtMost, "\"10\"", "\"9\"", AsText, false),
            (AtLeast, "\"high\"", "9", AsText, false),
            (AtLeast, "\"unknown\"", "\"2026-01-01\"", Typed, false),
            (
                AtLeast,
                "\"2026-04-21T10:00:00+02:00\"",
                "\"2026-04-21T08:00:00Z\"",
                Typed,
                true,
            ),
            (
                AtMost,
                "\"2026-04-21T10:00:00+02:00\"",
                "\"2026-04-21T07:59:59Z\"",
                Typed,
                false,
            ),
            (AtMost, "\"2026-04-15\"", "\"2026-04\"", Typed, true),
            (
                AtLeast,
                "\"20260421173000\"",
                "\"2026-04-21T17:00:00.000Z\"",
                AsText,
                true,
            ),
            (
                AtLeast,
                "\"20260421173000+0200\"",
                "\"2026-04-21T17:00:00.000Z\"",
                AsText,
                false,
            ),
            (AtMost, "\"20260421173000\"", "\"20260421\"", AsText, true),
            (AtLeast, "\"09:30\"", "\"09:00\"", Typed, true),
            (AtLeast, "true", "1", Typed, false),
            (AtLeast, "[1]", "1", Typed, false),
        ] {
            assert_eq!(
                on(side, actual, bound, manner),
                expected,
                "{side:?} {actual} {bound}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_two_values_compare_without_a_panic(actual in "[0-9+.Té-]{0,22}", bound in "[0-9+.Té-]{0,22}") {
            for manner in [Manner::Typed, Manner::AsText] {
                for side in [Side::AtLeast, Side::AtMost] {
                    is_on(side, &json!(actual), &json!(bound), manner);
                }
            }
        }

        #[test]
        fn a_value_is_on_both_sides_of_itself(text in "[0-9]{1,6}|[a-z]{1,6}|20[0-9]{2}-0[1-9]-1[0-9]") {
            for manner in [Manner::Typed, Manner::AsText] {
                prop_assert!(is_on(Side::AtLeast, &json!(text), &json!(text), manner));
                prop_assert!(is_on(Side::AtMost, &json!(text), &json!(text), manner));
            }
        }
    }
}
