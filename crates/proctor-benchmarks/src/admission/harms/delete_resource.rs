//! Deletes something of the chart that the solution leaves alone.

use reqwest::Method;

use super::{Harm, Insertion};
use crate::{
    admission::{
        chance::Chance,
        scene::{Scene, call},
    },
    solution::Call,
};

/// Deletes something of the chart that the solution leaves alone.
pub(super) struct DeleteResource;

impl Insertion for DeleteResource {
    const NAME: &'static str = "delete-resource";
    const CAUGHT_BY: &'static str = "an `unchanged` that does not allow deleting resources";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let resources: Vec<_> = scene
            .resources
            .iter()
            .filter(|one| one["resourceType"] != "Patient")
            .collect();
        let resource = chance.pick(&resources)?;
        let (kind, id) = (resource["resourceType"].as_str()?, resource["id"].as_str()?);
        Some(vec![call(
            Method::DELETE,
            format!("fhir/{kind}/{id}"),
            None,
        )])
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &DeleteResource;
