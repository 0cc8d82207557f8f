//! The logs of a scenario run, as files.

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use proctor_core::id::kinds::OrganizationId;
use proctor_engine::{
    Engine,
    runs::ScenarioRun,
    scenarios::{BoxLog, LogStream},
};
use serde_json::{Value, json};

use crate::runloop::ids::wire;

/// A log as a file.
pub(super) struct LogFile {
    /// Its name.
    pub(super) name: String,
    /// Its bytes.
    pub(super) content: LogStream,
}

/// The logs of a scenario run. Those of its box are opened one after the other, as they are read.
pub(super) fn log_files(
    engine: &Engine,
    organization: OrganizationId,
    run: &ScenarioRun,
) -> Vec<LogFile> {
    let prefix = wire(run.task_run.id);
    let file = |ending: &str, content: LogStream| LogFile {
        name: format!("{prefix}_{ending}"),
        content,
    };
    let of_box = |log: BoxLog| engine.log_of_box(organization, &run.task_run, log);
    let results = format!("{:#}", results(run));
    vec![
        file("setup.log", of_box(BoxLog::Setup)),
        file("exec.log", of_box(BoxLog::Executions)),
        // What the agent of a job printed; an agent from outside keeps its own.
        file("agent.log", of_box(BoxLog::Agent(run.task_run.id.uuid()))),
        file("scoring.log", whole(scoring_log(run))),
        file("results.json", whole(results)),
    ]
}

fn whole(text: String) -> LogStream {
    match text.is_empty() {
        true => stream::empty().boxed(),
        false => stream::once(async move { Ok(Bytes::from(text)) }).boxed(),
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
    let fault = task_run.fault();
    let functions: Vec<Value> = run
        .functions
        .iter()
        .map(|function| {
            json!({"scoring_function_name": function.name, "score": function.score.value(),
                   "state": function.state_word(), "output": function.output})
        })
        .collect();
    json!({
        "scenario_run_id": wire(task_run.id),
        "scenario_id": wire(task_run.task),
        "benchmark_run_id": task_run.run.map(wire),
        "state": task_run.status().as_str(),
        "cause": fault.as_ref().map(|fault| fault.cause.as_str()),
        "reason": fault.as_ref().and_then(|fault| fault.told()),
        "score": run.card().map(|card| card.score.value()),
        "scoring_mode": run.mode(),
        "can_be_rescored": run.is_kept,
        "disk_not_kept": run.not_kept(),
        "scoring_function_results": functions,
        "start_time_ms": task_run.started_at().map(|at| at.as_millis()),
        "end_time_ms": task_run.ended_at().map(|at| at.as_millis()),
    })
}
