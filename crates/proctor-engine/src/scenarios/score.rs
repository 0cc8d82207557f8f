//! A scenario run is judged in its box. Asking for it answers at once; the scorers take their time, and what they say is
//! written when all of them are done.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::{
    criterion_run::CriterionRun,
    definition::{Check, Criterion, Task},
    id::kinds::{OrganizationId, TaskRunId},
    refused::Refused,
    scoring::{Mark, Score, Scorecard},
    task_run::{Cause, Fault, SlowScoring, TaskRun, TaskRunState},
    time::Timestamp,
};
use proctor_playground::exhibits::Exhibits;
use proctor_store::{StoreError, run_lists::OwnedTaskRun};
use proctor_verify::Rubric;
use serde_json::json;

use super::{
    BoxEnd, BoxError, Disk, ScenarioRun, ScorerFinding, ScorerState, Scoring, ScoringError,
    ScoringOrder,
};
use crate::{engine::Engine, error::EngineError, runs::judge::judge};

/// By how much the scorers' time is over before the clock of the task run, at most: what they said until then is to be on record.
const HEADROOM: Duration = Duration::from_secs(2);
/// How long a box that cannot be scored has to say how it ended.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long is waited for a store that is out of reach.
const PAUSE: Duration = Duration::from_secs(1);

impl Engine {
    /// Begins to score one of the organization's scenario runs, for the first time or again. While it is scored, asking again changes
    /// nothing.
    pub async fn score_scenario_run(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<ScenarioRun, EngineError> {
        let owned = self.owned(organization, id).await?;
        let (after, has_begun) = self.begin_scoring(owned).await?;
        if has_begun {
            self.score_in_background(id);
        }
        self.with_findings(after).await
    }

    /// Scores a scenario run, and returns when that is done.
    pub(crate) async fn score_now(&self, id: TaskRunId) -> Result<(), EngineError> {
        let cancel = self.inner.closing.child_token();
        let is_first = self.inner.scorings.begin(id, cancel.clone());
        let begun = async { self.begin_scoring(self.boxed(id).await?).await };
        let outcome = match begun.await {
            Ok(_) if is_first => self.carry_out_scoring(id, cancel).await,
            other => other.map(drop),
        };
        self.inner.scorings.end(&id);
        outcome
    }

    /// A scenario run that is being scored, and whether that began just now.
    async fn begin_scoring(&self, owned: OwnedTaskRun) -> Result<(TaskRun, bool), EngineError> {
        self.workshop()?;
        let prepared = self.definition_of_task_run(&owned.task_run.value).await?;
        let (task, _) = prepared.task(owned.task_run.value.task)?;
        let limit = task.scoring_limit();
        let begin = |task_run: TaskRun, now| task_run.begin_scoring(now, limit);
        let stepped = self.step_from(owned, begin, Vec::new()).await?;
        let has_begun = stepped.is_changed();
        let after = stepped.into_inner();
        if after.is_over() {
            return Err(Refused::TaskRunOver(after.status()).into());
        }
        Ok((after, has_begun))
    }

    /// Lets the scorers of a task run that is being scored do their work.
    pub(crate) fn score_in_background(&self, id: TaskRunId) {
        let cancel = self.inner.closing.child_token();
        if !self.inner.scorings.begin(id, cancel.clone()) {
            return;
        }
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let mut outcome = engine.carry_out_scoring(id, cancel.clone()).await;
            // A store that is out of reach for a while must not leave a run that is scored for ever.
            while let Err(EngineError::Store(StoreError::Unavailable { .. })) = outcome
                && !cancel.is_cancelled()
            {
                tokio::time::sleep(PAUSE).await;
                outcome = engine.carry_out_scoring(id, cancel.clone()).await;
            }
            engine.inner.scorings.end(&id);
            if let Err(error) = outcome {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, task_run = %id, "a scoring could not be carried out");
            }
        });
    }

    async fn carry_out_scoring(
        &self,
        id: TaskRunId,
        cancel: tokio_util::sync::CancellationToken,
    ) -> Result<(), EngineError> {
        let OwnedTaskRun {
            organization,
            task_run,
        } = self.boxed(id).await?;
        let task_run = task_run.value;
        let (TaskRunState::Scoring { deadline, .. }, Some(devbox)) =
            (&task_run.state, task_run.devbox)
        else {
            return Ok(());
        };
        let began = self.now();
        let prepared = self.definition_of_task_run(&task_run).await?;
        let (task, prepared) = prepared.task(task_run.task)?;
        let order = ScoringOrder {
            organization,
            task_run: id,
            devbox,
            task: task.clone(),
            time_limit: {
                let left = deadline.since(began);
                left - HEADROOM.min(left / 10)
            },
            cancel: cancel.clone(),
        };
        let workshop = self.workshop()?;
        // Until the score is on record: no clock ends the box meanwhile.
        let (scored, _hold) = match workshop.boxes.hold(organization, devbox).await {
            Ok(hold) => (workshop.judge.score(order).await, Some(hold)),
            Err(BoxError::Ended) => (Err(ScoringError::BoxLost), None),
            Err(other) => {
                let fault = Fault::new(Cause::Infrastructure, other.to_string());
                return self.fail_scenario(id, fault).await;
            }
        };
        match scored {
            Ok(scoring) => {
                let judged = Judged {
                    task,
                    rubric: &prepared.rubric,
                    task_run: &task_run,
                    began,
                };
                let (card, criterion_runs) = self.judged(&judged, &scoring)?;
                let slow = match scoring.timed_out {
                    false => None,
                    true if scoring.had_no_box() => Some(SlowScoring::Box),
                    true => Some(self.slow_scoring(&task_run).await?),
                };
                let record = |task_run: TaskRun, now| match slow {
                    Some(why) => Ok(task_run.time_out_scoring(now, why)),
                    None => task_run.record_score(now, card.clone()),
                };
                match self.step(id, record, criterion_runs).await {
                    // It was stopped in between.
                    Ok(_) | Err(EngineError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            // Stopped by whoever ended the task run, or by the server's end: then it is scored again after the next start.
            Err(ScoringError::Cancelled) => {}
            Err(ScoringError::BoxLost) => {
                let end = workshop.boxes.ended(organization, devbox);
                let end = tokio::select! {
                    () = self.inner.closing.cancelled() => return Ok(()),
                    end = tokio::time::timeout(PATIENCE, end) => end.unwrap_or(BoxEnd::Lost),
                };
                self.lose_box(id, end).await?;
            }
            Err(error) => {
                let fault = not_scored(&error);
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    task_run = %id,
                    "a scenario run has no score"
                );
                self.fail_scenario(id, fault).await?;
            }
        }
        Ok(())
    }

    /// The score that follows from what the scorers said, and the records behind it.
    pub(super) fn judged(
        &self,
        judged: &Judged<'_>,
        scoring: &Scoring,
    ) -> Result<(Scorecard, Vec<CriterionRun>), EngineError> {
        let now = self.now();
        let assertions = judged.assertions(now)?;
        let mut marks = Vec::with_capacity(judged.task.criteria.len());
        let mut records = Vec::with_capacity(judged.task.criteria.len());
        for criterion in &judged.task.criteria {
            let found = match &criterion.check {
                Check::Scorer(_) => Found::by_scorer(criterion, scoring),
                Check::Assertion(_) => assertions.get(&criterion.id).cloned(),
            };
            let found = found.unwrap_or_else(Found::nothing);
            marks.push(Mark {
                score: found.score,
                weight: criterion.weight,
                axis: criterion.axis.clone(),
            });
            records.push(CriterionRun {
                id: self.store().fresh_id(),
                task_run: judged.task_run.id,
                criterion: criterion.id,
                passed: found.score == Score::ONE,
                score: found.score,
                details: found.details,
                evidence: found.evidence,
                started_at: judged.began,
                completed_at: now,
            });
        }
        Ok((Scorecard::of_task(&marks), records))
    }
}

/// A task run that was judged.
pub(super) struct Judged<'a> {
    pub(super) task: &'a Task,
    pub(super) rubric: &'a Rubric,
    pub(super) task_run: &'a TaskRun,
    pub(super) began: Timestamp,
}

