//! Looking for runs, and for task runs that are done in boxes.

use std::collections::BTreeSet;

use proctor_core::{
    canonical::Digest,
    definition::Slug,
    id::kinds::{
        BenchmarkId, CriterionId, OrganizationId, RunId, RunKind, SolverId, TaskId, TaskRunId,
        TaskRunKind,
    },
    run::{Run, RunStatus},
    task_run::{TaskRun, TaskRunStatus},
    time::Timestamp,
};

use crate::{
    Store, StoreError,
    database::{Query, Row},
    names::Sought,
    page::{Listing, Page, PageRequest},
    run_figures::RunVerdict,
    runs::{RUN_COLUMNS, TASK_RUN_COLUMNS, read_run, read_task_run},
};
use proctor_macros::boxed_futures;

/// Which runs are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only those of this benchmark.
    pub benchmark: Option<BenchmarkId>,
    /// Only those that stand so.
    pub statuses: Option<Vec<RunStatus>>,
    /// Only those of this agent, in its taker's own words.
    pub agent: Option<String>,
    /// Only those that show scores alone to their takers, or only the others.
    pub scored: Option<bool>,
    /// Only those of this Solver.
    pub solver: Option<SolverId>,
    /// Only those of versions that were published under this slug.
    pub slug: Option<Slug>,
    /// Only those that were made then or later.
    pub since: Option<Timestamp>,
    /// Only those that were made before.
    pub before: Option<Timestamp>,
    /// Only those of this version.
    pub version: Option<u32>,
    /// Only those with this verdict.
    pub verdict: Option<RunVerdict>,
    /// Only those with void attempts, or only those without.
    pub has_void: Option<bool>,
    /// Only those with this label: its name and its value.
    pub label: Option<(String, String)>,
    /// By name.
    pub sought: Sought,
}

/// Which task runs are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskRunFilter {
    /// Only those of this run.
    pub run: Option<RunId>,
    /// Only those of this task.
    pub task: Option<TaskId>,
    /// Only those that stand so.
    pub statuses: Option<Vec<TaskRunStatus>>,
    /// By name.
    pub sought: Sought,
}

#[boxed_futures]
impl Store {
    /// The organization's runs, newest first.
    pub async fn find_runs(
        &self,
        organization: OrganizationId,
        filter: &RunFilter,
        page: PageRequest<RunKind>,
    ) -> Result<Page<Run>, StoreError> {
        let listing = self.runs_listed(RUN_COLUMNS, organization, filter).await?;
        let read = |row: &Row| read_run(row).map(|run| run.value);
        listing.page(self.database(), page, read).await
    }

    /// The organization's task runs that are done in boxes, newest first.
    pub async fn find_task_runs(
        &self,
        organization: OrganizationId,
        filter: &TaskRunFilter,
        page: PageRequest<TaskRunKind>,
    ) -> Result<Page<TaskRun>, StoreError> {
        let mut listing = Listing::new(TASK_RUN_COLUMNS, "task_runs")
            .filter("organization", organization)
            .only("devbox IS NOT NULL");
        if let Some(run) = filter.run {
            listing = listing.filter("run", run);
        }
        if let Some(task) = filter.task {
            listing = listing.filter("task", task);
        }
        if let Some(statuses) = &filter.statuses {
            let words = statuses.iter().map(|status| status.as_str().into());
            listing = listing.any_of("status", words.collect());
        }
        let listing = listing
            .sought::<TaskRunKind>(self.database(), &filter.sought)
            .await?;
        let read = |row: &Row| read_task_run(row).map(|task_run| task_run.value);
        listing.page(self.database(), page, read).await
    }

    /// Notes that what judges a task fails on its reference too.
    pub async fn note_bad_reference(
        &self,
        task: &Digest,
        task_run: TaskRunId,
    ) -> Result<(), StoreError> {
        let query = note_of_reference(task, task_run);
        self.database().execute(query).await?;
        Ok(())
    }

