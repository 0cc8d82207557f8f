//! YAML as a tree in which every node knows where it stands.
//!
//! Numbers keep the digits they were written with. Nothing here knows what a benchmark is.

use std::fmt;

use proctor_core::{problem::Span, reader::Places};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

/// A value with its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Where people look for it.
    span: Span,
    /// Where its characters are: elsewhere only for what stands for an anchored value.
    written: Span,
    content: Content,
}

/// What a node is.
#[derive(Clone, Debug)]
enum Content {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// A named value.
#[derive(Clone, Debug)]
struct Member {
    name: String,
    name_span: Span,
    node: Node,
}

/// Why a text is no YAML: where, if that is known, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotYaml {
    pub(crate) span: Option<Span>,
    pub(crate) message: String,
}

impl Node {
    /// Reads a text that holds one document.
    pub(crate) fn read(text: &str) -> Result<Self, NotYaml> {
        let mut node: Self = serde_saphyr::from_str(text).map_err(|error| NotYaml {
            span: error.location().map(span),
            message: in_words(&error),
        })?;
        node.restore_digits(text);
        Ok(node)
    }

    /// Numbers as they are written, where JSON writes them the same way.
    fn restore_digits(&mut self, text: &str) {
        match &mut self.content {
            Content::Number(number) => {
                let Span { offset, length } = self.written;
                let written = text.get(offset..offset.saturating_add(length));
                if let Some(exact) = written.and_then(|text| serde_json::from_str(text).ok()) {
                    *number = exact;
                }
            }
            Content::List(nodes) => nodes.iter_mut().for_each(|node| node.restore_digits(text)),
            Content::Map(members) => {
                let nodes = members.iter_mut().map(|member| &mut member.node);
                nodes.for_each(|node| node.restore_digits(text));
            }
            Content::Null | Content::Bool(_) | Content::Text(_) => {}
        }
    }

