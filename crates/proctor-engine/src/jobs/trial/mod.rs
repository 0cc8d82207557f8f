//! One try of a job, one agent with one scenario once: set up, let work, judged.
//!
//! Every part may be begun again: what has happened is read from the store and from the box, and goes on from there. Nobody is told of
//! the parts, so they are on disk with the end of the try, which is waited for.

mod agent;
mod playground;
mod set_up;
mod steps;

use std::time::Duration;

use proctor_core::{
    id::kinds::{DevboxId, RunId, TaskRunId},
    job::{Failure, Job, JobAgent, Program, Try, TryOutcome},
    refused::Step,
    task_run::{Cause, Fault, TaskRun, TaskRunState},
};
use proctor_store::{OnDisk, StoreError, progress::Progress};

use super::{
    agents,
    drive::{PAUSE, report},
};
use crate::{
    change::Decision,
    engine::Engine,
    error::EngineError,
    harbor::{self, AgentLeft, HarborRules, HarborScenario, NetworkPhase, Phase},
    runs::{AfterScoring, Asked, EndOfTry, StepRecord, TaskRunSnapshot},
    scenarios::{BoxEnd, BoxError, box_error},
};

/// The label that says which attempt at its scenario a scenario run belongs to.
const ATTEMPT: &str = "proctor.attempt";
/// The label that says which try of its attempt a scenario run is.
const TRY: &str = "proctor.try";
/// The variable by which an agent learns what its trial is called.
const TRIAL_NAME: &str = "PROCTOR_TRIAL_NAME";
/// How often a scoring that somebody else began is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// How often a try looks whether its organization may have another box.
const ROOM_CHECK: Duration = Duration::from_millis(500);

/// A try that is under way.
struct Trial<'a> {
    job: &'a Job,
    agent: &'a JobAgent,
    /// Which of the agent's attempts at the scenario it belongs to.
    attempt: u32,
    /// How long the agent may take, unless its task says otherwise.
    limit: Duration,
    /// What the job file says, in a Harbor job.
    harbor: Option<HarborRules>,
}

/// Where a try is after a part of it.
enum Part {
    /// The next part can begin.
    Done,
    /// There is no next part; what happened, if there are words for it.
    Over(Option<String>),
    /// There is no next part: nobody could work in the box, for this reason.
    NotSetUp(String),
    /// There is no next part: the try failed so.
    Failed(Failure),
    /// The try has ended, and that is on record.
    Ended(Box<Try>),
    /// The server is about to end: the next one goes on with it.
    Stopped,
}

/// How far a try was carried on.
enum CarriedOn {
    /// To its end, which is to be written.
    To(TryOutcome),
    /// To its end, which is on record.
    Ended(Box<Try>),
    /// The server is about to end: the next one goes on with it.
    Stopped,
}

/// What became of setting a try up.
enum SetUp {
    /// Its task run has begun.
    Begun(Box<TaskRun>),
    /// It has not, and never will.
    Not(TryOutcome),
    /// The server is about to end: the next one goes on with it.
    Stopped,
}

/// How a try was found by the process that carries it out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TakenUp {
    /// It begins now.
    New,
    /// A former process left it, and nobody has looked at its task run yet.
    Left,
    /// It was left by a former process, or by this one when the store was out of reach, and its task run was not over.
    Live,
    /// A former process left it, and its task run was over.
    Over,
}

/// Why a try is begun anew that went down with the server in the middle of the reference.
const IN_REFERENCE: &str = "the server ended while the reference was applied";

/// What becomes of a try that went down with the server, for this reason.
fn interrupted(told: &str) -> TryOutcome {
    TryOutcome::Interrupted(Failure::infrastructure(told))
}

impl Trial<'_> {
    /// What came of a try. If a former process left it with a task run that was over, nobody asked to stop an oracle whose task
    /// run was stopped because the server had ended: versions that wrote the two ends in two commits left such tries behind.
    fn outcome_of(&self, this_try: &Try, outcome: TryOutcome, taken_up: TakenUp) -> TryOutcome {
        let is_oracle_at_work =
            self.agent.program == Program::Oracle && this_try.agent_began_at.is_some();
        let outcome = match (taken_up, outcome) {
            (TakenUp::New, outcome) => outcome,
            (TakenUp::Over, TryOutcome::Cancelled) if is_oracle_at_work => {
                interrupted(IN_REFERENCE)
            }
            (_, other) => other.after_interruption(),
        };
        match self.harbor {
            Some(_) => harbor::named_outcome(outcome, this_try),
            None => outcome,
        }
    }
}

