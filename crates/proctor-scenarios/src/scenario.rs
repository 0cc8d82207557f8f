//! A scenario, as everything here makes it and as the API takes it.

use std::collections::BTreeMap;

use proctor_core::problem::Problems;
use proctor_scorers::{ScorerKinds, ScoringFunction, ScoringSettings, read_contract};
use serde_json::{Map, Value, json};

/// Scenarios that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScenarioSet {
    /// What people call the benchmark that they make up.
    pub name: String,
    /// What it is about.
    pub description: Option<String>,
    /// The scripts of the custom scorers in use, by their type.
    pub custom: BTreeMap<String, String>,
    /// The scenarios, in order.
    pub scenarios: Vec<Scenario>,
}

/// One scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// What people call it.
    pub name: String,
    /// What the agent is told.
    pub problem_statement: String,
    /// What else the agent is told.
    pub additional_context: Option<Value>,
    /// Where the agent and the scorers start.
    pub working_directory: Option<String>,
    /// What makes the box ready, in order.
    pub launch_commands: Vec<String>,
    /// The blueprint that the box is made from.
    pub blueprint_id: Option<String>,
    /// The scoring functions, as the API takes them.
    pub scoring_functions: Vec<Value>,
    /// In which box they run.
    pub settings: ScoringSettings,
    /// How long all scorers together may take.
    pub scorer_timeout_sec: Option<u32>,
    /// How it is solved: a patch or commands.
    pub reference_output: Option<String>,
    /// The author's own labels.
    pub metadata: BTreeMap<String, String>,
    /// Variables that a run must bring.
    pub required_environment_variables: Vec<String>,
    /// Secrets that a run must bring.
    pub required_secret_names: Vec<String>,
}

impl Scenario {
    fn contract(&self) -> Value {
        json!({"scoring_function_parameters": self.scoring_functions})
    }

    /// The scoring functions, ready to run; whatever is wrong with them is named.
    pub fn scorers(&self) -> Result<Vec<ScoringFunction>, Problems> {
        read_contract(&ScorerKinds::builtin(), &self.contract())
    }

    /// The scenario in the shape in which the API creates one.
    pub fn to_parameters(&self) -> Value {
        let mut context = Map::new();
        context.insert("problem_statement".into(), json!(self.problem_statement));
        put(
            &mut context,
            "additional_context",
            self.additional_context.clone(),
        );
        let mut environment = Map::new();
        put(&mut environment, "blueprint_id", self.blueprint_id.clone());
        put(
            &mut environment,
            "working_directory",
            self.working_directory.clone(),
        );
        if !self.launch_commands.is_empty() {
            let launch = json!({"launch_commands": self.launch_commands});
            environment.insert("launch_parameters".into(), launch);
        }
        let mut metadata = self.metadata.clone();
        metadata.extend(self.settings.to_metadata());

        let mut parameters = Map::new();
        parameters.insert("name".into(), json!(self.name));
        parameters.insert("input_context".into(), context.into());
        parameters.insert("scoring_contract".into(), self.contract());
        if !environment.is_empty() {
            parameters.insert("environment_parameters".into(), environment.into());
        }
        if !metadata.is_empty() {
            parameters.insert("metadata".into(), json!(metadata));
        }
        if let Some(reference) = &self.reference_output {
            parameters.insert("reference_output".into(), json!(reference));
            parameters.insert("validation_type".into(), json!("FORWARD"));
        }
        put(
            &mut parameters,
            "scorer_timeout_sec",
            self.scorer_timeout_sec,
        );
        let lists = [
            (
                "required_environment_variables",
                &self.required_environment_variables,
            ),
            ("required_secret_names", &self.required_secret_names),
        ];
        for (name, list) in lists {
            if !list.is_empty() {
                parameters.insert(name.into(), json!(list));
            }
        }
        parameters.into()
    }
}

fn put(map: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(name.to_owned(), value.into());
    }
}
