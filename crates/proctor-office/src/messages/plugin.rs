//! Messages to and from patients registers itself.

use proctor_simulation::{
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepFields, StepKind},
    schema::{about, example, object, text},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

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
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    patient_id: Option<String>,
    channel: Option<String>,
    body: Option<String>,
}

const STEP: StepKind = StepKind {
    name: "message_inbound",
    read: |map| {
        let (written, mut fields) = StepFields::read::<Written>(map);
        let patient_id = fields.required("patient_id", written.patient_id);
        let channel = fields.required("channel", written.channel);
        let body = fields.required("body", written.body);
        let message = || {
            Some(MessageInbound {
                patient_id: patient_id?,
                channel: channel?,
                body: body?,
            })
        };
        fields.finish(message())
    },
    schema: || {
        let members = json!({
            "patient_id": about("Who writes.", text()),
            "channel": about("By which channel.", text()),
            "body": about("What.", text()),
        });
        example(
            object(&["patient_id", "channel", "body"], members),
            json!({"patient_id": "ada", "channel": "sms", "body": "I can come on Monday."}),
        )
    },
    listed: 80,
};
