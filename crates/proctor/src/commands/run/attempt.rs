//! One attempt: the task starts, the agent works, the world is judged; again if that says nothing about the agent.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use proctor_benchmarks::{
    Agent as BuiltIn, Api, ApiError, StartedTask, TakeError, box_is_ready, replay, solve_scenario,
};
use proctor_core::{
    agent::briefing::{endpoint_variable, problem_text},
    time::{Clock as _, Timestamp},
};
use proctor_engine::Extensions;
use proctor_store::ambient::SystemClock;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    agent::{Agent, CommandRun, PROVIDER_FAILED},
    benchmark::Exam,
    budget::{Budget, UsageLook},
    drive::{Phase, Todo, text},
    in_box::{BoxPlan, BoxedCommand},
    plan::Plan,
    progress::{Progress, TryReport},
    reports::{self, Left},
};
use crate::{agent_supervisor::Ending, commands::compare::refused};

/// How often is looked whether something is over.
const LOOKS: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
];
/// How long a task whose box failed may take to be over.
const LOSING_A_BOX: Duration = Duration::from_secs(30);
/// Why a try is void whose command was killed.
const LEFT: &str = "the command that ran the agent ended in the middle";

/// Carries out attempts of a plan.
pub(super) struct Attempts {
    pub(super) api: Api,
    pub(super) exam: Exam,
    pub(super) agent: Agent,
    pub(super) place: PathBuf,
    pub(super) cancel: CancellationToken,
    pub(super) progress: Arc<Progress>,
    pub(super) budget: Arc<Budget>,
    pub(super) plan: Plan,
}

/// How the agent's part of a try ended.
enum WorkOutcome {
    /// It is done; its world is to be judged.
    Done,
    /// It failed, or whatever ran it did.
    Failed { cause: &'static str, reason: String },
    /// The task run ends by itself.
    Lost,
    /// Nobody wants it any more.
    Cancelled,
}

impl Attempts {
    /// Takes a task until its attempt counts, or may not be tried again.
    pub(super) async fn take(&self, todo: Todo) -> anyhow::Result<()> {
        let mut task_run = todo.task_run.clone();
        let mut tries = 1;
        let mut started = match todo.phase {
            Phase::Created => Some(self.post(&format!("/task-runs/{task_run}/start")).await?),
            Phase::Left => {
                self.end_left(&task_run).await?;
                None
            }
            Phase::Void => None,
        };
        loop {
            if let Some(started) = started.take() {
                self.progress.began(&todo);
                let mut about = About::default();
                let worked = self.work(&task_run, &todo, &started, &mut about).await?;
                if matches!(worked, WorkOutcome::Cancelled) {
                    return Ok(());
                }
                self.end(&task_run, worked, about.is_boxed).await?;
                let prices = &self.budget.prices;
                for warning in about.left.bring(&self.api, &task_run, prices).await {
                    self.progress.warn(warning);
                }
            }
            let seen = self
                .api
                .get(&format!("/task-runs/{task_run}"))
                .await
                .map_err(refused)?;
            let cause = seen["cause"].as_str();
            let is_void = matches!(cause, Some("infrastructure" | "scorer_error"));
            // A task that its author broke is as broken the next time.
            let is_repeated = is_void && seen["reason"] != "setup" && tries <= self.plan.retry_void;
            self.progress.ended(
                &todo,
                &TryReport::of(&seen, is_repeated, &self.log_of(&task_run)),
            );
            if !is_repeated || self.cancel.is_cancelled() || self.budget.is_over() {
                return Ok(());
            }
            tries += 1;
            let again = self.post(&format!("/task-runs/{task_run}/retry")).await?;
            task_run = text(&again, "task_run_id")?;
            started = Some(again);
        }
    }

    async fn post(&self, path: &str) -> anyhow::Result<Value> {
        self.api.post(path, &json!({})).await.map_err(refused)
    }

    fn log_of(&self, task_run: &str) -> PathBuf {
        self.place.join(task_run).join("agent.log")
    }

