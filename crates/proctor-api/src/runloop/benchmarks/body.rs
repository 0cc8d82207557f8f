//! What clients say a benchmark is.

use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::{definition::Requirements, id::kinds::TaskId};
use proctor_store::benchmarks::BenchmarkDraft;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    extract::{Checks, texts},
    runloop::ids,
};

const NAME: usize = 500;
const TEXT: usize = 100_000;

/// What a new benchmark is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct BenchmarkCreateParameters {
    #[schema(value_type = String, required, min_length = 1)]
    name: Option<String>,
    /// The scenarios, in order.
    scenario_ids: Option<Vec<String>>,
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
    required_environment_variables: Option<Vec<String>>,
    required_secret_names: Option<Vec<String>>,
    attribution: Option<String>,
    description: Option<String>,
}

/// What is to change; what is absent or null stays.
#[derive(Deserialize, ToSchema)]
pub(crate) struct BenchmarkUpdateParameters {
    #[schema(min_length = 1)]
    name: Option<String>,
    /// Replaces all.
    scenario_ids: Option<Vec<String>>,
    /// Replaces all.
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
    required_environment_variables: Option<Vec<String>>,
    required_secret_names: Option<Vec<String>>,
    /// An empty text removes it.
    attribution: Option<String>,
    /// An empty text removes it.
    description: Option<String>,
}

/// Which scenarios come and go.
#[derive(Deserialize, ToSchema)]
pub(crate) struct BenchmarkScenarioUpdateParameters {
    scenarios_to_add: Option<Vec<String>>,
    scenarios_to_remove: Option<Vec<String>>,
}

impl BenchmarkCreateParameters {
    pub(super) fn into_parts(self) -> Result<(BenchmarkDraft, Vec<TaskId>), ApiError> {
        let mut checks = Checks::default();
        let name = checks.text("name", self.name, 1..=NAME);
        let scenarios = self.scenario_ids.unwrap_or_default();
        let scenarios = ids::read_all(&mut checks, "scenario_ids", &scenarios);
        let draft = BenchmarkDraft {
            name,
            description: checks.optional_text("description", self.description, 0..=TEXT),
            attribution: checks.optional_text("attribution", self.attribution, 0..=TEXT),
            environment: None,
            timeout: None,
            // Whoever takes it decides how many scenarios are under way at once.
            concurrency: NonZeroU32::MAX,
            metadata: self.metadata.unwrap_or_default(),
            requires: Requirements {
                environment_variables: self.required_environment_variables.unwrap_or_default(),
                secrets: self.required_secret_names.unwrap_or_default(),
            },
        };
        checks.finish()?;
        Ok((draft, scenarios))
    }
}

impl BenchmarkUpdateParameters {
    /// The scenarios that it shall have, if they change.
    pub(super) fn scenarios(&self) -> Result<Option<Vec<TaskId>>, ApiError> {
        let Some(texts) = &self.scenario_ids else {
            return Ok(None);
        };
        let mut checks = Checks::default();
        let scenarios = ids::read_all(&mut checks, "scenario_ids", texts);
        checks.finish()?;
        Ok(Some(scenarios))
    }

    /// The benchmark as it shall be.
    pub(super) fn apply(&self, old: &BenchmarkDraft) -> Result<BenchmarkDraft, ApiError> {
        let mut checks = Checks::default();
        let mut draft = old.clone();
        if let Some(name) = checks.optional_text("name", self.name.clone(), 1..=NAME) {
            draft.name = name;
        }
        let text =
            |checks: &mut Checks, field: &str, given: &Option<String>, old: &mut Option<String>| {
                if let Some(text) = checks.optional_text(field, given.clone(), 0..=TEXT) {
                    *old = Some(text).filter(|text| !text.is_empty());
                }
            };
        text(
            &mut checks,
            "description",
            &self.description,
            &mut draft.description,
        );
        text(
            &mut checks,
            "attribution",
            &self.attribution,
            &mut draft.attribution,
        );
        if let Some(metadata) = &self.metadata {
            draft.metadata.clone_from(metadata);
        }
        if let Some(variables) = &self.required_environment_variables {
            draft.requires.environment_variables.clone_from(variables);
        }
        if let Some(secrets) = &self.required_secret_names {
            draft.requires.secrets.clone_from(secrets);
        }
        checks.finish()?;
        Ok(draft)
    }
}

impl BenchmarkScenarioUpdateParameters {
    /// What is to be added, and what removed.
    pub(super) fn into_parts(self) -> Result<(Vec<TaskId>, Vec<TaskId>), ApiError> {
        let mut checks = Checks::default();
        let add = self.scenarios_to_add.unwrap_or_default();
        let add = ids::read_all(&mut checks, "scenarios_to_add", &add);
        let remove = self.scenarios_to_remove.unwrap_or_default();
        let remove = ids::read_all(&mut checks, "scenarios_to_remove", &remove);
        checks.finish()?;
        Ok((add, remove))
    }
}
