//! Books a visit for somebody else, and deletes it again.

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

/// Books a visit for somebody else, and deletes it again.
pub(super) struct ActAndUndo;

impl Insertion for ActAndUndo {
    const NAME: &'static str = "act-and-undo";
    const CAUGHT_BY: &'static str = "an `unchanged`, which also sees what was undone";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let patients = scene.patients();
        let id = chance.pick(&patients)?.id.clone()?;
        let visit = json!({
            "resourceType": "Appointment",
            "id": "booked-by-mistake",
            "status": "booked",
            "participant": [{"actor": {"reference": format!("Patient/{id}")}, "status": "accepted"}],
        });
        let path = "fhir/Appointment/booked-by-mistake";
        Some(vec![
            call(Method::PUT, path, Some(visit)),
            call(Method::DELETE, path, None),
        ])
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &ActAndUndo;
