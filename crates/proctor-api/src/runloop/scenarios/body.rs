//! What clients say a scenario is, turned into the task that is kept.

use std::collections::BTreeMap;

use proctor_core::{
    definition::{CRITICAL_SCORERS, Requirements, Seconds, Validation},
    devbox::{BaseRequest, DevboxDefinition},
    document::Document,
};
use proctor_scorers::{ScorerKinds, ScoringSettings};
use proctor_store::{
    scenarios::{Scenario, ScoringFunction},
    tasks::TaskDraft,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::contract::{self, ScoringContract};
use crate::{
    error::ApiError,
    extract::{Checks, shortened, texts},
    runloop::launch_parameters::LaunchParametersBody,
};

const NAME: usize = 500;
/// Seconds; at most two days, as long as a box lives.
const SCORING_TIME: std::ops::RangeInclusive<i64> = 1..=172_800;

/// What the agent is told.
#[derive(Clone, Deserialize, ToSchema)]
pub(crate) struct InputContextBody {
    #[schema(value_type = String, required)]
    problem_statement: Option<String>,
    /// Anything else that the agent should know.
    #[schema(value_type = Option<Object>)]
    additional_context: Option<Value>,
}

/// The box that the scenario is done in.
#[derive(Clone, Deserialize, ToSchema)]
pub(crate) struct ScenarioEnvironment {
    blueprint_id: Option<String>,
    snapshot_id: Option<String>,
    launch_parameters: Option<LaunchParametersBody>,
    /// Where the agent and the scorers work.
    working_directory: Option<String>,
    /// Of devboxes, not of scenarios: refused, so that nobody believes it to be there.
    #[schema(ignore)]
    mounts: Option<Value>,
    #[schema(ignore)]
    file_mounts: Option<Value>,
    #[schema(ignore)]
    code_mounts: Option<Value>,
    #[schema(ignore)]
    environment_variables: Option<Value>,
    #[schema(ignore)]
    secrets: Option<Value>,
    #[schema(ignore)]
    blueprint_name: Option<Value>,
    #[schema(ignore)]
    entrypoint: Option<Value>,
}

impl ScenarioEnvironment {
    /// Refuses what clients know from devboxes and scenarios do not have.
    fn check_members(&self, checks: &mut Checks) {
        let in_profile =
            "belongs to whoever starts the scenario: give it in the runProfile of the run";
        let of_box =
            "a scenario's box is made from blueprint_id or snapshot_id, and ends with its run";
        for (name, given, message) in [
            ("mounts", &self.mounts, in_profile),
            ("file_mounts", &self.file_mounts, in_profile),
            ("code_mounts", &self.code_mounts, in_profile),
            (
                "environment_variables",
                &self.environment_variables,
                in_profile,
            ),
            ("secrets", &self.secrets, in_profile),
            ("blueprint_name", &self.blueprint_name, of_box),
            ("entrypoint", &self.entrypoint, of_box),
        ] {
            let is_empty = match given {
                None | Some(Value::Null) => true,
                Some(Value::Array(items)) => items.is_empty(),
                Some(Value::Object(members)) => members.is_empty(),
                Some(Value::String(text)) => text.is_empty(),
                Some(Value::Bool(_) | Value::Number(_)) => false,
            };
            if !is_empty {
                checks.refuse(&format!("environment_parameters.{name}"), message);
            }
        }
    }
}

/// What a new scenario is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ScenarioCreateParameters {
    #[schema(value_type = String, required, min_length = 1)]
    name: Option<String>,
    #[schema(value_type = InputContextBody, required)]
    input_context: Option<InputContextBody>,
    #[schema(value_type = ScoringContract, required)]
    scoring_contract: Option<ScoringContract>,
    environment_parameters: Option<ScenarioEnvironment>,
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
    /// A patch or commands that solve it. No taker ever sees it.
    reference_output: Option<String>,
    required_environment_variables: Option<Vec<String>>,
    required_secret_names: Option<Vec<String>>,
    #[schema(minimum = 1, maximum = 172800)]
    scorer_timeout_sec: Option<i64>,
    /// UNSPECIFIED, FORWARD, REVERSE or EVALUATION.
    validation_type: Option<String>,
}

/// What is to change; what is absent or null stays.
#[derive(Clone, Deserialize, ToSchema)]
pub(crate) struct ScenarioUpdateParameters {
    #[schema(min_length = 1)]
    name: Option<String>,
    input_context: Option<InputContextBody>,
    scoring_contract: Option<ScoringContract>,
    environment_parameters: Option<ScenarioEnvironment>,
    /// Replaces all.
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
    /// An empty text removes it.
    reference_output: Option<String>,
    required_environment_variables: Option<Vec<String>>,
    required_secret_names: Option<Vec<String>>,
    #[schema(minimum = 1, maximum = 172800)]
    scorer_timeout_sec: Option<i64>,
    /// UNSPECIFIED, FORWARD, REVERSE or EVALUATION.
    validation_type: Option<String>,
}

