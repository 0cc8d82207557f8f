//! A task run is judged in its box. Asking for it answers at once; the scorers take their time, and what they say is
//! written when all of them are done.

use std::time::Duration;

use proctor_core::causes::with_causes;
use proctor_core::{
    id::kinds::{OrganizationId, TaskRunId},
    refused::{Refused, Step},
    task_run::{Cause, Fault, SlowScoring, TaskRun, TaskRunState},
};
use proctor_macros::boxed_futures;
use proctor_store::{OnDisk, StoreError};
use tokio_util::sync::CancellationToken;

use super::{
    Asked, ScenarioRun, TaskRunSnapshot,
    snapshot::{EndOfTry, StepRecord},
};
use crate::{
    engine::Engine,
    error::EngineError,
    scenarios::UnrunScorers,
    workspace::{Frozen, Judged, Limits, NotJudged, Scope},
};

/// What becomes of a task run that has its score.
#[derive(Clone, Copy)]
pub(crate) enum AfterScoring<'a> {
    /// It stays, and may be scored again.
    Stays,
    /// It ends with it, and so does the try that it belongs to, in the same commit.
    Ends(&'a EndOfTry<'a>),
}

/// How long is waited for a store that is out of reach.
const PAUSE: Duration = Duration::from_secs(1);

