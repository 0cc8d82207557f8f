//! Jobs: agents that take scenarios without anybody's help.
//!
//! `proctor-core` says what a job is to do next ([`proctor_core::job::Board`]); here it is done, and every step is written down
//! before it is taken, so that a job goes on where it was when the server comes back. A job is carried out by the machine
//! whose boxes it uses.
//!
//! * [`create`]: what is asked for is checked, and becomes a plan.
//! * `drive`: a job from its beginning to its end. `trial`: one try, one agent with one scenario once.
//! * `agents`: what an agent is in a box.
//! * `rounds`: jobs that look after each round whether another one is needed.

mod agent_failures;
mod agents;
mod cancel;
pub mod create;
mod drive;
mod find;
mod rounds;
mod trial;

pub use self::{
    create::{JobOf, NewJob, NewJobAgent},
    find::JobDetails,
    rounds::{LookResults, NewRounds, RoundsResults, usual_policy},
};

use proctor_core::{
    id::kinds::JobId,
    job::Job,
    refused::{Refused, Step},
    time::Timestamp,
};
use proctor_store::{progress::Progress, runs::Revised};
use tokio::sync::Semaphore;

use crate::{change::Decision, engine::Engine, error::EngineError, under_way::UnderWay};

/// How many jobs are carried out at once; others wait in the queue.
const JOBS_AT_ONCE: usize = 16;

/// The jobs that are carried out on this node.
pub(crate) struct Jobs {
    under_way: UnderWay<JobId>,
    places: Semaphore,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            under_way: UnderWay::default(),
            places: Semaphore::new(JOBS_AT_ONCE),
        }
    }
}

impl Engine {
    pub(crate) async fn read_job(&self, id: JobId) -> Result<Revised<Job>, EngineError> {
        let job = self.store().job(id).await?;
        job.ok_or(EngineError::NotFound("benchmark job"))
    }

    /// Takes a job one step on.
    async fn step_job(
        &self,
        id: JobId,
        step: impl Fn(Job, Timestamp) -> Result<Step<Job>, Refused>,
    ) -> Result<Job, EngineError> {
        let decide = |before: &Revised<Job>, now| match step(before.value.clone(), now)? {
            Step::Unchanged(job) => Ok(Decision::Unchanged(job)),
            Step::Changed(after) => {
                let progress = Progress {
                    job: Some((before.clone(), after.clone())),
                    ..Progress::default()
                };
                Ok(Decision::Write(Box::new(progress), after))
            }
        };
        let changed = self.change(None, || self.read_job(id), decide).await?;
        Ok(changed.answer)
    }

    /// The machine that carries out the jobs of this node: that of its boxes.
    fn machine(&self) -> String {
        let workshop = self.inner.workshop.as_ref();
        workshop.map_or_else(String::new, |workshop| workshop.boxes.machine())
    }

    /// Takes up the jobs that a former process left, and stops what is left of those that are over.
    pub(crate) async fn recover_jobs(&self) -> Result<(), EngineError> {
        let machine = self.machine();
        for id in self.store().jobs_with_remains(&machine).await? {
            self.stop_runs(id).await?;
        }
        for id in self.store().live_jobs(&machine).await? {
            self.drive_in_background(id);
        }
        Ok(())
    }
}
