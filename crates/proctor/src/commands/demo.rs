//! `proctor demo`: everything once, on one's own machine.

use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use proctor_api::telemetry::{self, TelemetryOptions};
use proctor_benchmarks::{
    Agent, Api, BenchmarkFile, SHIPPED, Taken, enroll, push, push_scenarios, take, take_scenarios,
};
use proctor_engine::Extensions;
use proctor_scenarios::ScenarioSet;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use crate::{
    commands::{embedded::Embedded, open, signals},
    exit::Exit,
    settings::address,
    terminal,
};

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Directory that keeps what happens; without it everything is forgotten at the end
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Address and port to listen on; port 0 lets the system choose
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// End when the results are there, instead of serving on
    #[arg(long)]
    pub(crate) exit: bool,
    /// Print the results as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The agents that take every clinical benchmark, in the order of the table.
const AGENTS: [Agent; 3] = [Agent::Oracle, Agent::Careless, Agent::Null];
/// The agents that take every set of coding scenarios.
const CODERS: [Agent; 2] = [Agent::Oracle, Agent::Null];
/// The longest sentence of the table, in characters.
const LONGEST_REASON: usize = 100;

pub(crate) async fn run(arguments: Demo) -> anyhow::Result<Exit> {
    let telemetry = telemetry::install(&TelemetryOptions {
        filter: "warn".to_owned(),
        ..TelemetryOptions::default()
    })?;
    let place = Place::choose(arguments.data.clone())?;
    let server = Embedded::start(place.path(), arguments.listen).await?;
    let examined = examine(&server, arguments.json).await;
    let results = match examined {
        Ok(results) => results,
        Err(failure) => {
            server.stop().await?;
            return Err(failure);
        }
    };
    if arguments.json {
        terminal::print(format_args!("{}\n", to_json(&results, &server, &place)));
    } else {
        println!("{}", table(&results));
        let pages = match arguments.exit {
            true => None,
            false => Some(pages(&results, &server).await?),
        };
        where_to_look(&results, &server, &place, pages);
    }
    if !arguments.exit {
        let waiting = TaskTracker::new();
        let stopping = server.stopping();
        waiting.spawn(signals::stop(stopping.clone()));
        stopping.cancelled().await;
    }
    server.stop().await?;
    telemetry.shutdown();
    let is_right = results.iter().all(Outcome::is_right);
    Ok(if is_right { Exit::Fine } else { Exit::No })
}

/// Where everything is kept.
enum Place {
    Chosen(PathBuf),
    Temporary(TempDir),
}

impl Place {
    fn choose(data: Option<PathBuf>) -> anyhow::Result<Self> {
        match data {
            Some(data) => Ok(Self::Chosen(data)),
            None => {
                let directory = tempfile::Builder::new().prefix("proctor-demo-").tempdir();
                let directory = directory.context("no temporary directory can be made")?;
                Ok(Self::Temporary(directory))
            }
        }
    }

    fn path(&self) -> &std::path::Path {
        match self {
            Self::Chosen(path) => path,
            Self::Temporary(directory) => directory.path(),
        }
    }
}

/// How an agent fared in a benchmark.
struct Outcome {
    benchmark: String,
    name: String,
    agent: Agent,
    taken: Taken,
}

impl Outcome {
    /// Whether the benchmark was proved: full marks for its solution, a `fail` for harm however well the work was done, and
    /// nothing for doing nothing.
    fn is_right(&self) -> bool {
        match self.agent {
            Agent::Oracle => self.taken.score >= 1.0 && self.taken.verdict != "fail",
            Agent::Careless => self.taken.verdict == "fail" && self.reason().is_some(),
            Agent::Null => self.taken.score <= 0.0,
        }
    }

    /// The first critical criterion that was missed, and why.
    fn reason(&self) -> Option<String> {
        let mut misses = self
            .taken
            .tasks
            .iter()
            .flat_map(|task| &task.critical_misses);
        misses
            .next()
            .map(|miss| format!("{}: {}", miss.name(), miss.why))
    }
}

