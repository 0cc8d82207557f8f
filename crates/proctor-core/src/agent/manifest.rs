//! The manifest of an agent, `proctor-agent.toml`: how a program that takes tasks by itself is installed, started and watched.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    network_policy::HostPattern,
    problem::Problems,
    profile::is_variable,
    reader::{Node, Notes, Object, Wording},
};

/// The longest command or install script, in characters.
const LONGEST_SCRIPT: usize = 64 << 10;
/// The longest of the other texts.
const LONGEST_TEXT: usize = 4096;
/// How many bytes a pattern may take in memory.
const LARGEST_PATTERN: usize = 1 << 20;

/// How an agent is installed, started and watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentManifest {
    /// A script that installs it. Root runs it once for each image and version of the agent; what it leaves is kept as a layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// What a shell in the box runs to start it.
    pub command: String,
    /// Environment variables that must hold secrets.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub env: BTreeSet<String>,
    /// Hosts that it reaches while it works, besides those of its task.
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

    /// What the agent's own words say about why it failed: the name of the first pattern that is found in them.
    pub fn error_in(&self, output: &str) -> Option<&str> {
        let mut patterns = self.errors.iter();
        let found = patterns.find(|pattern| pattern.is_in(output));
        found.map(|pattern| pattern.exception_type.as_str())
    }

    /// Reads a manifest; everything that is wrong with it is named.
    pub fn read(document: &Value) -> Result<Self, Problems> {
        let notes = Notes::worded(Wording::Document);
        let read = read(&Node::root(document, &notes));
        notes.finish(read)
    }
}

impl AgentErrorPattern {
    fn is_in(&self, output: &str) -> bool {
        // One that cannot be read was refused when the manifest was.
        compiled(&self.regex).is_ok_and(|pattern| pattern.is_match(output))
    }
}

fn compiled(pattern: &str) -> Result<Regex, regex::Error> {
    let mut builder = RegexBuilder::new(pattern);
    builder.multi_line(true).size_limit(LARGEST_PATTERN).build()
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
            hosts.items().iter().filter_map(host).collect()
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

fn host(node: &Node<'_>) -> Option<String> {
    match node.text()?.parse::<HostPattern>() {
        Ok(host) => Some(host.as_str().to_owned()),
        Err(error) => {
            node.refuse(error.to_string());
            None
        }
    }
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
    let regex = object.required("regex").and_then(|node| {
        let pattern = text(&node, LONGEST_TEXT)?;
        if let Err(error) = compiled(&pattern) {
            let told = error.to_string();
            let told = told.lines().last().unwrap_or_default();
            node.refuse(format!("is not a regular expression: {told}"));
        }
        Some(pattern)
    });
    let exception_type = object.required("exception_type").and_then(|node| {
        let name = text(&node, LONGEST_TEXT)?;
        if !is_variable(&name) {
            node.refuse("must be a name such as ApiRateLimitError");
        }
        Some(name)
    });
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
    fn the_first_pattern_that_is_found_names_the_failure() {
        let manifest = AgentManifest::read(&json!({
            "command": "go",
            "errors": [
                {"regex": "^error: 429", "exception_type": "ApiRateLimitError"},
                {"regex": "(?i)overloaded", "exception_type": "ApiOverloadedError"},
            ],
        }))
        .unwrap();
        let said = "began\nerror: 429, Overloaded\n";
        assert_eq!(manifest.error_in(said), Some("ApiRateLimitError"));
        assert_eq!(manifest.error_in("OVERLOADED"), Some("ApiOverloadedError"));
        assert_eq!(manifest.error_in("all is well"), None);
    }

    #[test]
    fn hosts_and_patterns_that_mean_nothing_are_refused() {
        let document = json!({
            "command": "go", "hosts": ["*", "https://a.example", "ok.example"],
            "errors": [{"regex": "(", "exception_type": "Two words"}, {"regex": "x{1000}{1000}{1000}", "exception_type": "Large"}],
        });
        let told = AgentManifest::read(&document).unwrap_err().to_string();
        for part in [
            "hosts.0: '*' would allow every host",
            "hosts.1: must be a host name",
            "errors.0.regex: is not a regular expression: error: unclosed group",
            "errors.0.exception_type: must be a name such as ApiRateLimitError",
            "errors.1.regex: is not a regular expression",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!told.contains("hosts.2"), "{told}");
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
