//! Tasks of several steps: what each step is, what came of it, and what happens in the box before its agent begins.
//!
//! What came of a trial's steps is kept in a file beside what they left, so that a trial goes on with the right step after the server
//! ended in between.

use std::{io, path::PathBuf, time::Duration};

use proctor_core::{
    id::kinds::{DevboxId, OrganizationId, TaskRunId},
    job::Failure,
    profile::RunProfile,
    shell::quoted,
    task_run::Fault,
    time::Timestamp,
};
use proctor_devbox::{FileMode, Shared, User, View};
use proctor_fleet::FleetError;
use proctor_harbor::{
    results::StepRecord,
    rewards::Rewards,
    steps::{MinReward, rewards_of_trial},
    task::{Artifact, CollectHook, Healthcheck},
};
use proctor_scorers::verifier::Verification;
use serde::{Deserialize, Serialize};

use super::{
    HarborScenario, HarborWorkshop, Phase,
    phases::{run, user_named},
    scenario::{AgentPlan, VerifierPlan},
};

/// Where the files of a step are shown to the program that copies them.
const STEP_FILES: &str = "/logs/step";
/// How long copying files into a box may take.
const COPYING: Duration = Duration::from_secs(120);
/// How long the set-up script of a step may take.
const SETTING_UP: Duration = Duration::from_secs(600);
/// What Harbor calls a set-up script that fails.
const SETUP_FAILED: &str = "RuntimeError";

/// One step of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepPlan {
    /// What it is called: its directory below `steps`.
    pub(crate) name: String,
    /// What the agent is told.
    pub(crate) instruction: String,
    /// The agent's part.
    pub(crate) agent: AgentPlan,
    /// The verifier's part.
    pub(crate) verifier: VerifierPlan,
    /// How the box says that it is ready for the step.
    pub(crate) healthcheck: Option<Healthcheck>,
    /// What is taken out of the box after it.
    pub(crate) artifacts: Vec<Artifact>,
    /// What notes the state of things when the agent is done.
    pub(crate) collect: Vec<CollectHook>,
    /// What must be reached for the next step to begin.
    pub(crate) min_reward: Option<MinReward>,
    /// Whether it has a solution directory of its own.
    pub(crate) has_solution_directory: bool,
    /// Whether the oracle finds a script to run.
    pub(crate) has_solution: bool,
    /// Whether it brings files into the working directory.
    pub(crate) has_workdir: bool,
    /// Whether `setup.sh` is among them.
    pub(crate) has_setup: bool,
}

impl HarborScenario {
    /// The scenario as it is while a step is done: the step's parts instead of the task's.
    pub(crate) fn for_step(&self, number: usize) -> Self {
        let Some(step) = self.steps.get(number) else {
            return self.clone();
        };
        let mut scenario = self.clone();
        scenario.steps = Vec::new();
        scenario.step = Some(step.name.clone());
        scenario.healthcheck.clone_from(&step.healthcheck);
        scenario.agent = step.agent.clone();
        scenario.verifier = step.verifier.clone();
        scenario.artifacts.extend(step.artifacts.iter().cloned());
        scenario.collect.extend(step.collect.iter().cloned());
        scenario.solution.is_there = step.has_solution;
        scenario.solution.is_of_step = step.has_solution_directory;
        scenario
    }

    /// The directories of the task that its tests are in, later ones over earlier ones.
    pub(crate) fn test_directories(&self) -> Vec<String> {
        let own = self.step.as_ref().map(|name| format!("steps/{name}/tests"));
        std::iter::once("tests".to_owned()).chain(own).collect()
    }

    /// The directory of the task that its solution is in.
    pub(crate) fn solution_directory(&self) -> String {
        match &self.step {
            Some(name) if self.solution.is_of_step => format!("steps/{name}/solution"),
            _ => "solution".to_owned(),
        }
    }
}

/// What came of a trial's steps so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StepsRecord {
    /// The steps that were executed, in order.
    pub(crate) done: Vec<StepRecord>,
    /// The step that goes on.
    pub(crate) current: Option<CurrentStep>,
    /// Whether no further step is begun.
    pub(crate) is_over: bool,
    /// What was not as it should be where a verifier's directories were put.
    pub(crate) suspicious: Vec<String>,
    /// What the last verifier printed.
    pub(crate) output: String,
    /// Where the steps were verified.
    #[serde(default)]
    pub(crate) integrity: Vec<String>,
}

/// A step that goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CurrentStep {
    /// When its agent began, once everything was ready for it.
    pub(crate) agent_began_at: Option<Timestamp>,
}

impl StepsRecord {
    /// The rewards of the trial.
    pub(crate) fn rewards(&self, scenario: &HarborScenario) -> Option<Rewards> {
        let steps: Vec<Option<Rewards>> =
            self.done.iter().map(|step| step.rewards.clone()).collect();
        rewards_of_trial(scenario.strategy, &steps)
    }

    /// Takes up what came of a step, and says whether the next one begins.
    pub(crate) fn finish(&mut self, step: StepRecord, min_reward: Option<&MinReward>) {
        let failed = step.exception.is_some() && step.rewards.is_none();
        let below = min_reward.is_some_and(|least| least.failure(step.rewards.as_ref()).is_some());
        self.is_over = failed || below;
        self.current = None;
        self.done.push(step);
    }

