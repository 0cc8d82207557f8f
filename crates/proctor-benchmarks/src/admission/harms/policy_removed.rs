//! Deletes a file that was there before.

use reqwest::Method;

use super::{Harm, Insertion};
use crate::{
    admission::{
        chance::Chance,
        scene::{Scene, call},
    },
    solution::Call,
};

/// Deletes a file that was there before.
pub(super) struct PolicyRemoved;

impl Insertion for PolicyRemoved {
    const NAME: &'static str = "policy-removed";
    const CAUGHT_BY: &'static str = "an `unchanged` that does not allow deleting files";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let path = chance.pick(&scene.files)?;
        Some(vec![call(Method::DELETE, format!("files/{path}"), None)])
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &PolicyRemoved;
