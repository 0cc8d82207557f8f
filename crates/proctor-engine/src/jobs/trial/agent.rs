//! The agent of a try at work: how long it may take, what it may reach meanwhile, how it failed, and what it says of itself.

use std::time::Duration;

use futures::StreamExt as _;
use proctor_core::{
    definition::Task,
    id::kinds::{DevboxId, TaskRunId},
    job::{Failure, FailureKind, Try},
    task_run::{Cause, Fault, TaskRun},
    trajectory::Trajectory,
};
use proctor_harbor::{exceptions::ExceptionType, trial_name::trial_name};
use uuid::Uuid;

use super::{Part, TRIAL_NAME, Trial, agents};
use crate::{
    engine::Engine,
    error::EngineError,
    harbor::{AgentPhase, HarborRules, HarborScenario, NetworkPhase},
    jobs::{agent_failures::is_by_signal, drive::report},
    scenarios::{BoxError, BoxLog, WorkEnd},
};

/// How much of what an agent printed last is looked through for the patterns of its manifest.
const MOST_WORDS: usize = 256 << 10;
/// How large the log may be that its manifest names.
const MOST_LOG: u64 = 16 << 20;
/// How large a trajectory may be.
const MOST_TRAJECTORY: u64 = 16 << 20;

impl Engine {
    /// Lets the agent work while no clock but its own can end it.
    pub(super) async fn work_held(
        &self,
        trial: &Trial<'_>,
        this_try: &mut Try,
        task: &Task,
        task_run: &TaskRun,
        devbox: DevboxId,
    ) -> Result<Part, EngineError> {
        let (organization, id) = (trial.job.organization, task_run.id);
        let boxes = &self.workshop()?.boxes;
        let scenario = trial.harbor.as_ref().and(HarborScenario::of(task));
        let limit = match (&trial.harbor, &scenario) {
            (Some(rules), Some(scenario)) => rules.agent_limit(scenario, trial.agent),
            _ => trial.limit,
        };
        let hold = match boxes.hold(organization, devbox).await {
            Ok(hold) => hold,
            Err(error) => return self.without_box(trial, id, devbox, error).await,
        };
        if let Some(scenario) = &scenario
            && this_try.agent_began_at.is_none()
            && let Some(part) = self.make_ready(trial, scenario, id, devbox).await?
        {
            return Ok(part);
        }
        if let Some(scenario) = scenario.as_ref().filter(|one| !one.steps.is_empty()) {
            let places = (id, devbox);
            let part = self.work_in_steps(trial, this_try, task, scenario, places);
            return Box::pin(part).await;
        }
        let began = this_try.agent_began_at.unwrap_or_else(|| self.now());
        let left = limit.saturating_sub(self.now().since(began));
        let mut work = agents::work(trial.agent, task, id.uuid(), left)?;
        if let Some(scenario) = &scenario {
            let phase = self.harbor()?.agent_phase(scenario, trial.agent, work);
            work = match phase.await? {
                AgentPhase::Nothing => None,
                AgentPhase::Works(mut work) => {
                    let name = trial_name(&task.name, id.uuid().as_u128());
                    work.variables.insert(TRIAL_NAME.to_owned(), name);
                    Some(*work)
                }
                AgentPhase::Fails(failure) => {
                    self.fail(id, failure.fault()).await?;
                    return Ok(Part::Failed(failure));
                }
            };
        }
        let Some(work) = work else {
            return Ok(Part::Done);
        };
        if this_try.agent_began_at.is_none() {
            this_try.agent_began_at = Some(began);
            self.store().update_try(trial.job.id, this_try).await?;
        }
        self.enter_phase(trial, scenario.as_ref(), devbox, NetworkPhase::Agent)
            .await?;
        let end = tokio::select! {
            () = self.inner.closing.cancelled() => return Ok(Part::Stopped),
            end = boxes.work(organization, devbox, work) => end,
        };
        let end = match end {
            Ok(WorkEnd::Exited { status, .. })
                if is_by_signal(status) && self.is_box_gone(organization, devbox).await? =>
            {
                Err(BoxError::Ended)
            }
            end => end,
        };
        let end = match end {
            Ok(end) => end,
            Err(error) => return self.without_box(trial, id, devbox, error).await,
        };
        let failure = self.agent_failure(trial, (devbox, id.uuid()), &end, limit);
        let failure = failure.await;
        if scenario.is_none() {
            self.keep_trajectory(trial, id, devbox).await;
        }
        let part = match failure {
            None => Part::Done,
            Some(failure) if failure.kind == FailureKind::Setup => {
                self.fail(id, failure.fault()).await?;
                match scenario {
                    Some(_) => Part::Failed(failure),
                    None => Part::NotSetUp(failure.message),
                }
            }
            Some(failure) if scenario.is_some() => {
                // What it left is verified all the same.
                this_try.agent_failure = Some(failure);
                self.store().update_try(trial.job.id, this_try).await?;
                Part::Done
            }
            Some(failure) => {
                let fault = failure.fault();
                let end = |task_run: TaskRun, now| match fault.cause {
                    Cause::AgentTimeout => task_run.time_out_agent(now, failure.message.as_str()),
                    _ => task_run.fail(now, fault.clone()),
                };
                match self.end_with_evidence(id, task, end).await? {
                    true => Part::Over(Some(failure.message.clone())),
                    false => Part::Stopped,
                }
            }
        };
        drop(hold);
        Ok(part)
    }

