//! A fax machine registers itself.

use proctor_simulation::{
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepFields, StepKind},
    schema::{about, example, object, text},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

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
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    from_number: Option<String>,
    text: Option<String>,
    file: Option<String>,
}

const STEP: StepKind = StepKind {
    name: "fax_inbound",
    read: |map| {
        let (written, mut fields) = StepFields::read::<Written>(map);
        if written.text.is_none() && written.file.is_none() {
            fields.refuse("text or file", "is required");
        }
        let from_number = fields.required("from_number", written.from_number);
        fields.finish(from_number.map(|from_number| FaxInbound {
            from_number,
            text: written.text.unwrap_or_default(),
            file: written.file,
        }))
    },
    schema: || {
        let mut schema = object(
            &["from_number"],
            json!({
                "from_number": about("Who sends it.", text()),
                "text": about("What it says.", text()),
                "file": about("The name of the document, if it has one.", text()),
            }),
        );
        schema["anyOf"] = json!([{"required": ["text"]}, {"required": ["file"]}]);
        example(
            schema,
            json!({"from_number": "+1 555 010 7100", "text": "Your appeal was received."}),
        )
    },
    listed: 60,
};
