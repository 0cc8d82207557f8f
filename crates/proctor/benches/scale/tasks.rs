//! Verial tasks: what start and complete cost, however many tasks their run has.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use proctor_testkit::{
    cpu::CpuTime,
    figures::{Report, median},
    server::{BenchServer, Caller},
};
use serde_json::{Value, json};

use crate::{millis, rounds};

/// How many tasks a run has.
const SIZES: [usize; 4] = [10, 100, 1000, 10_000];
/// How many tasks a measurement takes, of one run or of as many as it needs.
const SAMPLE: usize = 1000;
/// How many requests are under way while a benchmark is written.
const AT_ONCE: usize = 8;

/// Whoever publishes and takes benchmarks on one server.
pub(crate) struct Clinic {
    pub(crate) server: BenchServer,
    environment: String,
    solver: Caller,
}

/// Task runs that wait to be taken, with the key of their run.
pub(crate) struct Waiting {
    pub(crate) agent: Caller,
    pub(crate) task_runs: Vec<String>,
}

impl Clinic {
    pub(crate) async fn open(program: &str) -> Self {
        let server = BenchServer::start(program);
        let caller = server.caller();
        let environment = make(caller, "/environments", json!({"name": "Scale"})).await;
        let simulator = make(
            caller,
            "/simulators",
            json!({"type": "Fhir", "name": "Chart"}),
        )
        .await;
        let path = format!("/environments/{environment}/simulators/{simulator}");
        caller.post(&path, json!({})).await;
        let profile = json!({"alias": "scale", "real_name": "Scale", "contact_email": "scale@example.org",
            "agent_description": "Takes task after task."});
        let solver = make(caller, "/solvers", profile).await;
        let path = format!("/solvers/{solver}/api-keys");
        let key = caller.post(&path, json!({})).await;
        let solver = caller.with_key(key["key"].as_str().unwrap());
        Self {
            server,
            environment,
            solver,
        }
    }

    /// Publishes a benchmark of so many tasks with one assertion each.
    pub(crate) async fn publish(&self, tasks: usize) -> String {
        let caller = self.server.caller();
        let body = json!({"name": format!("Scale {tasks}"), "environment_id": self.environment, "timeout": 3600});
        let benchmark = make(caller, "/benchmarks", body).await;
        let benchmark = benchmark.as_str();
        let write = async |number: usize| {
            let body = json!({"benchmark_id": benchmark, "name": format!("Task {number}")});
            let task = make(caller, "/tasks", body).await;
            let assertion = json!({"assert": "fhir-resource-state", "resource_type": "Patient", "search": {"_id": "ada"}});
            let body = json!({"task_id": task, "label": "Ada is there", "assertion": assertion});
            make(caller, "/criteria", body).await;
        };
        let written = stream::iter(0..tasks).map(write).buffer_unordered(AT_ONCE);
        written.collect::<Vec<()>>().await;
        let slug = format!("scale-{tasks}");
        let path = format!("/benchmarks/{benchmark}/publish");
        caller.post(&path, json!({"slug": slug})).await;
        slug
    }

    pub(crate) async fn begin(&self, slug: &str) -> (String, Waiting) {
        let begin = json!({"benchmark": format!("{slug}@1")});
        let run = self.solver.post("/v1/benchmark-runs", begin).await;
        let task_runs = run["task_runs"].as_array().unwrap();
        let id = |task_run: &Value| task_run["id"].as_str().unwrap().to_owned();
        let waiting = Waiting {
            agent: self.solver.with_key(run["bearer_token"].as_str().unwrap()),
            task_runs: task_runs.iter().map(id).collect(),
        };
        (
            run["benchmark_run_id"].as_str().unwrap().to_owned(),
            waiting,
        )
    }