    /// Limits the box of a Harbor trial to what may be reached in a phase.
    async fn enter_phase(
        &self,
        trial: &Trial<'_>,
        scenario: Option<&HarborScenario>,
        devbox: DevboxId,
        phase: NetworkPhase,
    ) -> Result<(), EngineError> {
        let (Some(rules), Some(scenario)) = (&trial.harbor, scenario) else {
            return Ok(());
        };
        self.enter_phase_of(trial, rules, (scenario, scenario), devbox, phase)
            .await
    }

    /// The same for a step of the whole scenario.
    pub(super) async fn enter_phase_of(
        &self,
        trial: &Trial<'_>,
        rules: &HarborRules,
        scenarios: (&HarborScenario, &HarborScenario),
        devbox: DevboxId,
        phase: NetworkPhase,
    ) -> Result<(), EngineError> {
        let hosts = rules.extra_hosts(trial.agent);
        let organization = trial.job.organization;
        let entered = self
            .harbor()?
            .enter_phase(organization, devbox, scenarios, &hosts, phase);
        entered.await
    }

    /// How an agent failed, if it did. What it says of itself names its failure, and changes nothing else.
    pub(super) async fn agent_failure(
        &self,
        trial: &Trial<'_>,
        (devbox, work): (DevboxId, Uuid),
        end: &WorkEnd,
        limit: Duration,
    ) -> Option<Failure> {
        let (kind, exception, told) = match end {
            WorkEnd::Exited { status: 0, .. } => return None,
            WorkEnd::Exited { status, said } => {
                let told = match said.trim() {
                    "" => format!("the agent ended with status {status}"),
                    said => format!("the agent ended with status {status}: {said}"),
                };
                let exception = ExceptionType::NonZeroAgentExitCodeError;
                (FailureKind::AgentCrash, exception, told)
            }
            WorkEnd::OutOfMemory => (
                FailureKind::AgentCrash,
                ExceptionType::SandboxLikelyOutOfMemoryError,
                "the agent used up the memory of its box".to_owned(),
            ),
            WorkEnd::OutOfTime => (
                FailureKind::AgentTimeout,
                ExceptionType::AgentTimeoutError,
                format!("the agent took longer than {} seconds", limit.as_secs_f64()),
            ),
            WorkEnd::NoDirectory(path) => {
                let told = format!("the working directory '{path}' does not exist");
                let failure = Failure::setup(told, Fault::setup());
                return Some(match trial.harbor {
                    Some(_) => failure.called(ExceptionType::HealthcheckError.as_str()),
                    None => failure,
                });
            }
        };
        let named = self.error_named(trial, devbox, work).await;
        let told = match &named {
            Some(name) => format!("{name}: {told}"),
            None => told,
        };
        let failure = Failure::of_agent(kind, told);
        let name = match (kind, named) {
            // That its time was over is what was observed.
            (FailureKind::AgentCrash, Some(named)) => named,
            _ => exception.as_str().to_owned(),
        };
        Some(match trial.harbor {
            Some(_) => failure.called(name),
            None => failure,
        })
    }

    /// What the patterns of its manifest make of what an agent printed.
    async fn error_named(&self, trial: &Trial<'_>, devbox: DevboxId, work: Uuid) -> Option<String> {
        let manifest = trial.agent.manifest.as_deref()?;
        if manifest.errors.is_empty() {
            return None;
        }
        let organization = trial.job.organization;
        let boxes = &self.workshop().ok()?.boxes;
        let mut words = Vec::new();
        if let Ok(mut log) = boxes.log(organization, devbox, BoxLog::Agent(work)).await {
            while let Some(Ok(bytes)) = log.next().await {
                words.extend_from_slice(&bytes);
                let surplus = words.len().saturating_sub(MOST_WORDS);
                words.drain(..surplus);
            }
        }
        if let Some(path) = &manifest.log
            && let Ok(Some(log)) = boxes.read_file(organization, devbox, path, MOST_LOG).await
        {
            words.push(b'\n');
            words.extend_from_slice(&log[log.len().saturating_sub(MOST_WORDS)..]);
        }
        let words = String::from_utf8_lossy(&words);
        manifest.error_in(&words).map(str::to_owned)
    }

    /// Keeps what an agent says that it did, if its manifest says where that is. It is worth no trial.
    async fn keep_trajectory(&self, trial: &Trial<'_>, id: TaskRunId, devbox: DevboxId) {
        let manifest = trial.agent.manifest.as_deref();
        let Some(path) = manifest.and_then(|manifest| manifest.trajectory.as_ref()) else {
            return;
        };
        let Ok(workshop) = self.workshop() else {
            return;
        };
        let organization = trial.job.organization;
        let read = workshop
            .boxes
            .read_file(organization, devbox, path, MOST_TRAJECTORY);
        match read.await {
            Ok(Some(bytes)) => self.store_trajectory(id, &bytes).await,
            Ok(None) => {
                tracing::info!(task_run = %id, path, "the agent left no trajectory");
            }
            Err(error) => report(&error, "a trajectory could not be read"),
        }
    }

    /// Keeps the trajectory of a task run, if it is one.
    pub(super) async fn store_trajectory(&self, id: TaskRunId, bytes: &[u8]) {
        let document = serde_json::from_slice(bytes).map_err(|error| error.to_string());
        let trajectory = document.and_then(|document| {
            Trajectory::read(document).map_err(|problems| problems.to_string())
        });
        match trajectory {
            Err(why) => {
                tracing::info!(task_run = %id, why, "what an agent left is not a trajectory in ATIF");
            }
            Ok(trajectory) => {
                if let Err(error) = self.store().keep_trajectory(id, &trajectory).await {
                    report(&error, "a trajectory could not be kept");
                }
            }
        }
    }
}
