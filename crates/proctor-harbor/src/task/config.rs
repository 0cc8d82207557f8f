//! What `task.toml` says.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::{
    problem::{Problem, Problems},
    reader::Wording,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

use super::{
    environment::{self, Environment, Healthcheck},
    network::{self, NetworkPolicy},
};
use crate::{
    read::{
        DocumentNode, DocumentNotes, DocumentObject, list, object_of, seconds, text, texts, user,
        variables, warn,
    },
    steps::{MinReward, RewardStrategy},
    warning::Warning,
};

/// How long a verifier may take unless the task says otherwise, in seconds.
const VERIFIER_SECONDS: f64 = 600.0;
/// How long a collect hook may take unless the task says otherwise, in seconds.
const COLLECT_SECONDS: f64 = 60.0;
/// The version of the format that a file without one has.
const SCHEMA_VERSION: &str = "1.4";
/// The service that is the agent's own box.
const MAIN: &str = "main";

/// What `task.toml` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskConfig {
    /// The version of the format.
    pub schema_version: String,
    /// Which data set it is from.
    pub source: Option<String>,
    /// What it is called in a registry.
    pub package: Option<Package>,
    /// Whatever its author noted.
    pub metadata: Map<String, Value>,
    /// The agent's part.
    pub agent: AgentPhase,
    /// The verifier's part.
    pub verifier: VerifierPhase,
    /// Environment variables of the reference solution, with templates.
    pub solution_env: BTreeMap<String, String>,
    /// The box.
    pub environment: Environment,
    /// How rewards of steps become those of the trial.
    pub strategy: RewardStrategy,
    /// Its steps; none in a task of one.
    pub steps: Vec<Step>,
    /// What is taken out of the box.
    pub artifacts: Vec<Artifact>,
}

/// What a task is called in a registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// `org/name`.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// Words to find it by.
    pub keywords: Vec<String>,
}

/// The agent's part of a task or step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentPhase {
    /// How long it may take, in seconds; none is no limit.
    pub timeout: Option<f64>,
    /// Whom it runs as, by name or number.
    pub user: Option<String>,
    /// What it may reach instead of what the environment says.
    pub network: Option<NetworkPolicy>,
}

/// The verifier's part of a task or step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifierPhase {
    /// How long it may take, in seconds.
    pub timeout: f64,
    /// Environment variables, with templates.
    pub env: BTreeMap<String, String>,
    /// Whom it runs as, by name or number.
    pub user: Option<String>,
    /// Where it runs, if it says so.
    pub mode: Option<VerifierMode>,
    /// The box of a separate verifier, if it is not like the agent's.
    pub environment: Option<Environment>,
    /// What it may reach instead of what the environment says.
    pub network: Option<NetworkPolicy>,
    /// Commands that note the state of things when the agent is done.
    pub collect: Vec<CollectHook>,
}

impl Default for VerifierPhase {
    fn default() -> Self {
        Self {
            timeout: VERIFIER_SECONDS,
            env: BTreeMap::new(),
            user: None,
            mode: None,
            environment: None,
            network: None,
            collect: Vec::new(),
        }
    }
}

impl VerifierPhase {
    /// Where it runs by what it says itself: a box of its own implies one.
    pub const fn own_mode(&self) -> Option<VerifierMode> {
        match (self.mode, &self.environment) {
            (Some(mode), _) => Some(mode),
            (None, Some(_)) => Some(VerifierMode::Separate),
            (None, None) => None,
        }
    }
}

/// Where a verifier runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifierMode {
    /// In the agent's box.
    Shared,
    /// In one of its own.
    Separate,
}

/// A command that notes the state of things when the agent is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectHook {
    /// For a shell.
    pub command: String,
    /// The service that it runs in.
    pub service: String,
    /// How long it may take, in seconds.
    pub timeout: f64,
    /// Whom it runs as, by name or number.
    pub user: Option<String>,
}

/// One step of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The directory below `steps/`.
    pub name: String,
    /// The agent's part.
    pub agent: AgentPhase,
    /// The verifier's part.
    pub verifier: VerifierPhase,
    /// What must be reached for the next step to begin.
    pub min_reward: Option<MinReward>,
    /// How the box says that it is ready for the step.
    pub healthcheck: Option<Healthcheck>,
    /// What is taken out of the box after it.
    pub artifacts: Vec<Artifact>,
}

/// Something that is taken out of the box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Where it is in the box.
    pub source: String,
    /// Where it goes among the results, if not by its own path.
    pub destination: Option<String>,
    /// What is left out of a directory.
    pub exclude: Vec<String>,
    /// The service whose box it is in.
    pub service: Option<String>,
}

impl Artifact {
    /// The place of it among the results: relative, without `..`.
    pub fn place(&self) -> String {
        let path = self.destination.as_deref().unwrap_or(&self.source);
        let parts = path
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."));
        parts.collect::<Vec<_>>().join("/")
    }

    /// Whether it is in the agent's own box.
    pub fn is_of_main(&self) -> bool {
        self.service
            .as_deref()
            .is_none_or(|service| service == MAIN)
    }
}

