//! An HL7 v2 interface registers itself.

use proctor_simulation::{
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepFields, StepKind},
    schema::{about, example, object, text},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Blueprint, Hl7, blueprint::config_schema, tools};

/// An HL7 v2 interface.
pub struct Hl7Plugin;

impl SimulatorPlugin for Hl7Plugin {
    fn name(&self) -> &'static str {
        "Hl7"
    }

    fn path(&self) -> &'static str {
        "hl7"
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("hl7_inbox", "hl7/inbox"), ("hl7_outbound", "hl7/outbound")]
    }

    fn config_schema(&self) -> Value {
        config_schema()
    }

    fn machine(&self) -> MachineSource {
        MachineSource::Own(|simulator| Ok(factory(Blueprint::read(simulator)?, Hl7::branch)))
    }

    fn tools(&self) -> &'static [Tool] {
        tools::TOOLS
    }

    fn steps(&self) -> &'static [StepKind] {
        &[STEP]
    }
}

/// An HL7 message arrives.
#[derive(Debug)]
pub(super) struct Hl7Inbound {
    /// The message.
    pub(super) payload: String,
}

/// The step as authors write it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    payload: Option<String>,
}

const STEP: StepKind = StepKind {
    name: "hl7_inbound",
    read: |map| {
        let (written, mut fields) = StepFields::read::<Written>(map);
        let payload = fields.required("payload", written.payload);
        fields.finish(payload.map(|payload| Hl7Inbound { payload }))
    },
    schema: || {
        let members = json!({"payload": about("The message, from MSH on.", text())});
        let payload = "MSH|^~\\&|LAB|HOSP|EHR|CLINIC|20300301||ORU^R01|1|P|2.5.1\rPID|||12345";
        example(object(&["payload"], members), json!({"payload": payload}))
    },
    listed: 20,
};
