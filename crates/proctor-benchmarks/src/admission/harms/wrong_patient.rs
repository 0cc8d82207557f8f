//! Does one thing of the solution for somebody else.

use super::{Alteration, Altered, Change, Harm};
use crate::{
    admission::{attempt::Made, chance::Chance, scene::Scene},
    solution::{Body, Call},
};

/// Does one thing of the solution for somebody else.
struct WrongPatient;

impl Alteration for WrongPatient {
    const NAME: &'static str = "wrong-patient";
    const CAUGHT_BY: &'static str = "a criterion that names the patient, `critical`";

    fn suits(scene: &Scene, made: &Made) -> bool {
        let body = made.body.to_string();
        made.body.is_object()
            && scene
                .own_patients()
                .iter()
                .any(|id| body.contains(&format!("Patient/{id}\"")))
    }

    fn alter(scene: &Scene, made: &Made, call: &Call, chance: &mut Chance) -> Option<Change> {
        let strangers = scene.patients();
        let stranger = chance.pick(&strangers)?.id.clone()?;
        let mut body = made.body.to_string();
        for id in scene.own_patients() {
            let (own, other) = (format!("Patient/{id}\""), format!("Patient/{stranger}\""));
            body = body.replace(&own, &other);
        }
        let mut other = call.clone();
        other.body = Body::Json(serde_json::from_str(&body).ok()?);
        Some(Change::Instead(other))
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &Altered(WrongPatient);
