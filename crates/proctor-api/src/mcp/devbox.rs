//! The tools of a devbox: a shell, files, and `complete`.

use std::time::Duration;

use async_trait::async_trait;
use proctor_core::{
    devbox::DevboxStatus,
    id::{
        Dialect,
        kinds::{DevboxId, OrganizationId, TaskRunId},
    },
    problem::in_words,
    refused::Refused,
    task_run::{TaskRun, TaskRunState},
};
use proctor_devbox::Stream;
use proctor_engine::{EngineError, runs::TaskRunDetails};
use proctor_fleet::NewCommand;
use proctor_mcp::{ToolDescription, ToolResult, Toolbox};
use proctor_simulation::tool::{Argument, Effect, Place, Shape, check};
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt as _;

use super::{COMPLETE, describe, instruction::instruction};
use crate::{error::ApiError, state::ApiState};

/// How long a command may take when nobody says how long.
const USUAL_TIME: u64 = 120;
/// The longest that a command may take.
const LONGEST_TIME: u64 = 1_800;
/// How many of the last lines of a command's output are shown.
const LINES: usize = 1_000;
/// The most characters of a command's output that are shown, for each of its streams.
const MOST_OUTPUT: usize = 64 << 10;
/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;
/// How long a box may take to come up.
const LONGEST_LAUNCH: Duration = Duration::from_secs(600);
/// How often a run that is being scored is looked at.
const LOOK: Duration = Duration::from_millis(100);

const COMMAND: &[Argument] = &[
    Argument::required(
        "command",
        Shape::Text,
        Place::Member,
        "The command, for a POSIX shell.",
    ),
    Argument::optional(
        "timeout_seconds",
        Shape::Integer,
        Place::Member,
        "After how many seconds it is killed: 120 without it, at most 1800.",
    ),
];
const PATH: Argument = Argument::required(
    "path",
    Shape::Text,
    Place::Member,
    "The path, absolute or relative to the home directory.",
);
const READ: &[Argument] = &[PATH];
const WRITE: &[Argument] = &[
    PATH,
    Argument::required(
        "content",
        Shape::Text,
        Place::Member,
        "All of the file's content.",
    ),
];
const LIST: &[Argument] = &[Argument::optional(
    "path",
    Shape::Text,
    Place::Member,
    "The directory; the home directory without it.",
)];

/// What a taker of a task in a devbox can do.
pub(super) struct DevboxTools {
    state: ApiState,
    organization: OrganizationId,
    task_run: TaskRun,
    name: String,
    instruction: String,
    described: Vec<ToolDescription>,
}

impl DevboxTools {
    pub(super) fn of(
        state: &ApiState,
        organization: OrganizationId,
        found: TaskRunDetails,
    ) -> Result<Self, ApiError> {
        let (task, _) = found.prepared.task(found.task_run.task)?;
        let described = vec![
            describe(
                "shell",
                "Run a command in the devbox and wait for its end. Every call has a new shell, which starts in the home \
                 directory. The answer holds exit_status, stdout and stderr.",
                Effect::Changes,
                COMMAND,
            ),
            describe(
                "read_file",
                "Read a text file of the devbox.",
                Effect::Reads,
                READ,
            ),
            describe(
                "write_file",
                "Write a text file of the devbox, or replace it. Missing directories are made.",
                Effect::Changes,
                WRITE,
            ),
            describe(
                "list_files",
                "List a directory of the devbox, with types and sizes.",
                Effect::Reads,
                LIST,
            ),
            describe(
                COMPLETE,
                "Say that the task is done. The devbox is scored and shut down; the answer holds the score.",
                Effect::Changes,
                &[],
            ),
        ];
        Ok(Self {
            state: state.clone(),
            organization,
            name: task.name.clone(),
            instruction: instruction(task),
            task_run: found.task_run,
            described,
        })
    }

