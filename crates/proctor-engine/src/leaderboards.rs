//! Leaderboards: runs that their organizations show to others, with ranks that say what is known.
//!
//! Agents are compared in pairs over the tasks that both took, by `proctor-statistics`; a rank is an interval, and agents that share a letter cannot be told
//! apart. Only runs of the same frozen version stand on one board together. Several runs of one agent pool by task.

use std::collections::{BTreeMap, HashMap};

use proctor_core::{
    canonical::Digest,
    definition::Visibility,
    id::kinds::{BenchmarkId, LeaderboardChangeKind, OrganizationId, RunId, SolverId},
    results::Summary,
    run::{Run, RunStatus},
};
use proctor_macros::boxed_futures;
use proctor_statistics::{About, Alpha, Attempts, PassK, Rank, Refusal, Task, Tasks, leaderboard};
use proctor_store::{
    leaderboard_log::LeaderboardChange,
    page::{Page, PageRequest, PageStart},
    run_lists::RunFilter,
};

use crate::{comparisons::Side, engine::Engine, error::EngineError};

/// How many of the newest runs a leaderboard is made of.
const LONGEST: u32 = 1_000;
/// How much is compared: pairs of agents times tasks. Above that ranks are not computed, and it is said.
const MOST_COMPARED: usize = 2_000_000;
/// How many runs a trend shows.
const LONGEST_TREND: u32 = 500;

/// A leaderboard, the best first.
pub struct Leaderboard {
    /// The runs on it.
    pub rows: Vec<RankedRun>,
    /// What should be known about the ranks, in sentences.
    pub warnings: Vec<String>,
}

/// A run on a leaderboard.
pub struct RankedRun {
    /// The run.
    pub run: Run,
    /// The Solver's alias; none for a run of the organization itself.
    pub solver: Option<String>,
    /// Where its agent stands among those of the same version; none if that was not computed.
    pub standing: Option<AgentRank>,
}

/// Where an agent stands among those of the same version.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRank {
    /// The mean of all runs of the agent, pooled by task: what ranks are made of. A single run of several may have another score.
    pub mean: f64,
    /// How many attempts that count the mean is made of.
    pub attempts: usize,
    /// The best rank that it may have.
    pub low: usize,
    /// The worst rank that it may have.
    pub high: usize,
    /// Agents that share a letter cannot be told apart.
    pub letters: String,
    /// Among how many agents.
    pub agents: usize,
    /// The numbers of all its runs together.
    pub summary: Summary,
    /// How reliably it passes at one attempt, and at as many as it has runs; none unless it has several.
    pub reliability: Option<(PassK, PassK)>,
}

/// Who took a run, as far as attempts are pooled.
type AgentKey = (OrganizationId, Option<SolverId>, Option<String>);

#[boxed_futures]
impl Engine {
    /// The leaderboard of a benchmark that the caller may see.
    pub async fn leaderboard(
        &self,
        caller: OrganizationId,
        benchmark: BenchmarkId,
    ) -> Result<Leaderboard, EngineError> {
        self.check_board(caller, benchmark).await?;
        let page = PageRequest {
            limit: LONGEST,
            from: PageStart::Newest,
            count: false,
        };
        let runs = self.store().ranked_runs(benchmark, page).await?.items;
        let mut aliases: HashMap<SolverId, Option<String>> = HashMap::new();
        let mut rows = Vec::with_capacity(runs.len());
        for run in runs {
            let solver = match run.solver {
                None => None,
                Some(id) => match aliases.get(&id) {
                    Some(alias) => alias.clone(),
                    None => {
                        let found = self.store().solver(run.organization, id).await?;
                        let alias = found.map(|solver| solver.profile.alias);
                        aliases.insert(id, alias.clone());
                        alias
                    }
                },
            };
            rows.push(RankedRun {
                run,
                solver,
                standing: None,
            });
        }
        let warnings = self.rank(&mut rows).await?;
        let score = |run: &Run| run.card().map_or(0.0, |card| card.score.value());
        rows.sort_by(|one, other| score(&other.run).total_cmp(&score(&one.run)));
        Ok(Leaderboard { rows, warnings })
    }

    /// What was put on the leaderboard of a benchmark and taken off, newest first.
    pub async fn leaderboard_log(
        &self,
        caller: OrganizationId,
        benchmark: BenchmarkId,
        page: PageRequest<LeaderboardChangeKind>,
    ) -> Result<Page<LeaderboardChange>, EngineError> {
        self.check_board(caller, benchmark).await?;
        Ok(self.store().leaderboard_log(benchmark, page).await?)
    }

