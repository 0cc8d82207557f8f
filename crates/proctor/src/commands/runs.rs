//! `proctor runs`: the runs that there are, and removing those that are not needed any more.

use std::path::Path;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use proctor_core::{
    id::{Dialect, kinds::RunKind},
    time::{Clock as _, Timestamp},
};
use proctor_store::ambient::SystemClock;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    access::{Access, Connection},
    compare::{JSON_VERSION, read, refused},
    run::forget_run,
    show::either,
};
use crate::{
    exit::{Exit, WrongUse},
    report::{answers::Usage, text::line},
    terminal,
};

/// How much of a name is shown.
const NAME: usize = 40;

#[derive(Debug, Args)]
pub(crate) struct Runs {
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,
    /// Only those of this benchmark, by its slug or its name
    #[arg(long, value_name = "NAME")]
    pub(crate) benchmark: Option<String>,
    /// Only those of this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only those that are active, completed, cancelled or failed
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only those that were made since then: 2026-04-21T17:00:00Z, or 36h, 7d
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(crate) since: Option<Timestamp>,
    /// How many of the newest are listed
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) access: Access,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// Remove runs that are over, with everything that belongs to them
    Delete {
        /// The runs
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        #[command(flatten)]
        access: Access,
    },
    /// Remove all runs that were over before then
    Prune {
        /// How old: a number of days, hours or minutes, such as 30d, 36h or 90m
        #[arg(long, value_name = "AGE", value_parser = age)]
        older_than: i64,
        /// Only say which
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        access: Access,
    },
}

/// Milliseconds of `30d`, `36h` or `90m`.
fn age(text: &str) -> Result<i64, String> {
    let expected =
        || "expected a number of days, hours or minutes, such as 30d, 36h or 90m".to_owned();
    let unit = text.chars().last().ok_or_else(expected)?;
    let minutes = match unit {
        'd' => 24 * 60,
        'h' => 60,
        'm' => 1,
        _ => return Err(expected()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| expected())?;
    Ok(i64::from(number) * minutes * 60 * 1000)
}

fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let age = age(text).map_err(|_| {
        "expected a time such as 2026-04-21T17:00:00Z, or an age such as 7d".to_owned()
    })?;
    Ok(Timestamp::from_millis(SystemClock.now().as_millis() - age))
}

/// A run in a list.
#[derive(Deserialize)]
struct Listed {
    id: String,
    benchmark: ListedBenchmark,
    agent: Option<String>,
    status: String,
    created_at: Timestamp,
    completed_at: Option<Timestamp>,
    summary: Option<Value>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct ListedBenchmark {
    slug: Option<String>,
    version: Option<String>,
    name: String,
}

impl ListedBenchmark {
    fn is_named(&self, name: &str) -> bool {
        self.slug.as_deref() == Some(name) || self.name == name || self.to_text() == name
    }

