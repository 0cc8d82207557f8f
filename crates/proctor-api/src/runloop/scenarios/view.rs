//! Scenarios as clients see them.

use std::collections::BTreeMap;

use proctor_core::{
    definition::{Seconds, Validation},
    document::Document,
};
use proctor_store::{page::Page, scenarios::Scenario};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    body::{InputContext, ScenarioEnvironment},
    contract::{ScoringContract, ScoringFunctionBody},
};
use crate::runloop::ids::wire;

/// A scenario.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScenarioView {
    #[schema(example = "scn_01K0000000000000000000000A")]
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ScenarioEnvironment>)]
    environment: Option<Value>,
    input_context: InputContextView,
    scoring_contract: ScoringContract,
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_output: Option<String>,
    required_environment_variables: Vec<String>,
    required_secret_names: Vec<String>,
    is_public: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    validation_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scorer_timeout_sec: Option<u32>,
    #[schema(value_type = String, example = "active")]
    status: &'static str,
}

/// What the agent is told.
#[derive(Serialize, ToSchema)]
pub(crate) struct InputContextView {
    problem_statement: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    additional_context: Option<Value>,
}

/// A part of a list of scenarios, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScenarioListView {
    scenarios: Vec<ScenarioView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

impl ScenarioView {
    /// A scenario; its solution only for its owner.
    pub(crate) fn of(scenario: &Scenario, shows_solution: bool) -> Self {
        let draft = &scenario.placed.draft.content;
        let context = InputContext::of(&draft.brief);
        let functions =
            scenario
                .scoring_functions()
                .map(|(criterion, scorer)| ScoringFunctionBody {
                    name: Some(criterion.label.clone()),
                    scorer: Some(scorer.as_value().clone()),
                    weight: Some(criterion.weight.value()),
                });
        Self {
            id: wire(scenario.placed.id()),
            name: draft.name.clone(),
            environment: draft
                .devbox
                .as_ref()
                .map(Document::to_value)
                .filter(|environment| environment.as_object().is_some_and(|map| !map.is_empty())),
            input_context: InputContextView {
                problem_statement: context.problem_statement,
                additional_context: context.additional_context,
            },
            scoring_contract: ScoringContract {
                scoring_function_parameters: Some(functions.collect()),
            },
            metadata: draft.metadata.clone(),
            reference_output: match &draft.reference {
                Value::Null => None,
                _ if !shows_solution => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            },
            required_environment_variables: draft.requires.environment_variables.clone(),
            required_secret_names: draft.requires.secrets.clone(),
            is_public: scenario.placed.public,
            validation_type: draft.validation.map(Validation::as_str),
            scorer_timeout_sec: draft.scoring_timeout.map(Seconds::get),
            status: if scenario.placed.archived {
                "archived"
            } else {
                "active"
            },
        }
    }
}

impl ScenarioListView {
    pub(crate) fn of(page: &Page<Scenario>, shows_solution: impl Fn(&Scenario) -> bool) -> Self {
        Self {
            scenarios: page
                .items
                .iter()
                .map(|scenario| ScenarioView::of(scenario, shows_solution(scenario)))
                .collect(),
            has_more: page.has_more,
            total_count: page.total,
        }
    }
}
