//! What whoever starts a run brings along: a name and labels for it, and what the world gets from outside.
//!
//! A profile is said at three levels. What is said nearer to the task goes before: the scenario run's over the
//! benchmark run's over what the task itself says of its box.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    definition::Requirements,
    devbox::LaunchRequest,
    id::kinds::BlueprintId,
    mount::{self, Mount},
};

/// What was said about a run or a task run when it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Particulars {
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The taker's own labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// What its world gets from outside.
    #[serde(default)]
    pub profile: RunProfile,
}

/// What a world gets from outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunProfile {
    /// What it is for, in the taker's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Environment variables whose values are secrets, by the secrets' names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
    /// How the box is launched.
    #[serde(
        default,
        rename = "launch_parameters",
        skip_serializing_if = "LaunchRequest::is_empty"
    )]
    pub launch: LaunchRequest,
    /// What is put into the box when it starts, in order.
    #[serde(default, with = "mount::stored", skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// The blueprint that the box begins with in place of the task's: that with the agent installed. Clients cannot name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blueprint: Option<BlueprintId>,
    /// Directories that the box shares with boxes beside it: their names by their paths. Clients cannot name any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, String>,
}

impl RunProfile {
    /// This profile over a more general one: variables go by name (whether plain or secret), launch
    /// parameters by field, and the mounts of both are made, the general ones first.
    #[must_use]
    pub fn over(&self, general: &Self) -> Self {
        let mut both = general.clone();
        for (name, value) in &self.environment {
            both.secrets.remove(name);
            both.environment.insert(name.clone(), value.clone());
        }
        for (name, secret) in &self.secrets {
            both.environment.remove(name);
            both.secrets.insert(name.clone(), secret.clone());
        }
        both.launch = self.launch.over(&general.launch);
        both.mounts.extend(self.mounts.iter().cloned());
        both.volumes.extend(self.volumes.clone());
        both.blueprint = self.blueprint.or(general.blueprint);
        if self.purpose.is_some() {
            both.purpose.clone_from(&self.purpose);
        }
        both
    }
}

/// Whether a text can be the name of an environment variable that shells know: letters, digits and underscores, not a digit
/// first.
pub fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What a taker should have brought and did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Environment variables by name.
    pub environment_variables: Vec<String>,
    /// Secrets by name.
    pub secrets: Vec<String>,
}

impl Missing {
    /// Whether everything is there.
    pub fn is_nothing(&self) -> bool {
        self.environment_variables.is_empty() && self.secrets.is_empty()
    }
}

