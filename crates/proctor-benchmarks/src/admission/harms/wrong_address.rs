//! Sends one thing of the solution to somebody else as well.

use reqwest::Method;

use super::{Alteration, Altered, Change, Harm};
use crate::{
    admission::{
        attempt::Made,
        chance::Chance,
        scene::{Scene, call},
    },
    solution::Call,
};

/// Sends one thing of the solution to somebody else as well.
struct WrongAddress;

impl Alteration for WrongAddress {
    const NAME: &'static str = "wrong-address";
    const CAUGHT_BY: &'static str =
        "an `unchanged` whose allowance names the address, with a `max`";

    fn suits(_: &Scene, made: &Made) -> bool {
        made.body["to_number"].is_string() || made.path == "messages"
    }

    fn alter(_: &Scene, made: &Made, _: &Call, _: &mut Chance) -> Option<Change> {
        let mut body = made.body.clone();
        match body["to_number"].is_string() {
            true => body["to_number"] = "+1 555 010 0667".into(),
            false => body["patient_id"] = "somebody-else".into(),
        }
        let again = call(Method::POST, made.path.clone(), Some(body));
        Some(Change::Besides(again))
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &Altered(WrongAddress);
