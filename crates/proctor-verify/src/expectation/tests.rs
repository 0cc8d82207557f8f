use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(expected: &Value) -> Result<Test, String> {
    let notes = Notes::default();
    match Expectation::read(&Node::root(expected, &notes)) {
        Some(Expectation::Fixed(test)) => Ok(test),
        Some(Expectation::Open(_)) => Err("it has templates".to_owned()),
        None => Err(in_words(&notes.problems())),
    }
}

fn holds(expected: &Value, values: &[Value]) -> bool {
    let values: Vec<&Value> = values.iter().collect();
    read(expected).unwrap().holds(&values, Manner::Typed)
}

#[test]
fn each_operator_asks_its_own_question() {
    for (expected, value, outcome) in [
        (json!({"$in": [1, "a"]}), json!(1.0), true),
        (json!({"$in": [1, "a"]}), json!("1"), false),
        (json!({"$regex": "^a+$"}), json!("aaa"), true),
        (json!({"$regex": "^1$"}), json!(1), true),
        (json!({"$regex": "a"}), json!(["a"]), false),
        (json!({"$exists": true}), json!([]), true),
        (json!({"$exists": false}), json!(0), false),
        (json!({"$contains": "b"}), json!("abc"), true),
        (json!({"$contains": 2}), json!([1, 2.0]), true),
        (json!({"$contains": "b"}), json!(["abc"]), false),
        (json!({"$gte": 1, "$lte": 2}), json!(1.5), true),
        (
            json!({"$gte": 1, "$lte": 2, "$ne": 1.5}),
            json!(1.50),
            false,
        ),
        (json!({"$ne": "x"}), json!({"y": 1}), true),
        (json!({"$ne": null}), json!(false), true),
    ] {
        assert_eq!(
            holds(&expected, std::slice::from_ref(&value)),
            outcome,
            "{expected} {value}"
        );
    }
}

#[test]
fn nothing_is_absent_and_is_not_anything() {
    for (expected, outcome) in [
        (json!(null), true),
        (json!({"$exists": false}), true),
        (json!({"$ne": "x"}), true),
        (json!({"$in": ["x", null]}), true),
        (json!({"$ne": null}), false),
        (json!({"$exists": true}), false),
        (json!({"$in": ["x"]}), false),
        (json!({"$in": ["x", null], "$gte": 1}), false),
        (json!(""), false),
    ] {
        assert_eq!(holds(&expected, &[]), outcome, "{expected}");
    }
}

#[test]
fn of_several_values_one_must_do_and_none_may_be_ruled_out() {
    let values = [json!(1), json!(5), json!(9)];
    for (expected, outcome) in [
        (json!(5), true),
        (json!({"$ne": 5}), false),
        (json!({"$ne": 6}), true),
        (json!({"$gte": 4, "$lte": 6}), true),
        (json!({"$gte": 6, "$lte": 8}), false),
        (json!({"$gte": 6, "$ne": 1}), false),
        (json!(null), false),
    ] {
        assert_eq!(holds(&expected, &values), outcome, "{expected}");
    }
}

#[test]
fn regular_expressions_are_bounded() {
    let refusal = |pattern: &str| read(&json!({"$regex": pattern})).unwrap_err();
    assert!(refusal(&"a".repeat(LONGEST_PATTERN + 1)).contains("longer"));
    assert!(refusal(r"\w{1000}{1000}").contains("too large"));
    assert!(refusal("(?<x").contains("no regular expression"));
    let late = format!("{}needle", " ".repeat(LONGEST_HAYSTACK));
    assert!(!holds(&json!({"$regex": "needle"}), &[json!(late)]));
    assert!(holds(&json!({"$contains": "needle"}), &[json!(late)]));
}

proptest! {
    #[test]
    fn a_scalar_is_itself(value in prop_oneof![any::<i64>().prop_map(Value::from), any::<bool>().prop_map(Value::from), "[^{]{0,8}".prop_map(Value::from)]) {
        let expected = json!({"$in": [value]});
        prop_assert!(holds(&value, std::slice::from_ref(&value)));
        prop_assert!(holds(&expected, std::slice::from_ref(&value)));
        let unwanted = json!({"$ne": value});
        prop_assert!(!holds(&unwanted, std::slice::from_ref(&value)));
    }
}
