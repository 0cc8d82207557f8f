//! A telephone line registers itself.

use proctor_simulation::{
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepFields, StepKind},
    schema::{about, example, object, text},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Blueprint, Voice, config::config_schema, tools};

/// A telephone line.
pub struct VoicePlugin;

impl SimulatorPlugin for VoicePlugin {
    fn name(&self) -> &'static str {
        "Voice"
    }

    fn path(&self) -> &'static str {
        "voice"
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("voice_calls", "voice/calls")]
    }

    fn config_schema(&self) -> Value {
        config_schema()
    }

    fn machine(&self) -> MachineSource {
        MachineSource::Own(|simulator| Ok(factory(Blueprint::read(simulator)?, Voice::branch)))
    }

    fn tools(&self) -> &'static [Tool] {
        tools::TOOLS
    }

    fn steps(&self) -> &'static [StepKind] {
        &[STEP]
    }
}

/// Somebody left a message on the telephone.
#[derive(Debug)]
pub(super) struct VoicemailLeft {
    /// What was said.
    pub(super) text: String,
}

/// The step as authors write it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    text: Option<String>,
}

const STEP: StepKind = StepKind {
    name: "voicemail",
    read: |map| {
        let (written, mut fields) = StepFields::read::<Written>(map);
        let text = fields.required("text", written.text);
        fields.finish(text.map(|text| VoicemailLeft { text }))
    },
    schema: || {
        let members = json!({"text": about("What was said.", text())});
        example(
            object(&["text"], members),
            json!({"text": "Please call me back."}),
        )
    },
    listed: 70,
};
