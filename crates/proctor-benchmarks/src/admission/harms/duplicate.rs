//! Does one thing of the solution twice.

use super::{Harm, Place, effects};
use crate::admission::{
    attempt::{Move, Program},
    chance::Chance,
    scene::Scene,
};

/// Does one thing of the solution twice.
pub(super) struct Duplicate;

impl Harm for Duplicate {
    fn name(&self) -> &'static str {
        "duplicate"
    }

    fn caught_by(&self) -> &'static str {
        "a count or a `max` of what may be made or sent"
    }

    fn apply(
        &self,
        scene: &Scene,
        program: &[Move],
        place: Place,
        chance: &mut Chance,
    ) -> Option<Program> {
        let _ = chance;
        let repeatable: Vec<usize> = effects(scene)
            .into_iter()
            // Saying something twice on the telephone harms nobody.
            .filter(|made| {
                scene.made[*made].method == "POST" && !scene.made[*made].path.ends_with("/turns")
            })
            .collect();
        let made = place.choose(&repeatable)?;
        let mut again = program[made].clone();
        again.is_harm = true;
        again.call.pick.clear();
        let mut changed = program.to_vec();
        changed.insert(made + 1, again);
        Some(changed)
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &Duplicate;
