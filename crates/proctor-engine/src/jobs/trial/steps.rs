//! A trial of a task with several steps: one box, one agent at a time, each step verified before the next begins.

use std::time::Duration;

use proctor_core::{
    definition::Task,
    id::kinds::{DevboxId, TaskRunId},
    job::{Failure, FailureKind, Try},
};
use proctor_harbor::{
    exceptions::ExceptionType,
    results::{ExceptionRecord, StepRecord},
};
use uuid::Uuid;

use super::{Part, Trial, agents};
use crate::{
    engine::Engine,
    error::EngineError,
    harbor::{AgentPhase, CurrentStep, HarborRules, HarborScenario, Phase, StepsRecord, fault},
    jobs::drive::report,
    scenarios::{BoxError, ScoringError, WorkEnd, box_error},
};

/// How a step came out.
enum StepEnd {
    /// It was executed.
    Done(Box<StepRecord>, Option<Failure>),
    /// The box cannot be worked with any more.
    NoBox(BoxError),
}

/// A step of a trial.
struct Step<'a> {
    /// The place of it among the steps.
    number: usize,
    /// The scenario while it is done.
    scenario: HarborScenario,
    /// The whole scenario.
    whole: &'a HarborScenario,
    rules: &'a HarborRules,
    task: &'a Task,
    id: TaskRunId,
    devbox: DevboxId,
}

impl Engine {
    /// Lets the agent do one step after the other, and has each verified.
    pub(super) async fn work_in_steps(
        &self,
        trial: &Trial<'_>,
        this_try: &mut Try,
        task: &Task,
        scenario: &HarborScenario,
        (id, devbox): (TaskRunId, DevboxId),
    ) -> Result<Part, EngineError> {
        let harbor = self.harbor()?;
        let Some(rules) = &trial.harbor else {
            return Ok(Part::Done);
        };
        if this_try.agent_began_at.is_none() {
            this_try.agent_began_at = Some(self.now());
            self.store().update_try(trial.job.id, this_try).await?;
        }
        let mut record = harbor.steps_record(id).map_err(|error| broken(&error))?;
        let mut first_failure: Option<Failure> = None;
        while !record.is_over && record.done.len() < scenario.steps.len() {
            let number = record.done.len();
            let step = Step {
                number,
                scenario: scenario.for_step(number),
                whole: scenario,
                rules,
                task,
                id,
                devbox,
            };
            let end = tokio::select! {
                () = self.inner.closing.cancelled() => return Ok(Part::Stopped),
                end = Box::pin(self.one_step(trial, &step, &mut record)) => end?,
            };
            match end {
                StepEnd::NoBox(error) => return self.without_box(trial, id, devbox, error).await,
                StepEnd::Done(done, failure) => {
                    first_failure = first_failure.or(failure);
                    record.finish(*done, scenario.steps[number].min_reward.as_ref());
                    harbor
                        .keep_steps(id, &record)
                        .map_err(|error| broken(&error))?;
                }
            }
        }
        let Some(failure) = first_failure else {
            return Ok(Part::Done);
        };
        let has_rewards = record.rewards(scenario).is_some();
        if failure.kind == FailureKind::Setup && !has_rewards {
            self.fail(id, failure.fault()).await?;
            return Ok(Part::Failed(failure));
        }
        // A verifier that failed without any rewards speaks for itself, when the trial is judged.
        let is_of_agent = matches!(
            failure.kind,
            FailureKind::AgentCrash | FailureKind::AgentTimeout
        );
        if has_rewards || (is_of_agent && failure.verified.is_none()) {
            this_try.agent_failure = Some(failure);
            self.store().update_try(trial.job.id, this_try).await?;
        }
        Ok(Part::Done)
    }

