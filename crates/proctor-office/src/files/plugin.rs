//! A tree of files registers itself.

use base64::{Engine, engine::general_purpose::STANDARD};
use proctor_simulation::{
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepFields, StepKind},
    schema::{about, example, object, text},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Blueprint, Files, blueprint::config_schema, path::FilePath, tools};

/// A tree of files.
pub struct FilesPlugin;

impl SimulatorPlugin for FilesPlugin {
    fn name(&self) -> &'static str {
        "Files"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["Sftp"]
    }

    fn path(&self) -> &'static str {
        "files"
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("files", "files"), ("files_inbox", "files/inbox")]
    }

    fn config_schema(&self) -> Value {
        config_schema()
    }

    fn machine(&self) -> MachineSource {
        MachineSource::Own(|simulator| Ok(factory(Blueprint::read(simulator)?, Files::branch)))
    }

    fn tools(&self) -> &'static [Tool] {
        tools::TOOLS
    }

    fn steps(&self) -> &'static [StepKind] {
        &[STEP]
    }
}

/// A file appears below `inbox/`.
#[derive(Debug)]
pub(super) struct DropFileInbox {
    /// Where; it begins with the inbox.
    pub(super) path: FilePath,
    /// What is in it.
    pub(super) content: Vec<u8>,
}

/// The step as authors write it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    path: Option<String>,
    content: Option<String>,
    content_base64: Option<String>,
}

const STEP: StepKind = StepKind {
    name: "drop_file_inbox",
    read: |map| {
        let (written, mut fields) = StepFields::read::<Written>(map);
        let content = match (written.content, written.content_base64) {
            (Some(text), None) => Some(text.into_bytes()),
            (None, Some(text)) => match STANDARD.decode(text.trim()) {
                Ok(content) => Some(content),
                Err(error) => {
                    fields.refuse("content_base64", error.to_string());
                    None
                }
            },
            (None, None) => {
                fields.refuse("content or content_base64", "is required");
                None
            }
            (Some(_), Some(_)) => {
                fields.refuse("content and content_base64", "only one of them");
                None
            }
        };
        let path = fields.required("path", written.path);
        let path = path.and_then(|path| match FilePath::in_inbox(&path) {
            Ok(path) => Some(path),
            Err(problem) => {
                fields.refuse("path", problem.to_string());
                None
            }
        });
        let file = path.zip(content);
        fields.finish(file.map(|(path, content)| DropFileInbox { path, content }))
    },
    schema: || {
        let mut schema = object(
            &["path"],
            json!({
                "path": about("Where, below inbox/.", text()),
                "content": about("What is in it, as text.", text()),
                "content_base64": about("What is in it, as base64.", text()),
            }),
        );
        schema["oneOf"] = json!([{"required": ["content"]}, {"required": ["content_base64"]}]);
        example(
            schema,
            json!({"path": "referral.txt", "content": "Please see Mr. Smith."}),
        )
    },
    listed: 10,
};
