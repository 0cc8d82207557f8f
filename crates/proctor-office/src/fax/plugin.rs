//! A fax machine registers itself.

use std::sync::Arc;

use proctor_core::problem::Problem;
use proctor_simulation::{
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepKind, read_fields, required},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Blueprint, Fax, blueprint::config_schema, tools};

/// A fax machine.
pub struct FaxPlugin;

impl SimulatorPlugin for FaxPlugin {
    fn name(&self) -> &'static str {
        "Fax"
    }

    fn path(&self) -> &'static str {
        "faxes"
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("faxes", "faxes")]
    }

    fn config_schema(&self) -> Value {
        config_schema()
    }

    fn machine(&self) -> MachineSource {
        MachineSource::Own(|simulator| Ok(factory(Blueprint::read(simulator)?, Fax::branch)))
    }

    fn tools(&self) -> &'static [Tool] {
        tools::TOOLS
    }

    fn steps(&self) -> &'static [StepKind] {
        &[STEP]
    }
}

/// A fax arrives.
#[derive(Debug)]
pub(super) struct FaxInbound {
    /// Who sent it.
    pub(super) from_number: String,
    /// What it says.
    pub(super) text: String,
    /// The name of the document, if it has one.
    pub(super) file: Option<String>,
}

/// The step as authors write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    from_number: Option<String>,
    text: Option<String>,
    file: Option<String>,
}

const STEP: StepKind = StepKind {
    name: "fax_inbound",
    read: |map| {
        let written: Written = read_fields(map)?;
        if written.text.is_none() && written.file.is_none() {
            return Err(Problem::error("text or file", "is required"));
        }
        Ok(Arc::new(FaxInbound {
            from_number: required("from_number", written.from_number)?,
            text: written.text.unwrap_or_default(),
            file: written.file,
        }))
    },
    listed: 60,
};
