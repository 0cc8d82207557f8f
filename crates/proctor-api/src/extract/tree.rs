//! What a request carries, as a tree, and a reader of it for every type.
//!
//! A reader that is a type parameter is compiled again for each type that is read with it, and there are hundreds. This one is
//! a single type with little in it. It keeps the place of what it reads, so that a refusal names it, and notes the members that nobody asked for.

use std::{cell::RefCell, fmt, vec};

use proctor_core::problem::join;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, EnumAccess, Error as _, IntoDeserializer as _,
        MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor, value::StringDeserializer,
    },
    forward_to_deserialize_any,
};
use serde_json::{Error, Number};

/// The only member of the object that `serde_json` shows a number as whose text it keeps: all that are not small whole ones.
const NUMBER: &str = "$serde_json::private::Number";

/// A JSON value in which a member may stand twice, or the parameters of a query string.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
    /// The value of a parameter: a text that is also taken for a number or a truth value.
    Parameter(String),
}

/// What was found while a tree was read.
#[derive(Debug, Default)]
struct Notes {
    /// Places of members that nobody asked for.
    unknown: Vec<String>,
    /// The innermost place that could not be read.
    fault: Option<String>,
}

/// Why a tree cannot be read as some type.
#[derive(Debug)]
pub(super) struct Misfit {
    /// Where, like `list[1].weight`; empty for the whole.
    pub(super) place: String,
    /// What is wrong there.
    pub(super) error: Error,
}

/// What was read, and the places of the members that nobody asked for.
#[derive(Debug)]
pub(super) struct Read<T> {
    pub(super) value: T,
    pub(super) unknown: Vec<String>,
}

impl Node {
    /// Reads a `T`.
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<Read<T>, Misfit> {
        let notes = RefCell::default();
        let root = At {
            node: self,
            place: Place::Root,
            notes: &notes,
        };
        let read = T::deserialize(root);
        let notes = notes.into_inner();
        match read {
            Ok(value) => Ok(Read {
                value,
                unknown: notes.unknown,
            }),
            Err(error) => Err(Misfit {
                place: notes.fault.unwrap_or_default(),
                error,
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut object = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            if name == NUMBER && object.is_empty() {
                let digits: String = members.next_value()?;
                return digits.parse().map(Node::Number).map_err(A::Error::custom);
            }
            object.push((name, members.next_value()?));
        }
        Ok(Node::Object(object))
    }
}

/// Where in a tree.
#[derive(Clone, Copy)]
enum Place<'t> {
    Root,
    Member(&'t Place<'t>, &'t str),
    Item(&'t Place<'t>, usize),
}

impl Place<'_> {
    /// As refusals of a value name it: `list[1].weight`.
    fn of_fault(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(parent, name) => join(&parent.of_fault(), name),
            Self::Item(parent, index) => format!("{}[{index}]", parent.of_fault()),
        }
    }

    /// As refusals of a member name it: `list.1.weight`.
    fn of_member(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(parent, name) => join(&parent.of_member(), name),
            Self::Item(parent, index) => join(&parent.of_member(), &index.to_string()),
        }
    }
}

/// A part of a tree that is being read.
struct At<'t> {
    node: Node,
    place: Place<'t>,
    notes: &'t RefCell<Notes>,
}

impl At<'_> {
    fn read_with<'de, S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        let (place, notes) = (self.place, self.notes);
        seed.deserialize(self).inspect_err(|_| {
            let fault = &mut notes.borrow_mut().fault;
            // What is around it fails with it.
            if fault.is_none() {
                *fault = Some(place.of_fault());
            }
        })
    }

    /// A number for a type that is one: its text is not asked for.
    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node {
            Node::Number(number) => {
                if let Some(whole) = number.as_u64() {
                    visitor.visit_u64(whole)
                } else if let Some(whole) = number.as_i64() {
                    visitor.visit_i64(whole)
                } else if let Some(value) = number.as_f64() {
                    visitor.visit_f64(value)
                } else {
                    Err(Error::custom("number out of range"))
                }
            }
            _ => self.deserialize_any(visitor),
        }
    }
}

