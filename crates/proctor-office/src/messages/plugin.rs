//! Messages to and from patients registers itself.

use std::sync::Arc;

use proctor_simulation::{
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepKind, read_fields, required},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Blueprint, Messages, blueprint::config_schema, tools};

/// Messages to and from patients.
pub struct MessagesPlugin;

impl SimulatorPlugin for MessagesPlugin {
    fn name(&self) -> &'static str {
        "Message"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["Messages"]
    }

    fn path(&self) -> &'static str {
        "messages"
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("messages", "messages")]
    }

    fn config_schema(&self) -> Value {
        config_schema()
    }

    fn machine(&self) -> MachineSource {
        MachineSource::Own(|simulator| Ok(factory(Blueprint::read(simulator)?, Messages::branch)))
    }

    fn tools(&self) -> &'static [Tool] {
        tools::TOOLS
    }

    fn steps(&self) -> &'static [StepKind] {
        &[STEP]
    }
}

/// A patient wrote.
#[derive(Debug)]
pub(super) struct MessageInbound {
    /// Who.
    pub(super) patient_id: String,
    /// By which channel.
    pub(super) channel: String,
    /// What.
    pub(super) body: String,
}

/// The step as authors write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    patient_id: Option<String>,
    channel: Option<String>,
    body: Option<String>,
}

const STEP: StepKind = StepKind {
    name: "message_inbound",
    read: |map| {
        let written: Written = read_fields(map)?;
        Ok(Arc::new(MessageInbound {
            patient_id: required("patient_id", written.patient_id)?,
            channel: required("channel", written.channel)?,
            body: required("body", written.body)?,
        }))
    },
    listed: 80,
};