    /// The organization's completed runs of a benchmark, oldest first: all of them, or those of one agent.
    pub async fn trend(
        &self,
        caller: OrganizationId,
        benchmark: BenchmarkId,
        agent: Option<String>,
    ) -> Result<Vec<Run>, EngineError> {
        let known = self.store().visible_benchmark(caller, benchmark).await?;
        known.ok_or(EngineError::NotFound("benchmark"))?;
        let filter = RunFilter {
            benchmark: Some(benchmark),
            statuses: Some(vec![RunStatus::Completed]),
            agent,
            ..RunFilter::default()
        };
        let page = PageRequest {
            limit: LONGEST_TREND,
            from: PageStart::Newest,
            count: false,
        };
        let mut runs = self.store().find_runs(caller, &filter, page).await?.items;
        runs.reverse();
        Ok(runs)
    }
}

impl Engine {
    /// Whether an organization may see the leaderboard of a benchmark.
    async fn check_board(
        &self,
        caller: OrganizationId,
        benchmark: BenchmarkId,
    ) -> Result<(), EngineError> {
        let unknown = EngineError::NotFound("benchmark");
        let Some(owner) = self.store().owner_of_benchmark(benchmark).await? else {
            return Err(unknown);
        };
        let versions = self.store().benchmark_versions(benchmark).await?;
        let is_public = versions.iter().any(|version| {
            version.visibility == Visibility::Public && version.unpublished_at.is_none()
        });
        match owner == caller || is_public {
            true => Ok(()),
            false => Err(unknown),
        }
    }

    /// Says where the agents of each version stand; what could not be said is in the sentences.
    async fn rank(&self, rows: &mut [RankedRun]) -> Result<Vec<String>, EngineError> {
        let mut versions: BTreeMap<Digest, BTreeMap<AgentKey, Vec<Run>>> = BTreeMap::new();
        for row in rows.iter() {
            let agents = versions.entry(row.run.pinned.digest).or_default();
            agents
                .entry(agent_of(&row.run))
                .or_default()
                .push(row.run.clone());
        }
        let mut warnings = Vec::new();
        let mut found: HashMap<RunId, AgentRank> = HashMap::new();
        for agents in versions.into_values() {
            if let Err(why) = self.rank_version(agents, &mut found).await? {
                warnings.push(why);
            }
        }
        for row in rows {
            row.standing = found.remove(&row.run.id);
        }
        Ok(warnings)
    }

    /// Where the agents of one version stand, by their runs.
    async fn rank_version(
        &self,
        agents: BTreeMap<AgentKey, Vec<Run>>,
        found: &mut HashMap<RunId, AgentRank>,
    ) -> Result<Result<(), String>, EngineError> {
        let count = agents.len();
        let Some(first) = agents.values().flatten().next() else {
            return Ok(Ok(()));
        };
        let tasks = self.definition_of(first).await?.benchmark.tasks.len();
        if count * count.saturating_sub(1) / 2 * tasks > MOST_COMPARED {
            let version = self.version_name(first).await?;
            return Ok(Err(format!(
                "{version}: {count} agents are too many to compare every two of them over {tasks} tasks, so they have no ranks"
            )));
        }
        let mut sides: Vec<Side> = Vec::with_capacity(count);
        for runs in agents.into_values() {
            // Each by the organization that took it: a job is read as its own.
            let organization = runs[0].organization;
            sides.push(self.pool(organization, runs).await?);
        }
        let ranks = match ranked(&sides) {
            Ok(ranks) => ranks,
            Err(refusal) => {
                let version = self.version_name(&sides[0].runs[0]).await?;
                return Ok(Err(format!("{version}: no ranks: {refusal}")));
            }
        };
        for rank in ranks {
            let Some(side) = rank
                .agent
                .parse::<usize>()
                .ok()
                .and_then(|place| sides.get(place))
            else {
                continue;
            };
            let counted = side.attempts.iter().filter(|one| one.score().is_some());
            let standing = AgentRank {
                mean: rank.mean,
                attempts: counted.count(),
                low: rank.rank_low,
                high: rank.rank_high,
                letters: rank.letters,
                agents: count,
                summary: side.summary(),
                reliability: side.reliability(),
            };
            for run in &side.runs {
                found.insert(run.id, standing.clone());
            }
        }
        Ok(Ok(()))
    }
}

fn agent_of(run: &Run) -> AgentKey {
    (run.organization, run.solver, run.agent.clone())
}

/// The ranks of agents, which are named by their places.
fn ranked(sides: &[Side]) -> Result<Vec<Rank>, Refusal> {
    let mut tasks: BTreeMap<String, Vec<Option<Attempts>>> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        for (id, attempts) in side.attempts_by_task()? {
            let row = tasks.entry(id).or_insert_with(|| vec![None; sides.len()]);
            row[place] = Some(attempts);
        }
    }
    let tasks = tasks.into_iter().map(|(id, data)| Task {
        id,
        cluster: None,
        data,
    });
    // Of one length, so that names sort as places do.
    let names: Vec<String> = (0..sides.len())
        .map(|place| format!("{place:06}"))
        .collect();
    leaderboard(
        &Tasks::new(tasks)?,
        &names,
        About::Tasks,
        Alpha::FIVE_PERCENT,
    )
}
