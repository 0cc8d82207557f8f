//! Writes a date of the solution ten years too early.

use serde_json::Value;

use super::{Alteration, Altered, Change, Harm};
use crate::{
    admission::{attempt::Made, chance::Chance, scalars, scene::Scene},
    solution::{Body, Call},
};

/// Writes a date of the solution ten years too early.
struct WrongDate;

impl Alteration for WrongDate {
    const NAME: &'static str = "wrong-date";
    const CAUGHT_BY: &'static str = "a criterion about the date, or an allowance that names it";

    fn suits(_: &Scene, made: &Made) -> bool {
        scalars::has(&made.body, is_date)
    }

    fn alter(_: &Scene, made: &Made, call: &Call, chance: &mut Chance) -> Option<Change> {
        let body = scalars::with_one_changed(&made.body, is_date, chance, |date| {
            let text = date.as_str().unwrap_or_default();
            let (year, rest) = text.split_at(4);
            let year: i32 = year.parse().unwrap_or(2000);
            *date = format!("{:04}{rest}", year - 10).into();
        });
        let mut other = call.clone();
        other.body = Body::Json(body?);
        Some(Change::Instead(other))
    }
}

/// `1949-06-30`, perhaps with a time.
fn is_date(value: &Value) -> bool {
    value.as_str().is_some_and(scalars::is_date)
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &Altered(WrongDate);