    /// Ends what a command that was killed left: what was being scored comes to its end, the rest is void.
    async fn end_left(&self, task_run: &str) -> anyhow::Result<()> {
        let scenario_run = as_scenario_run(task_run);
        let path = format!("/v1/scenarios/runs/{scenario_run}");
        if let Ok(seen) = self.api.get(&path).await
            && matches!(seen["state"].as_str(), Some("scoring" | "scored"))
        {
            return self.score(&path).await;
        }
        self.fail(task_run, "infrastructure", LEFT).await
    }

    /// Lets the agent work on a task that was started.
    async fn work(
        &self,
        task_run: &str,
        todo: &Todo,
        started: &Value,
        about: &mut About,
    ) -> anyhow::Result<WorkOutcome> {
        let opened = match self
            .api
            .post(&format!("/task-runs/{task_run}/token"), &json!({}))
            .await
        {
            Ok(opened) => opened,
            // Its box failed at once, or its time is over.
            Err(error) if error.status().is_some_and(|status| status.as_u16() == 409) => {
                return Ok(WorkOutcome::Lost);
            }
            Err(error) => return Err(refused(error)),
        };
        let devbox = opened["devbox_id"].as_str();
        about.is_boxed = devbox.is_some();
        if let Some(devbox) = devbox {
            let ready = tokio::select! {
                ready = box_is_ready(&self.api, devbox, &todo.task) => ready,
                () = self.cancel.cancelled() => return Ok(WorkOutcome::Cancelled),
            };
            match ready {
                Ok(()) => {}
                Err(TakeError::Api(error)) => return Err(refused(error)),
                Err(_) => return Ok(WorkOutcome::Lost),
            }
        }
        let token = text(&opened, "token")?;
        match &self.agent {
            // Registered agents work in jobs.
            Agent::Null | Agent::Registered(_) => Ok(WorkOutcome::Done),
            Agent::Oracle => {
                let taker = self.api.with_key(SecretString::from(token));
                self.solve(&taker, task_run, todo, started, devbox).await
            }
            Agent::Command(_) | Agent::Model(_) => {
                let attempt = AttemptFacts {
                    task_run,
                    todo,
                    started,
                    opened: &opened,
                    token: &token,
                };
                match &self.plan.in_box {
                    None => self.work_here(attempt, &mut about.left).await,
                    Some(plan) => self.work_in_box(attempt, plan, &mut about.left).await,
                }
            }
        }
    }

    /// Lets the agent's command work on this machine.
    async fn work_here(
        &self,
        attempt: AttemptFacts<'_>,
        left: &mut Left,
    ) -> anyhow::Result<WorkOutcome> {
        let command = self.agent.command(&self.budget.prices)?;
        let server = self.api.server();
        let mut command_run = CommandRun {
            place: self.place.join(attempt.task_run),
            directory: self.plan.directory.clone(),
            variables: self.variables(&attempt, server),
            limit: self.limit(attempt.started),
        };
        command_run.write_files(&attempt.problem(), &attempt.task_file(server))?;
        let stop = self.cancel.child_token();
        let usage = command_run.usage_file();
        let ending = {
            let mut working = std::pin::pin!(command_run.work(&command, &stop));
            let look = || -> UsageLook<'_> {
                let usage = usage.clone();
                Box::pin(async move { reports::read(&usage)?.ok() })
            };
            tokio::select! {
                ending = &mut working => ending,
                () = self.budget.exceeded(attempt.task_run, look) => {
                    stop.cancel();
                    working.await
                }
            }
        };
        *left = command_run.left();
        let worked = self.worked(ending, command_run.limit);
        Ok(self.within_budget(attempt.task_run, worked, left))
    }

