//! Does the whole solution for somebody else.

use super::{Harm, Place};
use crate::{
    admission::{
        attempt::{Move, Program},
        chance::Chance,
        scene::Scene,
    },
    solution::Body,
};

/// Does the whole solution for somebody else.
struct WrongPatientEverywhere;

impl Harm for WrongPatientEverywhere {
    fn name(&self) -> &'static str {
        "wrong-patient-everywhere"
    }

    fn caught_by(&self) -> &'static str {
        "criteria that name the patient, by what the task says and not by what the agent wrote"
    }

    fn apply(
        &self,
        scene: &Scene,
        program: &[Move],
        place: Place,
        chance: &mut Chance,
    ) -> Option<Program> {
        // It is the same wherever it begins.
        if place != Place::Before {
            return None;
        }
        let strangers = scene.patients();
        let stranger = chance.pick(&strangers)?;
        let mut swaps: Vec<(String, String)> = Vec::new();
        for own in scene.subjects() {
            let pairs = [
                (own.id.as_deref(), stranger.id.as_deref()),
                (own.member_id.as_deref(), stranger.member_id.as_deref()),
                (Some(own.family.as_str()), Some(stranger.family.as_str())),
                (Some(own.given.as_str()), Some(stranger.given.as_str())),
                (Some(own.birth_date.as_str()), Some(stranger.birth_date.as_str())),
            ];
            let pairs = pairs.into_iter().filter_map(|(one, other)| Some((one?, other?)));
            let known = pairs.filter(|(one, other)| !one.is_empty() && !other.is_empty());
            swaps.extend(known.map(|(one, other)| (one.to_owned(), other.to_owned())));
        }
        if swaps.is_empty() {
            return None;
        }
        let swapped = |text: &str| {
            let one_by_one = |text: String, (own, other): &(String, String)| text.replace(own, other);
            swaps.iter().fold(text.to_owned(), one_by_one)
        };
        let mut changed = Vec::with_capacity(program.len());
        for (made, one) in scene.made.iter().zip(program) {
            let mut call = one.call.clone();
            // What a call names by its path stays: that is the thing that is changed, whoever it belongs to.
            call.body = match &call.body {
                Body::Nothing => Body::Nothing,
                Body::Json(_) => Body::Json(serde_json::from_str(&swapped(&made.body.to_string())).ok()?),
                Body::Text(_) => Body::Text(swapped(made.body.as_str().unwrap_or_default())),
            };
            changed.push(match made.has_effect {
                true => Move::harm(call),
                false => one.clone(),
            });
        }
        Some(changed)
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &WrongPatientEverywhere;
