//! A try of a task that is done in a playground: its agent works in a box of its own, or is built in and needs none.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::{
    agent::briefing::endpoint_variable,
    definition::Task,
    devbox::agent_devbox,
    id::{
        Dialect,
        kinds::{DevboxId, RunId},
    },
    job::{Program, Try, TryOutcome},
    task_run::{Cause, Fault, TaskRun, TaskRunState},
    usage::ModelUsage,
};
use proctor_devbox::SERVER_URL;
use proctor_playground::environment::Blueprint;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{CarriedOn, IN_REFERENCE, Part, Trial, broken};
use crate::{
    engine::Engine,
    error::EngineError,
    jobs::{agent_failures::is_by_signal, agents, drive::report},
    runs::NewAgentBox,
    scenarios::{AgentWork, BoxCommand, BoxError, WorkEnd},
};

/// Why a try is begun anew whose agent was at work when the server ended.
const OUT_OF_REACH: &str =
    "the server ended while the agent worked, and its world was out of reach";
/// By how much a token and a box outlive the time that their agent has.
const MARGIN: Duration = Duration::from_secs(300);
/// How long looking at what an agent used up may take.
const USAGE_LOOK: Duration = Duration::from_secs(30);

impl Engine {
    /// Lets the agent of a try work on a playground that is open.
    pub(super) async fn work_on_playground(
        &self,
        trial: &Trial<'_>,
        this_try: &mut Try,
        task_run: &TaskRun,
        run: RunId,
        is_left: bool,
    ) -> Result<Part, EngineError> {
        let has_begun = this_try.agent_began_at.is_some();
        let told = match &trial.agent.program {
            // Nobody knows how much of the solution was carried out.
            Program::Oracle if has_begun => Some(IN_REFERENCE),
            // Its world was out of reach for a while, which the agent may have noticed: what came of it says nothing about the agent.
            Program::Command { .. } if has_begun && is_left => Some(OUT_OF_REACH),
            _ => None,
        };
        if let Some(told) = told {
            let ended = self.interrupt(trial, this_try, task_run.id, told).await?;
            return Ok(Part::Ended(Box::new(ended)));
        }
        let digest = &trial.job.plan.pinned.digest;
        let prepared = self.inner.catalog.benchmark(self.store(), digest).await?;
        let (task, _) = prepared.task(task_run.task)?;
        match &trial.agent.program {
            Program::Nop => Ok(Part::Done),
            Program::Oracle => {
                self.note_beginning(trial, this_try).await?;
                let world = self.world_of_task(task_run, &prepared).await?;
                match self.solve(&world, task, task_run).await {
                    Ok(()) => Ok(Part::Done),
                    Err(why) => {
                        let fault = Fault::new(Cause::AgentCrash, why.as_str());
                        self.fail_task(run, task_run.id, fault).await?;
                        Ok(Part::Over(Some(why)))
                    }
                }
            }
            Program::Command { .. } => {
                let blueprint = prepared.blueprint().map(|blueprint| &**blueprint);
                self.work_from_box(trial, this_try, task, task_run, run, blueprint)
                    .await
            }
        }
    }

    async fn note_beginning(
        &self,
        trial: &Trial<'_>,
        this_try: &mut Try,
    ) -> Result<(), EngineError> {
        if this_try.agent_began_at.is_none() {
            this_try.agent_began_at = Some(self.now());
            self.store().update_try(trial.job.id, this_try).await?;
        }
        Ok(())
    }

    /// Does what the author of a task says solves it.
    async fn solve(
        &self,
        world: &proctor_playground::world::World,
        task: &Task,
        task_run: &TaskRun,
    ) -> Result<(), String> {
        let Some(oracle) = self.extensions().oracle.clone() else {
            return Err("this server has nothing that carries out solutions".to_owned());
        };
        let started_at = task_run.started_at().unwrap_or_else(|| self.now());
        oracle
            .solve(world, task, started_at, self.extensions())
            .await
    }

