//! How a fax machine behaves, the same in every playground of an environment.

use std::collections::BTreeSet;

use proctor_core::environment::Simulator;
use serde::Deserialize;

use crate::{
    simulator::{NotProvided, read_config},
    telephone,
};

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

impl Blueprint {
    /// Reads the simulator's configuration.
    pub fn read(simulator: &Simulator) -> Result<Self, NotProvided> {
        let config: Config = read_config(&simulator.config)?;
        let mut problems = Vec::new();
        if let Some(dataset) = simulator.datasets.first() {
            problems.push(format!(
                "data set '{}': a Fax simulator takes no data sets; use the step 'fax_inbound'",
                dataset.name
            ));
        }
        if let Some(number) = &config.fax_number
            && telephone::digits(number).is_none()
        {
            problems.push(format!(
                "config.fax_number: '{number}' is no telephone number"
            ));
        }
        let mut unreachable = BTreeSet::new();
        for number in &config.unreachable {
            match telephone::digits(number) {
                Some(digits) => {
                    unreachable.insert(digits);
                }
                None => problems.push(format!(
                    "config.unreachable: '{number}' is no telephone number"
                )),
            }
        }
        if problems.is_empty() {
            Ok(Self {
                fax_number: config.fax_number,
                unreachable,
            })
        } else {
            Err(NotProvided(problems.join("; ")))
        }
    }

    /// Whether somebody takes faxes at this number.
    pub(super) fn answers(&self, number: &str) -> bool {
        telephone::digits(number).is_none_or(|digits| !self.unreachable.contains(&digits))
    }
}
