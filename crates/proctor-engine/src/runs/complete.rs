//! The agent is done: its world is frozen, judged, and the result written, all of it or nothing.

use std::sync::Arc;

use proctor_core::{
    criterion_run::CriterionRun,
    id::kinds::{OrganizationId, RunId, TaskRunId},
    refused::{Refused, Step},
    results::Summary,
    run::Run,
    task_run::{Cause, Fault, Outcome, TaskRun, TaskRunState},
    time::Timestamp,
};
use proctor_macros::boxed_futures;
use proctor_store::{OnDisk, progress::Progress};

use super::{
    Asked, ScenarioRun, TaskRunSnapshot,
    score::AfterScoring,
    snapshot::{ActiveRun, WholeRun},
};
use crate::{
    catalog::Prepared,
    change::{Changed, Decision},
    engine::Engine,
    error::EngineError,
    scenarios::BoxEnd,
    workspace::{Judged, Limits, NotJudged, Scope},
};

/// Why a playground that is at work when its run ends has timed out.
const RUN_ENDED: &str = "the run ended before the task was completed";

/// A task run that is over, with its result.
pub struct Completed {
    /// The task run.
    pub task_run: TaskRun,
    /// What was found.
    pub criterion_runs: Vec<CriterionRun>,
    /// Its run.
    pub run: Run,
    /// The definition.
    pub prepared: Arc<Prepared>,
    /// Whether the run ended with it.
    pub ended_run: bool,
}

impl Completed {
    /// What was written about a task run and its run; none if nothing was.
    fn of(changed: &Changed<JudgedSnapshot, ()>) -> Option<Self> {
        let (written, read) = (changed.written.as_deref()?, &changed.read.snapshot);
        let (_, task_run) = written.task_runs.first()?;
        let ended_run = written.run.as_ref().map(|(_, after)| after);
        let run = ended_run.or_else(|| Some(&read.run.as_ref()?.run.value))?;
        Some(Self {
            task_run: task_run.clone(),
            criterion_runs: written.criterion_runs.clone(),
            run: run.clone(),
            prepared: Arc::clone(&read.prepared),
            ended_run: run.is_over(),
        })
    }
}

/// Why a playground is judged.
#[derive(Clone, Copy)]
pub(super) enum Because<'a> {
    /// Its agent says that it is done, or the clock of the task ran out.
    Done,
    /// The run ends around it.
    RunEnds,
    /// Its agent failed.
    AgentFailed(&'a Fault),
}

/// A task run with what judging its frozen world found.
pub(super) struct JudgedSnapshot {
    snapshot: TaskRunSnapshot,
    /// When its world was frozen, and what was found; none if it is not at work.
    judged: Option<(Timestamp, Judged)>,
}

#[boxed_futures]
impl Engine {
    /// Freezes the world of a task run, judges it and ends the task run; the run too, if this was the last. Completing what
    /// is complete answers what was found then. Whatever fails leaves the task run as it was, so that this can be called again.
    pub async fn complete_task(&self, run: RunId, id: TaskRunId) -> Result<Completed, EngineError> {
        let arrived = self.now();
        let found = self.task_run_snapshot(Asked::InRun(run), id).await?;
        match (found.value().is_over(), found.value().devbox) {
            (true, _) => self.as_completed(found).await,
            (false, None) => {
                let because = Because::Done;
                let changed = self
                    .judge_and_end(Some(found), id, arrived, because)
                    .await?;
                match Completed::of(&changed) {
                    Some(completed) => Ok(completed),
                    None => self.as_completed(changed.read.snapshot).await,
                }
            }
            (false, Some(_)) => {
                // What was scored keeps its score: completing does not judge a second time.
                if !matches!(found.value().state, TaskRunState::Scored { .. }) {
                    self.score_now(id, OnDisk::AtOnce, AfterScoring::Stays)
                        .await?;
                }
                self.finish(id, OnDisk::AtOnce).await?;
                let ended = self.task_run_snapshot(Asked::InRun(run), id).await?;
                self.as_completed(ended).await
            }
        }
    }

    /// A task run that is over, unless it ended in a way that cannot be completed.
    async fn as_completed(&self, ended: TaskRunSnapshot) -> Result<Completed, EngineError> {
        let task_run = ended.task_run.value;
        match &task_run.state {
            TaskRunState::Ended { outcome, .. } => match outcome {
                Outcome::Completed { .. } | Outcome::TimedOut { .. } => {}
                Outcome::Cancelled { .. } | Outcome::Failed { .. } => {
                    return Err(Refused::TaskRunOver(task_run.status()).into());
                }
            },
            TaskRunState::Created
            | TaskRunState::Started(_)
            | TaskRunState::Scoring { .. }
            | TaskRunState::Scored { .. } => {
                return Err(EngineError::Fault(format!(
                    "the task run {} was completed and is not over",
                    task_run.id
                )));
            }
        }
        let run = ended.run.ok_or(EngineError::NotFound("task run"))?;
        let run = run.run.value;
        Ok(Completed {
            criterion_runs: self.store().criterion_runs(task_run.id).await?,
            // A run that ends with a task run ends in the same transaction, at the same time.
            ended_run: run.is_over() && run.ended_at() == task_run.ended_at(),
            task_run,
            run,
            prepared: ended.prepared,
        })
    }