    /// Lets the agent's command work in a devbox of its own.
    async fn work_in_box(
        &self,
        attempt: AttemptFacts<'_>,
        plan: &BoxPlan,
        left: &mut Left,
    ) -> anyhow::Result<WorkOutcome> {
        let command = self.agent.command(&self.budget.prices)?;
        let boxed = BoxedCommand {
            api: &self.api,
            plan,
            task_run: attempt.task_run,
            task: &attempt.todo.task,
            place: self.place.join(attempt.task_run),
            limit: self.limit(attempt.started),
        };
        let up = tokio::select! {
            up = boxed.bring_up() => up?,
            () = self.cancel.cancelled() => return Ok(WorkOutcome::Cancelled),
        };
        let (up, server) = match up {
            Ok(up) => up,
            Err(why) => {
                return Ok(WorkOutcome::Failed {
                    cause: "infrastructure",
                    reason: format!("the agent's devbox did not come up: {why}"),
                });
            }
        };
        let files = BTreeMap::from([
            ("problem.md", attempt.problem()),
            ("task.json", format!("{:#}\n", attempt.task_file(&server))),
        ]);
        let variables = self.variables(&attempt, &server);
        let stop = self.cancel.child_token();
        let ending = {
            let mut working = std::pin::pin!(boxed.work(&up, &command, files, variables, &stop));
            let look = || -> UsageLook<'_> { Box::pin(boxed.usage(&up)) };
            tokio::select! {
                ending = &mut working => ending,
                () = self.budget.exceeded(attempt.task_run, look) => {
                    stop.cancel();
                    working.await
                }
            }
        };
        if !self.cancel.is_cancelled() {
            *left = boxed.left(&up).await;
        }
        boxed.shut_down(&up).await;
        let worked = self.worked(ending, boxed.limit);
        Ok(self.within_budget(attempt.task_run, worked, left))
    }

    /// The same, unless the money was spent: because of that the agent was stopped, or with its last call.
    fn within_budget(&self, task_run: &str, worked: WorkOutcome, left: &Left) -> WorkOutcome {
        let was_over = self.budget.is_over();
        if let Some(Ok(usage)) = &left.usage {
            self.budget.note(task_run, usage);
        }
        let is_stopped = matches!(worked, WorkOutcome::Cancelled) && !self.cancel.is_cancelled();
        match self.budget.is_over() && (is_stopped || !was_over) {
            true => WorkOutcome::Failed {
                cause: "agent_timeout",
                reason: self.budget.told(),
            },
            false => worked,
        }
    }

    fn worked(&self, ending: anyhow::Result<Ending>, limit: Duration) -> WorkOutcome {
        let failed = |cause, reason: String| WorkOutcome::Failed { cause, reason };
        match ending {
            Ok(Ending::Exited(0)) => WorkOutcome::Done,
            // Our own model agent saw its provider fail; of other commands a status says nothing about the platform.
            Ok(Ending::Exited(PROVIDER_FAILED)) if matches!(self.agent, Agent::Model(_)) => {
                failed("infrastructure", "model_provider".to_owned())
            }
            Ok(Ending::Exited(code)) => {
                failed("agent_crash", format!("the agent ended with status {code}"))
            }
            Ok(Ending::Signalled(signal)) => failed(
                "agent_crash",
                format!("the agent was ended by signal {signal}"),
            ),
            Ok(Ending::TimedOut) => failed(
                "agent_timeout",
                format!("the agent took longer than {} s", limit.as_secs_f64()),
            ),
            Ok(Ending::Abandoned) => WorkOutcome::Cancelled,
            Ok(Ending::NotStarted(why)) => failed(
                "infrastructure",
                format!("the agent could not be started: {why}"),
            ),
            Err(error) => failed("infrastructure", format!("{error:#}")),
        }
    }

