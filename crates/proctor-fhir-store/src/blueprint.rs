//! What a store is made from: the definition of a simulator, or what a store by itself is told.

use std::sync::Arc;

use proctor_core::{
    environment::{Dataset, DatasetType, Simulator},
    problem::{Problem, Problems},
    time::Timestamp,
};
use proctor_fhir::validate;
use proctor_simulation::{
    config::read_config,
    machine::AnyMachine,
    registry::MachineContext,
    schema::{about, object},
    seed::Seed,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    PATH,
    base::{Base, BaseBuilder},
    outcome::Refusal,
    settings::{Settings, Validation},
    simulator::{Access, FhirStore},
    smart::Smart,
    state::State,
};

/// When seeded data was made: before anything happens in a playground.
const BEGINNING: Timestamp = Timestamp::from_millis(946_684_800_000);

/// A store of an environment, shared by all playgrounds on it.
pub(crate) struct Blueprint {
    base: Arc<Base>,
    validation: Validation,
}

/// A store that is a world of its own.
pub struct LoneStore {
    /// What is in it at the beginning.
    pub base: Arc<Base>,
    /// How it behaves, and where clients reach it.
    pub settings: Arc<Settings>,
    /// What server-chosen ids follow from.
    pub seed: Seed,
    /// Whose tokens are asked for; nothing for everybody.
    pub smart: Option<Smart>,
}

/// What can be chosen about a FHIR store.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// `enforced` (clients may ask to skip it), `always` or `off`.
    validation: Option<ValidationConfig>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ValidationConfig {
    Enforced,
    Always,
    Off,
}

/// The JSON Schema of the configuration.
pub(crate) fn config_schema() -> Value {
    let validation = json!({"enum": ["enforced", "always", "off", null]});
    let validation = about(
        "Whether invalid resources are refused: enforced (clients may ask to skip it), always or off.",
        validation,
    );
    object(&[], json!({"validation": validation}))
}

/// Everything that is not well formed in a data set, unless the store takes anything.
pub(crate) fn check_dataset(config: &Value, dataset: &Dataset) -> Vec<Problem> {
    let config: Config = read_config(config).unwrap_or_default();
    if matches!(config.validation, Some(ValidationConfig::Off)) {
        return Vec::new();
    }
    let resources: Vec<(String, &Value)> = match &dataset.data {
        Value::Array(resources) => {
            let numbered = resources.iter().enumerate();
            numbered
                .map(|(place, one)| (place.to_string(), one))
                .collect()
        }
        one => vec![(String::new(), one)],
    };
    let found = resources.into_iter().flat_map(|(place, resource)| {
        let issues = validate::validate(resource).into_iter();
        issues.map(move |issue| {
            let problem = match issue.severity {
                validate::Severity::Error => Problem::error,
                validate::Severity::Warning => Problem::warning,
            };
            problem(inside(&issue.expression), issue.diagnostics).below(&place)
        })
    });
    found.take(validate::MOST_ISSUES).collect()
}

/// `Patient.name[0].given[1]` as a path inside of the resource: `name.0.given.1`.
fn inside(expression: &str) -> String {
    let path = expression.split_once('.').map_or("", |(_, path)| path);
    path.replace('[', ".").replace(']', "")
}

impl Blueprint {
    /// Reads a simulator's definition with its data.
    pub(crate) fn read(simulator: &Simulator) -> Result<Self, Problems> {
        let config: Config = read_config(&simulator.config)?;
        let seed = Seed::from_bytes(simulator.id.bare().as_bytes());
        let mut builder = BaseBuilder::new(seed, BEGINNING);
        for dataset in &simulator.datasets {
            let refuse = |refusal: Box<Refusal>| {
                let place = format!("the data set '{}'", dataset.name);
                Problem::error(place, refusal.to_string())
            };
            if dataset.kind != DatasetType::Fhir {
                let what = format!(
                    "the data set '{}' is of type {}; a Fhir simulator takes FHIR",
                    dataset.name,
                    dataset.kind.as_str()
                );
                return Err(Problem::error("", what).into());
            }
            match &dataset.data {
                Value::Array(resources) => {
                    for resource in resources {
                        builder.load(resource.clone()).map_err(refuse)?;
                    }
                }
                one => builder.load(one.clone()).map_err(refuse)?,
            }
        }
        Ok(Self {
            base: Arc::new(builder.finish()),
            validation: match config.validation {
                None | Some(ValidationConfig::Enforced) => Validation::Enforced,
                Some(ValidationConfig::Always) => Validation::Always,
                Some(ValidationConfig::Off) => Validation::Off,
            },
        })
    }

    /// The store of one playground.
    pub(crate) fn branch(&self, context: &MachineContext<'_>) -> FhirStore {
        let settings = Settings {
            validation: self.validation,
            ..Settings::at(format!("{}/{PATH}", context.base_url))
        };
        let base = Arc::clone(&self.base);
        let smart = Smart::of_store(context.playground_seed, context.number);
        FhirStore {
            state: State::branch(base, Arc::new(settings), context.seed()),
            access: Access::Platform(smart),
        }
    }
}

impl LoneStore {
    /// The store before anything happened.
    pub fn machine(&self) -> Box<dyn AnyMachine> {
        let (base, settings) = (Arc::clone(&self.base), Arc::clone(&self.settings));
        Box::new(FhirStore {
            state: State::branch(base, settings, self.seed),
            access: self.smart.clone().map_or(Access::Open, Access::Tokens),
        })
    }
}
