//! The laws that prefixes obey, and that any text is read or refused.

use proptest::prelude::*;
use serde_json::json;

use super::{Criterion, DateCriterion, Filter, NumberCriterion, Prefix, tests::context};
use crate::definitions::SearchDefinitions;
use crate::index::{IndexValue, NumberValue, extract};
use crate::primitive::decimal::Decimal;
use crate::primitive::moment::Span;

fn span() -> impl Strategy<Value = Span> {
    (-50i64..50, 1i64..30, any::<u8>()).prop_map(|(start, length, open)| Span {
        start: if open % 8 == 0 {
            Span::OPEN_START
        } else {
            start
        },
        end: if open % 8 == 1 {
            Span::OPEN_END
        } else {
            start + length
        },
    })
}

fn number() -> impl Strategy<Value = NumberValue> {
    (-400i32..400, 0i32..40, any::<u8>()).prop_map(|(low, width, kind)| {
        let low = f64::from(low) / 4.0;
        match kind % 8 {
            0 => NumberValue {
                low: f64::NEG_INFINITY,
                high: low,
            },
            1 => NumberValue {
                low,
                high: f64::INFINITY,
            },
            2 => NumberValue {
                low,
                high: low + f64::from(width) / 4.0,
            },
            _ => NumberValue::exactly(low),
        }
    })
}

proptest! {
    #[test]
    fn prefixes_of_dates_obey_their_laws(start in -50i64..50, length in 1i64..30, value in span()) {
        let searched = Span { start, end: start + length };
        let holds = |prefix| DateCriterion { prefix, span: searched }.matches(value);
        prop_assert_eq!(holds(Prefix::NotEqual), !holds(Prefix::Equal));
        prop_assert_eq!(holds(Prefix::GreaterOrEqual), holds(Prefix::Greater) || holds(Prefix::Equal));
        prop_assert_eq!(holds(Prefix::LessOrEqual), holds(Prefix::Less) || holds(Prefix::Equal));
        prop_assert!(!holds(Prefix::Equal) || (holds(Prefix::GreaterOrEqual) && holds(Prefix::LessOrEqual) && holds(Prefix::Approximate)));
        prop_assert!(!holds(Prefix::StartsAfter) || holds(Prefix::Greater));
        prop_assert!(!holds(Prefix::EndsBefore) || holds(Prefix::Less));
        prop_assert!(!(holds(Prefix::StartsAfter) && holds(Prefix::EndsBefore)));
        // A value lies after, before, or it overlaps what is searched.
        prop_assert_eq!(holds(Prefix::Approximate), !holds(Prefix::StartsAfter) && !holds(Prefix::EndsBefore));
    }

    #[test]
    fn prefixes_of_numbers_obey_their_laws(searched in -100i32..100, value in number()) {
        let decimal = Decimal::parse(&searched.to_string()).unwrap();
        let holds = |prefix| NumberCriterion { prefix, number: decimal }.matches(value);
        prop_assert_eq!(holds(Prefix::NotEqual), !holds(Prefix::Equal));
        prop_assert!(!holds(Prefix::Greater) || holds(Prefix::GreaterOrEqual));
        prop_assert!(!holds(Prefix::Less) || holds(Prefix::LessOrEqual));
        prop_assert!(holds(Prefix::GreaterOrEqual) || holds(Prefix::LessOrEqual));
        prop_assert_eq!(holds(Prefix::StartsAfter), !holds(Prefix::LessOrEqual));
        prop_assert_eq!(holds(Prefix::EndsBefore), !holds(Prefix::GreaterOrEqual));
        prop_assert!(!holds(Prefix::Equal) || holds(Prefix::Approximate));
        if value == NumberValue::exactly(decimal.value) {
            prop_assert!(holds(Prefix::Equal) && holds(Prefix::GreaterOrEqual) && holds(Prefix::LessOrEqual));
        }
    }

    #[test]
    fn any_value_of_any_parameter_is_read_or_refused_without_a_panic(
        parameter in 0usize..1_378,
        modifier in proptest::option::of("missing|exact|contains|not|text|identifier|of-type|above|below|in|Patient|[a-z]{1,5}"),
        text in "\\PC{0,40}|(eq|gt|ap)?[-0-9.eET:Z|$,\\\\]{0,30}",
    ) {
        let parameter = &SearchDefinitions::r4().parameters()[parameter];
        if let Ok(filter) = Filter::parse(parameter, modifier.as_deref(), &text, &context()) {
            filter.holds(&[IndexValue::Number(NumberValue::exactly(1.0)), IndexValue::Uri("x".into())]);
        }
    }

    #[test]
    fn a_criterion_reads_the_escapes_that_escaping_writes(code in "[a-z|,$\\\\]{1,12}") {
        let parameter = SearchDefinitions::r4().find("Patient", "identifier").unwrap();
        let patient = json!({"resourceType": "Patient", "identifier": [{"system": "http://s", "value": code}]});
        let criterion = Criterion::parse(parameter, None, &format!("http://s|{}", super::escape(&code)), &context()).unwrap();
        let values = extract(SearchDefinitions::r4(), &patient);
        prop_assert!(values.iter().any(|(id, value)| *id == parameter.id && criterion.matches(value)));
    }
}
