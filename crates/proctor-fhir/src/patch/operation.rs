//! The operations of a FHIRPath Patch, read from a `Parameters` resource.

use serde_json::{Map, Value};

use super::{PatchError, limits};
use crate::definitions::{Content, Structure, Structures};

/// One operation with the path it applies to.
#[derive(Debug)]
pub(super) struct Operation<'p> {
    pub(super) path: &'p str,
    pub(super) action: Action<'p>,
}

#[derive(Debug)]
pub(super) enum Action<'p> {
    Add { name: &'p str, value: NewValue<'p> },
    Insert { index: usize, value: NewValue<'p> },
    Delete,
    Replace { value: NewValue<'p> },
    Move { source: usize, destination: usize },
}

/// A value that a patch brings: of a data type, or the parts of an inner element.
#[derive(Debug)]
pub(super) enum NewValue<'p> {
    /// The value and the name of its type as the key has it (`HumanName` of `valueHumanName`).
    Typed(&'p str, &'p Value),
    /// The parts of an element that has no data type of its own.
    Parts(&'p [Value]),
}

/// Reads all operations of a patch.
pub(super) fn operations(parameters: &Value) -> Result<Vec<Operation<'_>>, PatchError> {
    if parameters.get("resourceType").and_then(Value::as_str) != Some("Parameters") {
        return Err(PatchError::Malformed(
            "a FHIRPath Patch is a `Parameters` resource".to_owned(),
        ));
    }
    let entries = parameters
        .get("parameter")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    if entries.is_empty() {
        return Err(PatchError::Malformed(
            "there is no `parameter` with the name `operation`".to_owned(),
        ));
    }
    limits::check_operations(entries.len())?;
    entries
        .iter()
        .enumerate()
        .map(|(operation, entry)| {
            read(entry).map_err(|reason| PatchError::MalformedOperation { operation, reason })
        })
        .collect()
}

fn read(entry: &Value) -> Result<Operation<'_>, String> {
    if entry.get("name").and_then(Value::as_str) != Some("operation") {
        return Err("its `name` is not `operation`".to_owned());
    }
    let parts = entry
        .get("part")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let path = text(parts, "path")?;
    let action = match text(parts, "type")? {
        "add" => Action::Add {
            name: text(parts, "name")?,
            value: new_value(parts)?,
        },
        "insert" => Action::Insert {
            index: number(parts, "index")?,
            value: new_value(parts)?,
        },
        "delete" => Action::Delete,
        "replace" => Action::Replace {
            value: new_value(parts)?,
        },
        "move" => Action::Move {
            source: number(parts, "source")?,
            destination: number(parts, "destination")?,
        },
        other => {
            return Err(format!(
                "its type is `{other}`: add, insert, delete, replace or move is expected"
            ));
        }
    };
    Ok(Operation { path, action })
}

fn part<'p>(parts: &'p [Value], name: &str) -> Option<&'p Map<String, Value>> {
    parts
        .iter()
        .find(|part| part.get("name").and_then(Value::as_str) == Some(name))
        .and_then(Value::as_object)
}

fn typed_value(part: &Map<String, Value>) -> Option<(&str, &Value)> {
    part.iter().find_map(|(key, value)| {
        Some((
            key.strip_prefix("value").filter(|kind| !kind.is_empty())?,
            value,
        ))
    })
}

fn text<'p>(parts: &'p [Value], name: &str) -> Result<&'p str, String> {
    let value = part(parts, name)
        .and_then(typed_value)
        .and_then(|(_, value)| value.as_str());
    value.ok_or_else(|| format!("the part `{name}` is missing or no text"))
}

fn number(parts: &[Value], name: &str) -> Result<usize, String> {
    let value = part(parts, name)
        .and_then(typed_value)
        .and_then(|(_, value)| value.as_u64());
    value
        .and_then(|value| usize::try_from(value).ok())
        .ok_or_else(|| format!("the part `{name}` is missing or no whole number from 0"))
}

fn new_value(parts: &[Value]) -> Result<NewValue<'_>, String> {
    let found = part(parts, "value").ok_or("the part `value` is missing")?;
    new_value_of(found).ok_or_else(|| "the part `value` has neither a value nor parts".to_owned())
}

fn new_value_of(part: &Map<String, Value>) -> Option<NewValue<'_>> {
    if let Some((kind, value)) = typed_value(part) {
        return Some(NewValue::Typed(kind, value));
    }
    part.get("part")
        .and_then(Value::as_array)
        .filter(|parts| !parts.is_empty())
        .map(|parts| NewValue::Parts(parts))
}

impl NewValue<'_> {
    /// The name of the value's type as a choice element carries it.
    pub(super) fn kind(&self) -> Option<&str> {
        match self {
            Self::Typed(kind, _) => Some(kind),
            Self::Parts(_) => None,
        }
    }

    /// The JSON of the value, where an object of the type `structure` is to be made of parts.
    pub(super) fn json(&self, structure: Option<&Structure>) -> Result<Value, String> {
        match self {
            Self::Typed(_, value) => Ok((*value).clone()),
            Self::Parts(parts) => {
                let structure = structure.ok_or("parts cannot make up a primitive value")?;
                object(parts, structure).map(Value::Object)
            }
        }
    }
}

/// An object made of named parts; names that occur several times, or repeat by definition, make arrays.
fn object(parts: &[Value], structure: &Structure) -> Result<Map<String, Value>, String> {
    let mut made = Map::new();
    for part in parts.iter().filter_map(Value::as_object) {
        let name = part
            .get("name")
            .and_then(Value::as_str)
            .ok_or("a part has no name")?;
        let value = new_value_of(part)
            .ok_or_else(|| format!("the part `{name}` has neither a value nor parts"))?;
        let (key, many, inner) = resolve(structure, name, &value)?;
        let json = value.json(inner)?;
        if !many {
            made.insert(key, json);
        } else if let Some(items) = made
            .entry(key)
            .or_insert_with(|| Value::Array(Vec::new()))
            .as_array_mut()
        {
            items.push(json);
        }
    }
    Ok(made)
}

/// The JSON key under which an element of this name takes this value, whether it repeats, and its structure if it has one.
pub(super) fn resolve<'s>(
    structure: &Structure,
    name: &str,
    value: &NewValue<'_>,
) -> Result<(String, bool, Option<&'s Structure>), String> {
    let unknown = || format!("`{}` has no element `{name}`", structure.name);
    let plain = name.strip_suffix("[x]").unwrap_or(name);
    let key = match (
        structure.key(plain),
        structure
            .element_named(plain)
            .filter(|element| element.choice),
        value.kind(),
    ) {
        (Some(_), _, _) => plain.to_owned(),
        (None, Some(_), Some(kind)) => format!("{plain}{kind}"),
        (None, _, _) => return Err(unknown()),
    };
    let known = structure.key(&key).ok_or_else(|| {
        format!(
            "`{}.{name}` cannot hold a value of the type `{}`",
            structure.name,
            value.kind().unwrap_or("of parts")
        )
    })?;
    let inner = match known.content {
        Content::Complex(id) => Some(Structures::r4().at(id)),
        Content::Primitive(_) | Content::Resource => None,
    };
    Ok((key, known.element.many, inner))
}