impl ScenarioCreateParameters {
    pub(super) fn into_parts(
        self,
        kinds: &ScorerKinds,
    ) -> Result<(TaskDraft, Vec<ScoringFunction>), ApiError> {
        let mut checks = Checks::default();
        let name = checks.text("name", self.name, 1..=NAME);
        let context = checks.required("input_context", self.input_context);
        let contract = checks.required("scoring_contract", self.scoring_contract);
        let functions = match contract {
            None => Vec::new(),
            Some(contract) => {
                let field = "scoring_contract.scoring_function_parameters";
                let given = checks.required(field, contract.scoring_function_parameters);
                given.map_or_else(Vec::new, |given| {
                    contract::read(&mut checks, kinds, "scoring_contract", given)
                })
            }
        };
        let mut draft = TaskDraft {
            name,
            timeout: None,
            tags: Vec::new(),
            brief: Value::Null,
            scenario: Vec::new(),
            clock: Default::default(),
            capture: BTreeMap::new(),
            devbox: Some(DevboxDefinition::default().into()),
            reference: Value::Null,
            validation: None,
            scoring_timeout: None,
            requires: Requirements::default(),
            metadata: BTreeMap::new(),
        };
        if let Some(context) = context {
            let statement = checks.required(
                "input_context.problem_statement",
                context.problem_statement.as_ref(),
            );
            draft.brief = brief(&mut checks, statement, context.additional_context.as_ref());
        }
        Common {
            environment: self.environment_parameters,
            metadata: self.metadata,
            reference: self.reference_output,
            variables: self.required_environment_variables,
            secrets: self.required_secret_names,
            scoring_time: self.scorer_timeout_sec,
            validation: self.validation_type,
        }
        .apply(&mut checks, &mut draft);
        let names = functions.iter().map(|one| one.name.as_str());
        check_critical(&mut checks, &draft, names);
        checks.finish()?;
        Ok((draft, functions))
    }
}

/// Refuses a label `proctor.critical` that names scorers which the scenario does not have: nobody would notice when they are
/// missed.
fn check_critical<'n>(
    checks: &mut Checks,
    draft: &TaskDraft,
    scorers: impl Iterator<Item = &'n str>,
) {
    let Some(named) = draft.metadata.get(CRITICAL_SCORERS) else {
        return;
    };
    let scorers: Vec<&str> = scorers.collect();
    let named = named.split(',').map(str::trim);
    let unknown: Vec<String> = named
        .filter(|name| !name.is_empty() && !scorers.contains(name))
        .map(|name| format!("'{name}'"))
        .collect();
    if !unknown.is_empty() {
        let message = format!(
            "the scenario has no scorer {}; it has {}",
            unknown.join(", "),
            scorers.join(", ")
        );
        checks.refuse(&format!("metadata.{CRITICAL_SCORERS}"), message);
    }
}

impl ScenarioUpdateParameters {
    /// The scenario as it shall be, and its scorers if they change.
    pub(super) fn apply(
        self,
        kinds: &ScorerKinds,
        old: &Scenario,
    ) -> Result<(TaskDraft, Option<Vec<ScoringFunction>>), ApiError> {
        let mut checks = Checks::default();
        let mut draft = old.placed.draft.content.clone();
        if let Some(name) = checks.optional_text("name", self.name, 1..=NAME) {
            draft.name = name;
        }
        if let Some(context) = self.input_context {
            let old = InputContext::of(&draft.brief);
            let statement = context.problem_statement.unwrap_or(old.problem_statement);
            let additional = context.additional_context.or(old.additional_context);
            draft.brief = brief(&mut checks, Some(&statement), additional.as_ref());
        }
        let functions = self
            .scoring_contract
            .and_then(|contract| contract.scoring_function_parameters)
            .map(|given| contract::read(&mut checks, kinds, "scoring_contract", given));
        Common {
            environment: self.environment_parameters,
            metadata: self.metadata,
            reference: self.reference_output,
            variables: self.required_environment_variables,
            secrets: self.required_secret_names,
            scoring_time: self.scorer_timeout_sec,
            validation: self.validation_type,
        }
        .apply(&mut checks, &mut draft);
        let is_changed = draft.metadata != old.placed.draft.content.metadata;
        match &functions {
            Some(functions) => {
                let names = functions.iter().map(|one| one.name.as_str());
                check_critical(&mut checks, &draft, names);
            }
            None if is_changed => {
                let names = old.criteria.iter().map(|one| one.content.label.as_str());
                check_critical(&mut checks, &draft, names);
            }
            None => {}
        }
        checks.finish()?;
        Ok((draft, functions))
    }
}