    async fn use_tool(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<ToolResult, ApiError> {
        let known = match name {
            "shell" => COMMAND,
            "read_file" => READ,
            "write_file" => WRITE,
            "list_files" => LIST,
            _ => &[],
        };
        let problems = check(known, arguments);
        if !problems.is_empty() {
            return Ok(ToolResult::error(in_words(&problems)));
        }
        if name == COMPLETE {
            return self.complete().await;
        }
        let devbox = self.devbox().await?;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let path = text("path").unwrap_or_default();
        match name {
            "read_file" => self.read(devbox, path).await,
            "write_file" => {
                let content = text("content").unwrap_or_default();
                self.write(devbox, path, content).await
            }
            "list_files" => self.list(devbox, path).await,
            _ => {
                let seconds = arguments.get("timeout_seconds");
                let seconds = seconds.map_or(Some(USUAL_TIME), Value::as_u64);
                let Some(seconds) = seconds.filter(|seconds| (1..=LONGEST_TIME).contains(seconds))
                else {
                    let message = format!("timeout_seconds: must be from 1 to {LONGEST_TIME}");
                    return Ok(ToolResult::error(message));
                };
                let command = text("command").unwrap_or_default();
                self.run(devbox, command, Duration::from_secs(seconds))
                    .await
            }
        }
    }

    /// The box, while the taker may work in it. One that comes up is waited for.
    async fn devbox(&self) -> Result<DevboxId, ApiError> {
        let (TaskRunState::Started(_), Some(devbox)) = (&self.task_run.state, self.task_run.devbox)
        else {
            let over = Refused::TaskRunOver(self.task_run.status());
            return Err(EngineError::from(over).into());
        };
        let fleet = self.state.fleet()?;
        let up = DevboxStatus::ALL.into_iter().filter(|status| {
            !matches!(
                status,
                DevboxStatus::Provisioning | DevboxStatus::Initializing
            )
        });
        let up: Vec<DevboxStatus> = up.collect();
        fleet
            .wait_for(self.organization, devbox, &up, LONGEST_LAUNCH)
            .await?;
        Ok(devbox)
    }

    async fn run(
        &self,
        devbox: DevboxId,
        command: &str,
        time: Duration,
    ) -> Result<ToolResult, ApiError> {
        let fleet = self.state.fleet()?;
        let new = NewCommand {
            command: command.to_owned(),
            shown: None,
            id: None,
            shell: None,
            stdin: false,
            user: None,
            view: None,
        };
        let command = fleet.execute(self.organization, devbox, new).await?;
        let is_done = tokio::select! {
            completed = command.completes_within(time) => completed?,
            () = fleet.closing().cancelled() => {
                let message = "the server is about to end; the command goes on";
                return Ok(ToolResult::error(message));
            }
        };
        if !is_done {
            command.kill().await?;
        }
        let stdout = command.tail(Stream::Stdout, LINES).await?;
        let stderr = command.tail(Stream::Stderr, LINES).await?;
        let (out, out_cut) = end_of(&stdout.text);
        let (err, err_cut) = end_of(&stderr.text);
        let mut told = json!({"exit_status": command.exit_status(), "stdout": out, "stderr": err});
        for (name, is_cut) in [
            ("stdout_truncated", stdout.truncated || out_cut),
            ("stderr_truncated", stderr.truncated || err_cut),
        ] {
            if is_cut {
                told[name] = true.into();
            }
        }
        if is_done {
            return Ok(ToolResult::success(told.to_string()));
        }
        told["error"] = format!("killed after {} seconds", time.as_secs()).into();
        Ok(ToolResult::error(told.to_string()))
    }

    async fn read(&self, devbox: DevboxId, path: &str) -> Result<ToolResult, ApiError> {
        let fleet = self.state.fleet()?;
        let file = fleet
            .read_file(self.organization, devbox, path, Some(LARGEST_FILE))
            .await?;
        let mut bytes = Vec::new();
        let mut reader = file.reader;
        reader
            .read_to_end(&mut bytes)
            .await
            .map_err(ApiError::internal)?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => ToolResult::success(text),
            Err(bad) => ToolResult::error(format!(
                "'{path}' is not a text: its {} bytes are not UTF-8; look at it with the shell",
                bad.as_bytes().len()
            )),
        })
    }

    async fn write(
        &self,
        devbox: DevboxId,
        path: &str,
        content: &str,
    ) -> Result<ToolResult, ApiError> {
        let fleet = self.state.fleet()?;
        let size = fleet
            .write_file(self.organization, devbox, path, &mut content.as_bytes())
            .await?;
        Ok(ToolResult::success(
            json!({"path": path, "size": size}).to_string(),
        ))
    }

    async fn list(&self, devbox: DevboxId, path: &str) -> Result<ToolResult, ApiError> {
        let directory = match path {
            "" => ".".to_owned(),
            path => path.replace('\'', r"'\''"),
        };
        let command = format!("ls -la -- '{directory}'");
        self.run(devbox, &command, Duration::from_secs(USUAL_TIME))
            .await
    }

    /// Scores the run, waits for the score, and ends the run with it.
    async fn complete(&self) -> Result<ToolResult, ApiError> {
        let engine = self.state.engine();
        let id = self.task_run.id;
        let mut run = engine.scenario_run(self.organization, id).await?.task_run;
        if let TaskRunState::Started(_) = run.state {
            run = engine
                .score_scenario_run(self.organization, id)
                .await?
                .task_run;
        }
        let closing = self.state.fleet()?.closing();
        while let TaskRunState::Scoring { .. } = run.state {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = closing.cancelled() => {
                    let message = "the server is about to end; scoring goes on when it is back, so call `complete` again";
                    return Ok(ToolResult::error(message));
                }
            }
            run = engine.scenario_run(self.organization, id).await?.task_run;
        }
        if let TaskRunState::Scored { .. } = run.state {
            run = engine
                .complete_scenario_run(self.organization, id)
                .await?
                .task_run;
        }
        Ok(ended(id, &run))
    }
}

/// What became of a run that is over.
fn ended(id: TaskRunId, run: &TaskRun) -> ToolResult {
    let mut told = json!({
        "scenario_run_id": id.wire(Dialect::Runloop),
        "state": run.status().as_str(),
        "score": run.card().map(|card| card.score),
    });
    if let Some(fault) = run.fault() {
        told["cause"] = fault.cause.as_str().into();
        told["reason"] = fault.reason.map(String::from).into();
    }
    ToolResult::success(told.to_string())
}

/// The end of a text, and whether something comes before it.
fn end_of(text: &str) -> (&str, bool) {
    let start = text.len().saturating_sub(MOST_OUTPUT);
    let start = (start..=text.len())
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(text.len());
    (&text[start..], start > 0)
}

#[async_trait]
impl Toolbox for DevboxTools {
    fn name(&self) -> &str {
        &self.name
    }

    fn instruction(&self) -> &str {
        &self.instruction
    }

    fn tools(&self) -> &[ToolDescription] {
        &self.described
    }

    async fn call(&self, name: &str, arguments: Map<String, Value>) -> ToolResult {
        let result = self.use_tool(name, &arguments).await;
        result.unwrap_or_else(|error| ToolResult::error(error.message()))
    }
}