/// What a text of a query string says, if it is a `T`.
fn parsed<T: std::str::FromStr<Err: fmt::Display>>(text: &str) -> Result<T, Error> {
    text.parse().map_err(Error::custom)
}

macro_rules! numbers {
    ($($method:ident $visit:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match &self.node {
                Node::Parameter(text) => visitor.$visit(parsed(text)?),
                _ => self.number(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for At<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Self { node, place, notes } = self;
        match node {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(value),
            Node::Number(number) => number.deserialize_any(visitor),
            Node::Text(text) | Node::Parameter(text) => visitor.visit_string(text),
            Node::List(list) => {
                let length = list.len();
                let mut items = Items {
                    rest: list.into_iter().enumerate(),
                    place,
                    notes,
                };
                let value = visitor.visit_seq(&mut items)?;
                match items.rest.len() {
                    0 => Ok(value),
                    _ => Err(Error::invalid_length(length, &"fewer elements in array")),
                }
            }
            Node::Object(object) => visitor.visit_map(Members {
                rest: object.into_iter(),
                current: None,
                place,
                notes,
            }),
        }
    }

    numbers! {
        deserialize_i8 visit_i8,
        deserialize_i16 visit_i16,
        deserialize_i32 visit_i32,
        deserialize_i64 visit_i64,
        deserialize_i128 visit_i128,
        deserialize_u8 visit_u8,
        deserialize_u16 visit_u16,
        deserialize_u32 visit_u32,
        deserialize_u64 visit_u64,
        deserialize_u128 visit_u128,
        deserialize_f32 visit_f32,
        deserialize_f64 visit_f64,
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node {
            Node::Parameter(text) => visitor.visit_bool(parsed(text)?),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Self { node, place, notes } = self;
        let (name, content) = match node {
            Node::Text(name) | Node::Parameter(name) => (name, None),
            Node::Object(mut members) if members.len() == 1 => match members.pop() {
                Some((name, content)) => (name, Some(content)),
                None => return Err(Error::invalid_length(0, &"one variant")),
            },
            Node::Object(_) => {
                return Err(Error::invalid_value(
                    Unexpected::Map,
                    &"map with a single key",
                ));
            }
            other => {
                let found = At {
                    node: other,
                    place,
                    notes,
                };
                return found.deserialize_any(visitor);
            }
        };
        visitor.visit_enum(Variant {
            name,
            content,
            place,
            notes,
        })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let unknown = &mut self.notes.borrow_mut().unknown;
        unknown.push(self.place.of_member());
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

struct Items<'t> {
    rest: std::iter::Enumerate<vec::IntoIter<Node>>,
    place: Place<'t>,
    notes: &'t RefCell<Notes>,
}

impl<'de> SeqAccess<'de> for &mut Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((index, node)) = self.rest.next() else {
            return Ok(None);
        };
        let item = At {
            node,
            place: Place::Item(&self.place, index),
            notes: self.notes,
        };
        item.read_with(seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Members<'t> {
    rest: vec::IntoIter<(String, Node)>,
    /// The member whose name was read and whose value was not.
    current: Option<(String, Node)>,
    place: Place<'t>,
    notes: &'t RefCell<Notes>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        self.current = self.rest.next();
        let Some((name, _)) = &self.current else {
            return Ok(None);
        };
        let key: StringDeserializer<Error> = name.clone().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let Some((name, node)) = self.current.take() else {
            return Err(Error::custom("a value without a name"));
        };
        let member = At {
            node,
            place: Place::Member(&self.place, &name),
            notes: self.notes,
        };
        member.read_with(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Variant<'t> {
    name: String,
    content: Option<Node>,
    place: Place<'t>,
    notes: &'t RefCell<Notes>,
}

impl<'de, 't> EnumAccess<'de> for Variant<'t> {
    type Error = Error;
    type Variant = Content<'t>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Content<'t>), Error> {
        let name: StringDeserializer<Error> = self.name.into_deserializer();
        let content = Content(self.content.map(|node| At {
            node,
            place: self.place,
            notes: self.notes,
        }));
        Ok((seed.deserialize(name)?, content))
    }
}

/// What a variant holds.
struct Content<'t>(Option<At<'t>>);

impl<'t> Content<'t> {
    fn expect(self, what: &'static str) -> Result<At<'t>, Error> {
        self.0
            .ok_or_else(|| Error::invalid_type(Unexpected::UnitVariant, &what))
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.0.map_or(Ok(()), Deserialize::deserialize)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.expect("newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.expect("tuple variant")?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.expect("struct variant")?.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    enum Shape {
        Dot,
        Line(f64),
        Box { width: u8 },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Tagged {
        One { count: u32 },
        Other,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Everything {
        shape: Option<Shape>,
        tagged: Vec<Tagged>,
        pair: Option<(u8, String)>,
        weight: f64,
        free: Value,
        exact: Option<Number>,
        by_name: BTreeMap<String, i64>,
        mode: Option<bool>,
    }

    fn node(text: &str) -> Node {
        serde_json::from_str(text).unwrap()
    }

    fn refused(text: &str) -> (String, String) {
        let misfit = node(text).read::<Everything>().unwrap_err();
        (misfit.place, misfit.error.to_string())
    }

    #[test]
    fn every_shape_is_read_as_serde_json_reads_it() {
        for text in [
            r#"{"shape":"Dot"}"#,
            r#"{"shape":{"Line":1.50}}"#,
            r#"{"shape":{"Box":{"width":3}},"weight":1e3}"#,
            r#"{"tagged":[{"type":"one","count":4},{"type":"other"}],"pair":[1,"x"]}"#,
            r#"{"free":{"a":[1.10,null,{"b":1e400}]},"exact":1.000,"by_name":{"x":-5},"mode":true}"#,
            r#"{"shape":null,"pair":null,"weight":7,"exact":123456789012345678901234567890}"#,
        ] {
            let read = node(text).read::<Everything>().unwrap();
            assert_eq!(
                read.value,
                serde_json::from_str(text).unwrap(),
                "{text} is read differently"
            );
        }
    }

    #[test]
    fn a_number_keeps_its_text() {
        let read = node(r#"{"exact":1.500,"free":0.10}"#)
            .read::<Everything>()
            .unwrap();
        assert_eq!(read.value.exact.unwrap().to_string(), "1.500");
        assert_eq!(read.value.free.to_string(), "0.10");
    }

    #[test]
    fn the_innermost_place_is_named() {
        insta::assert_debug_snapshot!([
            refused(r#"{"weight":"x"}"#),
            refused(r#"{"tagged":[{"type":"other"},{"type":"three"}]}"#),
            refused(r#"{"shape":{"Box":{"width":256}}}"#),
            refused(r#"{"shape":{"Box":{"width":1.10}}}"#),
            refused(r#"{"shape":{"Dot":1,"Line":2}}"#),
            refused(r#"{"shape":"Line"}"#),
            refused(r#"{"shape":5}"#),
            refused(r#"{"pair":[1,"a",3]}"#),
            refused(r#"{"pair":[1]}"#),
            refused(r#"{"by_name":{"x":{}}}"#),
            refused(r#"{"weight":1e400}"#),
            refused(r#"{"weight":1,"weight":2}"#),
        ]);
    }

    proptest! {
        #[test]
        fn any_json_is_read_as_it_stands(text in r#"(\{("[abc]":(1|-2\.50|"x"|null|true|\[1,"y",\{\}\]),){0,4}"d":0\})"#) {
            let read = node(&text).read::<Value>().unwrap();
            prop_assert_eq!(read.value, serde_json::from_str::<Value>(&text).unwrap());
            prop_assert!(read.unknown.is_empty());
        }
    }
}
