//! Looking at task runs that are done in boxes, with what their scorers said.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use proctor_core::{
    criterion_run::CriterionRun,
    definition::{Check, Task},
    id::kinds::{CriterionId, OrganizationId, RunId, TaskRunId, TaskRunKind},
    run::Run,
    scoring::{Score, Scorecard},
    task_run::TaskRun,
};
use proctor_macros::boxed_futures;
use proctor_store::{
    page::{Page, PageRequest},
    run_lists::{RunFilter, TaskRunFilter},
};

use super::Asked;
use crate::{catalog::Prepared, engine::Engine, error::EngineError, scenarios::ScorerState};

/// A scenario run with what was found.
pub struct ScenarioRun {
    /// The task run.
    pub task_run: TaskRun,
    /// What each scorer said last; empty while none has.
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
    /// Whether the scorer came to a result; none if nothing on record says so.
    pub state: Option<ScorerState>,
    /// What it printed.
    pub output: String,
    /// In which way it was run.
    pub mode: Option<String>,
    /// Why the disk that it looked at was not kept, if it was not.
    pub not_kept: Option<String>,
}

impl ScoredFunction {
    /// The word for its state on the wire and in logs.
    pub fn state_word(&self) -> &'static str {
        self.state.map_or("unknown", ScorerState::as_str)
    }
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

#[boxed_futures]
impl Engine {
    /// One of the organization's scenario runs, as it stands now.
    pub async fn scenario_run(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<ScenarioRun, EngineError> {
        let asked = Asked::InBoxOf(organization);
        let found = self.current_task_run(asked, id).await?;
        self.with_findings(found.task_run.value).await
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
        Ok(Page {
            items: self.all_with_findings(page.items).await?,
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
        match self.active_run(id).await?.run.run.value {
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
        let mut found = self.all_with_findings(vec![task_run]).await?;
        found
            .pop()
            .ok_or_else(|| EngineError::Fault("a scenario run went missing".to_owned()))
    }

    /// The definition that a task run was started from.
    pub(crate) async fn definition_of_task_run(
        &self,
        task_run: &TaskRun,
    ) -> Result<Arc<Prepared>, EngineError> {
        match (task_run.definition, task_run.run) {
            (Some(digest), _) => self.inner.catalog.benchmark(self.store(), &digest).await,
            (None, Some(run)) => {
                let run = self.store().run(run).await?;
                let run = run.ok_or(EngineError::NotFound("benchmark run"))?;
                self.definition_of(&run.value).await
            }
            (None, None) => {
                let message = format!("the task run {} has no definition", task_run.id);
                Err(EngineError::Fault(message))
            }
        }
    }

    /// Task runs with what their scorers said, however many with the same few questions to the store.
    async fn all_with_findings(
        &self,
        task_runs: Vec<TaskRun>,
    ) -> Result<Vec<ScenarioRun>, EngineError> {
        let ids = |which: fn(&TaskRun) -> bool| -> Vec<TaskRunId> {
            let those = task_runs.iter().filter(|task_run| which(task_run));
            those.map(|task_run| task_run.id).collect()
        };
        // Also one that has no score, because its scorers took too long.
        let may_be_kept = ids(|task_run| task_run.card().is_some() || task_run.is_over());
        let kept = self.store().task_runs_with_kept_disks(&may_be_kept).await?;
        let judged = ids(was_judged);
        let mut records = self.store().criterion_runs_of(&judged).await?;
        let mut definitions = BTreeMap::new();
        let mut found = Vec::with_capacity(task_runs.len());
        for task_run in task_runs {
            let functions = match was_judged(&task_run) {
                false => Vec::new(),
                true => {
                    let prepared = match definitions.entry((task_run.definition, task_run.run)) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(unknown) => {
                            unknown.insert(self.definition_of_task_run(&task_run).await?)
                        }
                    };
                    let (task, _) = prepared.task(task_run.task)?;
                    functions(task, records.remove(&task_run.id).unwrap_or_default())
                }
            };
            found.push(ScenarioRun {
                is_kept: kept.contains(&task_run.id),
                task_run,
                functions,
            });
        }
        Ok(found)
    }
}

/// Whether there may be records of what scorers said: also of those that took too long all together, which is no score.
fn was_judged(task_run: &TaskRun) -> bool {
    task_run.card().is_some() || task_run.timed_out_in_scoring()
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
            Check::Scorer(_) => record.evidence["state"]
                .as_str()
                .and_then(ScorerState::of_word),
            Check::Assertion(_) => Some(ScorerState::Complete),
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
