//! The numbers of runs that lists are made of: kept in columns of their own, so that a list of a thousand runs reads no document.

use proctor_core::{
    canonical::Digest,
    id::kinds::{BenchmarkId, OrganizationId, RunId, RunKind, SolverId},
    run::{Ending, Run, RunState, RunStatus},
    scoring::Verdict,
    time::Timestamp,
};
use proctor_macros::boxed_futures;

use crate::{
    Store, StoreError,
    database::{Database, Query, Row},
    page::{Page, PageRequest, SortKey},
    run_lists::RunFilter,
    runs::{RUN_COLUMNS, read_run},
};

/// What became of a run, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunVerdict {
    /// At least nine tenths, and nothing critical was missed.
    Pass,
    /// Something was right.
    Partial,
    /// Nothing was right, something critical was missed, or the agent could not carry on.
    Fail,
    /// The platform could not carry on.
    Void,
    /// Somebody stopped it.
    Cancelled,
}

impl RunVerdict {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Pass,
        Self::Partial,
        Self::Fail,
        Self::Void,
        Self::Cancelled,
    ];

    /// The verdict on a run that is over.
    pub fn of(run: &Run) -> Option<Self> {
        let RunState::Ended { ending, .. } = &run.state else {
            return None;
        };
        Some(match ending {
            Ending::Completed { card } => match card.verdict {
                Verdict::Pass => Self::Pass,
                Verdict::Partial => Self::Partial,
                Verdict::Fail => Self::Fail,
            },
            Ending::Cancelled { .. } => Self::Cancelled,
            Ending::Failed { cause } if cause.is_void() => Self::Void,
            Ending::Failed { .. } => Self::Fail,
        })
    }

    /// The word in the store and in addresses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Partial => "partial",
            Self::Fail => "fail",
            Self::Void => "void",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads the word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

/// The numbers of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunFigures {
    /// What became of it; none while it is not over.
    pub verdict: Option<RunVerdict>,
    /// Our own score, void left out; that of the record where there is no other.
    pub score: Option<f64>,
    /// The ends of the 95 % interval around it.
    pub interval: Option<(f64, f64)>,
    /// How many attempts count.
    pub scored: Option<u32>,
    /// How many are void.
    pub void: u32,
    /// How many critical criteria were missed.
    pub critical_misses: u32,
    /// When the first task was started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl RunFigures {
    /// The numbers of a run as it stands.
    pub fn of(run: &Run) -> Self {
        let (card, own) = (run.card(), run.own_numbers());
        let own_score = own.and_then(|own| own.score);
        Self {
            verdict: RunVerdict::of(run),
            score: own_score.or_else(|| card.map(|card| card.score.value())),
            interval: own
                .and_then(|own| own.interval)
                .map(|interval| (interval.low, interval.high)),
            scored: own.map(|own| own.scored),
            void: own.map_or(0, |own| own.void),
            critical_misses: card.map_or(0, |card| {
                u32::try_from(card.critical_misses.len()).unwrap_or(u32::MAX)
            }),
            started_at: run.started_at(),
            ended_at: run.ended_at(),
        }
    }

    /// Binds them in the order of the columns: verdict, score, score_low, score_high, scored_attempts, void_attempts, critical_misses,
    /// started_at, ended_at.
    pub(crate) fn bind(&self, query: Query) -> Query {
        query
            .bind(self.verdict.map(|verdict| verdict.as_str().to_owned()))
            .bind(self.score)
            .bind(self.interval.map(|(low, _)| low))
            .bind(self.interval.map(|(_, high)| high))
            .bind(self.scored)
            .bind(self.void)
            .bind(self.critical_misses)
            .bind(self.started_at)
            .bind(self.ended_at)
    }

    fn read(row: &Row) -> Result<Self, StoreError> {
        let verdict = row.opt_text("verdict")?;
        Ok(Self {
            verdict: verdict.as_deref().and_then(RunVerdict::from_word),
            score: row.opt_real("score")?,
            interval: row.opt_real("score_low")?.zip(row.opt_real("score_high")?),
            scored: row.opt_number("scored_attempts")?,
            void: row.opt_number("void_attempts")?.unwrap_or(0),
            critical_misses: row.opt_number("critical_misses")?.unwrap_or(0),
            started_at: row.opt_time("started_at")?,
            ended_at: row.opt_time("ended_at")?,
        })
    }
}

/// How many rows are completed at a time.
const BATCH: u32 = 500;

/// A run as far as overviews show it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// The run.
    pub id: RunId,
    /// The Solver that takes it.
    pub solver: Option<SolverId>,
    /// What is taken.
    pub benchmark: BenchmarkId,
    /// The published version of that; none for a draft.
    pub version: Option<u32>,
    /// The digest of the frozen definition.
    pub digest: Digest,
    /// The taker's own words for what takes it.
    pub agent: Option<String>,
    /// What it is called.
    pub name: Option<String>,
    /// Whether it is not over.
    pub is_open: bool,
    /// Whether all that was to be done is done.
    pub is_completed: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its numbers.
    pub figures: RunFigures,
}

/// By what runs are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// The newest first.
    #[default]
    Newest,
    /// The first started first.
    Oldest,
    /// The highest score first.
    Best,
    /// The lowest score first.
    Worst,
    /// What took longest first.
    Longest,
    /// What took the shortest time first.
    Shortest,
    /// What has most void attempts first.
    MostVoid,
}

