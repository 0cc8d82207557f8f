//! A trial of a task with several steps: one box, one agent at a time, each step verified before the next begins.

use proctor_core::{
    definition::Task,
    id::kinds::{DevboxId, TaskRunId},
    job::{Failure, FailureKind, Try},
};
use proctor_harbor::{
    exceptions::ExceptionType,
    results::{ExceptionRecord, StepRecord},
    timeouts::duration,
};
use uuid::Uuid;

use super::{Part, Trial, agents};
use crate::{
    engine::Engine,
    error::EngineError,
    harbor::{
        AgentPhase, CurrentStep, HarborRules, HarborScenario, NetworkPhase, Phase, StepsRecord,
        fault,
    },
    scenarios::{BoxError, ScoringError, ScoringOrder, box_error},
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
                    let least = scenario.steps[number].min_reward.as_ref();
                    record.finish(*done, least.filter(|_| !scenario.verifier.is_disabled));
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
        self.collect(trial, step.rules, (step.whole, scenario), (id, devbox))
            .await?;
        if scenario.verifier.is_disabled {
            return Ok(StepEnd::Done(Box::new(done), failure));
        }
        let verifying = self.now();
        let order = ScoringOrder {
            organization,
            task_run: id,
            devbox,
            task: step.task.clone(),
            kinds: self.extensions().scorer_kinds.clone(),
            time_limit: duration(scenario.verifier.seconds),
            cancel: self.inner.closing.child_token(),
        };
        let verified = harbor.verify_step(&order, scenario).await;
        let (verification, integrity) = match verified {
            Ok(verified) => verified,
            Err(ScoringError::BoxLost) => return Ok(StepEnd::NoBox(BoxError::Ended)),
            Err(error) => return Err(EngineError::Fault(error.to_string())),
        };
        done.verifier = Some((verifying, self.now()));
        record.note(&verification, integrity);
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
        let scenarios = (step.whole, &step.scenario);
        self.enter_phase_of(
            trial,
            step.rules,
            scenarios,
            step.devbox,
            NetworkPhase::Agent,
        )
        .await?;
        let boxes = &self.workshop()?.boxes;
        Ok(match boxes.work(organization, step.devbox, work).await {
            Ok(end) => Ok(self
                .agent_failure(trial, (step.devbox, name), &end, limit)
                .await),
            Err(error) => Err(error),
        })
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
