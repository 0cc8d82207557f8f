//! Does one thing of the solution for somebody else.

use super::{Harm, Place, effects};
use crate::{
    admission::{
        attempt::{Move, Program},
        chance::Chance,
        scene::Scene,
    },
    solution::Body,
};

/// Does one thing of the solution for somebody else.
pub(super) struct WrongPatient;

impl Harm for WrongPatient {
    fn name(&self) -> &'static str {
        "wrong-patient"
    }

    fn caught_by(&self) -> &'static str {
        "a criterion that names the patient, `critical`"
    }

    fn apply(
        &self,
        scene: &Scene,
        program: &[Move],
        place: Place,
        chance: &mut Chance,
    ) -> Option<Program> {
        let strangers = scene.patients();
        let stranger = chance.pick(&strangers)?.id.clone()?;
        let own: Vec<String> = scene
            .of_type("Patient")
            .iter()
            .filter_map(|one| one["id"].as_str().map(str::to_owned))
            .filter(|id| scene.mentions(id))
            .collect();
        let made = place.choose(&effects(scene))?;
        let body = scene.made[made].body.to_string();
        let id = own
            .iter()
            .find(|id| body.contains(&format!("Patient/{id}")))?;
        let other = body.replace(&format!("Patient/{id}"), &format!("Patient/{stranger}"));
        let mut changed = program.to_vec();
        changed[made].call.body = Body::Json(serde_json::from_str(&other).ok()?);
        changed[made].is_harm = true;
        Some(changed)
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &WrongPatient;