    /// Judges a playground and ends its task run. What a time-out left is judged too, as evidence: the score stays zero.
    pub(super) async fn judge_and_end(
        &self,
        known: Option<TaskRunSnapshot>,
        id: TaskRunId,
        arrived: Timestamp,
        because: Because<'_>,
    ) -> Result<Changed<JudgedSnapshot, ()>, EngineError> {
        let decide = |read: &JudgedSnapshot, now| {
            let before = read.snapshot.value();
            let Some((frozen, judged)) = &read.judged else {
                return match before.is_over() {
                    true => Ok(Decision::Unchanged(())),
                    false => Err(Refused::TaskRunNotStarted.into()),
                };
            };
            let card = judged.card.clone();
            let after = match because {
                // A world that was frozen in time counts, however often judging had to be tried.
                Because::Done => before.clone().complete(*frozen, now, card)?,
                // A complete that was interrupted comes to its end.
                Because::RunEnds if *frozen < arrived => {
                    before.clone().complete(*frozen, now, card)?
                }
                Because::RunEnds => match before.clone().time_out_agent(now, RUN_ENDED) {
                    Step::Changed(ended) => Step::Changed(ended.missing(card.critical_misses)),
                    unchanged @ Step::Unchanged(_) => unchanged,
                },
                Because::AgentFailed(fault) => match fail_agent(before.clone(), now, fault) {
                    Step::Changed(ended) => Step::Changed(ended.missing(card.critical_misses)),
                    unchanged @ Step::Unchanged(_) => unchanged,
                },
            };
            match after {
                Step::Unchanged(_) => Ok(Decision::Unchanged(())),
                Step::Changed(after) => {
                    let found = judged.criterion_runs.clone();
                    let progress = read.snapshot.progress(now, after, found);
                    Ok(Decision::Write(Box::new(progress), ()))
                }
            }
        };
        let known = match known {
            Some(known) => Some(Box::pin(self.frozen_and_judged(known, arrived)).await?),
            None => None,
        };
        let read = || async {
            let snapshot = self.task_run_snapshot(Asked::ByEngine, id).await?;
            self.frozen_and_judged(snapshot, arrived).await
        };
        let changed = Box::pin(self.change(known, read, decide)).await?;
        if let Some(progress) = &changed.written {
            let read = &changed.read.snapshot;
            self.let_go(read.organization, &read.prepared, progress)
                .await;
        }
        Ok(changed)
    }

    async fn frozen_and_judged(
        &self,
        snapshot: TaskRunSnapshot,
        arrived: Timestamp,
    ) -> Result<JudgedSnapshot, EngineError> {
        let snapshot = self.with_siblings(snapshot).await?;
        let task_run = snapshot.value();
        let judged = match &task_run.state {
            TaskRunState::Started(_) => {
                let workspace =
                    self.workspace(snapshot.organization, &snapshot.prepared, task_run.task)?;
                let limits = Limits {
                    deadline: None,
                    cancel: self.inner.closing.child_token(),
                };
                let judged = async {
                    let frozen = workspace.freeze(task_run, arrived).await?;
                    let judged = workspace
                        .judge(task_run, &frozen, Scope::All, limits)
                        .await?;
                    Ok((frozen.at, judged))
                };
                Some(judged.await.map_err(not_judged)?)
            }
            TaskRunState::Created
            | TaskRunState::Scoring { .. }
            | TaskRunState::Scored { .. }
            | TaskRunState::Ended { .. } => None,
        };
        Ok(JudgedSnapshot { snapshot, judged })
    }

