//! `proctor show`: what came of a run or a task run, now or when it is over.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context as _;
use clap::Args;
use proctor_benchmarks::Api;
use proctor_core::id::{
    BadId, Dialect, Id, Kind,
    kinds::{RunId, RunKind, TaskRunId, TaskRunKind},
};
use serde_json::{Value, json};

use super::{
    access::Access,
    compare::{read, refused, versioned},
};
use crate::{
    exit::{Exit, WrongUse},
    report::{
        answers::{Results, Usage},
        markdown, marks,
        run::axes,
        tables, task_run,
    },
    terminal,
};

/// How often something that goes on is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How many of the newest events are listed.
const LISTED_EVENTS: u64 = 200;

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The id of a run or of a task run
    pub(crate) id: String,
    /// Only what did not pass
    #[arg(long)]
    pub(crate) failed: bool,
    /// Of a task run: what happened in its world
    #[arg(long)]
    pub(crate) events: bool,
    /// Of a task run: what its agent did, as ATIF
    #[arg(long, conflicts_with_all = ["follow", "events", "json", "markdown"])]
    pub(crate) trajectory: bool,
    /// Tell what happens until it is over
    #[arg(long, conflicts_with = "json")]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) access: Access,
    /// Use ASCII for marks, bars and arrows
    #[arg(long, conflicts_with = "json")]
    pub(crate) ascii: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is to be shown of it.
#[derive(Clone, Copy)]
struct Wanted {
    failed: bool,
    events: bool,
    trajectory: bool,
    follow: bool,
    ascii: bool,
    markdown: bool,
    json: bool,
}

impl Wanted {
    fn print(self, text: String) {
        terminal::print(marks::shown(text, self.ascii));
    }
}

pub(crate) async fn run(arguments: Show) -> anyhow::Result<Exit> {
    let wanted = Wanted {
        failed: arguments.failed,
        events: arguments.events,
        trajectory: arguments.trajectory,
        follow: arguments.follow,
        ascii: arguments.ascii,
        markdown: arguments.markdown,
        json: arguments.json,
    };
    let connection = arguments.access.open().await?;
    let shown = show(&connection.api, &arguments.id, wanted).await;
    connection.close().await?;
    shown
}

async fn show(api: &Api, id: &str, wanted: Wanted) -> anyhow::Result<Exit> {
    if let Ok(run) = either::<RunKind>(id) {
        if wanted.events || wanted.trajectory {
            let message =
                "events and trajectories are those of a task run (tr_…, scr_…), not of a whole run";
            return Err(WrongUse(message.to_owned()).into());
        }
        return show_run(api, run, wanted).await;
    }
    if let Ok(task_run) = either::<TaskRunKind>(id) {
        return show_task_run(api, task_run, wanted).await;
    }
    Err(WrongUse(format!(
        "'{id}' is neither the id of a run (br_…, bmr_…) nor of a task run (tr_…, scr_…)"
    ))
    .into())
}

/// An id in the spelling of either dialect.
pub(crate) fn either<K: Kind>(text: &str) -> Result<Id<K>, BadId> {
    let verial = Id::from_wire(text, Dialect::Verial);
    verial.or_else(|bad| Id::from_wire(text, Dialect::Runloop).map_err(|_| bad))
}

async fn show_run(api: &Api, run: RunId, wanted: Wanted) -> anyhow::Result<Exit> {
    let path = format!("/benchmark-runs/{run}/results?criteria=true");
    if wanted.follow {
        follow_run(api, run, &path, wanted.ascii).await?;
    }
    let answer = api.get(&path).await.map_err(refused)?;
    if wanted.json {
        terminal::print(format_args!("{}\n", versioned(answer)));
        return Ok(Exit::Fine);
    }
    let found: Results = read(answer)?;
    let whole = api.get(&format!("/benchmark-runs/{run}")).await;
    let axes = axes(&whole.map_err(refused)?);
    let name = run.to_string();
    wanted.print(match wanted.markdown {
        true => markdown::results(&name, &found, &axes, wanted.failed),
        false => tables::results(&name, &found, &axes, wanted.failed),
    });
    Ok(Exit::Fine)
}