    fn to_text(&self) -> String {
        match (&self.slug, &self.version) {
            (Some(slug), Some(version)) => format!("{slug}@{version}"),
            _ => self.name.clone(),
        }
    }
}

pub(crate) async fn run(arguments: Runs) -> anyhow::Result<Exit> {
    let access = match &arguments.action {
        None => &arguments.access,
        Some(RunsAction::Delete { access, .. } | RunsAction::Prune { access, .. }) => access,
    };
    let connection = access.open().await?;
    let done = match &arguments.action {
        None => list(&arguments, &connection).await,
        Some(RunsAction::Delete { runs, .. }) => delete(&connection, runs, arguments.json).await,
        Some(RunsAction::Prune {
            older_than,
            dry_run,
            ..
        }) => prune(&connection, *older_than, *dry_run, arguments.json).await,
    };
    connection.close().await?;
    done
}

/// Every run that the server lists under these conditions, newest first, each as it was answered and as it is read.
async fn found(connection: &Connection, query: &str) -> anyhow::Result<Vec<(Value, Listed)>> {
    let path = format!("/benchmark-runs{query}");
    let mut all = connection.api.all(&path).await.map_err(refused)?;
    all.reverse();
    let read = |value: Value| Ok((value.clone(), read(value)?));
    all.into_iter().map(read).collect()
}

async fn list(arguments: &Runs, connection: &Connection) -> anyhow::Result<Exit> {
    let mut query = url_query(&[
        ("agent", arguments.agent.clone()),
        ("status", arguments.status.clone()),
        ("since", arguments.since.map(|since| since.to_string())),
    ]);
    if !query.is_empty() {
        query.insert(0, '?');
    }
    let mut runs = found(connection, &query).await?;
    if let Some(name) = &arguments.benchmark {
        runs.retain(|(_, run)| run.benchmark.is_named(name));
    }
    let all = runs.len();
    runs.truncate(arguments.limit);
    let place = connection.directory.join("attempts");
    if arguments.json {
        let listed: Vec<Value> = runs.into_iter().map(|(value, _)| value).collect();
        let answer = json!({"version": JSON_VERSION, "total": all, "runs": listed});
        terminal::print(format_args!("{answer}\n"));
        return Ok(Exit::Fine);
    }
    let sizes = Sizes::of(connection, &place, &runs).await?;
    let mut table = terminal::table(&[
        "RUN",
        "BENCHMARK",
        "AGENT",
        "STATUS",
        "SCORE",
        "SCORED",
        "VOID",
        "COST",
        "LOGS",
        "MADE",
    ]);
    for (_, run) in &runs {
        let summary = run.summary.clone().unwrap_or_default();
        let number = |member: &str| {
            summary[member]
                .as_u64()
                .map_or_else(|| "-".to_owned(), |number| number.to_string())
        };
        table.add_row([
            run.id.clone(),
            line(&run.benchmark.to_text(), NAME),
            line(run.agent.as_deref().unwrap_or("-"), NAME),
            run.status.clone(),
            summary["score"]
                .as_f64()
                .map_or_else(|| "-".to_owned(), |score| format!("{score:.3}")),
            number("scored"),
            number("void"),
            match run.usage.and_then(|usage| usage.cost_usd) {
                Some(cost) => format!("${cost:.4}"),
                None => "-".to_owned(),
            },
            sizes.shown(&run.id),
            run.created_at.to_string(),
        ]);
    }
    let hidden = all - runs.len();
    let count = |status: &str| runs.iter().filter(|(_, run)| run.status == status).count();
    terminal::print(format_args!(
        "{table}\n{all} runs{}: {} completed, {} active, {} cancelled, {} failed; {}\n",
        match hidden {
            0 => String::new(),
            hidden => format!(" ({hidden} older ones are not listed)"),
        },
        count("completed"),
        count("active"),
        count("cancelled"),
        count("failed"),
        connection
            .server
            .clone()
            .unwrap_or_else(|| connection.directory.display().to_string()),
    ));
    Ok(Exit::Fine)
}

/// A query of the members that were given.
fn url_query(members: &[(&str, Option<String>)]) -> String {
    let given = members
        .iter()
        .filter_map(|(name, value)| Some((*name, value.as_ref()?)));
    let encoded = given.map(|(name, value)| {
        let value: String = value
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                    char::from(byte).to_string()
                }
                other => format!("%{other:02X}"),
            })
            .collect();
        format!("{name}={value}")
    });
    encoded.collect::<Vec<_>>().join("&")
}

/// How much the attempts of runs left on this machine.
struct Sizes(std::collections::BTreeMap<String, u64>);

impl Sizes {
    async fn of(
        connection: &Connection,
        place: &Path,
        runs: &[(Value, Listed)],
    ) -> anyhow::Result<Self> {
        let mut sizes = std::collections::BTreeMap::new();
        if !place.is_dir() {
            return Ok(Self(sizes));
        }
        for (_, run) in runs {
            let mut size = 0;
            for task_run in task_runs(connection, &run.id).await? {
                size += size_of(&place.join(task_run));
            }
            sizes.insert(run.id.clone(), size);
        }
        Ok(Self(sizes))
    }