    /// Does what the benchmark's file says solves the task.
    async fn solve(
        &self,
        taker: &Api,
        task_run: &str,
        todo: &Todo,
        started: &Value,
        devbox: Option<&str>,
    ) -> anyhow::Result<WorkOutcome> {
        let solved = match (&self.exam, devbox) {
            (Exam::Coding(set), Some(devbox)) => {
                match set.scenarios.iter().find(|one| one.name == todo.task) {
                    Some(scenario) => solve_scenario(taker, scenario, devbox).await,
                    None => Err(TakeError::UnknownTask(todo.task.clone())),
                }
            }
            (Exam::Clinical(file), _) => {
                let prefix = format!("/v1/task-runs/{task_run}");
                let task = StartedTask {
                    name: &todo.task,
                    task_run_id: task_run,
                    started_at: started["started_at"].as_str().unwrap_or_default(),
                    prefix: &prefix,
                };
                replay(taker, file, BuiltIn::Oracle, &Extensions::shipped(), task).await
            }
            (Exam::Coding(_) | Exam::Published(_), _) => {
                Err(TakeError::UnknownTask(todo.task.clone()))
            }
        };
        match solved {
            Ok(()) => Ok(WorkOutcome::Done),
            Err(TakeError::Api(error @ ApiError::Unreachable { .. })) => Err(error.into()),
            Err(error) => Ok(WorkOutcome::Failed {
                cause: "agent_crash",
                reason: error.to_string(),
            }),
        }
    }