/// What was found out about one criterion.
#[derive(Clone)]
struct Found {
    score: Score,
    details: String,
    evidence: serde_json::Value,
}

impl Judged<'_> {
    /// What assertions find in a world that has no playground.
    fn assertions(
        &self,
        now: Timestamp,
    ) -> Result<BTreeMap<proctor_core::id::kinds::CriterionId, Found>, EngineError> {
        let is_assertion = |one: &Criterion| matches!(one.check, Check::Assertion(_));
        if !self.task.criteria.iter().any(is_assertion) {
            return Ok(BTreeMap::new());
        }
        let judgement = judge(self.rubric, self.task_run, &Exhibits::at(now))?;
        let found = judgement.findings.into_iter().map(|finding| {
            let found = Found {
                score: finding.score,
                details: finding.details,
                evidence: finding.evidence,
            };
            (finding.criterion, found)
        });
        Ok(found.collect())
    }
}

impl Found {
    fn by_scorer(criterion: &Criterion, scoring: &Scoring) -> Option<Self> {
        let finding = scoring
            .findings
            .iter()
            .find(|finding| finding.criterion == criterion.id)?;
        let ScorerFinding {
            score,
            state,
            output,
            took,
            ..
        } = finding;
        let (layer, not_kept) = match &scoring.disk {
            Disk::Kept(layer) => (Some(layer), None),
            Disk::NotKept(why) => (None, Some(why)),
        };
        Some(Self {
            score: *score,
            details: output.clone(),
            evidence: json!({
                "state": state.as_str(),
                "mode": scoring.mode,
                "took_ms": millis(*took),
                "layer": layer,
                "not_kept": not_kept,
            }),
        })
    }

    fn nothing() -> Self {
        Self {
            score: Score::ZERO,
            details: "nothing was found out about this criterion".to_owned(),
            evidence: json!({"state": ScorerState::Error.as_str()}),
        }
    }
}

/// Why there is no score although the box is there: whatever the agent did, its scorers could not say.
fn not_scored(error: &ScoringError) -> Fault {
    let source = std::error::Error::source(error);
    let told = source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
    Fault::new(Cause::ScorerError, told)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
