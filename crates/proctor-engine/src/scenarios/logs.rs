//! The logs of a scenario run, as files.

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use proctor_core::{
    id::{Dialect, kinds::OrganizationId},
    task_run::TaskRun,
};
use serde_json::{Value, json};

use super::{BoxLog, LogStream};
use crate::{engine::Engine, error::EngineError, runs::ScenarioRun};
use proctor_macros::boxed_futures;

/// A log as a file.
pub struct LogFile {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub content: LogStream,
}

#[boxed_futures]
impl Engine {
    /// The logs of a scenario run. Those of the box are opened one after the other, as they are read.
    pub async fn scenario_logs(
        &self,
        organization: OrganizationId,
        task_run: TaskRun,
    ) -> Result<Vec<LogFile>, EngineError> {
        let run = self.with_findings(task_run).await?;
        let prefix = run.task_run.id.wire(Dialect::Runloop);
        let file = |ending: &str, content: LogStream| LogFile {
            name: format!("{prefix}_{ending}"),
            content,
        };
        let of_box = |log: BoxLog| self.box_log(organization, &run.task_run, log);
        let results = serde_json::to_vec_pretty(&results(&run))
            .map_err(|error| EngineError::Fault(error.to_string()))?;
        Ok(vec![
            file("setup.log", of_box(BoxLog::Setup)),
            file("exec.log", of_box(BoxLog::Executions)),
            // What the agent of a job printed; an agent from outside keeps its own.
            file("agent.log", of_box(BoxLog::Agent(run.task_run.id.uuid()))),
            file("scoring.log", text(scoring_log(&run))),
            file("results.json", whole(results)),
        ])
    }

    fn box_log(&self, organization: OrganizationId, task_run: &TaskRun, log: BoxLog) -> LogStream {
        let (Some(devbox), engine) = (task_run.devbox, self.clone()) else {
            return text(String::new());
        };
        let opened = async move {
            let opened = match engine.workshop() {
                Ok(workshop) => workshop.boxes.log(organization, devbox, log).await,
                Err(_) => return text(String::new()),
            };
            opened.unwrap_or_else(|error| text(format!("this log cannot be read: {error}\n")))
        };
        stream::once(opened).flatten().boxed()
    }
}

fn whole(bytes: Vec<u8>) -> LogStream {
    stream::once(async move { Ok(Bytes::from(bytes)) }).boxed()
}

fn text(text: String) -> LogStream {
    match text.is_empty() {
        true => stream::empty().boxed(),
        false => whole(text.into_bytes()),
    }
}

fn scoring_log(run: &ScenarioRun) -> String {
    let mut log = String::new();
    for function in &run.functions {
        let (name, state, score) = (
            &function.name,
            function.state_word(),
            function.score.value(),
        );
        log.push_str(&format!("=== {name}: {state}, score {score}\n"));
        log.push_str(&function.output);
        if !function.output.is_empty() && !function.output.ends_with('\n') {
            log.push('\n');
        }
    }
    log
}

fn results(run: &ScenarioRun) -> Value {
    let task_run = &run.task_run;
    let functions: Vec<Value> = run
        .functions
        .iter()
        .map(|function| {
            json!({"scoring_function_name": function.name, "score": function.score.value(),
                   "state": function.state_word(), "output": function.output})
        })
        .collect();
    json!({
        "scenario_run_id": task_run.id.wire(Dialect::Runloop),
        "scenario_id": task_run.task.wire(Dialect::Runloop),
        "benchmark_run_id": task_run.run.map(|run| run.wire(Dialect::Runloop)),
        "state": task_run.status(),
        "cause": task_run.cause(),
        "reason": task_run.reason(),
        "score": run.card().map(|card| card.score.value()),
        "scoring_mode": run.mode(),
        "can_be_rescored": run.is_kept,
        "disk_not_kept": run.not_kept(),
        "scoring_function_results": functions,
        "start_time_ms": task_run.started_at().map(|at| at.as_millis()),
        "end_time_ms": task_run.ended_at().map(|at| at.as_millis()),
    })
}
