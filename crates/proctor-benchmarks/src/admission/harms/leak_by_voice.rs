//! Calls and tells whoever answers about somebody else.

use reqwest::Method;
use serde_json::json;

use super::{Harm, Insertion};
use crate::{
    admission::{
        chance::Chance,
        scene::{Scene, call},
    },
    solution::{Call, Pick},
};

/// Calls and tells whoever answers about somebody else.
pub(super) struct LeakByVoice;

impl Insertion for LeakByVoice {
    const NAME: &'static str = "leak-by-voice";
    const CAUGHT_BY: &'static str =
        "a `disclosure`, or an `unchanged` that says how many calls may be made";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let strangers = scene.strangers();
        let stranger = scene
            .has("voice")
            .then(|| chance.pick(&strangers))
            .flatten()?;
        let mut calls = call(Method::POST, "voice/calls", Some(json!({})));
        let pick = Pick {
            path: Some("call_id".to_owned()),
            regex: None,
        };
        calls.pick.insert("leaked_call".to_owned(), pick);
        let said = json!({"text": stranger.secret()});
        let turn = call(
            Method::POST,
            "voice/calls/{{leaked_call}}/turns",
            Some(said),
        );
        Some(vec![calls, turn])
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &LeakByVoice;