    fn shown(&self, run: &str) -> String {
        match self.0.get(run) {
            None | Some(0) => "-".to_owned(),
            Some(size) => format!("{} KiB", size.div_ceil(1024)),
        }
    }
}

fn size_of(directory: &Path) -> u64 {
    let entries = fs_err::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}

async fn task_runs(connection: &Connection, run: &str) -> anyhow::Result<Vec<String>> {
    let path = format!("/task-runs?benchmark_run_id={run}");
    let all = connection.api.all(&path).await.map_err(refused)?;
    let id = |one: &Value| one["id"].as_str().map(str::to_owned);
    all.iter()
        .map(|one| id(one).context("a task run without an id"))
        .collect()
}

async fn delete(connection: &Connection, runs: &[String], json: bool) -> anyhow::Result<Exit> {
    let mut removed = Vec::new();
    for named in runs {
        let run = either::<RunKind>(named).map_err(|bad| WrongUse(format!("'{named}': {bad}")))?;
        let run = run.wire(Dialect::Verial);
        // One that a command left is open: nobody will finish it.
        if forget_run(&connection.directory, connection.server.as_deref(), &run) {
            let path = format!("/benchmark-runs/{run}/cancel");
            let _ = connection.api.post(&path, &json!({})).await;
        }
        remove(connection, &run).await?;
        removed.push(run);
    }
    tell(&removed, json, "removed");
    Ok(Exit::Fine)
}

async fn remove(connection: &Connection, run: &str) -> anyhow::Result<()> {
    let left = task_runs(connection, run).await?;
    connection
        .api
        .delete(&format!("/benchmark-runs/{run}"))
        .await
        .map_err(refused)?;
    for task_run in left {
        let place = connection.directory.join("attempts").join(task_run);
        if place.is_dir() {
            fs_err::remove_dir_all(place)?;
        }
    }
    Ok(())
}

async fn prune(
    connection: &Connection,
    older_than: i64,
    dry_run: bool,
    json: bool,
) -> anyhow::Result<Exit> {
    let before = SystemClock.now().as_millis() - older_than;
    let mut removed = Vec::new();
    for (value, run) in found(connection, "").await? {
        let is_old = run.completed_at.is_some_and(|at| at.as_millis() <= before);
        // What a job made, and what is on a leaderboard, stays.
        if !is_old || value["published"] == true {
            continue;
        }
        if !dry_run {
            match remove(connection, &run.id).await {
                Ok(()) => {}
                Err(error) if error.is::<WrongUse>() => {
                    eprintln!("{} stays: {error}", run.id);
                    continue;
                }
                Err(error) => return Err(error),
            }
        }
        removed.push(run.id);
    }
    tell(
        &removed,
        json,
        if dry_run {
            "would be removed"
        } else {
            "removed"
        },
    );
    Ok(Exit::Fine)
}

fn tell(runs: &[String], json: bool, done: &str) {
    if json {
        terminal::print(format_args!(
            "{}\n",
            json!({"version": JSON_VERSION, "runs": runs})
        ));
        return;
    }
    for run in runs {
        terminal::print(format_args!("{run}\n"));
    }
    eprintln!("{} runs {done}", runs.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read() {
        assert_eq!(age("90m"), Ok(90 * 60_000));
        assert_eq!(age("36h"), Ok(36 * 3_600_000));
        assert_eq!(age("2d"), Ok(2 * 86_400_000));
        assert!(
            age("2 weeks").is_err() && age("").is_err() && age("d").is_err() && age("-1d").is_err()
        );
        assert!(
            since("2026-04-21T17:00:00Z").is_ok() && since("7d").is_ok() && since("soon").is_err()
        );
    }

    #[test]
    fn queries_are_encoded() {
        let query = url_query(&[("agent", Some("a b/ü".to_owned())), ("status", None)]);
        assert_eq!(query, "agent=a%20b%2F%C3%BC");
    }
}