    /// Ends one of the organization's scenario runs with the score it has, or with none. What is over stays as it is.
    pub async fn complete_scenario_run(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<ScenarioRun, EngineError> {
        self.task_run_snapshot(Asked::InBoxOf(organization), id)
            .await?;
        let finished = self.finish(id, OnDisk::AtOnce).await?;
        self.with_findings(finished).await
    }

    /// Ends a task run, whosever it is, with the score it has, or with none.
    pub(crate) async fn finish(&self, id: TaskRunId, when: OnDisk) -> Result<TaskRun, EngineError> {
        let finish = |task_run: TaskRun, now| task_run.finish(now);
        let stepped = self.step(id, when, finish).await?;
        Ok(stepped.into_inner())
    }

    /// Ends a task run because something broke. What is over stays as it is.
    pub(crate) async fn fail(&self, id: TaskRunId, fault: Fault) -> Result<(), EngineError> {
        let fail = |task_run: TaskRun, now| Ok(task_run.fail(now, fault.clone()));
        self.step(id, OnDisk::AtOnce, fail).await?;
        Ok(())
    }

    /// Ends a task run whose box ended in this way. What was scored keeps its score, and what is over stays as it is.
    pub(crate) async fn lose_box(&self, id: TaskRunId, end: &BoxEnd) -> Result<(), EngineError> {
        let lose = |task_run: TaskRun, now| Ok(task_run.lose_world(now, end.fault()));
        self.step(id, OnDisk::AtOnce, lose).await?;
        Ok(())
    }

    /// Completes a run because somebody asks for it: what was scored keeps its score, what was not counts zero. Its token goes
    /// on, so that whoever took it can read the result. A run in which something is being scored is refused.
    pub async fn complete_run(&self, id: RunId) -> Result<Run, EngineError> {
        self.complete_run_with(id, None).await
    }

    /// The same, with these numbers of ours if somebody knows them better than the task runs tell.
    pub(crate) async fn complete_run_with(
        &self,
        id: RunId,
        numbers: Option<Summary>,
    ) -> Result<Run, EngineError> {
        loop {
            let ActiveRun { run, active, .. } = self.active_run(id).await?;
            if !run.run.value.is_over() {
                refuse_in_scoring(active.iter().map(|one| &one.value))?;
                self.end_playgrounds(active.iter().map(|one| &one.value))
                    .await?;
            }
            let numbers = numbers.as_ref();
            let decide = |whole: &WholeRun, now| end_on_request(whole, now, numbers);
            if let Some(run) = self.change_run(id, decide).await? {
                return Ok(run);
            }
        }
    }

    /// Judges the playgrounds at work, as evidence, and ends their task runs: the run is about to end.
    pub(super) async fn end_playgrounds(
        &self,
        active: impl Iterator<Item = &TaskRun>,
    ) -> Result<(), EngineError> {
        for task_run in active.filter(|one| one.devbox.is_none()) {
            let now = self.now();
            let judged = self.judge_and_end(None, task_run.id, now, Because::RunEnds);
            let judged = judged.await.map(|_| ());
            self.end_without_judge(task_run.id, judged).await?;
        }
        Ok(())
    }
}

/// What is written when a run is completed on request; none if a playground was started in between and is to be judged first.
fn end_on_request(
    whole: &WholeRun,
    now: Timestamp,
    numbers: Option<&Summary>,
) -> Result<Decision<Option<Run>>, EngineError> {
    if !whole.run.value.is_over() {
        refuse_in_scoring(whole.task_runs.iter().map(|one| &one.value))?;
        if whole.has_playground_at_work() {
            return Ok(Decision::Unchanged(None));
        }
    }
    let (task_runs, after) = whole.step_all(|task_run| task_run.close(now));
    let wanted = whole.prepared.wanted_by(&whole.run.value);
    let run = match whole.run.value.clone().complete(now, &after, wanted)? {
        Step::Unchanged(run) => return Ok(Decision::Unchanged(Some(run))),
        Step::Changed(run) => run,
    };
    let run = match numbers {
        Some(numbers) => run.with_summary(numbers.clone()),
        None => run,
    };
    let progress = Progress {
        run: Some((whole.run.clone(), run.clone())),
        task_runs,
        ..Progress::default()
    };
    Ok(Decision::Write(Box::new(progress), Some(run)))
}

/// Ends a task run whose agent failed: what was being judged stays as it is.
pub(super) fn fail_agent(task_run: TaskRun, now: Timestamp, fault: &Fault) -> Step<TaskRun> {
    match (&task_run.state, fault.cause) {
        (TaskRunState::Scoring { .. } | TaskRunState::Scored { .. }, _) => {
            Step::Unchanged(task_run)
        }
        (_, Cause::AgentTimeout) => {
            let reason = fault
                .reason
                .as_ref()
                .map_or_else(String::new, |reason| reason.as_str().to_owned());
            task_run.time_out_agent(now, reason)
        }
        _ => task_run.fail(now, fault.clone()),
    }
}

/// Refuses what cannot be done while something is being scored.
fn refuse_in_scoring<'a>(task_runs: impl Iterator<Item = &'a TaskRun>) -> Result<(), Refused> {
    for task_run in task_runs {
        if let TaskRunState::Scoring { .. } = task_run.state {
            return Err(Refused::TaskRunInScoring);
        }
    }
    Ok(())
}

/// Why a playground was not judged: it is there as long as its journal is.
fn not_judged(error: NotJudged) -> EngineError {
    match error {
        NotJudged::Engine(error) => error,
        NotJudged::Cancelled => {
            EngineError::Unclear("the server is about to end; try again later".to_owned())
        }
        NotJudged::Unfit(why) => EngineError::Fault(why),
        NotJudged::Failed { error, .. } => EngineError::Fault(error.to_string()),
        NotJudged::Lost(_) => EngineError::Fault("the world was lost".to_owned()),
    }
}
