//! Putting runs on a leaderboard, and taking them off.

use proctor_core::{id::kinds::RunId, refused::Step, run::Run};
use proctor_macros::boxed_futures;
use proctor_store::{progress::Progress, runs::Revised};

use crate::{change::Decision, engine::Engine, error::EngineError};

#[boxed_futures]
impl Engine {
    /// Puts a completed run on the leaderboard, or takes it off. The log of the leaderboard says why.
    pub async fn rank_run(
        &self,
        id: RunId,
        ranked: bool,
        reason: Option<String>,
    ) -> Result<Run, EngineError> {
        let read = || async move {
            let run = self.store().run(id).await?;
            run.ok_or(EngineError::NotFound("benchmark run"))
        };
        let changed = self.change(None, read, move |before: &Revised<Run>, now| {
            let run = before.value.clone();
            let step = if ranked { run.rank(now)? } else { run.unrank() };
            let after = match step {
                Step::Unchanged(run) => return Ok(Decision::Unchanged(run)),
                Step::Changed(run) => run,
            };
            let progress = Progress {
                run: Some((before.clone(), after.clone())),
                rank_reason: reason.clone(),
                ..Progress::default()
            };
            Ok(Decision::Write(Box::new(progress), after))
        });
        Ok(changed.await?.answer)
    }
}
