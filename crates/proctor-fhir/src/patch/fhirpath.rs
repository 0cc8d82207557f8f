//! FHIRPath Patch: operations on the elements that paths lead to.

use serde_json::{Value, json};

use super::locate::{Segment, at, locate, structure_at};
use super::operation::{Action, NewValue, Operation, operations, resolve};
use super::{PatchError, finished, limits};
use crate::definitions::{Content, Structures};
use crate::expression::Expression;
use crate::primitive::text::excerpt;

/// Applies a FHIRPath Patch (a `Parameters` resource) to a resource.
pub fn fhirpath_patch(resource: &Value, parameters: &Value) -> Result<Value, PatchError> {
    let mut patched = resource.clone();
    for (position, operation) in operations(parameters)?.into_iter().enumerate() {
        apply(&mut patched, &operation)
            .and_then(|()| limits::check(&patched))
            .map_err(|reason| PatchError::NotApplicable {
                operation: position,
                path: excerpt(operation.path),
                reason,
            })?;
    }
    finished(resource, patched)
}

fn apply(resource: &mut Value, operation: &Operation<'_>) -> Result<(), String> {
    match &operation.action {
        Action::Add { name, value } => {
            let way = only(find(resource, operation.path)?)?;
            add(resource, &way, name, value)
        }
        Action::Insert { index, value } => insert(resource, operation.path, *index, value),
        Action::Delete => delete(resource, find(resource, operation.path)?),
        Action::Replace { value } => {
            let way = only(find(resource, operation.path)?)?;
            replace(resource, &way, value)
        }
        Action::Move {
            source,
            destination,
        } => shift(resource, operation.path, *source, *destination),
    }
}

/// The ways to everything that a path leads to.
fn find(resource: &Value, path: &str) -> Result<Vec<Vec<Segment>>, String> {
    let structures = Structures::r4();
    let kind = resource
        .get("resourceType")
        .and_then(Value::as_str)
        .and_then(|name| structures.resource(name));
    let kind = kind.ok_or("the resource has no known type")?;
    let expression =
        Expression::compile(path, structures, kind.name).map_err(|error| error.to_string())?;
    Ok(expression
        .nodes(resource)
        .iter()
        .filter_map(|node| locate(resource, node.value))
        .collect())
}

fn only(mut ways: Vec<Vec<Segment>>) -> Result<Vec<Segment>, String> {
    match ways.len() {
        0 => Err("the path leads to nothing".to_owned()),
        1 => Ok(ways.remove(0)),
        several => Err(format!(
            "the path leads to {several} elements, but must lead to one"
        )),
    }
}

/// Appends to an element that repeats, or sets one that is not there yet.
fn add(
    resource: &mut Value,
    way: &[Segment],
    name: &str,
    value: &NewValue<'_>,
) -> Result<(), String> {
    let Some(structure) = structure_at(resource, way) else {
        return extend_primitive(resource, way, name, value);
    };
    let (key, many, inner) = resolve(structure, name, value)?;
    let json = value.json(inner)?;
    let target = at(resource, way)
        .and_then(Value::as_object_mut)
        .ok_or("the path does not lead to an object")?;
    if many {
        let items = target.entry(key).or_insert_with(|| json!([]));
        items
            .as_array_mut()
            .ok_or_else(|| format!("`{name}` is not an array"))?
            .push(json);
        return Ok(());
    }
    let taken = target.keys().find(|known| {
        structure.key(known).is_some_and(|known| {
            Some(known.position) == structure.key(&key).map(|new| new.position)
        })
    });
    if let Some(taken) = taken {
        return Err(format!("`{taken}` is already there and does not repeat"));
    }
    target.insert(key, json);
    Ok(())
}

/// Extensions of a primitive are kept beside it, under its name with an underscore.
fn extend_primitive(
    resource: &mut Value,
    way: &[Segment],
    name: &str,
    value: &NewValue<'_>,
) -> Result<(), String> {
    let Some((Segment::Key(key), parent)) = way.split_last().filter(|_| name == "extension") else {
        return Err(format!("a primitive has no element `{name}`"));
    };
    let element = Structures::r4().get("Extension");
    let json = value.json(element)?;
    let parent = at(resource, parent)
        .and_then(Value::as_object_mut)
        .ok_or("the path does not lead to an object")?;
    let companion = parent.entry(format!("_{key}")).or_insert_with(|| json!({}));
    let companion = companion
        .as_object_mut()
        .ok_or("the companion of the primitive is not an object")?;
    let extensions = companion.entry("extension").or_insert_with(|| json!([]));
    extensions
        .as_array_mut()
        .ok_or("`extension` is not an array")?
        .push(json);
    Ok(())
}

fn replace(resource: &mut Value, way: &[Segment], value: &NewValue<'_>) -> Result<(), String> {
    let (last, parent_way) = way
        .split_last()
        .ok_or("a whole resource cannot be replaced by a patch")?;
    let inner = structure_at(resource, way);
    let json = value.json(inner)?;
    let Segment::Key(key) = last else {
        *at(resource, way).ok_or("the path leads to nothing")? = json;
        return Ok(());
    };
    // Another type of a choice has another key.
    let known = structure_at(resource, parent_way)
        .and_then(|structure| Some((structure, structure.key(key)?)));
    let new_key = match known {
        Some((structure, known)) if known.element.choice => {
            resolve(structure, known.element.name, value)?.0
        }
        _ => key.clone(),
    };
    let parent = at(resource, parent_way)
        .and_then(Value::as_object_mut)
        .ok_or("the path does not lead into an object")?;
    if new_key != *key {
        parent.remove(key);
        parent.remove(&format!("_{key}"));
    }
    parent.insert(new_key, json);
    Ok(())
}