    /// Lets the command of an agent work in a box that reaches the playground.
    async fn work_from_box(
        &self,
        trial: &Trial<'_>,
        this_try: &mut Try,
        task: &Task,
        task_run: &TaskRun,
        run: RunId,
        blueprint: Option<&Blueprint>,
    ) -> Result<Part, EngineError> {
        let (organization, id) = (trial.job.organization, task_run.id);
        let limit = self.time_left(trial, this_try, task_run);
        let endpoints = endpoints(task_run, blueprint);
        let devbox = self
            .agent_box_of(trial, task, task_run, &endpoints, limit)
            .await?;
        let boxes = &self.workshop()?.boxes;
        let ready = tokio::select! {
            () = self.inner.closing.cancelled() => return Ok(Part::Stopped),
            ready = boxes.ready(organization, devbox) => ready,
        };
        if let Err(error) = ready {
            return self.without_agent_box(trial, task_run, run, error).await;
        }
        // A clock of the box must not end what has a clock of its own.
        let hold = match boxes.hold(organization, devbox).await {
            Ok(hold) => hold,
            Err(error) => return self.without_agent_box(trial, task_run, run, error).await,
        };
        let world = match this_try.agent_began_at {
            // What has begun is waited for, and has its token.
            Some(_) => BTreeMap::new(),
            None => {
                self.world_variables(trial, task_run, run, &endpoints, limit)
                    .await?
            }
        };
        self.note_beginning(trial, this_try).await?;
        let work = agents::work_on_playground(trial.agent, task, id.uuid(), limit, world);
        let Some(work) = work else {
            return Ok(Part::Done);
        };
        let part = self.let_command_work(trial, task_run, run, work).await;
        drop(hold);
        part
    }

    async fn let_command_work(
        &self,
        trial: &Trial<'_>,
        task_run: &TaskRun,
        run: RunId,
        work: AgentWork,
    ) -> Result<Part, EngineError> {
        let (organization, id) = (trial.job.organization, task_run.id);
        let devbox = agent_devbox(id);
        let limit = work.time_limit;
        let boxes = &self.workshop()?.boxes;
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
        if end.is_ok() {
            self.collect_usage(trial, task_run, devbox).await;
        }
        let (cause, told) = match end {
            Ok(WorkEnd::Exited { status: 0, .. }) => return Ok(Part::Done),
            Ok(WorkEnd::Exited { status, said }) => {
                let told = match said.trim() {
                    "" => format!("the agent ended with status {status}"),
                    said => format!("the agent ended with status {status}: {said}"),
                };
                (Cause::AgentCrash, told)
            }
            Ok(WorkEnd::OutOfTime) => {
                let seconds = limit.as_secs_f64();
                let told = format!("the agent took longer than {seconds} seconds");
                (Cause::AgentTimeout, told)
            }
            Ok(WorkEnd::OutOfMemory) => {
                let told = "the agent used up the memory of its box".to_owned();
                (Cause::AgentCrash, told)
            }
            Ok(WorkEnd::NoDirectory(path)) => {
                let told = format!("the working directory '{path}' does not exist");
                (Cause::Infrastructure, told)
            }
            Err(error) => return self.without_agent_box(trial, task_run, run, error).await,
        };
        self.fail_task(run, id, Fault::new(cause, told.as_str()))
            .await?;
        Ok(Part::Over(Some(told)))
    }

    /// How long the agent may take: as long as the job says, or as its task allows if that is less.
    fn time_left(&self, trial: &Trial<'_>, this_try: &Try, task_run: &TaskRun) -> Duration {
        let now = self.now();
        let began = this_try.agent_began_at.unwrap_or(now);
        let left = trial.limit.saturating_sub(now.since(began));
        match task_run.deadline() {
            Some(deadline) => left.min(deadline.since(now)),
            None => left,
        }
    }