    /// How long the agent may take: as long as the command says, or as its task allows if that is less.
    fn limit(&self, started: &Value) -> Duration {
        let limit = Duration::from_secs(self.plan.timeout);
        let deadline = started["deadline_at"]
            .as_str()
            .and_then(|at| at.parse::<Timestamp>().ok());
        match deadline {
            None => limit,
            Some(deadline) => {
                let left = deadline
                    .as_millis()
                    .saturating_sub(SystemClock.now().as_millis());
                limit.min(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
            }
        }
    }

    /// How the agent finds its world, where the server is reached at this address.
    fn variables(&self, attempt: &AttemptFacts<'_>, server: &str) -> BTreeMap<String, String> {
        let (task_run, opened) = (attempt.task_run, attempt.opened);
        let mut variables = BTreeMap::from([
            ("PROCTOR_URL".to_owned(), server.to_owned()),
            ("PROCTOR_TOKEN".to_owned(), attempt.token.to_owned()),
            ("PROCTOR_TASK_RUN_ID".to_owned(), task_run.to_owned()),
            (
                "PROCTOR_MCP_URL".to_owned(),
                format!("{server}/v1/task-runs/{task_run}/mcp"),
            ),
        ]);
        for (name, path) in opened["endpoints"].as_object().into_iter().flatten() {
            let path = path.as_str().unwrap_or_default();
            variables.insert(endpoint_variable(name), format!("{server}{path}"));
        }
        if let Some(path) = opened["devbox_url"].as_str() {
            variables.insert("PROCTOR_DEVBOX_URL".to_owned(), format!("{server}{path}"));
        }
        if let Some(model) = &self.plan.model {
            variables.insert("PROCTOR_MODEL_NAME".to_owned(), model.clone());
        }
        if let Some(kwargs) = &self.plan.kwargs {
            variables.insert("PROCTOR_AGENT_KWARGS".to_owned(), kwargs.clone());
        }
        variables
    }

    /// Ends a try: its world is judged, or it counts as its agent failed.
    async fn end(&self, task_run: &str, worked: WorkOutcome, is_boxed: bool) -> anyhow::Result<()> {
        match worked {
            WorkOutcome::Cancelled => Ok(()),
            WorkOutcome::Failed { cause, reason } => self.fail(task_run, cause, &reason).await,
            WorkOutcome::Lost => self.wait_for_end(task_run).await,
            WorkOutcome::Done if is_boxed => {
                let scenario_run = as_scenario_run(task_run);
                self.score(&format!("/v1/scenarios/runs/{scenario_run}"))
                    .await
            }
            WorkOutcome::Done => self.complete(task_run).await,
        }
    }

    async fn fail(&self, task_run: &str, cause: &str, reason: &str) -> anyhow::Result<()> {
        let reason: String = reason.chars().take(1000).collect();
        let body = json!({"cause": cause, "reason": reason});
        let path = format!("/task-runs/{task_run}/fail");
        self.api.post(&path, &body).await.map(drop).map_err(refused)
    }

    /// Has a playground frozen and judged.
    async fn complete(&self, task_run: &str) -> anyhow::Result<()> {
        match self
            .api
            .post(&format!("/task-runs/{task_run}/complete"), &json!({}))
            .await
        {
            Ok(_) => Ok(()),
            // It was over before.
            Err(error) if error.status().is_some_and(|status| status.as_u16() == 409) => Ok(()),
            Err(error @ ApiError::Refused { .. }) => {
                self.fail(task_run, "infrastructure", &error.to_string())
                    .await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Has a scenario run scored, and waits for it.
    async fn score(&self, path: &str) -> anyhow::Result<()> {
        match self.api.post(&format!("{path}/score"), &json!({})).await {
            Ok(_) => {}
            // The agent has had it scored, or it is over.
            Err(error)
                if error
                    .status()
                    .is_some_and(|status| status.is_client_error()) => {}
            Err(error) => return Err(refused(error)),
        }
        let mut looks = LOOKS.into_iter();
        let mut pause = Duration::ZERO;
        loop {
            let seen = self.api.get(path).await.map_err(refused)?;
            match seen["state"].as_str() {
                Some("running" | "scoring") => {}
                Some("scored") => {
                    let path = format!("{path}/complete");
                    return self
                        .api
                        .post(&path, &json!({}))
                        .await
                        .map(drop)
                        .map_err(refused);
                }
                _ => return Ok(()),
            }
            if self.cancel.is_cancelled() {
                return Ok(());
            }
            pause = looks.next().unwrap_or(pause);
            tokio::time::sleep(pause).await;
        }
    }

    /// Waits until a task run is over whose box failed; what the server does not end is void.
    async fn wait_for_end(&self, task_run: &str) -> anyhow::Result<()> {
        let path = format!("/task-runs/{task_run}");
        let began = tokio::time::Instant::now();
        while began.elapsed() < LOSING_A_BOX {
            let seen = self.api.get(&path).await.map_err(refused)?;
            if !seen["completed_at"].is_null() {
                return Ok(());
            }
            tokio::time::sleep(LOOKS[1]).await;
        }
        self.fail(task_run, "infrastructure", "the devbox did not come up")
            .await
    }
}

/// What becomes known of an attempt while its agent works.
#[derive(Default)]
struct About {
    /// Whether its task is done in a devbox.
    is_boxed: bool,
    /// What the agent left about itself.
    left: Left,
}

/// What is known of an attempt whose agent is to work.
struct AttemptFacts<'a> {
    task_run: &'a str,
    todo: &'a Todo,
    /// How its task was started.
    started: &'a Value,
    /// What opens its world.
    opened: &'a Value,
    token: &'a str,
}

impl AttemptFacts<'_> {
    fn problem(&self) -> String {
        problem_text(&self.todo.task, &self.started["task_item"])
    }

    /// What the agent reads about its task, where the server is reached at this address.
    fn task_file(&self, server: &str) -> Value {
        let endpoints = self.opened["endpoints"].as_object().into_iter().flatten();
        let endpoints = endpoints
            .map(|(name, path)| {
                let url = format!("{server}{}", path.as_str().unwrap_or_default());
                (name.clone(), Value::String(url))
            })
            .collect();
        let devbox = self.opened["devbox_url"].as_str();
        json!({
            "task_run_id": self.task_run,
            "name": self.todo.task,
            "attempt": self.todo.attempt,
            "deadline_at": self.started["deadline_at"],
            "task_item": self.started["task_item"],
            "endpoints": Value::Object(endpoints),
            "devbox_url": devbox.map(|path| format!("{server}{path}")),
            "complete_url": format!("{server}/v1/task-runs/{}/complete", self.task_run),
        })
    }
}

fn as_scenario_run(task_run: &str) -> String {
    task_run.replacen("tr_", "scr_", 1)
}