    /// One step: made ready, worked on, collected, verified. The first failure of it is told beside its record.
    async fn one_step(
        &self,
        trial: &Trial<'_>,
        step: &Step<'_>,
        record: &mut StepsRecord,
    ) -> Result<StepEnd, EngineError> {
        let (harbor, organization) = (self.harbor()?, trial.job.organization);
        let (id, devbox, scenario) = (step.id, step.devbox, &step.scenario);
        let of_run = agents::profile(trial.agent);
        let plan = &step.whole.steps[step.number];
        let mut done = StepRecord {
            name: plan.name.clone(),
            rewards: None,
            exception: None,
            agent: None,
            verifier: None,
        };
        let mut failure = None;
        let began = record.current.as_ref().and_then(|step| step.agent_began_at);
        let began = match began {
            Some(began) => began,
            None => {
                let places = (step.task.working_directory(), agents::PROBLEM_FILE);
                let ready = harbor
                    .begin_step(organization, devbox, scenario, plan, places, &of_run)
                    .await;
                match ready {
                    Ok(Phase::Done) => {}
                    Ok(Phase::Failed(failure)) => {
                        done.exception = Some(self.exception(&failure));
                        return Ok(StepEnd::Done(Box::new(done), Some(failure)));
                    }
                    Err(error) => return Ok(StepEnd::NoBox(box_error(error))),
                }
                let began = self.now();
                record.current = Some(CurrentStep {
                    agent_began_at: Some(began),
                });
                harbor
                    .keep_steps(id, record)
                    .map_err(|error| broken(&error))?;
                began
            }
        };
        match self.step_agent(trial, step, began).await? {
            Err(error) => return Ok(StepEnd::NoBox(error)),
            Ok(None) => {}
            Ok(Some(of_agent)) => {
                done.exception = Some(self.exception(&of_agent));
                let is_over = of_agent.kind == FailureKind::Setup;
                failure = Some(of_agent);
                if is_over {
                    return Ok(StepEnd::Done(Box::new(done), failure));
                }
            }
        }
        done.agent = Some((began, self.now()));
        let wanted = step.rules.wanted_logs(trial.agent);
        let collected = harbor.collect(organization, devbox, id, scenario, (&of_run, &wanted));
        if let Err(error) = collected.await {
            report(&error, "what an agent left could not be collected");
        }
        let verifying = self.now();
        let directory = step.task.working_directory();
        let verified = harbor
            .verify_step(organization, devbox, id, scenario, directory, &of_run)
            .await;
        let verification = match verified {
            Ok(verification) => verification,
            Err(ScoringError::BoxLost) => return Ok(StepEnd::NoBox(BoxError::Ended)),
            Err(error) => return Err(EngineError::Fault(error.to_string())),
        };
        done.verifier = Some((verifying, self.now()));
        record.note(&verification);
        match verification.rewards {
            Ok(rewards) => done.rewards = Some(rewards),
            Err(none) => {
                let found = Failure {
                    kind: FailureKind::Scorer,
                    fault: Some(fault(none.exception, &none.message, false)),
                    ..Failure::infrastructure(none.message.clone())
                };
                let found = found.called(none.exception.as_str());
                done.exception = done.exception.or_else(|| Some(self.exception(&found)));
                failure = failure.or(Some(found));
            }
        }
        Ok(StepEnd::Done(Box::new(done), failure))
    }

    /// Lets the agent work on a step; how it failed, if it did.
    async fn step_agent(
        &self,
        trial: &Trial<'_>,
        step: &Step<'_>,
        began: proctor_core::time::Timestamp,
    ) -> Result<Result<Option<Failure>, BoxError>, EngineError> {
        let (harbor, organization) = (self.harbor()?, trial.job.organization);
        let limit = step.rules.agent_limit(&step.scenario, trial.agent);
        let left = limit.saturating_sub(self.now().since(began));
        let name = name_of(step.id.uuid(), step.number);
        let usual = agents::work(trial.agent, step.task, name, left)?;
        let phase = harbor.agent_phase(&step.scenario, trial.agent, usual);
        let work = match phase.await? {
            AgentPhase::Nothing => return Ok(Ok(None)),
            AgentPhase::Fails(failure) => return Ok(Ok(Some(failure))),
            AgentPhase::Works(work) => *work,
        };
        let boxes = &self.workshop()?.boxes;
        Ok(boxes
            .work(organization, step.devbox, work)
            .await
            .map(|end| failure_of(end, limit)))
    }

    fn exception(&self, failure: &Failure) -> ExceptionRecord {
        let unknown = ExceptionType::InfrastructureError.as_str();
        ExceptionRecord {
            name: failure
                .exception
                .clone()
                .unwrap_or_else(|| unknown.to_owned()),
            message: failure.message.clone(),
            at: self.now(),
        }
    }
}

/// How an agent failed, if it did.
pub(super) fn failure_of(end: WorkEnd, limit: Duration) -> Option<Failure> {
    match end {
        WorkEnd::Exited { status: 0, .. } => None,
        WorkEnd::Exited { status, said } => {
            let told = match said.trim() {
                "" => format!("the agent ended with status {status}"),
                said => format!("the agent ended with status {status}: {said}"),
            };
            let name = ExceptionType::NonZeroAgentExitCodeError;
            Some(Failure::of_agent(FailureKind::AgentCrash, told).called(name.as_str()))
        }
        WorkEnd::OutOfTime => {
            let told = format!("the agent took longer than {} seconds", limit.as_secs_f64());
            let name = ExceptionType::AgentTimeoutError;
            Some(Failure::of_agent(FailureKind::AgentTimeout, told).called(name.as_str()))
        }
        WorkEnd::NoDirectory(path) => {
            let told = format!("the working directory '{path}' does not exist");
            let failure = Failure::setup(told, proctor_core::task_run::Fault::setup());
            Some(failure.called(ExceptionType::HealthcheckError.as_str()))
        }
    }
}

/// The name of an agent's work on a step in its box: what has begun under it is not begun again.
fn name_of(task_run: Uuid, step: usize) -> Uuid {
    let step = u128::try_from(step).unwrap_or_default();
    Uuid::from_u128(task_run.as_u128() ^ (step << 64))
}

fn broken(error: &std::io::Error) -> EngineError {
    EngineError::Fault(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_name_of_its_own() {
        let id = Uuid::from_u128(7);
        assert_eq!(name_of(id, 0), id);
        assert_ne!(name_of(id, 1), name_of(id, 2));
    }
}
