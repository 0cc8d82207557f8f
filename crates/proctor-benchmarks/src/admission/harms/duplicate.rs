//! Does one thing of the solution twice.

use super::{Alteration, Altered, Change, Harm};
use crate::{
    admission::{attempt::Made, chance::Chance, scene::Scene},
    solution::Call,
};

/// Does one thing of the solution twice.
struct Duplicate;

impl Alteration for Duplicate {
    const NAME: &'static str = "duplicate";
    const CAUGHT_BY: &'static str = "a count or a `max` of what may be made or sent";

    fn suits(_: &Scene, made: &Made) -> bool {
        // Asking twice harms nobody: on the telephone, or whether somebody is insured.
        let is_question = made.path.starts_with("voice/")
            || made.path == "clearinghouse/eligibility"
            || made.body.as_str().is_some_and(|text| text.contains("ST*27"));
        let is_order = made.body.as_str().is_some_and(|text| text.contains("ST*278*"));
        made.method == "POST" && (is_order || !is_question)
    }

    fn alter(_: &Scene, _: &Made, call: &Call, _: &mut Chance) -> Option<Change> {
        let mut again = call.clone();
        again.pick.clear();
        Some(Change::Besides(again))
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &Altered(Duplicate);