    /// Starts and completes so many tasks one after the other: what a task costs of the server, in milliseconds of processors and by the clock.
    async fn take(&self, waiting: &mut Vec<Waiting>, many: usize) -> (f64, f64) {
        let (began, before) = (Instant::now(), self.server.cpu());
        for _ in 0..many {
            while waiting[0].task_runs.is_empty() {
                waiting.remove(0);
            }
            let task_run = waiting[0].task_runs.remove(0);
            take_one(&waiting[0].agent, &task_run).await;
        }
        let CpuTime { own, .. } = self.server.cpu() - before;
        let per_task = |span: Duration| millis(span) / many as f64;
        (per_task(own), per_task(began.elapsed()))
    }
}

async fn make(caller: &Caller, path: &str, body: Value) -> String {
    let made = caller.post(path, body).await;
    made["id"].as_str().unwrap().to_owned()
}

async fn take_one(agent: &Caller, task_run: &str) {
    let path = format!("/v1/task-runs/{task_run}/start");
    agent.post(&path, json!({})).await;
    let path = format!("/v1/task-runs/{task_run}/complete");
    let done = agent.post(&path, json!({})).await;
    assert_eq!(done["score"], 0.0, "{done}");
}

pub(crate) async fn measure(report: &mut Report, program: &str) {
    let clinic = Clinic::open(program).await;
    let mut slugs = Vec::new();
    for size in SIZES {
        slugs.push(clinic.publish(size).await);
    }
    // A run of the largest size is enough for all of its measurements.
    let mut largest: Vec<Waiting> = Vec::new();
    let mut costs: [(Vec<f64>, Vec<f64>); 4] = Default::default();
    for _ in 0..rounds() {
        for ((size, slug), (cpu, wall)) in SIZES.iter().zip(&slugs).zip(&mut costs) {
            let mut fresh = Vec::new();
            let waiting = match size / SAMPLE {
                0 | 1 => &mut fresh,
                _ => &mut largest,
            };
            while waiting.iter().map(|run| run.task_runs.len()).sum::<usize>() < SAMPLE {
                waiting.push(clinic.begin(slug).await.1);
            }
            let (used, took) = clinic.take(waiting, SAMPLE).await;
            cpu.push(used);
            wall.push(took);
        }
    }
    let _ = clinic.server.end();
    let medians = costs.map(|(cpu, wall)| (median(cpu), median(wall)));
    for (size, (cpu, wall)) in SIZES.iter().zip(medians) {
        let what = format!("start and complete of a task, run of {size}: CPU");
        report.at_most(&what, cpu, 2.0, "ms");
        report.note("the same by the clock", format!("{wall:.2} ms"));
    }
    let (small, large) = (medians[0], medians[SIZES.len() - 1]);
    let what = "start and complete of a task, run of 10,000 : 10";
    report.at_most(&format!("{what}, wall"), large.1 / small.1, 1.3, "×");
    report.at_most(&format!("{what}, CPU"), large.0 / small.0, 1.3, "×");
}

pub(crate) async fn measure_a_whole_run(report: &mut Report, program: &str) {
    let tasks = SIZES[SIZES.len() - 1];
    let clinic = Clinic::open(program).await;
    let slug = clinic.publish(tasks).await;
    let (began, before) = (Instant::now(), clinic.server.cpu());
    let (run, waiting) = clinic.begin(&slug).await;
    let made = began.elapsed();
    clinic.take(&mut vec![waiting], tasks).await;
    let path = format!("/benchmark-runs/{run}?limit=1");
    let done = clinic.server.caller().get(&path).await;
    assert_eq!(
        (&done["status"], &done["score"]),
        (&json!("completed"), &json!(0.0))
    );
    let (took, used) = (began.elapsed(), clinic.server.cpu() - before);
    let _ = clinic.server.end();
    report.note(
        &format!("a run of {tasks} tasks, from its making to its score"),
        format!(
            "{:.1} s, of which making it {:.2} s",
            took.as_secs_f64(),
            made.as_secs_f64()
        ),
    );
    let per_task = |span: Duration| millis(span) / tasks as f64;
    report.note(
        "the same for each task",
        format!("{:.2} ms, {:.2} ms CPU", per_task(took), per_task(used.own)),
    );
}
