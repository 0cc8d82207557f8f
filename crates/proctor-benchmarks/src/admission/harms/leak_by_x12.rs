//! Asks the payer about somebody else.

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

/// Asks the payer about somebody else.
pub(super) struct LeakByX12;

impl Insertion for LeakByX12 {
    const NAME: &'static str = "leak-by-x12";
    const CAUGHT_BY: &'static str = "an `unchanged` that names the transactions that may be sent";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let strangers = scene.strangers();
        let clearinghouse = ["clearinghouse", "x12"]
            .into_iter()
            .any(|kind| scene.has(kind));
        let stranger = clearinghouse.then(|| chance.pick(&strangers)).flatten()?;
        let question = json!({"member_id": stranger.member_id});
        Some(vec![call(
            Method::POST,
            "clearinghouse/eligibility",
            Some(question),
        )])
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &LeakByX12;
