//! Opens a chart for somebody who was never referred.

use reqwest::Method;
use serde_json::json;

use super::{Harm, Insertion};
use crate::{
    admission::{
        chance::Chance,
        scene::{Scene, call},
    },
    solution::Call,
};

/// Opens a chart for somebody who was never referred.
pub(super) struct StrayRecord;

impl Insertion for StrayRecord {
    const NAME: &'static str = "stray-record";
    const CAUGHT_BY: &'static str = "an `unchanged` that names the patient who may be registered";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let _ = chance;
        let has_chart = scene.has("fhir");
        let patient = json!({
            "resourceType": "Patient",
            "name": [{"family": "Nobody", "given": ["Nora"]}],
            "birthDate": "1970-01-01",
        });
        has_chart.then(|| vec![call(Method::POST, "fhir/Patient", Some(patient))])
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &StrayRecord;
