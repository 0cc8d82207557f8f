//! A benchmark is about to be taken.

use std::time::Duration;

use proctor_core::{
    id::kinds::{BenchmarkId, OrganizationId, SolverId},
    profile::Particulars,
    run::{Pinned, Run, RunState, token_lifetime},
    task_run::TaskRun,
};
use proctor_playground::environment::Blueprint;
use proctor_store::{
    credentials::IssuedKey,
    playgrounds::{Place, Sandbox},
};

use crate::{engine::Engine, error::EngineError};

/// What is to be taken, by whom.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The organization that starts it.
    pub organization: OrganizationId,
    /// The Solver that takes it.
    pub solver: Option<SolverId>,
    /// What is taken.
    pub taken: Taken,
    /// Whether the taker sees only scores.
    pub scored: bool,
    /// The taker's own words for what takes it.
    pub agent: Option<String>,
}

/// What is taken.
#[derive(Clone, Debug)]
pub enum Taken {
    /// A published version.
    Version(Pinned),
    /// The draft as it stands.
    Draft(BenchmarkId),
}

/// A run that was just made.
pub struct Created {
    /// The run.
    pub run: Run,
    /// Its task runs, in the order of the tasks.
    pub task_runs: Vec<TaskRun>,
    /// Its doors.
    pub doors: Vec<Sandbox>,
    /// Its token.
    pub token: IssuedKey,
}

impl Engine {
    /// Makes a run with its task runs and its token.
    pub async fn create_run(&self, new: NewRun) -> Result<Created, EngineError> {
        let pinned = match new.taken {
            Taken::Version(pinned) => pinned,
            Taken::Draft(benchmark) => {
                let frozen = self.freeze(new.organization, benchmark).await?;
                Pinned {
                    benchmark,
                    version: None,
                    digest: frozen.digest,
                }
            }
        };
        let prepared = self
            .inner
            .catalog
            .benchmark(self.store(), &pinned.digest)
            .await?;
        let benchmark = &prepared.benchmark;
        let limits: Vec<Duration> = benchmark
            .tasks
            .iter()
            .filter_map(|task| benchmark.limit(task))
            .collect();
        let now = self.now();
        let run = Run {
            id: self.store().fresh_id(),
            organization: new.organization,
            solver: new.solver,
            job: None,
            pinned,
            scored: new.scored,
            agent: new.agent,
            concurrency: benchmark.concurrency,
            particulars: Particulars::default(),
            created_at: now,
            expires_at: Some(now.plus(token_lifetime(&limits, benchmark.concurrency))),
            ranked_at: None,
            state: RunState::Created,
        };
        let task_runs: Vec<TaskRun> = benchmark
            .tasks
            .iter()
            .map(|task| TaskRun::new(self.store().fresh_id(), Some(run.id), task.id, now))
            .collect();
        let doors = match prepared.blueprint() {
            Some(blueprint) => self.sandboxes(run.organization, Place::Run(run.id), blueprint),
            None => Vec::new(),
        };
        let token = self
            .store()
            .create_run(&run, &task_runs, &doors)
            .await?
            .ok_or_else(|| EngineError::Fault("a run was made without its token".to_owned()))?;
        Ok(Created {
            run,
            task_runs,
            doors,
            token,
        })
    }

    /// Sandboxes for the doors of a playground or a run.
    pub(crate) fn sandboxes(
        &self,
        organization: OrganizationId,
        place: Place,
        blueprint: &Blueprint,
    ) -> Vec<Sandbox> {
        let now = self.now();
        blueprint
            .doors()
            .iter()
            .zip(0..)
            .map(|(door, number)| Sandbox {
                id: self.store().fresh_id(),
                organization,
                place,
                door: number,
                simulator: door.simulator,
                kind: door.kind,
                name: door.name.clone(),
                created_at: now,
            })
            .collect()
    }
}
