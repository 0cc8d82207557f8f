//! How a fax machine behaves, the same in every playground of an environment.

use std::collections::BTreeSet;

use proctor_core::{environment::Simulator, problem::Problems};
use proctor_simulation::{
    config::ConfigProblems,
    schema::{about, list, object, optional, text},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::telephone;

/// What all playgrounds with this fax machine share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blueprint {
    pub(super) fax_number: Option<String>,
    /// The digits of numbers that never answer.
    unreachable: BTreeSet<String>,
}

/// The configuration as authors write it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// The machine's own number; made up where it is not said.
    fax_number: Option<String>,
    /// Numbers that never answer: faxes to them fail.
    unreachable: Vec<String>,
}

/// The JSON Schema of the configuration.
pub(super) fn config_schema() -> Value {
    object(
        &[],
        json!({
            "fax_number": about("The machine's own number; made up where it is not said.", optional(&text())),
            "unreachable": about("Numbers that never answer: faxes to them fail.", list(&text())),
        }),
    )
}

impl Blueprint {
    /// Reads the simulator's configuration.
    pub fn read(simulator: &Simulator) -> Result<Self, Problems> {
        let (config, mut problems) = ConfigProblems::read::<Config>(&simulator.config);
        problems.refuse_datasets(simulator);
        let mut digits = |place: &str, number: &str| {
            let digits = telephone::digits(number);
            if digits.is_none() {
                problems.add(place, format!("'{number}' is no telephone number"));
            }
            digits
        };
        if let Some(number) = &config.fax_number {
            digits("fax_number", number);
        }
        let unreachable = config
            .unreachable
            .iter()
            .filter_map(|number| digits("unreachable", number))
            .collect();
        problems.finish()?;
        Ok(Self {
            fax_number: config.fax_number,
            unreachable,
        })
    }

    /// Whether somebody takes faxes at this number.
    pub(super) fn answers(&self, number: &str) -> bool {
        telephone::digits(number).is_none_or(|digits| !self.unreachable.contains(&digits))
    }
}
