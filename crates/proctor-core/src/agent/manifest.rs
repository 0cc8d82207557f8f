//! The manifest of an agent, `proctor-agent.toml`: how a program that takes tasks by itself is installed, started and watched.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    problem::Problems,
    profile::is_variable,
    reader::{Node, Notes, Object, Wording},
};

/// The longest command or install script, in characters.
const LONGEST_SCRIPT: usize = 64 << 10;
/// The longest of the other texts.
const LONGEST_TEXT: usize = 4096;

/// How an agent is installed, started and watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentManifest {
    /// A script that installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// What a shell in the box runs to start it.
    pub command: String,
    /// Environment variables that must hold secrets.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub env: BTreeSet<String>,
    /// Hosts that it must reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The file in the box where it leaves its trajectory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<String>,
    /// The file in the box where it leaves its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// What its output says about why it failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<AgentErrorPattern>,
}

/// A pattern in the output of an agent, and what it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentErrorPattern {
    /// What is looked for.
    pub regex: String,
    /// What the failure is called then.
    pub exception_type: String,
}

impl AgentManifest {
    /// A manifest that only says how the agent is started.
    pub const fn of_command(command: String) -> Self {
        Self {
            install: None,
            command,
            env: BTreeSet::new(),
            hosts: Vec::new(),
            trajectory: None,
            log: None,
            errors: Vec::new(),
        }
    }

    /// Reads a manifest; everything that is wrong with it is named.
    pub fn read(document: &Value) -> Result<Self, Problems> {
        let notes = Notes::worded(Wording::Document);
        let read = read(&Node::root(document, &notes));
        notes.finish(read)
    }
}

fn read(node: &Node<'_>) -> Option<AgentManifest> {
    let object = node.object()?;
    let command = object
        .required("command")
        .and_then(|command| text(&command, LONGEST_SCRIPT));
    let manifest = AgentManifest {
        install: optional_text(&object, "install", LONGEST_SCRIPT),
        env: object
            .optional("env")
            .map_or_else(BTreeSet::new, |env| variables(&env)),
        hosts: object.optional("hosts").map_or_else(Vec::new, |hosts| {
            let hosts = hosts.items().into_iter();
            hosts.filter_map(|host| text(&host, LONGEST_TEXT)).collect()
        }),
        trajectory: optional_text(&object, "trajectory", LONGEST_TEXT),
        log: optional_text(&object, "log", LONGEST_TEXT),
        errors: object.optional("errors").map_or_else(Vec::new, |errors| {
            errors.items().iter().filter_map(error_pattern).collect()
        }),
        ..AgentManifest::of_command(command.unwrap_or_default())
    };
    object.finish();
    Some(manifest)
}

fn text(node: &Node<'_>, longest: usize) -> Option<String> {
    let text = node.text_of_length(1..=longest)?;
    if text.contains('\0') {
        node.refuse("must not contain a NUL");
    }
    Some(text.to_owned())
}

fn optional_text(object: &Object<'_>, name: &'static str, longest: usize) -> Option<String> {
    text(&object.optional(name)?, longest)
}

fn variables(node: &Node<'_>) -> BTreeSet<String> {
    let mut variables = BTreeSet::new();
    for item in node.items() {
        match item.text() {
            Some(name) if is_variable(name) => {
                variables.insert(name.to_owned());
            }
            Some(_) => item.refuse(
                "must be the name of an environment variable: letters, digits and underscores, not a digit first",
            ),
            None => {}
        }
    }
    variables
}

fn error_pattern(node: &Node<'_>) -> Option<AgentErrorPattern> {
    let object = node.object()?;
    let regex = object
        .required("regex")
        .and_then(|regex| text(&regex, LONGEST_TEXT));
    let exception_type = object
        .required("exception_type")
        .and_then(|name| text(&name, LONGEST_TEXT));
    object.finish();
    Some(AgentErrorPattern {
        regex: regex?,
        exception_type: exception_type?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_is_read_whole_and_kept_as_it_was() {
        let document = json!({
            "install": "npm install -g mine", "command": "mine run", "env": ["API_KEY"], "hosts": ["api.example.org"],
            "trajectory": "/tmp/t.json", "log": "/tmp/l", "errors": [{"regex": "429", "exception_type": "RateLimit"}],
        });
        let manifest = AgentManifest::read(&document).unwrap();
        assert_eq!(serde_json::to_value(&manifest).unwrap(), document);
        let least = AgentManifest::read(&json!({"command": "go"})).unwrap();
        assert_eq!(least, AgentManifest::of_command("go".to_owned()));
    }

    #[test]
    fn everything_that_is_wrong_with_a_manifest_is_named() {
        let document = json!({"command": " ", "env": ["1A", 3], "errors": [{}], "comand": "go"});
        assert_eq!(
            AgentManifest::read(&document).unwrap_err().to_string(),
            "command: must not be empty; env.0: must be the name of an environment variable: letters, digits and \
             underscores, not a digit first; env.1: must be a text; errors.0.regex: is required and missing; \
             errors.0.exception_type: is required and missing; comand: is not known here; command, env, errors, hosts, \
             install, log, trajectory are"
        );
        assert_eq!(
            AgentManifest::read(&json!({})).unwrap_err().to_string(),
            "command: is required and missing"
        );
    }
}
