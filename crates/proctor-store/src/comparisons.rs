//! Comparisons and gates as they were answered, and what they are made from: labelled runs, how task runs ended, what criteria scored.

use std::collections::BTreeMap;

use proctor_core::{
    id::{
        Id, Kind,
        kinds::{
            BenchmarkId, ComparisonId, ComparisonKind, CriterionId, GateId, GateKind,
            OrganizationId, RunId, RunKind, TaskRunId,
        },
    },
    profile::Particulars,
    run::Run,
    task_run::TaskRun,
    time::Timestamp,
};
use proctor_macros::boxed_futures;
use serde_json::Value;

use crate::{
    Store, StoreError,
    database::{Query, Row},
    page::{Listing, Page, PageRequest, PageStart},
    runs::{RUN_COLUMNS, document, read_run},
};

/// The label that also means what a run says takes it.
const AGENT: &str = "agent";

/// A result that is to be kept.
#[derive(Clone, Debug)]
pub struct NewResult<K: Kind> {
    /// Its name.
    pub id: Id<K>,
    /// What lists show.
    pub headline: Value,
    /// All of it.
    pub body: Value,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A gate that is to be kept.
#[derive(Clone, Debug)]
pub struct NewGateResult {
    /// What it says, in one word.
    pub verdict: &'static str,
    /// The gate.
    pub result: NewResult<GateKind>,
}

/// What a criterion scored in a task run.
#[derive(Clone, Debug, PartialEq)]
pub struct CriterionScore {
    /// The task run.
    pub task_run: TaskRunId,
    /// The criterion.
    pub criterion: CriterionId,
    /// The share that holds.
    pub score: f64,
    /// The finding in words; empty where it was not asked for.
    pub details: String,
    /// What was found, where the criterion was not met and it was asked for.
    pub evidence: Option<Value>,
}

#[boxed_futures]
impl Store {
    /// Keeps a comparison.
    pub async fn create_comparison(
        &self,
        organization: OrganizationId,
        new: &NewResult<ComparisonKind>,
    ) -> Result<(), StoreError> {
        let query = Query::new(
            "INSERT INTO comparisons (id, organization, headline, body, created_at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(new.id)
        .bind(organization)
        .bind(document(&new.headline)?)
        .bind(document(&new.body)?)
        .bind(new.created_at);
        self.database().execute(query).await.map(drop)
    }

    /// One of the organization's comparisons, as it was answered.
    pub async fn comparison(
        &self,
        organization: OrganizationId,
        id: ComparisonId,
    ) -> Result<Option<Value>, StoreError> {
        let query = Query::new("SELECT body FROM comparisons WHERE organization = $1 AND id = $2")
            .bind(organization)
            .bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.json("body")).transpose()
    }

    /// The organization's comparisons, newest first, as lists show them.
    pub async fn comparisons(
        &self,
        organization: OrganizationId,
        page: PageRequest<ComparisonKind>,
    ) -> Result<Page<(ComparisonId, Value)>, StoreError> {
        Listing::new("id, headline", "comparisons")
            .filter("organization", organization)
            .page(self.database(), page, headline)
            .await
    }

    /// Keeps a gate.
    pub async fn create_gate(
        &self,
        organization: OrganizationId,
        new: &NewGateResult,
    ) -> Result<(), StoreError> {
        let query = insert_of_gate(organization, new)?;
        self.database().execute(query).await.map(drop)
    }

    /// One of the organization's gates, as it was answered.
    pub async fn gate(
        &self,
        organization: OrganizationId,
        id: GateId,
    ) -> Result<Option<Value>, StoreError> {
        let query = Query::new("SELECT body FROM gates WHERE organization = $1 AND id = $2")
            .bind(organization)
            .bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.json("body")).transpose()
    }

    /// The organization's gates, newest first, as lists show them; only those with this verdict, if one is given.
    pub async fn gates(
        &self,
        organization: OrganizationId,
        verdict: Option<&str>,
        page: PageRequest<GateKind>,
    ) -> Result<Page<(GateId, Value)>, StoreError> {
        let mut listing =
            Listing::new("id, headline", "gates").filter("organization", organization);
        if let Some(verdict) = verdict {
            listing = listing.filter("verdict", verdict);
        }
        listing.page(self.database(), page, headline).await
    }