/// Deletes one element; it is no mistake if there is none.
fn delete(resource: &mut Value, ways: Vec<Vec<Segment>>) -> Result<(), String> {
    if ways.is_empty() {
        return Ok(());
    }
    let way = only(ways)?;
    let (last, parent_way) = way
        .split_last()
        .ok_or("a whole resource cannot be deleted by a patch")?;
    match last {
        Segment::Key(key) => {
            let parent = at(resource, parent_way)
                .and_then(Value::as_object_mut)
                .ok_or("the path does not lead into an object")?;
            parent.remove(key);
            parent.remove(&format!("_{key}"));
        }
        Segment::Index(index) => {
            remove_item(at(resource, parent_way), *index);
            // The companions of primitives stand in an array of their own, place by place.
            if let Some((Segment::Key(key), outer)) = parent_way.split_last() {
                let companions =
                    at(resource, outer).and_then(|outer| outer.get_mut(format!("_{key}")));
                remove_item(companions, *index);
            }
        }
    }
    Ok(())
}

fn remove_item(items: Option<&mut Value>, index: usize) {
    if let Some(items) = items
        .and_then(Value::as_array_mut)
        .filter(|items| index < items.len())
    {
        items.remove(index);
    }
}

fn insert(
    resource: &mut Value,
    path: &str,
    index: usize,
    value: &NewValue<'_>,
) -> Result<(), String> {
    let ways = find(resource, path)?;
    if ways.is_empty() {
        return insert_first(resource, path, index, value);
    }
    let list = list_of(resource, &ways)?;
    let inner = structure_at(resource, &ways[0]);
    let json = value.json(inner)?;
    let items = at(resource, &list)
        .and_then(Value::as_array_mut)
        .ok_or("the path does not lead to a list")?;
    if index > items.len() {
        return Err(format!(
            "the index {index} is beyond the end of a list of {}",
            items.len()
        ));
    }
    items.insert(index, json);
    Ok(())
}

/// Into a list that is not there yet: it is an element of what the path without its last name leads to.
fn insert_first(
    resource: &mut Value,
    path: &str,
    index: usize,
    value: &NewValue<'_>,
) -> Result<(), String> {
    let (parent, name) = path.rsplit_once('.').ok_or("the path leads to nothing")?;
    let way = only(find(resource, parent)?)?;
    let repeats = structure_at(resource, &way)
        .and_then(|structure| structure.key(name))
        .is_some_and(|key| key.element.many);
    if !repeats {
        return Err(format!("`{name}` is not a list"));
    }
    if index > 0 {
        return Err(format!(
            "the index {index} is beyond the end of an empty list"
        ));
    }
    add(resource, &way, name, value)
}

fn shift(
    resource: &mut Value,
    path: &str,
    source: usize,
    destination: usize,
) -> Result<(), String> {
    let ways = find(resource, path)?;
    if ways.is_empty() {
        return Err("the path leads to nothing".to_owned());
    }
    let list = list_of(resource, &ways)?;
    let items = at(resource, &list)
        .and_then(Value::as_array_mut)
        .ok_or("the path does not lead to a list")?;
    if source >= items.len() || destination >= items.len() {
        return Err(format!(
            "an item cannot be moved from {source} to {destination} in a list of {}",
            items.len()
        ));
    }
    let item = items.remove(source);
    items.insert(destination, item);
    Ok(())
}

/// The way to the one list that all the items found are in.
fn list_of(resource: &Value, ways: &[Vec<Segment>]) -> Result<Vec<Segment>, String> {
    let parents: Vec<&[Segment]> = ways
        .iter()
        .filter_map(|way| way.split_last())
        .filter(|(last, _)| matches!(last, Segment::Index(_)))
        .map(|(_, parent)| parent)
        .collect();
    match parents.first() {
        Some(first)
            if parents.len() == ways.len()
                && parents.iter().all(|parent| parent == first)
                && !is_primitive_with_companions(resource, first) =>
        {
            Ok(first.to_vec())
        }
        Some(first) if is_primitive_with_companions(resource, first) => {
            Err("the items of the list have extensions, whose places would be lost".to_owned())
        }
        _ => Err("the path does not lead to the items of one list".to_owned()),
    }
}

fn is_primitive_with_companions(resource: &Value, list: &[Segment]) -> bool {
    let Some((Segment::Key(key), outer)) = list.split_last() else {
        return false;
    };
    let primitive = structure_at(resource, outer)
        .and_then(|structure| structure.key(key))
        .is_some_and(|key| matches!(key.content, Content::Primitive(_)));
    let outer = outer
        .iter()
        .try_fold(resource, |here, segment| match segment {
            Segment::Key(key) => here.get(key),
            Segment::Index(index) => here.get(index),
        });
    primitive && outer.is_some_and(|outer| outer.get(format!("_{key}")).is_some())
}
