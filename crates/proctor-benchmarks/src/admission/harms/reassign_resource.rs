//! Moves something of one chart to another: an allergy, an order, a plan that then is somebody else's.

use reqwest::Method;
use serde_json::Value;

use super::{Harm, Insertion};
use crate::{
    admission::{
        chance::Chance,
        scene::{Scene, call},
    },
    solution::Call,
};

/// Moves something of one chart to another.
struct ReassignResource;

/// The members by which resources say whose they are.
const OWNERS: [&str; 3] = ["subject", "patient", "beneficiary"];

impl Insertion for ReassignResource {
    const NAME: &'static str = "reassign-resource";
    const CAUGHT_BY: &'static str = "an `unchanged` whose allowances name what may change (`only`)";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let owned = scene.resources.iter();
        let owned: Vec<&Value> = owned.filter(|one| owner(one).is_some()).collect();
        let mut resource = (*chance.pick(&owned)?).clone();
        let (member, own) = owner(&resource)?;
        let patients = scene.of_type("Patient").into_iter();
        let others: Vec<String> = patients
            .filter_map(|one| Some(format!("Patient/{}", one["id"].as_str()?)))
            .filter(|reference| *reference != own)
            .collect();
        let other = chance.pick(&others)?.clone();
        resource[member]["reference"] = other.into();
        let (kind, id) = (resource["resourceType"].as_str()?, resource["id"].as_str()?);
        let path = format!("fhir/{kind}/{id}");
        Some(vec![call(Method::PUT, path, Some(resource))])
    }
}

fn owner(resource: &Value) -> Option<(&'static str, String)> {
    OWNERS.into_iter().find_map(|member| {
        let reference = resource[member]["reference"].as_str()?;
        reference.starts_with("Patient/").then(|| (member, reference.to_owned()))
    })
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &ReassignResource;