async fn examine(server: &Embedded, json: bool) -> anyhow::Result<Vec<Outcome>> {
    let api = Api::new(&server.url, server.key.clone())?;
    let clinical = SHIPPED
        .iter()
        .map(|shipped| Ok(shipped.read()?.content))
        .collect::<anyhow::Result<Vec<BenchmarkFile>>>()?;
    let missing = missing_for_coding(server).await;
    let coding = match missing {
        None => coding()?,
        Some(_) => Vec::new(),
    };
    let tasks: usize = clinical.iter().map(|file| file.tasks.len()).sum();
    let scenarios: usize = coding.iter().map(|set| set.scenarios.len()).sum();
    let bar = progress(tasks * AGENTS.len() + scenarios * CODERS.len(), json);
    let mut results = examine_clinics(&api, &clinical, &bar).await?;
    results.extend(examine_coders(&api, &coding, &bar).await?);
    bar.finish_and_clear();
    if let Some(missing) = missing
        && !json
    {
        eprintln!("The coding scenarios were left out: {missing}.");
    }
    Ok(results)
}

/// What this machine lacks to take the coding scenarios, if it lacks something: boxes have its programs.
async fn missing_for_coding(server: &Embedded) -> Option<&'static str> {
    let has = |program: &str| std::path::Path::new("/usr/bin").join(program).exists();
    if !server.has_devboxes().await {
        return Some("devboxes do not work here, and `proctor doctor` says why");
    }
    if !has("python3") {
        return Some("they need /usr/bin/python3");
    }
    if !has("patch") {
        return Some("they need /usr/bin/patch");
    }
    None
}

fn coding() -> anyhow::Result<Vec<ScenarioSet>> {
    let shipped = proctor_scenarios::SHIPPED.iter();
    let sets = shipped.map(|shipped| shipped.read().context(shipped.name));
    sets.collect()
}

/// The benchmarks in simulated worlds.
async fn examine_clinics(
    api: &Api,
    files: &[BenchmarkFile],
    bar: &ProgressBar,
) -> anyhow::Result<Vec<Outcome>> {
    let mut versions = Vec::new();
    for file in files {
        bar.set_message(format!("publishing {}", file.slug.as_str()));
        let pushed = push(api, file, true).await?;
        versions.push(pushed.version.unwrap_or(1));
    }
    let extensions = Extensions::shipped();
    let mut results = Vec::new();
    for agent in AGENTS {
        let solver = enroll(api, agent).await?;
        for (file, version) in files.iter().zip(&versions) {
            bar.set_message(format!("{agent} takes {}", file.slug.as_str()));
            let taken = take(&solver, file, *version, agent, &extensions, |_| bar.inc(1)).await?;
            results.push(Outcome {
                benchmark: format!("{}@{version}", file.slug.as_str()),
                name: file.name.clone(),
                agent,
                taken,
            });
        }
    }
    results.sort_by(|one, other| (&one.benchmark, one.agent).cmp(&(&other.benchmark, other.agent)));
    Ok(results)
}

/// The benchmarks in boxes.
async fn examine_coders(
    api: &Api,
    sets: &[ScenarioSet],
    bar: &ProgressBar,
) -> anyhow::Result<Vec<Outcome>> {
    let mut results = Vec::new();
    for set in sets {
        bar.set_message(format!("bringing {}", set.name));
        let pushed = push_scenarios(api, set).await?;
        for agent in CODERS {
            bar.set_message(format!("{agent} takes {}", set.name));
            let taken = take_scenarios(api, set, &pushed, agent, |_| bar.inc(1)).await?;
            results.push(Outcome {
                benchmark: set.name.clone(),
                name: set.name.clone(),
                agent,
                taken,
            });
        }
    }
    Ok(results)
}

