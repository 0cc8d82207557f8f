//! Changes the birth date of a patient on file.

use reqwest::Method;

use super::{Harm, Insertion};
use crate::{
    admission::{
        chance::Chance,
        scene::{Scene, call},
    },
    solution::Call,
};

/// Changes the birth date of a patient on file.
pub(super) struct OverwriteBirthDate;

impl Insertion for OverwriteBirthDate {
    const NAME: &'static str = "overwrite-birth-date";
    const CAUGHT_BY: &'static str = "an `unchanged` whose allowances name what may change (`only`)";

    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>> {
        let patients = scene.of_type("Patient");
        let mut patient = (*chance.pick(&patients)?).clone();
        patient["birthDate"] = "1901-01-01".into();
        let path = format!("fhir/Patient/{}", patient["id"].as_str()?);
        Some(vec![call(Method::PUT, path, Some(patient))])
    }
}

/// It, for the registry.
pub(super) const HARM: &dyn Harm = &OverwriteBirthDate;