impl TaskConfig {
    /// Reads the text of a `task.toml`, with what has no effect in it; or everything that is wrong.
    pub fn read(text: &str) -> Result<(Self, Vec<Warning>), Problems> {
        let table: toml::Table = toml::from_str(text).map_err(|error| {
            let message = error.message().to_owned();
            Problems::from(Problem::error("", format!("is not TOML: {message}")))
        })?;
        let document = json(toml::Value::Table(table));
        let notes = DocumentNotes::worded(Wording::File);
        let read = read(&DocumentNode::root(&document, &notes));
        let warnings = notes.extra().all();
        notes.finish(read).map(|config| (config, warnings))
    }
}

/// TOML as JSON: a date is its text.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(moment) => Value::String(moment.to_string()),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(members) => {
            let members = members.into_iter();
            Value::Object(members.map(|(name, value)| (name, json(value))).collect())
        }
    }
}

fn read(node: &DocumentNode<'_>) -> Option<TaskConfig> {
    object_of(node, |object| {
        let version = schema_version(object);
        let solution = object.optional("solution");
        let metadata = object.optional("metadata").and_then(|node| {
            let object = node.object()?;
            Some(object.map().clone())
        });
        let config = TaskConfig {
            schema_version: version,
            source: text(object, "source"),
            package: object.optional("task").and_then(|node| package(&node)),
            metadata: metadata.unwrap_or_default(),
            agent: part(object, "agent", agent),
            verifier: part(object, "verifier", verifier),
            solution_env: solution
                .and_then(|node| object_of(&node, |object| variables(object, "env", false)))
                .unwrap_or_default(),
            environment: part(object, "environment", environment::read),
            strategy: strategy(object),
            steps: list(object, "steps", step),
            artifacts: artifacts(object),
        };
        check_step_names(object, &config.steps);
        if config.steps.is_empty()
            && let Some(node) = object.optional("multi_step_reward_strategy")
        {
            warn(&node, "has no effect in a task without steps");
        }
        config
    })
}

/// A part that is as usual if it is left out.
fn part<'a, T: Default>(
    object: &DocumentObject<'a>,
    name: &'static str,
    read: impl FnOnce(&DocumentNode<'a>) -> Option<T>,
) -> T {
    let node = object.optional(name);
    node.and_then(|node| read(&node)).unwrap_or_default()
}

/// The version, by its name or by the old one.
fn schema_version(object: &DocumentObject<'_>) -> String {
    let scalar = |name: &'static str| {
        let node = object.optional(name)?;
        match node.value() {
            Value::Number(number) => Some(number.to_string()),
            _ => node.text().map(str::to_owned),
        }
    };
    let (new, old) = (scalar("schema_version"), scalar("version"));
    if let (Some(_), Some(_), Some(node)) = (&new, &old, object.optional("version")) {
        warn(&node, "has no effect beside schema_version, the newer key");
    }
    new.or(old).unwrap_or_else(|| SCHEMA_VERSION.to_owned())
}

fn strategy(object: &DocumentObject<'_>) -> RewardStrategy {
    const STRATEGIES: [(&str, RewardStrategy); 2] = [
        ("mean", RewardStrategy::Mean),
        ("final", RewardStrategy::Final),
    ];
    let node = object.optional("multi_step_reward_strategy");
    let strategy = node.and_then(|node| node.word(&STRATEGIES));
    strategy.unwrap_or_default()
}

fn package(node: &DocumentNode<'_>) -> Option<Package> {
    object_of(node, |object| {
        let name = object.required("name").and_then(|node| {
            let name = node.filled_text()?;
            if !is_package_name(name) {
                node.refuse("must be org/name: letters, digits, '-', '_' and '.'");
            }
            Some(name.to_owned())
        });
        list(object, "authors", |node| {
            object_of(node, |author| {
                text(author, "name");
                text(author, "email");
            })
        });
        let package = Package {
            name: name.clone().unwrap_or_default(),
            version: text(object, "version"),
            description: text(object, "description"),
            keywords: texts(object, "keywords"),
        };
        name.map(|_| package)
    })?
}

fn is_package_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let parts = name.split_once('/');
    parts.is_some_and(|(org, name)| is_part(org) && is_part(name)) && !name.contains("..")
}

fn agent(node: &DocumentNode<'_>) -> Option<AgentPhase> {
    object_of(node, |object| AgentPhase {
        timeout: seconds(object, "timeout_sec"),
        user: user(object, "user"),
        network: network::read(object),
    })
}

fn verifier(node: &DocumentNode<'_>) -> Option<VerifierPhase> {
    const MODES: [(&str, VerifierMode); 2] = [
        ("shared", VerifierMode::Shared),
        ("separate", VerifierMode::Separate),
    ];
    object_of(node, |object| {
        let mode = object.optional("environment_mode");
        let phase = VerifierPhase {
            timeout: seconds(object, "timeout_sec").unwrap_or(VERIFIER_SECONDS),
            env: variables(object, "env", false),
            user: user(object, "user"),
            mode: mode.and_then(|node| node.word(&MODES)),
            environment: object
                .optional("environment")
                .and_then(|node| environment::read(&node)),
            network: network::read(object),
            collect: list(object, "collect", collect_hook),
        };
        if phase.mode == Some(VerifierMode::Shared) && phase.environment.is_some() {
            object.refuse(
                "environment",
                "a verifier that shares the agent's box (environment_mode) has none of its own",
            );
        }
        phase
    })
}