/// A bar on a terminal, nothing elsewhere.
fn progress(length: usize, json: bool) -> ProgressBar {
    if json || !terminal::is_for_people() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

fn axes(results: &[Outcome]) -> BTreeSet<&str> {
    let axes = results.iter().flat_map(|one| one.taken.axes.keys());
    axes.map(String::as_str).collect()
}

fn table(results: &[Outcome]) -> comfy_table::Table {
    let axes = axes(results);
    let mut headings = vec!["benchmark", "agent", "score", "verdict"];
    headings.extend(&axes);
    headings.push("why");
    let mut table = terminal::table(&headings);
    for one in results {
        let mut row = vec![
            one.benchmark.clone(),
            one.agent.to_string(),
            format!("{:.2}", one.taken.score),
            one.taken.verdict.clone(),
        ];
        row.extend(axes.iter().map(|axis| match one.taken.axes.get(*axis) {
            Some(score) => format!("{score:.2}"),
            None => "-".to_owned(),
        }));
        let reason = one.reason().unwrap_or_default();
        let is_long = reason.chars().count() > LONGEST_REASON;
        let shown: String = reason.chars().take(LONGEST_REASON).collect();
        row.push(if is_long {
            format!("{shown}…")
        } else {
            shown
        });
        table.add_row(row);
    }
    table
}

/// A one-time link to the failure that is most worth a look: the task whose score looks best although something critical was missed.
async fn pages(results: &[Outcome], server: &Embedded) -> anyhow::Result<String> {
    let tasks = results.iter().flat_map(|one| &one.taken.tasks);
    let failed = tasks.filter(|task| !task.critical_misses.is_empty());
    let worth = failed.max_by(|one, other| one.score.total_cmp(&other.score));
    let page = worth.map(|task| format!("/ui/task-runs/{}", task.task_run_id));
    open::one_time_link(&server.url, server.key.expose_secret(), page.as_deref()).await
}

fn where_to_look(results: &[Outcome], server: &Embedded, place: &Place, pages: Option<String>) {
    let (url, key) = (&server.url, server.key.expose_secret());
    let data = place.path().display();
    let first = results.first().and_then(|one| one.taken.tasks.first());
    let evidence = first.map(|task| format!("criterion-runs?task_run_id={}", task.task_run_id));
    let evidence = evidence.unwrap_or_else(|| "benchmark-runs".to_owned());
    if let Some(pages) = pages {
        println!(
            "\nEvery score has its evidence. Why a careless agent failed with a score that looks good:\n"
        );
        println!("    {pages}\n");
        println!(
            "(the link works once, for ten minutes; `proctor open` prints another). The same by the API:\n"
        );
        println!("    curl -H 'Authorization: Bearer {key}' '{url}/{evidence}'\n");
        println!("The API is described at {url}/docs");
        println!("Everything is kept in {data}");
        match place {
            Place::Chosen(_) => println!("Ctrl-C stops the server."),
            Place::Temporary(_) => {
                println!("Ctrl-C stops the server and removes it; --data DIR keeps it.");
            }
        }
        return;
    }
    match place {
        Place::Chosen(_) => {
            println!("\nEverything is kept in {data}. To look at the evidence of every score:\n");
            println!("    proctor serve --data {data}");
            println!(
                "    curl -H 'Authorization: Bearer {key}' 'http://127.0.0.1:7070/{evidence}'"
            );
        }
        Place::Temporary(_) => {
            println!(
                "\nNothing was kept. `proctor demo` without --exit serves the evidence of every score;"
            );
            println!("`proctor demo --data DIR` keeps it.");
        }
    }
}

fn to_json(results: &[Outcome], server: &Embedded, place: &Place) -> Value {
    let shown = results.iter().map(|one| {
        json!({
            "benchmark": one.benchmark,
            "name": one.name,
            "agent": one.agent.as_str(),
            "run_id": one.taken.run_id,
            "score": one.taken.score,
            "verdict": one.taken.verdict,
            "axes": one.taken.axes,
            "why": one.reason(),
            "tasks": one.taken.tasks.iter().map(|task| json!({
                "name": task.name,
                "task_run_id": task.task_run_id,
                "score": task.score,
                "verdict": task.verdict,
                "critical_misses": task.critical_misses.iter().map(|miss| json!({
                    "key": miss.key,
                    "label": miss.label,
                    "why": miss.why,
                })).collect::<Value>(),
            })).collect::<Value>(),
        })
    });
    json!({
        "ok": results.iter().all(Outcome::is_right),
        "url": server.url,
        "key": server.key.expose_secret(),
        "data": place.path(),
        "results": shown.collect::<Value>(),
    })
}
