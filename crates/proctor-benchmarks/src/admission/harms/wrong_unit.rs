//! Writes a number of the solution a thousand times too large.

use serde_json::Value;

use super::{Harm, Place, effects};
use crate::{
    admission::{
        attempt::{Move, Program},
        chance::Chance,
        scene::Scene,
    },
    solution::Body,
};

/// Writes a number of the solution a thousand times too large.
pub(super) struct WrongUnit;

impl Harm for WrongUnit {
    fn name(&self) -> &'static str {
        "wrong-number"
    }

    fn caught_by(&self) -> &'static str {
        "a criterion about the value, with `$quantity` or `$near`"
    }

    fn apply(
        &self,
        scene: &Scene,
        program: &[Move],
        place: Place,
        chance: &mut Chance,
    ) -> Option<Program> {
        let with_numbers: Vec<usize> = effects(scene)
            .into_iter()
            .filter(|made| numbers(&scene.made[*made].body) > 0)
            .collect();
        let made = place.choose(&with_numbers)?;
        let mut body = scene.made[made].body.clone();
        let count = u64::try_from(numbers(&body)).ok()?;
        let mut which = chance.next() % count;
        enlarge(&mut body, &mut which);
        let mut changed = program.to_vec();
        changed[made].call.body = Body::Json(body);
        changed[made].is_harm = true;
        Some(changed)
    }
}

fn numbers(value: &Value) -> usize {
    match value {
        Value::Number(_) => 1,
        Value::Array(items) => items.iter().map(numbers).sum(),
        Value::Object(members) => members.values().map(numbers).sum(),
        Value::Null | Value::Bool(_) | Value::String(_) => 0,
    }
}

fn enlarge(value: &mut Value, which: &mut u64) {
    match value {
        Value::Number(number) => {
            if *which == 0 {
                *value = (number.as_f64().unwrap_or(1.0) * 1_000.0).into();
            }
            *which = which.wrapping_sub(1);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| enlarge(item, which)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| enlarge(member, which)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &WrongUnit;