fn collect_hook(node: &DocumentNode<'_>) -> Option<CollectHook> {
    object_of(node, |object| {
        let command = object.required("command").and_then(|node| {
            let command = node.filled_text()?;
            Some(command.to_owned())
        });
        let hook = CollectHook {
            command: command.clone().unwrap_or_default(),
            service: text(object, "service").unwrap_or_else(|| MAIN.to_owned()),
            timeout: seconds(object, "timeout_sec").unwrap_or(COLLECT_SECONDS),
            user: user(object, "user"),
        };
        command.map(|_| hook)
    })?
}

fn step(node: &DocumentNode<'_>) -> Option<Step> {
    object_of(node, |object| {
        let name = object.required("name").and_then(|node| {
            let name = node.text()?;
            if let Some(why) = bad_step_name(name) {
                node.refuse(why);
            }
            Some(name.to_owned())
        });
        let least = object.optional("min_reward");
        let step = Step {
            name: name.clone().unwrap_or_default(),
            agent: part(object, "agent", agent),
            verifier: part(object, "verifier", verifier),
            min_reward: least.and_then(|node| min_reward(&node)),
            healthcheck: object
                .optional("healthcheck")
                .and_then(|node| environment::healthcheck(&node)),
            artifacts: artifacts(object),
        };
        name.map(|_| step)
    })?
}

/// A number for the key `reward`, or a number for each of several keys.
fn min_reward(node: &DocumentNode<'_>) -> Option<MinReward> {
    if node.value().is_object() {
        let entries = node.entries().into_iter();
        let entries = entries.filter_map(|(key, value)| Some((key.to_owned(), value.number()?)));
        return Some(MinReward(entries.collect()));
    }
    Some(MinReward([("reward".to_owned(), node.number()?)].into()))
}

/// Why a step cannot have this name, if it cannot: it is a directory on every system.
fn bad_step_name(name: &str) -> Option<&'static str> {
    const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
    let stem = name
        .split('.')
        .next()
        .unwrap_or(name)
        .trim_end()
        .to_uppercase();
    let is_numbered = |prefix: &str| {
        let number = stem.strip_prefix(prefix);
        number.is_some_and(|number| {
            number.chars().count() == 1 && number.chars().all(|one| "123456789¹²³".contains(one))
        })
    };
    let is_device = DEVICES.contains(&stem.as_str()) || is_numbered("COM") || is_numbered("LPT");
    let is_bad = name.trim().is_empty()
        || matches!(name, "." | "..")
        || name.ends_with(['.', ' '])
        || name
            .chars()
            .any(|one| "<>:\"/\\|?*".contains(one) || one.is_ascii_control())
        || is_device;
    if is_bad {
        return Some(
            "must be the name of one directory on every system: no slashes, control characters, \
             reserved names, or a dot or space at the end",
        );
    }
    (name.len() > 255).then_some("must have at most 255 bytes")
}

fn check_step_names(object: &DocumentObject<'_>, steps: &[Step]) {
    let mut seen = BTreeSet::new();
    for step in steps {
        let key = step.name.nfc().collect::<String>().to_lowercase();
        if !seen.insert(key) {
            object.refuse("steps", format!("'{}' is the name of two steps", step.name));
        }
    }
}

/// The artifacts of a task, step or job: paths, or objects.
pub(crate) fn artifacts(object: &DocumentObject<'_>) -> Vec<Artifact> {
    list(object, "artifacts", |node| {
        let artifact = match node.value() {
            Value::String(source) => Artifact {
                source: source.clone(),
                destination: None,
                exclude: Vec::new(),
                service: None,
            },
            _ => object_of(node, |object| {
                let source = object.required("source").and_then(|node| node.text());
                let artifact = Artifact {
                    source: source.unwrap_or_default().to_owned(),
                    destination: text(object, "destination").filter(|text| !text.is_empty()),
                    exclude: texts(object, "exclude"),
                    service: text(object, "service"),
                };
                source.map(|_| artifact)
            })??,
        };
        check_artifact(node, &artifact);
        Some(artifact)
    })
}

fn check_artifact(node: &DocumentNode<'_>, artifact: &Artifact) {
    let has_dots = |path: &str| path.split('/').any(|part| part == "..");
    if artifact.source.trim().is_empty() || has_dots(&artifact.source) {
        node.refuse("the source of an artifact must be a path without '..'");
    }
    if let Some(destination) = &artifact.destination
        && (destination.starts_with('/')
            || destination.contains('\\')
            || has_dots(destination)
            || artifact.place().is_empty()
            || artifact.place() == "manifest.json")
    {
        node.refuse(
            "the destination of an artifact must be a relative path without '..' that is not manifest.json",
        );
    }
    if !artifact.is_of_main() && !artifact.source.starts_with('/') {
        node.refuse("the source of an artifact of another service must be an absolute path");
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
