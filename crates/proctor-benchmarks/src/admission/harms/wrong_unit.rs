//! Writes a quantity of the solution with another unit: the right number, and a value that is a thousand times too small.

use serde_json::{Map, Value};

use super::{Alteration, Altered, Change, Harm};
use crate::{
    admission::{attempt::Made, chance::Chance, scene::Scene},
    solution::{Body, Call},
};

/// Writes a quantity of the solution with another unit.
struct WrongUnit;

impl Alteration for WrongUnit {
    const NAME: &'static str = "wrong-unit";
    const CAUGHT_BY: &'static str =
        "a `$quantity`, which compares the value together with its unit";

    fn suits(_: &Scene, made: &Made) -> bool {
        rescaled(&made.body).is_some()
    }

    fn alter(_: &Scene, made: &Made, call: &Call, _: &mut Chance) -> Option<Change> {
        let mut other = call.clone();
        other.body = Body::Json(rescaled(&made.body)?);
        Some(Change::Instead(other))
    }
}

/// The value with the unit of every quantity in it changed; nothing if there is none.
fn rescaled(value: &Value) -> Option<Value> {
    let mut changed = value.clone();
    rescale(&mut changed);
    (changed != *value).then_some(changed)
}

fn rescale(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(rescale),
        Value::Object(members) if is_quantity(members) => {
            for name in ["unit", "code"] {
                if let Some(Value::String(unit)) = members.get_mut(name) {
                    *unit = another(unit);
                }
            }
        }
        Value::Object(members) => members.values_mut().for_each(rescale),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_quantity(members: &Map<String, Value>) -> bool {
    members.get("value").is_some_and(Value::is_number) && members.contains_key("unit")
}

/// A unit of the same kind and of another size.
fn another(unit: &str) -> String {
    if let Some(rest) = unit.strip_prefix("10*9") {
        return format!("10*6{rest}");
    }
    match unit.strip_prefix('m') {
        Some(rest) if !rest.is_empty() => format!("u{rest}"),
        _ => format!("m{unit}"),
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &Altered(WrongUnit);