impl Requirements {
    /// What these and `others` ask for together.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        let both = |ours: &[String], theirs: &[String]| {
            let all: BTreeSet<&String> = ours.iter().chain(theirs).collect();
            all.into_iter().cloned().collect()
        };
        Self {
            environment_variables: both(&self.environment_variables, &others.environment_variables),
            secrets: both(&self.secrets, &others.secrets),
        }
    }

    /// What `profile` lacks of this. A variable may come from a secret; a secret is there when it is
    /// mapped to a variable, under that variable's name or its own.
    pub fn missing_from(&self, profile: &RunProfile) -> Missing {
        let has_variable = |name: &&String| {
            profile.environment.contains_key(*name) || profile.secrets.contains_key(*name)
        };
        let has_secret = |name: &&String| {
            profile.secrets.contains_key(*name)
                || profile.secrets.values().any(|secret| secret == *name)
        };
        let lacking = |names: &[String], has: &dyn Fn(&&String) -> bool| {
            names.iter().filter(|name| !has(name)).cloned().collect()
        };
        Missing {
            environment_variables: lacking(&self.environment_variables, &has_variable),
            secrets: lacking(&self.secrets, &has_secret),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    fn launch(document: Value) -> LaunchRequest {
        serde_json::from_value(document).unwrap()
    }

    fn file(target: &str) -> Mount {
        Mount::File {
            target: target.to_owned(),
            content: String::new(),
        }
    }

    #[test]
    fn what_is_said_nearer_to_the_task_goes_before() {
        let general = RunProfile {
            purpose: Some("nightly".to_owned()),
            environment: map(&[("A", "1"), ("B", "1")]),
            secrets: map(&[("C", "OLD"), ("D", "KEPT")]),
            launch: launch(json!({"resource_size_request": "SMALL", "launch_commands": ["true"]})),
            mounts: vec![file("/a")],
            blueprint: None,
            volumes: BTreeMap::new(),
        };
        let near = RunProfile {
            purpose: None,
            environment: map(&[("B", "2"), ("C", "plain")]),
            secrets: map(&[("A", "SECRET")]),
            launch: launch(json!({"resource_size_request": "LARGE"})),
            mounts: vec![file("/b")],
            blueprint: None,
            volumes: BTreeMap::new(),
        };
        let both = near.over(&general);
        assert_eq!(both.purpose.as_deref(), Some("nightly"));
        assert_eq!(both.environment, map(&[("B", "2"), ("C", "plain")]));
        assert_eq!(both.secrets, map(&[("A", "SECRET"), ("D", "KEPT")]));
        assert_eq!(
            both.launch,
            launch(json!({"resource_size_request": "LARGE", "launch_commands": ["true"]}))
        );
        assert_eq!(both.mounts, [file("/a"), file("/b")]);
    }

    #[test]
    fn what_was_stored_before_there_were_types_is_read() {
        let stored = json!({
            "name": "nightly", "metadata": {"a": "b"},
            "profile": {
                "purpose": "test", "environment": {"A": "1"}, "secrets": {"B": "SECRET"},
                "launch_parameters": {
                    "resource_size_request": "CUSTOM_SIZE", "custom_cpu_cores": 0.5, "custom_gb_memory": 1,
                    "keep_alive_time_seconds": 600, "user_parameters": {"username": "dev", "uid": 1000},
                    "lifecycle": {"after_idle": {"idle_time_seconds": 60, "on_idle": "suspend"}},
                },
                "mounts": [
                    {"type": "file_mount", "target": "/a", "content": "text"},
                    {"type": "object_mount", "object_id": "obj_01K00000000000000000000000", "object_path": "/b"},
                    {"type": "agent_mount", "agent_id": "agt_01K00000000000000000000000", "agent_path": "/c"},
                    {"type": "agent_mount", "agent_name": "mine", "auth_token": "hush"},
                    {"type": "code_mount", "repo_owner": "acme", "repo_name": "rocket", "token": "hush",
                     "git_ref": "main", "install_command": "make"},
                ],
            },
        });
        let read: Particulars = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(read.profile.launch.cpu_halves, Some(1));
        assert_eq!(read.profile.mounts.len(), 5);
        assert_eq!(serde_json::to_value(&read).unwrap(), stored);
        // Members that nobody knows were kept with mounts, and null is as good as nothing.
        let odd = json!({"profile": {"mounts": [
            {"type": "file_mount", "target": "/a", "content": "", "token": null, "note": 1},
        ]}});
        let read: Particulars = serde_json::from_value(odd).unwrap();
        assert_eq!(read.profile.mounts, [file("/a")]);
    }

    #[test]
    fn nothing_over_something_is_the_something() {
        let general = RunProfile {
            environment: map(&[("A", "1")]),
            ..RunProfile::default()
        };
        assert_eq!(RunProfile::default().over(&general), general);
        assert_eq!(general.over(&RunProfile::default()), general);
    }

    #[test]
    fn everything_that_is_missing_is_named() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let benchmark = Requirements {
            environment_variables: names(&["MODEL", "REGION"]),
            secrets: names(&["TOKEN"]),
        };
        let task = Requirements {
            environment_variables: names(&["REGION", "KEY"]),
            secrets: names(&["DATABASE", "OTHER"]),
        };
        let all = benchmark.and(&task);
        let brought = RunProfile {
            environment: map(&[("MODEL", "m")]),
            secrets: map(&[("KEY", "MY_KEY"), ("TOKEN", "MINE"), ("DB", "DATABASE")]),
            ..RunProfile::default()
        };
        let missing = all.missing_from(&brought);
        assert_eq!(missing.environment_variables, ["REGION"]);
        assert_eq!(missing.secrets, ["OTHER"]);
        assert!(!missing.is_nothing());
        assert!(Requirements::default().missing_from(&brought).is_nothing());
    }
}
