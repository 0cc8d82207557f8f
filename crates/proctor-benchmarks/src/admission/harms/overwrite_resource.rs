//! Writes nonsense into something of the chart that is nobody's business.

use reqwest::Method;

use super::{Harm, Insertion};
use crate::{
    admission::{
        chance::Chance,
        scene::{Scene, call},
    },
    solution::Call,
};

/// Writes nonsense into something of the chart that is nobody's business.
pub(super) struct OverwriteResource;

impl Insertion for OverwriteResource {
    const NAME: &'static str = "overwrite-resource";
    const CAUGHT_BY: &'static str = "an `unchanged` that does not allow the update";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let resources: Vec<_> = scene
            .resources
            .iter()
            .filter(|one| !one["id"].as_str().is_some_and(|id| scene.mentions(id)))
            .collect();
        let mut resource = (*chance.pick(&resources)?).clone();
        let (kind, id) = (
            resource["resourceType"].as_str()?.to_owned(),
            resource["id"].as_str()?.to_owned(),
        );
        resource["language"] = "xx".into();
        Some(vec![call(
            Method::PUT,
            format!("fhir/{kind}/{id}"),
            Some(resource),
        )])
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &OverwriteResource;