    /// Whether the scorers of the frozen task with this digest are known to take too long on the reference
    /// ([`crate::progress::Progress::slow_reference`]).
    pub async fn is_slow_on_reference(&self, task: &Digest) -> Result<bool, StoreError> {
        let query = Query::new("SELECT 1 FROM slow_references WHERE task_digest = $1")
            .bind(task.to_string());
        Ok(self.database().read_optional(query).await?.is_some())
    }

    /// The scorers of the frozen task with this digest that could not be started on its newest reference
    /// ([`crate::progress::Progress::unrun_reference`]).
    pub async fn unrun_on_reference(
        &self,
        task: &Digest,
    ) -> Result<BTreeSet<CriterionId>, StoreError> {
        let query = Query::new("SELECT criterion FROM unrun_references WHERE task_digest = $1")
            .bind(task.to_string());
        let rows = self.database().read_all(query).await?;
        rows.iter().map(|row| row.id("criterion")).collect()
    }

    /// The task runs that are done in boxes and not over, each with whose it is.
    pub async fn live_task_runs_in_boxes(
        &self,
    ) -> Result<Vec<(OrganizationId, TaskRun)>, StoreError> {
        let text = format!(
            "SELECT organization, {TASK_RUN_COLUMNS} FROM task_runs WHERE devbox IS NOT NULL \
             AND status IN ('created', 'started', 'scoring', 'scored') ORDER BY id"
        );
        let query = Query::assembled(text, Vec::new());
        let rows = self.database().read_all(query).await?;
        let read = |row: &Row| Ok((row.id("organization")?, read_task_run(row)?.value));
        rows.iter().map(read).collect()
    }
}

impl Store {
    /// The organization's runs that pass a filter.
    pub(crate) async fn runs_listed(
        &self,
        columns: &'static str,
        organization: OrganizationId,
        filter: &RunFilter,
    ) -> Result<Listing, StoreError> {
        let mut listing = Listing::new(columns, "runs").filter("organization", organization);
        if let Some(benchmark) = filter.benchmark {
            listing = listing.filter("benchmark", benchmark);
        }
        if let Some(statuses) = &filter.statuses {
            let words = statuses.iter().map(|status| status.as_str().into());
            listing = listing.any_of("status", words.collect());
        }
        if let Some(agent) = &filter.agent {
            listing = listing.filter("agent", agent.as_str());
        }
        if let Some(scored) = filter.scored {
            listing = listing.filter("scored", scored);
        }
        if let Some(solver) = filter.solver {
            listing = listing.filter("solver", solver);
        }
        if let Some(slug) = &filter.slug {
            listing = listing.when(
                "(benchmark, version) IN (SELECT benchmark, version FROM benchmark_versions WHERE slug = ?)",
                vec![slug.as_str().into()],
            );
        }
        if let Some(since) = filter.since {
            listing = listing.when("created_at >= ?", vec![since.into()]);
        }
        if let Some(before) = filter.before {
            listing = listing.when("created_at < ?", vec![before.into()]);
        }
        if let Some(version) = filter.version {
            listing = listing.filter("version", version);
        }
        if let Some(verdict) = filter.verdict {
            listing = listing.filter("verdict", verdict.as_str());
        }
        listing = match filter.has_void {
            None => listing,
            Some(true) => listing.only("void_attempts > 0"),
            Some(false) => listing.only("void_attempts = 0"),
        };
        if let Some((name, value)) = &filter.label {
            listing = listing.labelled_or("metadata", name, value, None)?;
        }
        listing
            .sought::<RunKind>(self.database(), &filter.sought)
            .await
    }
}

/// Notes that what judges a task fails on its reference too.
pub(crate) fn note_of_reference(task: &Digest, task_run: TaskRunId) -> Query {
    Query::new(
        "INSERT INTO slow_references (task_digest, task_run) VALUES ($1, $2) ON CONFLICT (task_digest) DO NOTHING",
    )
    .bind(task.to_string())
    .bind(task_run)
}
