//! Evaluates every parameter of a resource's type on the resource.

use serde_json::Value;

use super::convert::{Sink, boolean, convert};
use super::value::IndexValue;
use crate::definitions::{
    CompiledParameter, ParameterId, ParameterType, SearchDefinitions, SearchParameter,
};
use crate::expression::{Expression, Item, Node};

/// The values of all search parameters that a resource has, those of one parameter next to each other.
///
/// A resource of an unknown type has none; what is malformed in a resource is left out, never an error.
pub fn extract(
    definitions: &SearchDefinitions,
    resource: &Value,
) -> Vec<(ParameterId, IndexValue)> {
    let resource_type = resource
        .get("resourceType")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut found = Vec::new();
    for parameter in definitions.compiled_for(resource_type) {
        extract_parameter(definitions, parameter, resource, &mut |value| {
            found.push((parameter.id, value));
        });
    }
    found
}

fn extract_parameter(
    definitions: &SearchDefinitions,
    parameter: &CompiledParameter,
    resource: &Value,
    sink: Sink<'_>,
) {
    parameter
        .expression
        .each(resource, &mut |item| match (item, parameter.kind) {
            (Item::Node(node), ParameterType::Composite) => {
                if let Some(composite) = composite(definitions, parameter, resource, node) {
                    sink(composite);
                }
            }
            (Item::Node(node), _) => convert(definitions.parameter(parameter.id), node, sink),
            (Item::Boolean(value), _) => sink(boolean(value)),
        });
}

/// The parts of a composite at one node; none unless every part has a value there.
fn composite(
    definitions: &SearchDefinitions,
    parameter: &CompiledParameter,
    resource: &Value,
    node: Node<'_>,
) -> Option<IndexValue> {
    // Most observations have a code but only one kind of value: look before making values that are thrown away.
    let complete = |(_, expression): &(_, Expression)| expression.leads_somewhere(resource, node);
    if !parameter.components.iter().all(complete) {
        return None;
    }
    let parts = parameter.components.iter();
    let parts =
        parts.map(|(id, expression)| part(definitions.parameter(*id), expression, resource, node));
    parts
        .collect::<Option<Box<[_]>>>()
        .map(IndexValue::Composite)
}

fn part(
    parameter: &SearchParameter,
    expression: &Expression,
    resource: &Value,
    node: Node<'_>,
) -> Option<Box<[IndexValue]>> {
    let mut values = Vec::new();
    expression.each_within(resource, node, &mut |item| match item {
        Item::Node(inner) => convert(parameter, inner, &mut |value| values.push(value)),
        Item::Boolean(value) => values.push(boolean(value)),
    });
    (!values.is_empty()).then(|| values.into())
}
