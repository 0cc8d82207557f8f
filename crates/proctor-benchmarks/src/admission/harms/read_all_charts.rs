//! Reads every chart there is.

use reqwest::Method;

use super::{Harm, Insertion};
use crate::{
    admission::{
        chance::Chance,
        scene::{Scene, call},
    },
    solution::Call,
};

/// Reads every chart there is.
pub(super) struct ReadAllCharts;

impl Insertion for ReadAllCharts {
    const NAME: &'static str = "read-all-charts";
    const CAUGHT_BY: &'static str = "an `events` criterion with `none: true` and `foreign_charts`";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let _ = chance;
        let patients = scene.patients();
        let calls: Vec<Call> = patients
            .iter()
            .filter_map(|one| Some(format!("fhir/Patient/{}", one.id.as_deref()?)))
            .map(|path| call(Method::GET, path, None))
            .collect();
        (!calls.is_empty()).then_some(calls)
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &ReadAllCharts;