impl RunOrder {
    /// Runs without the number come last either way.
    const fn key(self) -> SortKey {
        let (expression, is_descending) = match self {
            Self::Newest => ("COALESCE(started_at, created_at)", true),
            Self::Oldest => ("COALESCE(started_at, created_at)", false),
            Self::Best => ("COALESCE(score, -1.0)", true),
            Self::Worst => ("COALESCE(score, 2.0)", false),
            Self::Longest => ("COALESCE(ended_at - started_at, -1)", true),
            Self::Shortest => ("COALESCE(ended_at - started_at, 9000000000000)", false),
            Self::MostVoid => ("COALESCE(void_attempts, -1)", true),
        };
        SortKey {
            expression,
            is_descending,
        }
    }
}

/// How many runs stand so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunCount {
    /// What became of them; none of those that are not over.
    pub verdict: Option<RunVerdict>,
    /// How many these are.
    pub count: u64,
}

#[boxed_futures]
impl Store {
    /// The organization's runs in another order than by age. Places in the list are runs, as everywhere.
    pub async fn sorted_runs(
        &self,
        organization: OrganizationId,
        filter: &RunFilter,
        order: RunOrder,
        page: PageRequest<RunKind>,
    ) -> Result<Page<Run>, StoreError> {
        let listing = self.runs_listed(RUN_COLUMNS, organization, filter).await?;
        let read = |row: &Row| read_run(row).map(|run| run.value);
        listing
            .page_by(self.database(), page, order.key(), read)
            .await
    }

    /// The numbers of the organization's newest runs, newest first.
    pub async fn run_summaries(
        &self,
        organization: OrganizationId,
        filter: &RunFilter,
        page: PageRequest<RunKind>,
    ) -> Result<Page<RunSummary>, StoreError> {
        let columns = "id, solver, benchmark, version, digest, agent, name, status, created_at, verdict, score, score_low, \
                       score_high, scored_attempts, void_attempts, critical_misses, started_at, ended_at";
        let listing = self.runs_listed(columns, organization, filter).await?;
        let read = |row: &Row| {
            let status = row.text("status")?;
            let is = |one: RunStatus| status == one.as_str();
            Ok(RunSummary {
                id: row.id("id")?,
                solver: row.opt_id("solver")?,
                benchmark: row.id("benchmark")?,
                version: row.opt_number("version")?,
                digest: row.parsed("digest")?,
                agent: row.opt_text("agent")?,
                name: row.opt_text("name")?,
                is_open: is(RunStatus::Created) || is(RunStatus::Started),
                is_completed: is(RunStatus::Completed),
                created_at: row.time("created_at")?,
                figures: RunFigures::read(row)?,
            })
        };
        listing.page(self.database(), page, read).await
    }

    /// How many of the organization's runs have each verdict.
    pub async fn run_counts(
        &self,
        organization: OrganizationId,
        filter: &RunFilter,
    ) -> Result<Vec<RunCount>, StoreError> {
        let listing = self.runs_listed("id", organization, filter).await?;
        let rows = listing.grouped(self.database(), "verdict").await?;
        let read = |row: &Row| {
            let verdict = row.opt_text("verdict")?;
            Ok(RunCount {
                verdict: verdict.as_deref().and_then(RunVerdict::from_word),
                count: u64::try_from(row.int("total")?).unwrap_or(0),
            })
        };
        rows.iter().map(read).collect()
    }

    /// What the organization's runs say takes them, by name; at most `limit`.
    pub async fn run_agents(
        &self,
        organization: OrganizationId,
        solver: Option<SolverId>,
        limit: u32,
    ) -> Result<Vec<String>, StoreError> {
        let condition = match solver {
            None => "",
            Some(_) => "AND solver = $3",
        };
        let text = format!(
            "SELECT DISTINCT agent FROM runs WHERE organization = $1 AND agent IS NOT NULL {condition} \
             ORDER BY agent LIMIT $2"
        );
        let mut query = Query::assembled(text, vec![organization.into(), limit.into()]);
        if let Some(solver) = solver {
            query = query.bind(solver);
        }
        let rows = self.database().read_all(query).await?;
        rows.iter().map(|row| row.text("agent")).collect()
    }
}

/// Fills the columns of runs that are older than the columns.
pub(crate) async fn complete(database: &Database) -> Result<(), StoreError> {
    loop {
        let text = format!(
            "SELECT {RUN_COLUMNS} FROM runs WHERE verdict IS NULL \
             AND status IN ('completed', 'cancelled', 'failed') LIMIT $1"
        );
        let query = Query::assembled(text, vec![BATCH.into()]);
        let rows = database.read_all(query).await?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut transaction = database.begin().await?;
        for row in &rows {
            let run = read_run(row)?.value;
            let query = Query::new(
                "UPDATE runs SET verdict = $1, score = $2, score_low = $3, score_high = $4, scored_attempts = $5, \
                 void_attempts = $6, critical_misses = $7, started_at = $8, ended_at = $9 WHERE id = $10",
            );
            let query = RunFigures::of(&run).bind(query).bind(run.id);
            transaction.execute(query).await?;
        }
        transaction.commit().await?;
    }
}