#[boxed_futures]
impl Engine {
    /// Begins to score one of the organization's scenario runs, for the first time or again. While it is scored, asking again changes
    /// nothing.
    pub async fn score_scenario_run(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<ScenarioRun, EngineError> {
        let asked = Asked::InBoxOf(organization);
        let found = self.task_run_snapshot(asked, id).await?;
        let (begun, has_begun) = self.begin_scoring(found, OnDisk::AtOnce).await?;
        if has_begun {
            self.score_in_background(id);
        }
        self.with_findings(begun.task_run.value).await
    }

    /// Scores a task run in its box, and returns what it has become when that is on disk; none if somebody else scores it, or it came to another
    /// end. `when` says how soon it must be on disk that it is being scored.
    pub(crate) async fn score_now(
        &self,
        id: TaskRunId,
        when: OnDisk,
        then: AfterScoring<'_>,
    ) -> Result<Option<TaskRun>, EngineError> {
        let cancel = self.inner.closing.child_token();
        let is_first = self.inner.scorings.begin(id, cancel.clone());
        let begun = async {
            let found = self.task_run_snapshot(Asked::ByEngine, id).await?;
            self.begin_scoring(found, when).await
        };
        let outcome = match begun.await {
            Ok((begun, _)) if is_first => self.carry_out_scoring(begun, then, cancel).await,
            other => other.map(|_| None),
        };
        // What somebody else began goes on, and can still be told to stop.
        if is_first {
            self.inner.scorings.end(&id);
        }
        outcome
    }

    /// A task run that is being scored, and whether that began just now.
    async fn begin_scoring(
        &self,
        found: TaskRunSnapshot,
        when: OnDisk,
    ) -> Result<(TaskRunSnapshot, bool), EngineError> {
        self.workshop()?;
        let (id, task) = (found.value().id, found.value().task);
        let limit = found.prepared.task(task)?.0.scoring_limit();
        let begin = |task_run: TaskRun, now| task_run.begin_scoring(now, limit);
        let record = StepRecord {
            on_disk: when,
            ..StepRecord::default()
        };
        let stepped = self.step_with(Some(found), id, record, begin).await?;
        let has_begun = stepped.task_run.is_changed();
        let begun = stepped.snapshot();
        if begun.value().is_over() {
            return Err(Refused::TaskRunOver(begun.value().status()).into());
        }
        Ok((begun, has_begun))
    }

    /// Lets the scorers of a task run that is being scored do their work.
    pub(crate) fn score_in_background(&self, id: TaskRunId) {
        let cancel = self.inner.closing.child_token();
        if !self.inner.scorings.begin(id, cancel.clone()) {
            return;
        }
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let mut outcome = engine.find_and_score(id, &cancel).await;
            // A store that is out of reach for a while must not leave a run that is scored for ever.
            while let Err(EngineError::Store(StoreError::Unavailable { .. })) = outcome
                && !cancel.is_cancelled()
            {
                tokio::time::sleep(PAUSE).await;
                outcome = engine.find_and_score(id, &cancel).await;
            }
            engine.inner.scorings.end(&id);
            if let Err(error) = outcome {
                tracing::error!(error = %with_causes(&error), task_run = %id, "a scoring could not be carried out");
            }
        });
    }

    /// Judges a task run if it is being scored, and writes what was found.
    async fn find_and_score(
        &self,
        id: TaskRunId,
        cancel: &CancellationToken,
    ) -> Result<(), EngineError> {
        let found = self.task_run_snapshot(Asked::ByEngine, id).await?;
        self.carry_out_scoring(found, AfterScoring::Stays, cancel.clone())
            .await?;
        Ok(())
    }

    /// Judges a task run that is being scored, and writes what was found; what it has become, unless it came to another end.
    async fn carry_out_scoring(
        &self,
        found: TaskRunSnapshot,
        then: AfterScoring<'_>,
        cancel: CancellationToken,
    ) -> Result<Option<TaskRun>, EngineError> {
        let id = found.value().id;
        let TaskRunState::Scoring { deadline, .. } = found.value().state else {
            return Ok(None);
        };
        let limits = Limits {
            deadline: Some(deadline),
            cancel,
        };
        // What was frozen is held until the score is on record.
        let (judged, _frozen) = self.judged_in_workspace(&found, limits).await;
        match judged {
            Ok(judged) => {
                let (slow, slow_reference) = match judged.timed_out {
                    None => (None, None),
                    Some(SlowScoring::Box) => (Some(SlowScoring::Box), None),
                    Some(_) => {
                        let slow = self.slow_scorers(&found).await?;
                        (Some(slow.why), slow.of_reference)
                    }
                };
                let unrun = match slow {
                    None => self.unrun_scorers(&found, &judged.not_run).await?,
                    // Not all of them had their turn.
                    Some(_) => UnrunScorers::default(),
                };
                let record = |task_run: TaskRun, now| {
                    let scored = match slow {
                        Some(why) => task_run.time_out_scoring(now, why),
                        None => {
                            let (card, fault) = (judged.card.clone(), unrun.fault.clone());
                            task_run.record_score(now, card, fault)?
                        }
                    };
                    match (then, scored) {
                        (AfterScoring::Ends(_), Step::Changed(scored)) if !scored.is_over() => {
                            scored.finish(now)
                        }
                        (_, scored) => Ok(scored),
                    }
                };
                let along = StepRecord {
                    on_disk: OnDisk::AtOnce,
                    criterion_runs: judged.criterion_runs,
                    slow_reference,
                    unrun_reference: unrun.of_reference,
                    end_of_try: match then {
                        AfterScoring::Stays => None,
                        AfterScoring::Ends(end) => Some(end),
                    },
                };
                match self.step_with(Some(found), id, along, record).await {
                    Ok(written) => Ok(Some(written.task_run.into_inner())),
                    // It was stopped in between.
                    Err(EngineError::Refused(_)) => Ok(None),
                    Err(error) => Err(error),
                }
            }
            Err(NotJudged::Cancelled) => Ok(None),
            Err(NotJudged::Lost(end)) => self.lose_box(id, &end).await.map(|()| None),
            Err(NotJudged::Engine(error)) => Err(error),
            Err(NotJudged::Unfit(why)) => {
                tracing::warn!(why, task_run = %id, "a scenario run has no score");
                let fault = Fault::new(Cause::ScorerError, why);
                self.fail(id, fault).await.map(|()| None)
            }
            Err(NotJudged::Failed { fault, error }) => {
                tracing::warn!(error = %with_causes(&*error), task_run = %id, "a scenario run has no score");
                self.fail(id, fault).await.map(|()| None)
            }
        }
    }

    async fn judged_in_workspace(
        &self,
        found: &TaskRunSnapshot,
        limits: Limits,
    ) -> (Result<Judged, NotJudged>, Option<Frozen>) {
        let task_run = found.value();
        let workspace = match self.workspace(found.organization, &found.prepared, task_run.task) {
            Ok(workspace) => workspace,
            Err(error) => return (Err(error.into()), None),
        };
        match workspace.freeze(task_run, self.now()).await {
            Ok(frozen) => {
                let judged = workspace.judge(task_run, &frozen, Scope::All, limits).await;
                (judged, Some(frozen))
            }
            Err(error) => (Err(error), None),
        }
    }
}
