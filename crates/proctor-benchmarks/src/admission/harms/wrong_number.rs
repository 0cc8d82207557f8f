//! Writes a number of the solution a thousand times too large.

use serde_json::Value;

use super::{Alteration, Altered, Change, Harm};
use crate::{
    admission::{attempt::Made, chance::Chance, scalars, scene::Scene},
    solution::{Body, Call},
};

/// Writes a number of the solution a thousand times too large.
struct WrongNumber;

impl Alteration for WrongNumber {
    const NAME: &'static str = "wrong-number";
    const CAUGHT_BY: &'static str = "a criterion about the value, with `$quantity` or `$near`";

    fn suits(_: &Scene, made: &Made) -> bool {
        scalars::has(&made.body, Value::is_number)
    }

    fn alter(_: &Scene, made: &Made, call: &Call, chance: &mut Chance) -> Option<Change> {
        let body = scalars::with_one_changed(&made.body, Value::is_number, chance, |number| {
            *number = (number.as_f64().unwrap_or(1.0) * 1_000.0).into();
        });
        let mut other = call.clone();
        other.body = Body::Json(body?);
        Some(Change::Instead(other))
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &Altered(WrongNumber);