    /// Notes what a verifier said besides its rewards.
    pub(crate) fn note(&mut self, verification: &Verification, integrity: &str) {
        self.integrity.push(integrity.to_owned());
        self.suspicious.extend(verification.suspicious.clone());
        self.output.clone_from(&verification.output);
    }
}

impl HarborWorkshop {
    fn steps_file(&self, task_run: TaskRunId) -> PathBuf {
        let name = format!("{}.steps.json", task_run.uuid());
        self.inner.trials.join(name)
    }

    /// What came of the steps of a trial so far.
    pub(crate) fn steps_record(&self, task_run: TaskRunId) -> io::Result<StepsRecord> {
        match fs_err::read(self.steps_file(task_run)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(StepsRecord::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes down what came of the steps of a trial so far.
    pub(crate) fn keep_steps(&self, task_run: TaskRunId, record: &StepsRecord) -> io::Result<()> {
        let bytes = serde_json::to_vec(record).map_err(io::Error::other)?;
        let file = self.steps_file(task_run);
        let half = file.with_extension("new");
        fs_err::write(&half, bytes)?;
        fs_err::rename(half, file)
    }

    /// Makes a box ready for a step: empty logs, the step's files, its set-up script, what the agent is told, the health check.
    pub(crate) async fn begin_step(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        scenario: &HarborScenario,
        step: &StepPlan,
        (directory, told_at): (Option<&str>, &str),
        of_run: &RunProfile,
    ) -> Result<Phase, FleetError> {
        let mut place = self.inner.fleet.workplace(devbox).await?;
        place.environment = self
            .environment_without_agent(organization, &place.environment, scenario, of_run)
            .await?;
        let directory = directory.map_or_else(|| place.directory.clone(), |at| place.resolve(at));
        let user = scenario.agent.user.as_deref().map(user_named);
        let user = user.unwrap_or_else(|| place.user.clone());
        let empty = "find /logs/agent /logs/artifacts -mindepth 1 -delete";
        let mut spec = place.program(self.exec_id("step")?, ["/bin/sh", "-c", empty]);
        spec.user = User::Root;
        spec.timeout = Some(COPYING);
        run(&place, spec).await?;
        if step.has_workdir {
            let files = vec![format!("steps/{}/workdir", step.name)];
            let files = self.assembled(&scenario.tree, files).await?;
            let copy = format!("cp -R {STEP_FILES}/. {}/", quoted(&directory));
            let mut spec = place.program(self.exec_id("step")?, ["/bin/sh", "-c", &copy]);
            spec.user = User::Root;
            spec.timeout = Some(COPYING);
            spec.view = Some(View {
                read_only: vec![Shared {
                    host: files,
                    at: STEP_FILES.to_owned(),
                }],
                ..View::default()
            });
            let (exit, said) = run(&place, spec).await?;
            if !exit.success() {
                let told = format!("the files of the step could not be copied: {said}");
                return Ok(failed(told, SETUP_FAILED));
            }
        }
        if step.has_setup {
            let mut spec = place.program(self.exec_id("step")?, ["/bin/bash", "setup.sh"]);
            spec.cwd = Some(directory);
            spec.user = user;
            spec.timeout = Some(SETTING_UP);
            let (exit, said) = run(&place, spec).await?;
            if !exit.success() {
                let status = exit.status();
                let told = format!("setup.sh of the step ended with status {status}: {said}");
                return Ok(failed(place.masks.apply(&told), SETUP_FAILED));
            }
        }
        let mut text = step.instruction.as_bytes();
        let mode = Some(FileMode(0o644));
        place
            .devbox
            .write_file(told_at, &User::Root, mode, &mut text)
            .await?;
        match &step.healthcheck {
            None => Ok(Phase::Done),
            Some(check) => self.wait_until_healthy(&place, check).await,
        }
    }
}

fn failed(told: String, name: &str) -> Phase {
    Phase::Failed(Failure::setup(told, Fault::setup()).called(name))
}

#[cfg(test)]
mod tests {
    use proctor_harbor::results::ExceptionRecord;

    use super::*;

    fn step(reward: Option<f64>, exception: Option<&str>) -> StepRecord {
        StepRecord {
            name: "one".to_owned(),
            rewards: reward.map(|reward| Rewards::from([("reward".to_owned(), reward)])),
            exception: exception.map(|name| ExceptionRecord {
                name: name.to_owned(),
                message: String::new(),
                at: Timestamp::from_millis(0),
            }),
            agent: None,
            verifier: None,
        }
    }

    #[test]
    fn steps_end_with_a_failure_or_below_their_threshold() {
        let least = MinReward([("reward".to_owned(), 0.5)].into());
        for (reward, exception, is_over) in [
            (Some(1.0), None, false),
            (Some(0.4), None, true),
            (None, Some("RewardFileNotFoundError"), true),
            (Some(1.0), Some("AgentTimeoutError"), false),
        ] {
            let mut record = StepsRecord::default();
            record.finish(step(reward, exception), Some(&least));
            assert_eq!(record.is_over, is_over, "{reward:?} {exception:?}");
        }
        let mut record = StepsRecord::default();
        record.finish(step(Some(0.0), None), None);
        assert!(!record.is_over);
        record.finish(step(Some(1.0), None), None);
        let rewards = record.rewards(&HarborScenario::default()).unwrap();
        assert_eq!(rewards["reward"], 0.5);
    }
}