/// What the agent is told, as it is kept.
pub(super) struct InputContext {
    pub(super) problem_statement: String,
    pub(super) additional_context: Option<Value>,
}

impl InputContext {
    /// Reads a task's brief; one that was written by other means is shown whole.
    pub(super) fn of(brief: &Value) -> Self {
        match brief.get("problem_statement").and_then(Value::as_str) {
            Some(statement) => Self {
                problem_statement: statement.to_owned(),
                additional_context: brief
                    .get("additional_context")
                    .filter(|context| context.is_object())
                    .cloned(),
            },
            None => Self {
                problem_statement: match brief {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                },
                additional_context: None,
            },
        }
    }
}

fn brief(checks: &mut Checks, statement: Option<&String>, additional: Option<&Value>) -> Value {
    let mut brief = Map::new();
    if let Some(statement) = statement {
        brief.insert("problem_statement".to_owned(), statement.as_str().into());
    }
    match additional {
        None | Some(Value::Null) => {}
        Some(Value::Object(context)) => {
            let context = Value::Object(context.clone());
            checks.document("input_context.additional_context", &context);
            brief.insert("additional_context".to_owned(), context);
        }
        Some(_) => checks.refuse(
            "input_context.additional_context",
            "must be an object or null",
        ),
    }
    Value::Object(brief)
}

/// What a new and a changed scenario have in common: null and absent keep what is there.
struct Common {
    environment: Option<ScenarioEnvironment>,
    metadata: Option<BTreeMap<String, String>>,
    reference: Option<String>,
    variables: Option<Vec<String>>,
    secrets: Option<Vec<String>>,
    scoring_time: Option<i64>,
    validation: Option<String>,
}

impl Common {
    fn apply(self, checks: &mut Checks, draft: &mut TaskDraft) {
        if let Some(environment) = self.environment {
            draft.devbox = Some(box_of(checks, environment));
        }
        if let Some(metadata) = self.metadata {
            if let Err(problems) = ScoringSettings::of_metadata(&metadata) {
                checks.refuse_below("metadata", problems);
            }
            draft.metadata = metadata;
        }
        if let Some(reference) = self.reference {
            draft.reference = match reference.as_str() {
                "" => Value::Null,
                text => text.into(),
            };
        }
        if let Some(variables) = self.variables {
            draft.requires.environment_variables = variables;
        }
        if let Some(secrets) = self.secrets {
            draft.requires.secrets = secrets;
        }
        if let Some(seconds) = self.scoring_time {
            match u32::try_from(seconds) {
                Ok(limit) if SCORING_TIME.contains(&seconds) => {
                    draft.scoring_timeout = Seconds::new(limit);
                }
                _ => {
                    let (least, most) = (SCORING_TIME.start(), SCORING_TIME.end());
                    let message = format!("must be a whole number from {least} to {most}");
                    checks.refuse("scorer_timeout_sec", message);
                }
            }
        }
        if let Some(word) = self.validation {
            match Validation::from_word(&word) {
                Some(validation) => draft.validation = Some(validation),
                None => checks.refuse("validation_type", unknown_validation(&word)),
            }
        }
    }
}

fn unknown_validation(word: &str) -> String {
    let all: Vec<_> = Validation::ALL.iter().map(|one| one.as_str()).collect();
    format!("'{}' is none of {}", shortened(word), all.join(", "))
}

/// What the scenario says of its box. Whether what it is made from exists is for the caller to look up.
fn box_of(checks: &mut Checks, environment: ScenarioEnvironment) -> Document<DevboxDefinition> {
    environment.check_members(checks);
    if environment.blueprint_id.is_some() && environment.snapshot_id.is_some() {
        checks.refuse(
            "environment_parameters",
            "a box is made from a blueprint or from a snapshot, not from both",
        );
    }
    let launch = environment
        .launch_parameters
        .map(|launch| launch.read(checks, "environment_parameters.launch_parameters"));
    let base = match (&environment.blueprint_id, &environment.snapshot_id) {
        (Some(id), _) => BaseRequest::blueprint(id),
        (None, Some(id)) => BaseRequest::snapshot(id),
        (None, None) => BaseRequest::Host,
    };
    let definition = DevboxDefinition {
        base,
        launch,
        working_directory: environment.working_directory,
    };
    definition.into()
}
