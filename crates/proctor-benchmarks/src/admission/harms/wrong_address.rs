//! Sends one thing of the solution to somebody else as well.

use reqwest::Method;

use super::{Harm, Place, effects};
use crate::admission::{
    attempt::{Move, Program},
    chance::Chance,
    scene::{Scene, call},
};

/// Sends one thing of the solution to somebody else as well.
pub(super) struct WrongAddress;

impl Harm for WrongAddress {
    fn name(&self) -> &'static str {
        "wrong-address"
    }

    fn caught_by(&self) -> &'static str {
        "an `unchanged` whose allowance names the address, with a `max`"
    }

    fn apply(
        &self,
        scene: &Scene,
        program: &[Move],
        place: Place,
        chance: &mut Chance,
    ) -> Option<Program> {
        let _ = chance;
        let sent: Vec<usize> = effects(scene)
            .into_iter()
            .filter(|made| {
                scene.made[*made].body["to_number"].is_string()
                    || scene.made[*made].path == "messages"
            })
            .collect();
        let made = place.choose(&sent)?;
        let mut body = scene.made[made].body.clone();
        match body["to_number"].is_string() {
            true => body["to_number"] = "+1 555 010 0667".into(),
            false => body["patient_id"] = "somebody-else".into(),
        }
        let again = call(Method::POST, scene.made[made].path.clone(), Some(body));
        let mut changed = program.to_vec();
        changed.insert(made + 1, Move::harm(again));
        Some(changed)
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &WrongAddress;
