//! `proctor show`: what came of a run or a task run.

use proctor_benchmarks::Api;
use proctor_core::id::{
    Dialect,
    kinds::{RunId, TaskRunId},
};

use super::compare::{read, refused, versioned};
use crate::{
    cli::Show,
    exit::{Exit, WrongUse},
    report::{answers::Results, tables, text::line},
    terminal,
};

pub(crate) async fn run(arguments: Show) -> anyhow::Result<Exit> {
    let server = arguments.server;
    let api = Api::new(&server.server, server.key).map_err(|bad| WrongUse(bad.to_string()))?;
    if let Ok(run) = either::<proctor_core::id::kinds::RunKind>(&arguments.id) {
        return show_run(&api, run, arguments.failed, arguments.json).await;
    }
    if let Ok(task_run) = either::<proctor_core::id::kinds::TaskRunKind>(&arguments.id) {
        return show_task_run(&api, task_run, arguments.failed, arguments.json).await;
    }
    Err(WrongUse(format!(
        "'{}' is neither the id of a run (br_…, bmr_…) nor of a task run (tr_…, scr_…)",
        arguments.id
    ))
    .into())
}

/// An id in the spelling of either dialect.
pub(super) fn either<K: proctor_core::id::Kind>(
    text: &str,
) -> Result<proctor_core::id::Id<K>, proctor_core::id::BadId> {
    let verial = proctor_core::id::Id::from_wire(text, Dialect::Verial);
    verial.or_else(|bad| proctor_core::id::Id::from_wire(text, Dialect::Runloop).map_err(|_| bad))
}

async fn show_run(api: &Api, run: RunId, failed: bool, json: bool) -> anyhow::Result<Exit> {
    let path = format!("/benchmark-runs/{run}/results?criteria=true");
    let answer = api.get(&path).await.map_err(refused)?;
    if json {
        terminal::print(format_args!("{}\n", versioned(answer)));
        return Ok(Exit::Fine);
    }
    let found: Results = read(answer)?;
    terminal::print(tables::results(&run.to_string(), &found, failed));
    Ok(Exit::Fine)
}

async fn show_task_run(
    api: &Api,
    task_run: TaskRunId,
    failed: bool,
    json: bool,
) -> anyhow::Result<Exit> {
    let path = format!("/task-runs/{task_run}");
    let answer = api.get(&path).await.map_err(refused)?;
    if json {
        terminal::print(format_args!("{}\n", versioned(answer)));
        return Ok(Exit::Fine);
    }
    let text = |name: &str| line(answer[name].as_str().unwrap_or("-"), 100);
    let score = answer["score"].as_f64();
    let score = score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"));
    let mut said = format!(
        "{task_run}  {}  {}  {score}  {}\n\n",
        text("name"),
        text("status"),
        text("verdict")
    );
    let mut rows = terminal::table(&["CRITERION", "AXIS", "WEIGHT", "SCORE"]);
    for one in answer["criterion_runs"].as_array().into_iter().flatten() {
        let score = one["score"].as_f64().unwrap_or(0.0);
        if failed && score >= 1.0 {
            continue;
        }
        let member = |name: &str| line(one[name].as_str().unwrap_or("-"), 80);
        rows.add_row([
            member("label"),
            member("axis"),
            one["weight"].to_string(),
            format!("{score:.3}"),
        ]);
    }
    said += &format!("{rows}\n");
    terminal::print(said);
    Ok(Exit::Fine)
}
