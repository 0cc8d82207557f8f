//! How a try begins: what its box stands on is built, its agent installed, its task run started.

use proctor_core::{
    definition::{Task, World},
    id::{Dialect, kinds::TaskRunId},
    job::{Failure, Try, TryOutcome},
    profile::{Particulars, RunProfile},
    refused::Refused,
    task_run::Fault,
};
use proctor_harbor::timeouts::{AGENT_SETUP_SECONDS, duration};
use proctor_store::{OnDisk, StoreError};

use super::{ATTEMPT, ROOM_CHECK, SetUp, TRY, Trial, agents, broken};
use crate::{
    egress,
    engine::Engine,
    error::EngineError,
    harbor::{HarborRules, HarborScenario},
    jobs::drive::{JOB, report},
    runs::NewScenarioRun,
};

impl Engine {
    /// Starts the task run; or what became of the try, if it cannot be started.
    pub(super) async fn set_up(
        &self,
        trial: &Trial<'_>,
        this_try: &Try,
        id: TaskRunId,
    ) -> Result<SetUp, EngineError> {
        let digest = &trial.job.plan.pinned.digest;
        let prepared = self.inner.catalog.benchmark(self.store(), digest).await?;
        let (task, _) = prepared.task(this_try.task)?;
        if let Some(why) = agents::unfit(trial.agent, task) {
            return Ok(SetUp::Not(TryOutcome::not_set_up(why.to_owned())));
        }
        let mut profile = agents::task_profile(trial.agent, task);
        if let (Some(rules), Some(scenario)) = (&trial.harbor, HarborScenario::of(task)) {
            let of_task = self.profile_of_task(trial, rules, &scenario);
            let of_task = tokio::select! {
                () = self.inner.closing.cancelled() => return Ok(SetUp::Stopped),
                of_task = of_task => of_task?,
            };
            match of_task {
                Ok(of_task) => profile = profile.over(&of_task),
                Err(failure) => return Ok(SetUp::Not(failure.outcome())),
            }
        } else if trial.agent.manifest.is_some() {
            let of_agent = tokio::select! {
                () = self.inner.closing.cancelled() => return Ok(SetUp::Stopped),
                of_agent = self.profile_of_agent(trial, task) => of_agent?,
            };
            match of_agent {
                Ok(of_agent) => profile = profile.over(&of_agent),
                Err(failure) => return Ok(SetUp::Not(failure.outcome())),
            }
        }
        let label = |name: &str, value: String| (name.to_owned(), value);
        let new = NewScenarioRun {
            organization: trial.job.organization,
            scenario: this_try.task,
            run: Some(this_try.run),
            particulars: Particulars {
                name: Some(format!("{}: {}", trial.agent.name, task.name)),
                metadata: [
                    label(JOB, trial.job.id.wire(Dialect::Runloop)),
                    label(ATTEMPT, trial.attempt.to_string()),
                    label(TRY, this_try.number.to_string()),
                ]
                .into(),
                profile,
            },
        };
        // The journal of a world must not outlive the record of its start.
        let when = match task.world {
            World::Playground { .. } => OnDisk::AtOnce,
            World::Devbox { .. } => OnDisk::WithTheNext,
        };
        let started = loop {
            let started = self.start_scenario_as(id, new.clone(), when, true).await;
            // Its turn comes when another box of its organization has ended, or not at all if its run is ended first.
            let Err(EngineError::Store(StoreError::Limit(_))) = started else {
                break started;
            };
            tokio::select! {
                () = self.inner.closing.cancelled() => break started,
                () = tokio::time::sleep(ROOM_CHECK) => {}
            }
        };
        match started {
            Ok(task_run) => Ok(SetUp::Begun(Box::new(task_run))),
            // The run was ended in between.
            Err(EngineError::Refused(Refused::RunOver(_))) => Ok(SetUp::Not(TryOutcome::Cancelled)),
            Err(error @ (EngineError::Store(_) | EngineError::SharedStore(_))) => Err(error),
            Err(error) => {
                report(&error, "a scenario could not be set up");
                let fault = match &error {
                    EngineError::Box(_) | EngineError::Fault(_) => broken(&error),
                    _ => Fault::setup(),
                };
                let failure = Failure::setup(error.to_string(), fault);
                Ok(SetUp::Not(TryOutcome::Failed(failure)))
            }
        }
    }

    /// What the box of a Harbor task gets from outside, when what it stands on is built; or why there is no box.
    async fn profile_of_task(
        &self,
        trial: &Trial<'_>,
        rules: &HarborRules,
        scenario: &HarborScenario,
    ) -> Result<Result<RunProfile, Failure>, EngineError> {
        let (harbor, organization) = (self.harbor()?, trial.job.organization);
        let plan = &scenario.environment;
        let built = harbor
            .environment(organization, &scenario.tree, plan)
            .await?;
        let (blueprint, image) = match built {
            Ok(built) => built,
            Err(failure) => return Ok(Err(failure)),
        };
        for of_verifier in scenario.verifier_environments() {
            let built = harbor.environment(organization, &scenario.tree, of_verifier);
            if let Err(failure) = built.await? {
                return Ok(Err(failure));
            }
        }
        let mut profile = scenario.profile(trial.agent, &image);
        let limit = rules.setup_limit(trial.agent);
        let installed = harbor.with_agent(organization, blueprint, trial.agent, limit);
        match installed.await? {
            Ok(installed) => profile.blueprint = installed.map(|(blueprint, _)| blueprint),
            Err(failure) => return Ok(Err(failure)),
        }
        let hosts = rules.extra_hosts(trial.agent);
        profile.launch.network_policy = harbor.box_policy(organization, scenario, &hosts).await?;
        Ok(Ok(profile))
    }

    /// What the box of a scenario gets because of its agent's manifest: the agent installed, and its hosts; or why there is no box.
    async fn profile_of_agent(
        &self,
        trial: &Trial<'_>,
        task: &Task,
    ) -> Result<Result<RunProfile, Failure>, EngineError> {
        let (organization, agent) = (trial.job.organization, trial.agent);
        let mut profile = RunProfile::default();
        let definition = task.devbox().and_then(|devbox| devbox.get().ok());
        let Some(definition) = definition else {
            return Ok(Ok(profile));
        };
        let limit = duration(AGENT_SETUP_SECONDS);
        if agent.install().is_some() {
            let installed = match &self.workshop()?.harbor {
                Some(harbor) => {
                    let installed = harbor.with_agent_on(organization, definition, agent, limit);
                    installed.await?
                }
                None => {
                    let told =
                        "the agent has an install script, and this server builds no blueprints";
                    Err(Failure::setup(told.to_owned(), Fault::setup()))
                }
            };
            match installed {
                Ok(installed) => profile.blueprint = installed,
                Err(failure) => return Ok(Err(failure)),
            }
        }
        if !agent.hosts().is_empty() {
            let launch = definition.launch.as_ref();
            let general = launch.and_then(|launch| launch.network_policy);
            let general = match (general, &self.workshop()?.harbor) {
                (None, Some(harbor)) => {
                    harbor
                        .policy_of_base(organization, &definition.base)
                        .await?
                }
                (general, _) => general,
            };
            let store = self.store();
            profile.launch.network_policy =
                egress::with_hosts(store, organization, general, agent.hosts()).await?;
        }
        Ok(Ok(profile))
    }
}