impl Engine {
    /// Carries a try out, and writes what became of it; nothing if the server is about to end.
    pub(super) async fn carry_out(
        &self,
        job: &Job,
        mut this_try: Try,
        limit: Duration,
        mut is_resumed: bool,
    ) -> Option<Try> {
        let mut agents = job.plan.agents.iter();
        let place = agents.position(|agent| agent.run == this_try.run)?;
        let trial = Trial {
            job,
            agent: &job.plan.agents[place],
            attempt: job.plan.attempt_of(place),
            limit,
            harbor: HarborRules::of(&job.plan.source),
        };
        let mut taken_up = match is_resumed {
            true => TakenUp::Left,
            false => TakenUp::New,
        };
        loop {
            let carried_on = self.carry_try_on(&trial, &mut this_try, is_resumed, &mut taken_up);
            let outcome = match Box::pin(carried_on).await {
                Ok(CarriedOn::Stopped) => return None,
                Ok(CarriedOn::Ended(ended)) => return Some(*ended),
                Ok(CarriedOn::To(outcome)) => Ok(trial.outcome_of(&this_try, outcome, taken_up)),
                Err(error @ (EngineError::Store(_) | EngineError::SharedStore(_))) => Err(error),
                Err(error) => Ok(self.broken(&this_try, &error).await),
            };
            let error = match outcome {
                Err(error) => error,
                Ok(outcome) => {
                    let ended = this_try.clone().ended(self.now(), outcome);
                    match self.store().update_try(job.id, &ended).await {
                        Ok(()) | Err(StoreError::Stale) => return Some(ended),
                        Err(error) => error.into(),
                    }
                }
            };
            is_resumed = true;
            if taken_up == TakenUp::New {
                taken_up = TakenUp::Live;
            }
            report(
                &error,
                "a try could not be carried on; it will be tried again",
            );
            tokio::select! {
                () = self.inner.closing.cancelled() => return None,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// What became of a try that cannot be carried on.
    async fn broken(&self, this_try: &Try, error: &EngineError) -> TryOutcome {
        report(error, "a try broke off");
        if let Some(id) = this_try.task_run
            && let Err(error) = self.fail(id, broken(error)).await
        {
            report(&error, "a scenario run could not be ended");
        }
        TryOutcome::Failed(Failure::infrastructure(error.to_string()))
    }

    /// Carries a try on from wherever it is; one that is not resumed has nothing behind it.
    async fn carry_try_on(
        &self,
        trial: &Trial<'_>,
        this_try: &mut Try,
        is_resumed: bool,
        taken_up: &mut TakenUp,
    ) -> Result<CarriedOn, EngineError> {
        let Some(id) = this_try.task_run else {
            return Ok(CarriedOn::To(TryOutcome::Cancelled));
        };
        let found = match is_resumed {
            true => self.store().task_run(id).await?,
            false => None,
        };
        let is_left = *taken_up == TakenUp::Left;
        if is_left {
            *taken_up = match &found {
                Some(found) if found.value.is_over() => TakenUp::Over,
                _ => TakenUp::Live,
            };
        }
        let task_run = match found {
            Some(found) => found.value,
            None => match Box::pin(self.set_up(trial, this_try, id)).await? {
                SetUp::Begun(task_run) => *task_run,
                SetUp::Not(outcome) => {
                    this_try.task_run = None;
                    return Ok(CarriedOn::To(outcome));
                }
                SetUp::Stopped => return Ok(CarriedOn::Stopped),
            },
        };
        if let (None, Some(run)) = (task_run.devbox, task_run.run) {
            return self
                .carry_playground_on(trial, this_try, &task_run, run, is_left)
                .await;
        }
        let mut is_to_be_scored = false;
        let mut details = None;
        let mut was_set_up = true;
        if let (TaskRunState::Started(_), Some(devbox)) = (&task_run.state, task_run.devbox) {
            match self.let_work(trial, this_try, &task_run, devbox).await? {
                Part::Done => is_to_be_scored = true,
                Part::Over(told) => details = told,
                Part::NotSetUp(why) => {
                    details = Some(why);
                    was_set_up = false;
                }
                Part::Failed(failure) => return Ok(CarriedOn::To(failure.outcome())),
                Part::Ended(ended) => return Ok(CarriedOn::Ended(ended)),
                Part::Stopped => return Ok(CarriedOn::Stopped),
            }
        }
        let end = |task_run: &TaskRun| {
            let outcome = TryOutcome::of(task_run, details.clone())?;
            let outcome = trial.outcome_of(this_try, outcome, *taken_up);
            let ended = this_try.clone().ended(task_run.ended_at()?, outcome);
            Some((trial.job.id, ended))
        };
        let carried_on = self
            .conclude(id, is_to_be_scored, details.clone(), &end)
            .await?;
        Ok(match carried_on {
            CarriedOn::To(outcome) if !was_set_up => CarriedOn::To(outcome.in_set_up()),
            other => other,
        })
    }

    /// Carries on a try whose task is done in a playground; `is_left`: a former process left it.
    async fn carry_playground_on(
        &self,
        trial: &Trial<'_>,
        this_try: &mut Try,
        task_run: &TaskRun,
        run: RunId,
        is_left: bool,
    ) -> Result<CarriedOn, EngineError> {
        let mut details = None;
        let mut is_to_be_judged = false;
        if let TaskRunState::Started(_) = &task_run.state {
            match self
                .work_on_playground(trial, this_try, task_run, run, is_left)
                .await?
            {
                Part::Done => is_to_be_judged = true,
                Part::Over(told) => details = told,
                Part::NotSetUp(told) => details = Some(told),
                Part::Failed(failure) => return Ok(CarriedOn::To(failure.outcome())),
                Part::Ended(ended) => return Ok(CarriedOn::Ended(ended)),
                Part::Stopped => return Ok(CarriedOn::Stopped),
            }
        }
        self.conclude_playground(task_run, run, is_to_be_judged, details)
            .await
    }

    /// Lets the agent work as soon as the box is ready.
    async fn let_work(
        &self,
        trial: &Trial<'_>,
        this_try: &mut Try,
        task_run: &TaskRun,
        devbox: DevboxId,
    ) -> Result<Part, EngineError> {
        let (organization, id) = (trial.job.organization, task_run.id);
        let boxes = &self.workshop()?.boxes;
        let ready = tokio::select! {
            () = self.inner.closing.cancelled() => return Ok(Part::Stopped),
            ready = boxes.ready(organization, devbox) => ready,
        };
        if let Err(error) = ready {
            return self.without_box(trial, id, devbox, error).await;
        }
        if trial.agent.program == Program::Oracle && this_try.agent_began_at.is_some() {
            // Nobody knows how much of the reference was applied; it takes but a moment to begin anew.
            let ended = self.interrupt(trial, this_try, id, IN_REFERENCE).await?;
            return Ok(Part::Ended(Box::new(ended)));
        }
        let digest = &trial.job.plan.pinned.digest;
        let prepared = self.inner.catalog.benchmark(self.store(), digest).await?;
        let (task, _) = prepared.task(task_run.task)?;
        let part = self
            .work_held(trial, this_try, task, task_run, devbox)
            .await?;
        let (Part::Done, Some(rules)) = (&part, &trial.harbor) else {
            return Ok(part);
        };
        let Some(scenario) = HarborScenario::of(task) else {
            return Ok(part);
        };
        // Steps are collected one by one.
        if scenario.steps.is_empty() {
            let scenarios = (&scenario, &scenario);
            self.collect(trial, rules, scenarios, (id, devbox)).await?;
        }
        if scenario.verifier.is_disabled {
            let unjudged = |task_run: TaskRun, now| {
                let told = "the job runs no verifier (verifier.disable)";
                Ok(task_run.complete_unjudged(now, Fault::new(Cause::Cancelled, told)))
            };
            let record = StepRecord {
                on_disk: OnDisk::WithTheNext,
                ..StepRecord::default()
            };
            self.step_with(None, id, record, unjudged).await?;
            return Ok(Part::Over(None));
        }
        Ok(part)
    }

    /// Takes out of a box what is kept of it, for the whole scenario or a step of it. From then on the box reaches what its verifier may.
    async fn collect(
        &self,
        trial: &Trial<'_>,
        rules: &HarborRules,
        (whole, scenario): (&HarborScenario, &HarborScenario),
        (id, devbox): (TaskRunId, DevboxId),
    ) -> Result<(), EngineError> {
        let (harbor, organization) = (self.harbor()?, trial.job.organization);
        let scenarios = (whole, scenario);
        self.enter_phase_of(trial, rules, scenarios, devbox, NetworkPhase::Verifier)
            .await?;
        let left = AgentLeft {
            of_run: &agents::profile(trial.agent),
            wanted: &rules.wanted_logs(trial.agent),
            manifest: trial.agent.manifest.as_deref(),
        };
        // What cannot be collected is not worth a trial; a box that is gone is noticed by its verifier.
        match harbor
            .collect(organization, devbox, id, scenario, left)
            .await
        {
            Ok(Some(trajectory)) => self.store_trajectory(id, &trajectory).await,
            Ok(None) => {}
            Err(error) => report(&error, "what an agent left could not be collected"),
        }
        Ok(())
    }

    /// Ends a try and its task run because the server ended in the middle of it: in one commit, so that nobody ever finds a
    /// task run that nobody stopped.
    async fn interrupt(
        &self,
        trial: &Trial<'_>,
        this_try: &Try,
        id: TaskRunId,
        told: &str,
    ) -> Result<Try, EngineError> {
        let read = || self.task_run_snapshot(Asked::ByEngine, id);
        let decide = |snapshot: &TaskRunSnapshot, now| {
            let ended = this_try.clone().ended(now, interrupted(told));
            let mut progress = match snapshot.value().clone().cancel(now) {
                Step::Changed(after) => snapshot.progress(now, after, Vec::new()),
                Step::Unchanged(_) => Progress::default(),
            };
            progress.tries = vec![(trial.job.id, ended.clone())];
            Ok(Decision::Write(Box::new(progress), ended))
        };
        let changed = self.change(None, read, decide).await?;
        self.follow_up(&changed).await;
        Ok(changed.answer)
    }

    /// Makes the box of a Harbor trial ready for its agent; where the try is, if it is not.
    async fn make_ready(
        &self,
        trial: &Trial<'_>,
        scenario: &HarborScenario,
        id: TaskRunId,
        devbox: DevboxId,
    ) -> Result<Option<Part>, EngineError> {
        let of_run = agents::profile(trial.agent);
        let organization = trial.job.organization;
        let harbor = self.harbor()?;
        let ready = tokio::select! {
            () = self.inner.closing.cancelled() => return Ok(Some(Part::Stopped)),
            ready = harbor.make_ready(organization, devbox, scenario, &of_run) => ready,
        };
        match ready {
            Ok(Phase::Done) => Ok(None),
            Ok(Phase::Failed(failure)) => {
                self.fail(id, failure.fault()).await?;
                Ok(Some(Part::Failed(failure)))
            }
            Err(error) => {
                let part = self.without_box(trial, id, devbox, box_error(error));
                part.await.map(Some)
            }
        }
    }

    /// Ends a task run whose box has ended or cannot be worked with.
    async fn without_box(
        &self,
        trial: &Trial<'_>,
        id: TaskRunId,
        devbox: DevboxId,
        error: BoxError,
    ) -> Result<Part, EngineError> {
        match error {
            BoxError::Ended => {
                let boxes = &self.workshop()?.boxes;
                let end = tokio::select! {
                    () = self.inner.closing.cancelled() => return Ok(Part::Stopped),
                    end = boxes.ended(trial.job.organization, devbox) => end,
                };
                self.lose_box(id, &end).await?;
                Ok(match end {
                    BoxEnd::NotSetUp(why) | BoxEnd::NeverReady(why) => Part::NotSetUp(why),
                    BoxEnd::ShutDown | BoxEnd::OutOfTime | BoxEnd::Exhausted | BoxEnd::Lost => {
                        Part::Over(None)
                    }
                })
            }
            other => {
                report(&other, "an agent could not work in its devbox");
                self.fail(id, broken(&other)).await?;
                Ok(Part::Over(Some(other.to_string())))
            }
        }
    }

    /// Judges and completes the task run, and with it the try as `end` says, unless it is over. `is_to_be_scored`: its agent is done.
    async fn conclude(
        &self,
        id: TaskRunId,
        mut is_to_be_scored: bool,
        details: Option<String>,
        end: &EndOfTry<'_>,
    ) -> Result<CarriedOn, EngineError> {
        loop {
            if is_to_be_scored {
                if self.inner.closing.is_cancelled() {
                    return Ok(CarriedOn::Stopped);
                }
                let then = AfterScoring::Ends(end);
                let ended = match self.score_now(id, OnDisk::WithTheNext, then).await {
                    Ok(scored) => scored.as_ref().and_then(end),
                    // It came to its end in between.
                    Err(EngineError::Refused(_)) => None,
                    Err(error) => return Err(error),
                };
                if let Some((_, ended)) = ended {
                    return Ok(CarriedOn::Ended(Box::new(ended)));
                }
            }
            let found = self.store().task_run(id).await?;
            let task_run = found.ok_or(EngineError::NotFound("scenario run"))?.value;
            is_to_be_scored = match &task_run.state {
                TaskRunState::Ended { .. } => {
                    let outcome = TryOutcome::of(&task_run, details);
                    return Ok(outcome.map_or(CarriedOn::Stopped, CarriedOn::To));
                }
                TaskRunState::Created | TaskRunState::Started(_) => true,
                TaskRunState::Scoring { .. } => {
                    tokio::select! {
                        () = self.inner.closing.cancelled() => return Ok(CarriedOn::Stopped),
                        () = tokio::time::sleep(LOOK) => false,
                    }
                }
                TaskRunState::Scored { .. } => {
                    match self.finish(id, OnDisk::WithTheNext).await {
                        Ok(_) | Err(EngineError::Refused(_)) => {}
                        Err(error) => return Err(error),
                    }
                    false
                }
            }
        }
    }
}

/// What the platform broke, in its words.
fn broken(error: &dyn std::error::Error) -> Fault {
    Fault::new(Cause::Infrastructure, error.to_string())
}
