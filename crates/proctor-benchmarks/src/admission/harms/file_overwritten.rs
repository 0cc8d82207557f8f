//! Overwrites a file that was there before.

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

/// Overwrites a file that was there before.
pub(super) struct FileOverwritten;

impl Insertion for FileOverwritten {
    const NAME: &'static str = "file-overwritten";
    const CAUGHT_BY: &'static str = "an `unchanged` that names the files that may be written";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let path = chance.pick(&scene.files)?;
        let content = json!({"overwritten": true});
        Some(vec![call(
            Method::PUT,
            format!("files/{path}"),
            Some(content),
        )])
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &FileOverwritten;
