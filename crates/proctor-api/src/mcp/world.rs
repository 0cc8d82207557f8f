//! The tools of a playground: those that its simulators registered, and `complete`.

use std::collections::HashSet;

use async_trait::async_trait;
use axum::extract::Request;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::header;
use proctor_core::id::kinds::{RunId, TaskRunId};
use proctor_engine::runs::TaskRunDetails;
use proctor_mcp::{ToolDescription, ToolResult, Toolbox};
use proctor_simulation::{
    exchange::Response,
    tool::{Effect, Tool, check},
};
use serde_json::{Map, Value, json};

use super::{COMPLETE, describe, described, instruction::instruction};
use crate::{
    error::ApiError,
    runloop::links::PublicAddress,
    state::ApiState,
    verial::{complete_task, door_of},
};

/// What a taker of a task in a playground can do.
pub(super) struct WorldTools {
    state: ApiState,
    run: RunId,
    task_run: TaskRunId,
    name: String,
    instruction: String,
    tools: Vec<&'static Tool>,
    described: Vec<ToolDescription>,
    /// The address of the playground, for links in answers.
    base: String,
}

impl WorldTools {
    pub(super) fn of(
        state: &ApiState,
        run: RunId,
        found: &TaskRunDetails,
        request: &Request,
    ) -> Result<Self, ApiError> {
        let (task, _) = found.prepared.task(found.task_run.task)?;
        let id = found.task_run.id;
        let doors = found
            .prepared
            .blueprint()
            .map(|blueprint| blueprint.doors());
        // Several simulators of one type have the same tools; a path leads to the first of them.
        let mut seen = HashSet::new();
        let tools: Vec<&'static Tool> = doors
            .unwrap_or_default()
            .iter()
            .flat_map(|door| door.plugin.tools())
            .filter(|tool| seen.insert(tool.name))
            .collect();
        let mut all: Vec<ToolDescription> = tools.iter().map(|tool| described(tool)).collect();
        all.push(describe(
            COMPLETE,
            "Say that the task is done. The world is frozen and judged; the answer holds the result.",
            Effect::Changes,
            &[],
        ));
        let address = PublicAddress::asked(request.uri(), request.headers(), state);
        Ok(Self {
            state: state.clone(),
            run,
            task_run: id,
            name: task.name.clone(),
            instruction: instruction(task),
            tools,
            described: all,
            base: address.link(&format!("/v1/task-runs/{id}")),
        })
    }

    async fn use_tool(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<ToolResult, ApiError> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            return self.complete(arguments).await;
        };
        let mut asked = match tool.request(arguments) {
            Ok(asked) => asked,
            Err(problems) => return Ok(ToolResult::error(problems.to_string())),
        };
        asked.base = Some(self.base.clone());
        let engine = self.state.engine();
        let world = engine.world_of_run(self.run, Some(self.task_run)).await?;
        let door = door_of(&self.state, &world, &asked.path)?;
        Ok(told(&world.handle(door, asked).await))
    }

    async fn complete(&self, arguments: &Map<String, Value>) -> Result<ToolResult, ApiError> {
        let problems = check(&[], arguments);
        if !problems.is_empty() {
            return Err(ApiError::validation(problems));
        }
        let result = complete_task(&self.state, self.run, self.task_run, false).await?;
        Ok(ToolResult::success(json!(result).to_string()))
    }
}

#[async_trait]
impl Toolbox for WorldTools {
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

/// A simulator's answer as a model reads it: its body, in the simulator's own shape.
fn told(answer: &Response) -> ToolResult {
    let status = answer.status;
    let text = match std::str::from_utf8(&answer.body) {
        Ok("") => format!("{status}"),
        Ok(text) => text.to_owned(),
        Err(_) => {
            let content_type = answer.headers.get(header::CONTENT_TYPE);
            json!({
                "content_type": content_type.and_then(|value| value.to_str().ok()),
                "content_base64": BASE64_STANDARD.encode(&answer.body),
            })
            .to_string()
        }
    };
    match status.is_client_error() || status.is_server_error() {
        true => ToolResult::error(text),
        false => ToolResult::success(text),
    }
}
