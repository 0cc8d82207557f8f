//! Looking at scenario runs.

use std::collections::BTreeMap;

use proctor_core::{
    criterion_run::CriterionRun,
    definition::{Check, Task},
    id::kinds::{CriterionId, OrganizationId, RunId, TaskRunId, TaskRunKind},
    refused::Step,
    run::Run,
    scoring::{Score, Scorecard},
    task_run::TaskRun,
};
use proctor_store::{
    page::{Page, PageRequest},
    run_lists::{RunFilter, TaskRunFilter},
};

use crate::{engine::Engine, error::EngineError};

/// A scenario run with what was found.
pub struct ScenarioRun {
    /// The task run.
    pub task_run: TaskRun,
    /// What each scorer said last; empty while there is no score.
    pub functions: Vec<ScoredFunction>,
    /// Whether the disk that was scored is kept, so that it can be scored again.
    pub is_kept: bool,
}

/// What a scorer said.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredFunction {
    /// The scoring function's name.
    pub name: String,
    /// The score.
    pub score: Score,
    /// Whether the scorer came to a result: `complete` or `error`.
    pub state: String,
    /// What it printed.
    pub output: String,
    /// In which way it was run.
    pub mode: Option<String>,
    /// Why the disk that it looked at was not kept, if it was not.
    pub not_kept: Option<String>,
}

impl ScenarioRun {
    /// The score on record.
    pub fn card(&self) -> Option<&Scorecard> {
        self.task_run.card()
    }

    /// In which way it was scored, if it was.
    pub fn mode(&self) -> Option<&str> {
        self.functions
            .iter()
            .find_map(|function| function.mode.as_deref())
    }

    /// Why the disk that was scored was not kept to begin with, if it was not.
    pub fn not_kept(&self) -> Option<&str> {
        self.functions
            .iter()
            .find_map(|function| function.not_kept.as_deref())
    }
}

impl Engine {
    /// One of the organization's scenario runs, as it stands now.
    pub async fn scenario_run(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<ScenarioRun, EngineError> {
        let owned = self.owned(organization, id).await?;
        let unchanged = |task_run, _| Ok(Step::Unchanged(task_run));
        let task_run = self.step_from(owned, unchanged, Vec::new()).await?;
        self.with_findings(task_run.into_inner()).await
    }

    /// The organization's scenario runs, newest first.
    pub async fn scenario_runs(
        &self,
        organization: OrganizationId,
        filter: &TaskRunFilter,
        page: PageRequest<TaskRunKind>,
    ) -> Result<Page<ScenarioRun>, EngineError> {
        let page = self
            .store()
            .find_task_runs(organization, filter, page)
            .await?;
        let mut runs = Vec::with_capacity(page.items.len());
        for task_run in page.items {
            runs.push(self.with_findings(task_run).await?);
        }
        Ok(Page {
            items: runs,
            has_more: page.has_more,
            has_previous: page.has_previous,
            total: page.total,
        })
    }

    /// One of the organization's runs, as it stands now.
    pub async fn benchmark_run(
        &self,
        organization: OrganizationId,
        id: RunId,
    ) -> Result<Run, EngineError> {
        let standing = self.current(id).await?;
        match standing.run.value {
            run if run.organization == organization => Ok(run),
            _ => Err(EngineError::NotFound("benchmark run")),
        }
    }

    /// The organization's runs, newest first.
    pub async fn benchmark_runs(
        &self,
        organization: OrganizationId,
        filter: &RunFilter,
        page: PageRequest<proctor_core::id::kinds::RunKind>,
    ) -> Result<Page<Run>, EngineError> {
        Ok(self.store().find_runs(organization, filter, page).await?)
    }

    /// A task run with what its scorers said.
    pub async fn with_findings(&self, task_run: TaskRun) -> Result<ScenarioRun, EngineError> {
        // Also one that has no score, because its scorers took too long.
        let may_be_kept = task_run.card().is_some() || task_run.is_over();
        let is_kept = may_be_kept && self.store().kept_disk_of(task_run.id).await?.is_some();
        if task_run.card().is_none() {
            return Ok(ScenarioRun {
                task_run,
                functions: Vec::new(),
                is_kept,
            });
        }
        let records = self.store().criterion_runs(task_run.id).await?;
        let prepared = self.definition_of_task_run(&task_run).await?;
        let (task, _) = prepared.task(task_run.task)?;
        let functions = functions(task, records);
        Ok(ScenarioRun {
            task_run,
            functions,
            is_kept,
        })
    }
}

/// The last record of each criterion, in the order of the criteria: what is scored again has older ones too.
pub(super) fn functions(task: &Task, records: Vec<CriterionRun>) -> Vec<ScoredFunction> {
    let last: BTreeMap<CriterionId, CriterionRun> = records
        .into_iter()
        .map(|record| (record.criterion, record))
        .collect();
    let found = task.criteria.iter().filter_map(|criterion| {
        let record = last.get(&criterion.id)?;
        let text = |member: &str| record.evidence[member].as_str().map(str::to_owned);
        let state = match &criterion.check {
            Check::Scorer(_) => text("state").unwrap_or_else(|| "unknown".to_owned()),
            Check::Assertion(_) => "complete".to_owned(),
        };
        Some(ScoredFunction {
            name: criterion.label.clone(),
            score: record.score,
            state,
            output: record.details.clone(),
            mode: text("mode"),
            not_kept: text("not_kept"),
        })
    });
    found.collect()
}