    /// The organization's newest completed runs that have all of these labels, without `except`. What a run says takes it is as good as a label `agent`.
    pub async fn labelled_runs(
        &self,
        organization: OrganizationId,
        benchmark: Option<BenchmarkId>,
        labels: &BTreeMap<String, String>,
        newest: u32,
        except: &[RunId],
    ) -> Result<Vec<Run>, StoreError> {
        let mut listing = Listing::new(RUN_COLUMNS, "runs")
            .filter("organization", organization)
            .filter("status", "completed");
        if let Some(benchmark) = benchmark {
            listing = listing.filter("benchmark", benchmark);
        }
        for (name, value) in labels {
            let column = (name == AGENT).then_some("agent");
            listing = listing.labelled_or("metadata", name, value, column)?;
        }
        let more = u32::try_from(except.len()).unwrap_or(u32::MAX);
        let page = PageRequest::<RunKind> {
            limit: newest.saturating_add(more),
            from: PageStart::Newest,
            count: false,
        };
        let read = |row: &Row| read_run(row).map(|run| run.value);
        let found = listing.page(self.database(), page, read).await?;
        let mut runs = found.items;
        runs.retain(|run| !except.contains(&run.id));
        runs.truncate(usize::try_from(newest).unwrap_or(usize::MAX));
        Ok(runs)
    }

    /// The task runs of a run as far as scores follow from them: without what was said about them when they were started, which is sealed and long.
    pub async fn judged_task_runs(&self, run: RunId) -> Result<Vec<TaskRun>, StoreError> {
        let query = Query::new(
            "SELECT id, task, state, created_at FROM task_runs WHERE run = $1 ORDER BY id",
        )
        .bind(run);
        let rows = self.database().read_all(query).await?;
        let read = |row: &Row| {
            Ok(TaskRun {
                id: row.id("id")?,
                run: Some(run),
                task: row.id("task")?,
                definition: None,
                devbox: None,
                particulars: Particulars::default(),
                created_at: row.time("created_at")?,
                state: row.json("state")?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// What every criterion scored in every task run of a run, with what was found where it was not met.
    pub async fn criterion_scores(&self, run: RunId) -> Result<Vec<CriterionScore>, StoreError> {
        let query = Query::new(
            "SELECT c.task_run AS task_run, c.criterion AS criterion, c.score AS score, \
             CASE WHEN c.score < 1 THEN c.details ELSE '' END AS details, \
             CASE WHEN c.score < 1 THEN c.evidence ELSE NULL END AS evidence \
             FROM criterion_runs c JOIN task_runs t ON t.id = c.task_run WHERE t.run = $1 ORDER BY c.id",
        )
        .bind(run);
        let rows = self.database().read_all(query).await?;
        let read = |row: &Row| {
            Ok(CriterionScore {
                evidence: match row.opt_text("evidence")? {
                    None => None,
                    Some(_) => Some(row.json("evidence")?),
                },
                ..read_score(row)?
            })
        };
        rows.iter().map(read).collect()
    }

    /// What every criterion scored in these task runs, with the findings in words.
    pub async fn criterion_scores_of(
        &self,
        task_runs: &[TaskRunId],
    ) -> Result<Vec<CriterionScore>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT task_run, criterion, score, details FROM criterion_runs \
                 WHERE task_run IN ({list}) ORDER BY id"
            )
        };
        let rows = self.database().read_for(task_runs, &[], text).await?;
        rows.iter().map(read_score).collect()
    }
}

/// Keeps a gate.
pub(crate) fn insert_of_gate(
    organization: OrganizationId,
    new: &NewGateResult,
) -> Result<Query, StoreError> {
    let NewGateResult { verdict, result } = new;
    let query = Query::new(
        "INSERT INTO gates (id, organization, verdict, headline, body, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
    );
    Ok(query
        .bind(result.id)
        .bind(organization)
        .bind(*verdict)
        .bind(document(&result.headline)?)
        .bind(document(&result.body)?)
        .bind(result.created_at))
}

fn read_score(row: &Row) -> Result<CriterionScore, StoreError> {
    Ok(CriterionScore {
        task_run: row.id("task_run")?,
        criterion: row.id("criterion")?,
        score: row.real("score")?,
        details: row.text("details")?,
        evidence: None,
    })
}

fn headline<K: Kind>(row: &Row) -> Result<(Id<K>, Value), StoreError> {
    Ok((row.id("id")?, row.json("headline")?))
}
