//! A tree of files registers itself.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use proctor_core::problem::Problem;
use proctor_simulation::{
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepKind, read_fields, required},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::Value;

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
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    path: Option<String>,
    content: Option<String>,
    content_base64: Option<String>,
}

const STEP: StepKind = StepKind {
    name: "drop_file_inbox",
    read: |map| {
        let written: Written = read_fields(map)?;
        let content = match (written.content, written.content_base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => STANDARD
                .decode(text.trim())
                .map_err(|error| Problem::error("content_base64", error.to_string()))?,
            (None, None) => {
                return Err(Problem::error("content or content_base64", "is required"));
            }
            (Some(_), Some(_)) => {
                return Err(Problem::error(
                    "content and content_base64",
                    "only one of them",
                ));
            }
        };
        let path = required("path", written.path)?;
        let path = FilePath::in_inbox(&path)
            .map_err(|problem| Problem::error("path", problem.to_string()))?;
        Ok(Arc::new(DropFileInbox { path, content }))
    },
    listed: 10,
};
