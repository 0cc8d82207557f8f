//! The leaderboard: runs that their organization shows to others.

use proctor_core::{
    definition::Visibility,
    id::kinds::{BenchmarkId, OrganizationId, RunId},
    refused::Step,
    run::Run,
};
use proctor_macros::boxed_futures;
use proctor_store::{
    page::{PageRequest, PageStart},
    progress::Progress,
    runs::Revised,
};

use crate::{change::Decision, engine::Engine, error::EngineError};

/// How many of the newest runs a leaderboard is made of.
const LONGEST: u32 = 1_000;

#[boxed_futures]
impl Engine {
    /// Puts a completed run on the leaderboard, or takes it off.
    pub async fn rank_run(&self, id: RunId, ranked: bool) -> Result<Run, EngineError> {
        let read = || async move {
            let run = self.store().run(id).await?;
            run.ok_or(EngineError::NotFound("benchmark run"))
        };
        let changed = self.change(None, read, |before: &Revised<Run>, now| {
            let run = before.value.clone();
            let step = if ranked { run.rank(now)? } else { run.unrank() };
            let after = match step {
                Step::Unchanged(run) => return Ok(Decision::Unchanged(run)),
                Step::Changed(run) => run,
            };
            let progress = Progress {
                run: Some((before.clone(), after.clone())),
                ..Progress::default()
            };
            Ok(Decision::Write(Box::new(progress), after))
        });
        Ok(changed.await?.answer)
    }

    /// The runs of a benchmark that are on its leaderboard, the best first, with their Solvers' names.
    pub async fn leaderboard(
        &self,
        caller: OrganizationId,
        benchmark: BenchmarkId,
    ) -> Result<Vec<(Run, Option<String>)>, EngineError> {
        let unknown = EngineError::NotFound("benchmark");
        let Some(owner) = self.store().owner_of_benchmark(benchmark).await? else {
            return Err(unknown);
        };
        let versions = self.store().benchmark_versions(benchmark).await?;
        let is_public = versions.iter().any(|version| {
            version.visibility == Visibility::Public && version.unpublished_at.is_none()
        });
        if owner != caller && !is_public {
            return Err(unknown);
        }
        let page = PageRequest {
            limit: LONGEST,
            from: PageStart::Newest,
            count: false,
        };
        let mut ranked = Vec::new();
        for run in self.store().ranked_runs(benchmark, page).await?.items {
            let solver = match run.solver {
                None => None,
                Some(id) => self.store().solver(run.organization, id).await?,
            };
            ranked.push((run, solver.map(|solver| solver.profile.alias)));
        }
        let score = |run: &Run| run.card().map_or(0.0, |card| card.score.value());
        ranked.sort_by(|(one, _), (other, _)| score(other).total_cmp(&score(one)));
        Ok(ranked)
    }
}
