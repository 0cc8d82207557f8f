//! Does the work and takes one part of it back.

use reqwest::Method;

use super::{Harm, Place};
use crate::admission::{
    attempt::{Move, Program},
    chance::Chance,
    scene::{Scene, call},
};

/// Does the work and takes one part of it back.
struct UndoSolution;

impl Harm for UndoSolution {
    fn name(&self) -> &'static str {
        "undo-solution"
    }

    fn caught_by(&self) -> &'static str {
        "a criterion about what is there in the end"
    }

    fn apply(
        &self,
        scene: &Scene,
        program: &[Move],
        place: Place,
        _: &mut Chance,
    ) -> Option<Program> {
        let made = scene.made.iter().enumerate();
        let created: Vec<usize> = made
            .filter(|(_, one)| one.has_effect && one.created.is_some())
            .map(|(at, _)| at)
            .collect();
        let at = place.choose(&created)?;
        // Resources get their ids from the world, which is the same each time; so are the ids.
        let path = scene.made[at].created.clone()?;
        let mut changed = program.to_vec();
        changed.push(Move::harm(call(Method::DELETE, path, None)));
        Some(changed)
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &UndoSolution;