/// Tells of each attempt of a run when it is over, until the run is.
async fn follow_run(api: &Api, run: RunId, results: &str, ascii: bool) -> anyhow::Result<()> {
    let mut told = BTreeSet::new();
    loop {
        // In this order: what ends in between is told the next time.
        let state = api.get(&format!("/benchmark-runs/{run}")).await;
        let is_over = is_over(&state.map_err(refused)?);
        let found: Results = read(api.get(results).await.map_err(refused)?)?;
        for attempt in found.agents.iter().flat_map(|agent| &agent.attempts) {
            let is_known = attempt.score.is_some() || attempt.cause.is_some();
            if is_known && told.insert(attempt.task.clone()) {
                eprintln!("{}", marks::shown(tables::attempt(attempt), ascii));
            }
        }
        if is_over {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn show_task_run(api: &Api, id: TaskRunId, wanted: Wanted) -> anyhow::Result<Exit> {
    let path = format!("/task-runs/{id}");
    if wanted.trajectory {
        let kept = api.get(&format!("{path}/trajectory")).await;
        terminal::print(format_args!("{:#}\n", kept.map_err(refused)?));
        return Ok(Exit::Fine);
    }
    let mut answer = api.get(&path).await.map_err(refused)?;
    if wanted.follow {
        let mut next = 0;
        loop {
            if wanted.events {
                for event in events_from(api, id, next, u64::MAX).await? {
                    next = next.max(seq(&event).saturating_add(1));
                    wanted.print(task_run::event(&event));
                }
            }
            if is_over(&answer) {
                break;
            }
            tokio::time::sleep(LOOK).await;
            answer = api.get(&path).await.map_err(refused)?;
        }
    }
    let found = format!("/criterion-runs?task_run_id={id}");
    let found = api.all(&found).await.map_err(refused)?;
    let events = match wanted.events && !wanted.follow {
        true => Some(events_from(api, id, 0, LISTED_EVENTS).await?),
        false => None,
    };
    let mut used = api.get(&format!("{path}/usage")).await.map_err(refused)?;
    let used = used["usage"].take();
    if wanted.json {
        if !used.is_null() {
            answer["usage"] = used;
        }
        answer["found"] = json!(found);
        if let Some(events) = events {
            answer["events"] = json!(events);
        }
        terminal::print(format_args!("{}\n", versioned(answer)));
        return Ok(Exit::Fine);
    }
    let name = id.to_string();
    let mut said = task_run::told(&name, &answer, &found, wanted.failed);
    if !used.is_null() {
        let used: Usage = read(used)?;
        said += &format!("{}\n", used.to_text());
    }
    if let Some(events) = events {
        said += &task_run::events(&events);
    }
    wanted.print(match wanted.markdown {
        true => markdown::task_run(&name, &said),
        false => said,
    });
    Ok(Exit::Fine)
}

/// Whether a run or a task run is over.
fn is_over(answer: &Value) -> bool {
    !answer["completed_at"].is_null()
}

fn seq(event: &Value) -> u64 {
    event["seq"].as_u64().unwrap_or(0)
}

/// The newest events of a task run's world from this place on, at most so many, oldest first.
async fn events_from(
    api: &Api,
    id: TaskRunId,
    first: u64,
    most: u64,
) -> anyhow::Result<Vec<Value>> {
    let mut events: Vec<Value> = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut path = format!("/task-runs/{id}/events?limit=100");
        if let Some(cursor) = &cursor {
            path += &format!("&cursor={cursor}");
        }
        let mut page = api.get(&path).await.map_err(refused)?;
        let data = page["data"].as_array_mut().map(std::mem::take);
        let data = data.context("the server's answer has no events")?;
        let older = data.last().is_some_and(|oldest| seq(oldest) < first);
        events.extend(data.into_iter().filter(|event| seq(event) >= first));
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        if older || cursor.is_none() || events.len() as u64 >= most {
            break;
        }
    }
    events.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    events.reverse();
    Ok(events)
}
