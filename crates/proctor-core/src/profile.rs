//! What whoever starts a run brings along: a name and labels for it, and what the world gets from outside.
//!
//! A profile is said at three levels. What is said nearer to the task goes before: the scenario run's over the
//! benchmark run's over what the task itself says of its box.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::definition::Requirements;

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
    /// How the box is made, as the box's owner reads it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub launch_parameters: Map<String, Value>,
    /// What is put into the box when it starts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Value>,
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
        for (field, value) in &self.launch_parameters {
            both.launch_parameters.insert(field.clone(), value.clone());
        }
        both.mounts.extend(self.mounts.iter().cloned());
        if self.purpose.is_some() {
            both.purpose.clone_from(&self.purpose);
        }
        both
    }
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
    use serde_json::json;

    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    fn fields(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(fields) => fields,
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn what_is_said_nearer_to_the_task_goes_before() {
        let general = RunProfile {
            purpose: Some("nightly".to_owned()),
            environment: map(&[("A", "1"), ("B", "1")]),
            secrets: map(&[("C", "OLD"), ("D", "KEPT")]),
            launch_parameters: fields(
                json!({"resource_size_request": "SMALL", "available_ports": [1]}),
            ),
            mounts: vec![json!({"target": "/a"})],
        };
        let near = RunProfile {
            purpose: None,
            environment: map(&[("B", "2"), ("C", "plain")]),
            secrets: map(&[("A", "SECRET")]),
            launch_parameters: fields(json!({"resource_size_request": "LARGE"})),
            mounts: vec![json!({"target": "/b"})],
        };
        let both = near.over(&general);
        assert_eq!(both.purpose.as_deref(), Some("nightly"));
        assert_eq!(both.environment, map(&[("B", "2"), ("C", "plain")]));
        assert_eq!(both.secrets, map(&[("A", "SECRET"), ("D", "KEPT")]));
        assert_eq!(
            Value::Object(both.launch_parameters),
            json!({"resource_size_request": "LARGE", "available_ports": [1]})
        );
        assert_eq!(
            both.mounts,
            [json!({"target": "/a"}), json!({"target": "/b"})]
        );
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
