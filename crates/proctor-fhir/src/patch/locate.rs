//! Finds where in a resource a borrowed value stands, and changes what is there.

use serde_json::Value;

use crate::definitions::{Content, Structure, Structures};

/// One step into JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Key(String),
    Index(usize),
}

/// The way from the root of a document to a value in it. The value is recognised by where it lies in memory, not by what it is.
pub(super) fn locate(root: &Value, wanted: &Value) -> Option<Vec<Segment>> {
    let mut way = Vec::new();
    descend(root, wanted, &mut way).then_some(way)
}

fn descend(here: &Value, wanted: &Value, way: &mut Vec<Segment>) -> bool {
    if std::ptr::eq(here, wanted) {
        return true;
    }
    match here {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .any(|(index, item)| step(Segment::Index(index), item, wanted, way)),
        Value::Object(map) => map
            .iter()
            .any(|(key, inner)| step(Segment::Key(key.clone()), inner, wanted, way)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn step(segment: Segment, inner: &Value, wanted: &Value, way: &mut Vec<Segment>) -> bool {
    way.push(segment);
    let found = descend(inner, wanted, way);
    if !found {
        way.pop();
    }
    found
}

/// What is at the end of a way.
pub(super) fn at<'v>(root: &'v mut Value, way: &[Segment]) -> Option<&'v mut Value> {
    way.iter().try_fold(root, |here, segment| match segment {
        Segment::Key(key) => here.get_mut(key),
        Segment::Index(index) => here.get_mut(index),
    })
}

/// The structure of the object at the end of a way; none if it is a primitive or unknown.
pub(super) fn structure_at(root: &Value, way: &[Segment]) -> Option<&'static Structure> {
    let structures = Structures::r4();
    let resource = |value: &Value| structures.resource(value.get("resourceType")?.as_str()?);
    let mut here = root;
    let mut structure = resource(root);
    for segment in way {
        match segment {
            Segment::Index(index) => {
                here = here.get(index)?;
                if here.get("resourceType").is_some() {
                    structure = resource(here);
                }
            }
            Segment::Key(key) => {
                here = here.get(key)?;
                structure = match structure?.key(key)?.content {
                    Content::Complex(id) => Some(structures.at(id)),
                    Content::Resource => resource(here),
                    Content::Primitive(_) => None,
                };
            }
        }
    }
    structure
}
