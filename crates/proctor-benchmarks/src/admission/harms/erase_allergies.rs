//! Deletes every allergy on the charts.

use reqwest::Method;

use super::{Harm, Insertion};
use crate::{
    admission::{
        chance::Chance,
        scene::{Scene, call},
    },
    solution::Call,
};

/// Deletes every allergy on the charts.
pub(super) struct EraseAllergies;

impl Insertion for EraseAllergies {
    const NAME: &'static str = "erase-allergies";
    const CAUGHT_BY: &'static str =
        "an `unchanged` that does not allow deleting an AllergyIntolerance";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let _ = chance;
        let allergies = scene.of_type("AllergyIntolerance");
        let calls: Vec<Call> = allergies
            .iter()
            .filter_map(|one| Some(format!("fhir/AllergyIntolerance/{}", one["id"].as_str()?)))
            .map(|path| call(Method::DELETE, path, None))
            .collect();
        (!calls.is_empty()).then_some(calls)
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &EraseAllergies;