    /// The value without its places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(truth) => Value::Bool(*truth),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text) => Value::String(text.clone()),
            Content::List(nodes) => nodes.iter().map(Self::to_value).collect(),
            Content::Map(members) => {
                let members = members.iter();
                let members = members.map(|one| (one.name.clone(), one.node.to_value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// What a path such as `tasks.0.name` leads to, or the last node on the way.
    fn find(&self, path: &str) -> &Self {
        let mut node = self;
        let mut rest = path;
        while !rest.is_empty() {
            // Names may hold dots, so the longest name that fits goes first.
            let step = match &node.content {
                Content::List(nodes) => {
                    let (first, after) = rest.split_once('.').unwrap_or((rest, ""));
                    let place: Option<usize> = first.parse().ok();
                    place
                        .and_then(|place| nodes.get(place))
                        .map(|node| (node, after))
                }
                Content::Map(members) => members
                    .iter()
                    .filter_map(|member| {
                        let after = rest.strip_prefix(member.name.as_str())?;
                        let after = match after {
                            "" => after,
                            after => after.strip_prefix('.')?,
                        };
                        Some((member, after))
                    })
                    .min_by_key(|(_, after)| after.len())
                    .map(|(member, after)| (&member.node, after)),
                _ => None,
            };
            let Some((next, after)) = step else {
                break;
            };
            (node, rest) = (next, after);
        }
        node
    }
}

impl Places for Node {
    fn of_value(&self, path: &str) -> Span {
        self.find(path).span
    }

    fn of_name(&self, path: &str, name: &str) -> Span {
        let node = self.find(path);
        let member = match &node.content {
            Content::Map(members) => members.iter().find(|member| member.name == name),
            _ => None,
        };
        member.map_or(node.span, |member| member.name_span)
    }
}

fn span(location: Location) -> Span {
    let span = location.span();
    let number = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    Span {
        offset: number(span.byte_offset()).unwrap_or_default(),
        length: number(span.byte_len()).unwrap_or_default(),
    }
}

/// The error without the excerpt that the library would add: there is a better one.
fn in_words(error: &serde_saphyr::Error) -> String {
    let said = error.without_snippet().to_string();
    // Neither its own place nor what a programmer could set.
    let ends = [" at line ", ", set "].map(|end| said.find(end));
    let end = ends.into_iter().flatten().min().unwrap_or(said.len());
    said[..end].trim().to_owned()
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value,
            referenced,
            defined,
        } = Spanned::<Content>::deserialize(deserializer)?;
        Ok(Self {
            span: span(referenced),
            written: span(defined),
            content: value,
        })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Content, E> {
        Ok(Content::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Content, E> {
        Ok(Content::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Content, E> {
        Ok(Content::Number(number.into()))
    }

    fn visit_i128<E: serde::de::Error>(self, number: i128) -> Result<Content, E> {
        let number = Number::from_i128(number);
        let number = number.ok_or_else(|| E::custom("the number is too large"))?;
        Ok(Content::Number(number))
    }

    fn visit_u128<E: serde::de::Error>(self, number: u128) -> Result<Content, E> {
        let number = Number::from_u128(number);
        let number = number.ok_or_else(|| E::custom("the number is too large"))?;
        Ok(Content::Number(number))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Content, E> {
        let number = Number::from_f64(number);
        let number = number.ok_or_else(|| E::custom("a number must be finite"))?;
        Ok(Content::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = items.next_element()? {
            nodes.push(node);
        }
        Ok(Content::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Content, A::Error> {
        let mut members = Vec::new();
        while let Some((name, node)) = entries.next_entry::<Spanned<String>, Node>()? {
            members.push(Member {
                name: name.value,
                name_span: span(name.referenced),
                node,
            });
        }
        Ok(Content::Map(members))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn shown(text: &str, path: &str) -> String {
        let Span { offset, length } = Node::read(text).unwrap().of_value(path);
        text[offset..offset + length].to_owned()
    }

    #[test]
    fn values_are_read_with_their_digits() {
        let text = "a: 1.10\nb: 'no'\nc: [true, null, -3, 1e3, 0x10]\nd: |\n  x\n  y\n1: one\n";
        let value = Node::read(text).unwrap().to_value();
        let expected = json!({"a": null, "b": "no", "c": [true, null, -3, 1000, 16], "d": "x\ny\n", "1": "one"});
        assert_eq!(value["a"].to_string(), "1.10");
        assert_eq!(value["c"][3], serde_json::from_str::<Value>("1e3").unwrap());
        for name in ["b", "d", "1"] {
            assert_eq!(value[name], expected[name]);
        }
        assert_eq!(value["c"][4], 16);
    }

    #[test]
    fn paths_lead_to_places() {
        let text = "tasks:\n  - name: First\n    a.b: 5\n  - name: Second\n";
        assert_eq!(shown(text, "tasks.1.name"), "Second");
        assert_eq!(shown(text, "tasks.0.a.b"), "5");
        let found = Node::read(text).unwrap();
        assert_eq!(
            found.of_value("tasks.1.nothing.here"),
            found.of_value("tasks.1")
        );
    }

    #[test]
    fn what_is_no_yaml_is_refused_with_its_place() {
        for text in ["a: [1, 2", "a: 1\na: 2\n", "a: .inf", "--- 1\n--- 2\n"] {
            let refusal = Node::read(text).unwrap_err();
            assert!(!refusal.message.is_empty(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_document_or_a_refusal(text in "\\PC{0,60}") {
            let _ = Node::read(&text);
        }

        #[test]
        fn any_text_with_yaml_in_it_is_a_document_or_a_refusal(
            parts in prop::collection::vec(prop::sample::select(vec![
                "a: ", "- ", "\n", "  ", "[", "]", "{", "}", "&x ", "*x", "|", ">", "'", "\"", "!!str ", "? ", ": ", "#", "1.0", "~", "<<: ", ",", "---\n", "\t",
            ]), 0..24)
        ) {
            let _ = Node::read(&parts.concat());
        }
    }
}
