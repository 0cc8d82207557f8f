//! An agent of a job file.

use std::{collections::BTreeMap, num::NonZeroU32};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    digest::hex,
    read::{
        DocumentNode, DocumentObject, flag, list, object_of, seconds, text, texts, variables, warn,
        whole,
    },
    task::{McpServer, allowed_hosts},
};

/// The agent of an entry that names none.
const USUAL: &str = "oracle";
/// What an entry says that has no effect unless its manifest asks for it.
const ENDPOINT: &str =
    "has no effect: an agent's manifest says which variables it reads; set them in env";

/// An agent of a job file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEntry {
    /// `oracle`, `nop`, or the name of a registered agent.
    pub name: String,
    /// The model that it shall use.
    pub model_name: Option<String>,
    /// Seconds instead of the task's; 0 is as good as nothing.
    pub timeout: Option<f64>,
    /// Seconds for installing it.
    pub setup_timeout: Option<f64>,
    /// The most seconds.
    pub most: Option<f64>,
    /// What else is said about it.
    pub kwargs: BTreeMap<String, Value>,
    /// Environment variables, with templates.
    pub env: BTreeMap<String, String>,
    /// How many of its trials go on at once.
    pub at_once: Option<NonZeroU32>,
    /// Entries that share that limit.
    pub group: Option<String>,
    /// Hosts that it may reach besides.
    pub hosts: Vec<String>,
    /// Which of its logs are kept, if not all.
    pub include_logs: Vec<String>,
    /// Which of those are not.
    pub exclude_logs: Vec<String>,
    /// Servers of tools besides the task's.
    pub mcp_servers: Vec<McpServer>,
    /// Whether it goes on with its session in the next step.
    pub resumes: bool,
}

impl Default for AgentEntry {
    fn default() -> Self {
        Self {
            name: USUAL.to_owned(),
            model_name: None,
            timeout: None,
            setup_timeout: None,
            most: None,
            kwargs: BTreeMap::new(),
            env: BTreeMap::new(),
            at_once: None,
            group: None,
            hosts: Vec::new(),
            include_logs: Vec::new(),
            exclude_logs: Vec::new(),
            mcp_servers: Vec::new(),
            resumes: false,
        }
    }
}

impl AgentEntry {
    /// What tells it apart from other entries: also from those of the same name that differ in anything else.
    pub fn identity(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        hex(&Sha256::digest(text))
    }

    /// What else is said about it as texts, as a program in a box can have them.
    pub fn kwargs_as_texts(&self) -> BTreeMap<String, String> {
        let texts = self.kwargs.iter().map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (name.clone(), text)
        });
        texts.collect()
    }
}

/// Reads an agent.
pub(super) fn read(node: &DocumentNode<'_>) -> Option<AgentEntry> {
    object_of(node, |object| {
        refuse(object);
        let mut at_once = whole(object, "n_concurrent", 1..=u64::from(u32::MAX));
        let group = text(object, "concurrency_group");
        if group.is_some() && at_once.is_none() {
            object.refuse(
                "concurrency_group",
                "counts only together with n_concurrent",
            );
            at_once = Some(1);
        }
        AgentEntry {
            name: name(object),
            model_name: text(object, "model_name"),
            timeout: seconds(object, "override_timeout_sec"),
            setup_timeout: seconds(object, "override_setup_timeout_sec"),
            most: seconds(object, "max_timeout_sec"),
            kwargs: kwargs(object),
            env: variables(object, "env", false),
            at_once: at_once.and_then(|most| NonZeroU32::new(u32::try_from(most).ok()?)),
            group,
            hosts: object
                .optional("extra_allowed_hosts")
                .map_or_else(Vec::new, |node| allowed_hosts(&node)),
            include_logs: texts(object, "include_logs"),
            exclude_logs: texts(object, "exclude_logs"),
            mcp_servers: list(object, "mcp_servers", crate::task::mcp_server),
            resumes: flag(object, "resume_trajectory").unwrap_or(false),
        }
    })
}

fn name(object: &DocumentObject<'_>) -> String {
    let Some(node) = object.optional("name") else {
        return USUAL.to_owned();
    };
    match node.filled_text() {
        Some(name) if name.starts_with("acp:") => {
            node.refuse("agents by ACP are not run; register a command as an agent instead");
            USUAL.to_owned()
        }
        // Both names are read; one is kept.
        Some("null") => "nop".to_owned(),
        Some(name) => name.to_owned(),
        None => USUAL.to_owned(),
    }
}

fn kwargs(object: &DocumentObject<'_>) -> BTreeMap<String, Value> {
    let entries = object.optional("kwargs").map(|node| node.entries());
    let entries = entries.unwrap_or_default().into_iter();
    entries
        .map(|(name, node)| (name.to_owned(), node.value().clone()))
        .collect()
}

/// What is not done, and what has no effect.
fn refuse(object: &DocumentObject<'_>) {
    if object.optional("import_path").is_some() {
        object.refuse(
            "import_path",
            "no Python is run; register a command as an agent (POST /v1/agents with a manifest) and give its name",
        );
    }
    if object.optional("load_trajectory").is_some() {
        object.refuse("load_trajectory", "sessions are not loaded");
    }
    for name in ["base_url", "model_api_key_name", "model_api_format"] {
        if let Some(node) = object.optional(name) {
            warn(&node, ENDPOINT);
        }
    }
    if let Some(node) = object.optional("skip_model_parsing") {
        warn(&node, "has no effect: models are never parsed");
    }
    if let Some(node) = object.optional("skills")
        && !node.items().is_empty()
    {
        node.refuse("skills of a job are not put into boxes; a task's skills_dir is");
    }
}
