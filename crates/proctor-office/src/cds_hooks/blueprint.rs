//! The services that there are, and their rules.

use std::collections::BTreeMap;

use proctor_core::{environment::Simulator, problem::Problems};
use proctor_simulation::{
    config::{ConfigProblems, read_value},
    schema::{about, list, map, object, optional, text},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    card::{self, Card},
    condition::{self, Condition, ConditionConfig},
};

/// What all playgrounds with these services share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blueprint {
    pub(super) services: Vec<Service>,
}

/// One service.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Service {
    pub(super) id: String,
    pub(super) hook: String,
    title: Option<String>,
    description: String,
    pub(super) prefetch: BTreeMap<String, String>,
    pub(super) rules: Vec<Rule>,
}

/// A card, and when it is shown: when all conditions hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) when: Vec<Condition>,
    pub(super) card: Card,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    services: Vec<ServiceConfig>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServiceConfig {
    id: String,
    hook: String,
    title: Option<String>,
    description: String,
    #[serde(default)]
    prefetch: BTreeMap<String, String>,
    #[serde(default)]
    rules: Vec<RuleConfig>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleConfig {
    /// A condition, or a list of them; always, where nothing is said.
    #[serde(default)]
    when: Value,
    card: Map<String, Value>,
}

/// The JSON Schema of the configuration.
pub(super) fn config_schema() -> Value {
    let condition = condition::config_schema();
    let rule = object(
        &["card"],
        json!({
            "when": about(
                "A condition, or a list of them, which must all hold; always, where nothing is said.",
                json!({"anyOf": [condition, list(&condition), {"type": "null"}]}),
            ),
            "card": card::config_schema(),
        }),
    );
    let service = object(
        &["id", "hook", "description"],
        json!({
            "id": about("Its name in its address.", json!({"type": "string", "pattern": "^[A-Za-z0-9._-]+$"})),
            "hook": about("When clients call it: patient-view, order-sign, ….", text()),
            "title": optional(&text()),
            "description": about("What it does, for people.", text()),
            "prefetch": about("FHIR queries whose answers clients may send along.", map(&text())),
            "rules": about("Cards, and when they are shown.", list(&rule)),
        }),
    );
    object(
        &[],
        json!({"services": about("The services that there are.", list(&service))}),
    )
}

impl Blueprint {
    /// Reads the simulator's configuration.
    pub fn read(simulator: &Simulator) -> Result<Self, Problems> {
        let (config, mut problems) = ConfigProblems::read::<Config>(&simulator.config);
        problems.refuse_datasets(simulator);
        let mut services: Vec<Service> = Vec::new();
        for (index, service) in config.services.into_iter().enumerate() {
            let place = format!("services.{index}");
            let service = Service::read(&place, service, &mut problems);
            if services.iter().any(|other| other.id == service.id) {
                let message = format!("there is already a service '{}'", service.id);
                problems.add(&format!("{place}.id"), message);
            }
            services.push(service);
        }
        problems.finish()?;
        Ok(Self { services })
    }
}

impl Service {
    fn read(place: &str, config: ServiceConfig, problems: &mut ConfigProblems) -> Self {
        let is_id = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
        if config.id.is_empty() || !config.id.chars().all(is_id) {
            problems.add(
                &format!("{place}.id"),
                "must be letters, digits, dashes, dots and underscores",
            );
        }
        for (field, text) in [("hook", &config.hook), ("description", &config.description)] {
            if text.trim().is_empty() {
                problems.add(&format!("{place}.{field}"), "must not be empty");
            }
        }
        let rules = config.rules.into_iter().enumerate();
        let rules = rules
            .map(|(index, rule)| {
                let place = format!("{place}.rules.{index}");
                Rule {
                    when: conditions(&place, rule.when, problems),
                    card: Card::read(&format!("{place}.card"), rule.card, problems),
                }
            })
            .collect();
        Self {
            id: config.id,
            hook: config.hook,
            title: config.title,
            description: config.description,
            prefetch: config.prefetch,
            rules,
        }
    }

    /// The service as discovery tells it.
    pub(super) fn told(&self) -> Value {
        let mut told = json!({
            "id": self.id,
            "hook": self.hook,
            "description": self.description,
        });
        if let Some(title) = &self.title {
            told["title"] = title.as_str().into();
        }
        if !self.prefetch.is_empty() {
            told["prefetch"] = json!(self.prefetch);
        }
        told
    }
}

fn conditions(place: &str, when: Value, problems: &mut ConfigProblems) -> Vec<Condition> {
    let written = match when {
        Value::Null => Vec::new(),
        Value::Array(list) => list,
        one => vec![one],
    };
    let mut conditions = Vec::new();
    for value in written {
        let read = read_value::<ConditionConfig>(&value)
            .map_err(|problem| problem.to_string())
            .and_then(Condition::read);
        match read {
            Ok(condition) => conditions.push(condition),
            Err(problem) => problems.add(&format!("{place}.when"), problem),
        }
    }
    conditions
}
