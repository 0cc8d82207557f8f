//! Writes YAML that people like to read, and that reads back as exactly the same values.

use std::fmt::Write as _;

use serde_json::Value;

/// What is to be written: maps keep their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Scalar(Value),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

/// The text of a document.
pub(crate) fn write(tree: &Tree) -> String {
    let mut out = String::new();
    block(tree, 0, &mut out);
    out
}

/// A value on lines of its own, each indented by `depth`; the first line is indented by whoever
/// calls it when it follows a dash.
fn block(tree: &Tree, depth: usize, out: &mut String) {
    match tree {
        Tree::Map(members) if !members.is_empty() => {
            for (place, (name, member)) in members.iter().enumerate() {
                if place > 0 {
                    indent(depth, out);
                }
                out.push_str(&key(name));
                out.push(':');
                after_colon(member, depth, out);
            }
        }
        Tree::List(items) if !items.is_empty() => {
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    indent(depth, out);
                }
                out.push_str("- ");
                match item {
                    Tree::Scalar(Value::String(text)) if is_block(text) => {
                        literal(text, depth + 2, out);
                    }
                    item => block(item, depth + 2, out),
                }
            }
        }
        other => {
            out.push_str(&inline(other));
            out.push('\n');
        }
    }
}

fn after_colon(tree: &Tree, depth: usize, out: &mut String) {
    match tree {
        Tree::Map(members) if !members.is_empty() => {
            out.push('\n');
            indent(depth + 2, out);
            block(tree, depth + 2, out);
        }
        Tree::List(items) if !items.is_empty() => {
            out.push('\n');
            indent(depth + 2, out);
            block(tree, depth + 2, out);
        }
        Tree::Scalar(Value::String(text)) if is_block(text) => {
            out.push(' ');
            literal(text, depth + 2, out);
        }
        other => {
            out.push(' ');
            out.push_str(&inline(other));
            out.push('\n');
        }
    }
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', depth));
}

/// What fits on one line.
fn inline(tree: &Tree) -> String {
    match tree {
        Tree::Map(_) => "{}".to_owned(),
        Tree::List(_) => "[]".to_owned(),
        Tree::Scalar(Value::String(text)) => scalar(text),
        Tree::Scalar(other) => other.to_string(),
    }
}

/// A text of several lines that a literal block gives back as it is.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let is_plain = |line: &str| {
        !line.ends_with([' ', '\t'])
            && line
                .chars()
                .all(|letter| letter == '\t' || !is_special(letter))
    };
    body.contains('\n')
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\t', '\n'])
        && body.lines().count() == body.split('\n').count()
        && body.split('\n').all(is_plain)
}

fn literal(text: &str, depth: usize, out: &mut String) {
    let (mark, body) = match text.strip_suffix('\n') {
        Some(body) => ("|", body),
        None => ("|-", text),
    };
    out.push_str(mark);
    out.push('\n');
    for line in body.split('\n') {
        if !line.is_empty() {
            indent(depth, out);
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// Characters that YAML does not let stand for themselves everywhere.
fn is_special(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn key(name: &str) -> String {
    scalar(name)
}

/// A text without quotes where nothing else could be meant.
fn scalar(text: &str) -> String {
    let begins = |letter: char| letter.is_alphabetic() || letter == '/';
    let goes_on = |letter: char| {
        letter.is_alphanumeric()
            || matches!(
                letter,
                ' ' | '-' | '_' | '.' | '/' | '(' | ')' | ',' | ';' | '\'' | '+'
            )
    };
    let is_plain = text.starts_with(begins)
        && text.chars().all(goes_on)
        && !text.ends_with(' ')
        && !text.contains(" -")
        && !means_something(text);
    if is_plain {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Words that YAML takes for something else than a text, in one version or another.
fn means_something(text: &str) -> bool {
    let words = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity",
    ];
    words.contains(&text.to_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            special if is_special(special) => {
                let _ = write!(out, "\\u{:04x}", u32::from(special));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::document::Node;

    fn any_json() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "\\PC{0,12}",
            "[a-z \\n\\t:#'\"|>{}\\[\\]&*!%@`,-]{0,12}",
            "(yes|no|null|true|1e3|0x1|1_000|\\.5|~|=|<<|-|\\?)",
            any::<String>(),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| json!(number)),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(text.clone(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_written_reads_back_the_same(value in any_json()) {
            let text = write(&Tree::of(&value));
            let read = Node::read(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            prop_assert_eq!(read.to_value(), value, "{}", text);
        }
    }

    #[test]
    fn it_reads_well() {
        let value = json!({
            "name": "Fax referral", "empty": [], "none": {},
            "steps": [{"type": "fax_inbound", "text": "Dear colleague,\n\nplease see\n  Ada.\n"}, ["nested", 5], "MSH|^~\\&|A\rPID|1"],
            "no": "no", "time": "2026-01-02", "weight": 1.5,
        });
        insta::assert_snapshot!(write(&Tree::of(&value)));
    }
}