    async fn agent_box_of(
        &self,
        trial: &Trial<'_>,
        task: &Task,
        task_run: &TaskRun,
        endpoints: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<DevboxId, EngineError> {
        let task_file = json!({
            "task_run_id": task_run.id.to_string(),
            "name": task.name,
            "attempt": trial.attempt,
            "deadline_at": task_run.deadline(),
            "task_item": task.brief,
            "endpoints": endpoints,
            "devbox_url": Value::Null,
            "complete_url": format!("{SERVER_URL}/v1/task-runs/{}/complete", task_run.id),
        });
        let mut request = agents::box_for_playground(trial.agent, task, &task_file);
        let seconds = limit.saturating_add(MARGIN).as_secs();
        request.launch.keep_alive_seconds = Some(u32::try_from(seconds).unwrap_or(u32::MAX));
        let new = NewAgentBox {
            name: format!("{}: {}", trial.agent.name, task.name),
            request,
            hosts: trial.agent.hosts().to_vec(),
        };
        self.make_agent_box(trial.job.organization, task_run.id, new)
            .await
    }

    /// How the agent finds its world, with a token of its own for it.
    async fn world_variables(
        &self,
        trial: &Trial<'_>,
        task_run: &TaskRun,
        run: RunId,
        endpoints: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<BTreeMap<String, String>, EngineError> {
        let expires_at = Some(self.now().plus(limit.saturating_add(MARGIN)));
        let issued = self
            .store()
            .issue_attempt_token(trial.job.organization, run, task_run.id, expires_at)
            .await?;
        let own = [
            ("PROCTOR_URL", SERVER_URL.to_owned()),
            ("PROCTOR_TOKEN", issued.secret.expose_secret().to_owned()),
            ("PROCTOR_TASK_RUN_ID", task_run.id.to_string()),
            (
                "PROCTOR_MCP_URL",
                format!("{SERVER_URL}/v1/task-runs/{}/mcp", task_run.id),
            ),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let of_world = endpoints
            .iter()
            .map(|(name, url)| (endpoint_variable(name), url.clone()));
        Ok(own.into_iter().chain(of_world).collect())
    }

    /// Keeps what the agent says it used up. What cannot be read is not worth a try.
    async fn collect_usage(&self, trial: &Trial<'_>, task_run: &TaskRun, devbox: DevboxId) {
        let Ok(workshop) = self.workshop() else {
            return;
        };
        let look = BoxCommand {
            script: format!("cat {} 2>/dev/null", agents::USAGE_FILE),
            input: String::new(),
            directory: None,
            time_limit: USAGE_LOOK,
        };
        let seen = workshop.boxes.run(trial.job.organization, devbox, look);
        let Ok(seen) = seen.await else { return };
        if seen.status != 0 || seen.output.trim().is_empty() {
            return;
        }
        let prices = &self.extensions().prices;
        match ModelUsage::read_lines(&seen.output, prices) {
            Ok(reports) => {
                if let Err(error) = self.store().add_usage(task_run.id, &reports).await {
                    report(&error, "what an agent used up could not be kept");
                }
            }
            Err(problems) => {
                tracing::warn!(%problems, task_run = %task_run.id, "what an agent says it used up cannot be read");
            }
        }
    }

    /// Ends a try whose agent lost its box, unless its task run is over: then whoever ended it ended the box too.
    async fn without_agent_box(
        &self,
        trial: &Trial<'_>,
        task_run: &TaskRun,
        run: RunId,
        error: BoxError,
    ) -> Result<Part, EngineError> {
        let id = task_run.id;
        let found = self.store().task_run(id).await?;
        if found.is_none_or(|found| found.value.is_over()) {
            return Ok(Part::Over(None));
        }
        let fault = match error {
            BoxError::Ended => {
                let boxes = &self.workshop()?.boxes;
                let end = tokio::select! {
                    () = self.inner.closing.cancelled() => return Ok(Part::Stopped),
                    end = boxes.ended(trial.job.organization, agent_devbox(id)) => end,
                };
                end.fault()
            }
            other => {
                report(&other, "an agent could not work in its devbox");
                broken(&other)
            }
        };
        let told = fault.told().map(str::to_owned);
        self.fail_task(run, id, fault).await?;
        Ok(Part::Over(told))
    }

    /// Freezes and judges the playground of an agent that is done, and says what came of the try.
    pub(super) async fn conclude_playground(
        &self,
        task_run: &TaskRun,
        run: RunId,
        is_to_be_judged: bool,
        details: Option<String>,
    ) -> Result<CarriedOn, EngineError> {
        let id = task_run.id;
        if is_to_be_judged && self.inner.closing.is_cancelled() {
            return Ok(CarriedOn::Stopped);
        }
        if is_to_be_judged {
            match self.complete_task(run, id).await {
                // It may have come to its end in between.
                Ok(_) | Err(EngineError::Refused(_)) => {}
                Err(EngineError::JudgeSilent(why)) => {
                    let fault = Fault::new(Cause::ScorerError, why.to_string());
                    self.fail(id, fault).await?;
                }
                Err(error) => return Err(error),
            }
        }
        let found = self.store().task_run(id).await?;
        let task_run = found.ok_or(EngineError::NotFound("task run"))?.value;
        Ok(
            match (&task_run.state, TryOutcome::of(&task_run, details)) {
                (TaskRunState::Ended { .. }, Some(outcome)) => CarriedOn::To(outcome),
                _ => CarriedOn::Stopped,
            },
        )
    }
}

/// Where an agent in a box of its own finds what the playground of a task run has.
fn endpoints(task_run: &TaskRun, blueprint: Option<&Blueprint>) -> BTreeMap<String, String> {
    let id = task_run.id.wire(Dialect::Verial);
    let doors = blueprint.map_or(&[][..], Blueprint::doors);
    let all = doors.iter().flat_map(|door| door.plugin.endpoints());
    all.map(|(name, path)| {
        let url = format!("{SERVER_URL}/v1/task-runs/{id}/{path}");
        ((*name).to_owned(), url)
    })
    .collect()
}
