//! Trials of jobs: what the server does for each, however many there are.

use std::time::{Duration, Instant};

use proctor_testkit::{
    cpu::CpuTime,
    figures::{Report, median},
    server::{BenchServer, Caller},
};
use serde_json::{Value, json};

use crate::{millis, rounds};

/// How many trials a job has.
const SIZES: [usize; 3] = [50, 300, 1000];
/// How many trials are under way at once.
const AT_ONCE: usize = 8;
/// What a measurement uses of the processors at least: small jobs are repeated.
const LEAST_CPU: Duration = Duration::from_secs(2);
/// How long to wait between two looks at a job, for each of its trials. An answer lists all trials, so asking costs the same share of every job.
const PAUSE_PER_TRIAL: Duration = Duration::from_millis(4);

/// What trials cost, each in milliseconds.
struct Cost {
    cpu: f64,
    children: f64,
    wall: f64,
}

pub(crate) async fn measure(report: &mut Report, program: &str) {
    let server = BenchServer::start(program);
    let scenarios = make_scenarios(server.caller(), SIZES[SIZES.len() - 1]).await;
    // What is prepared once is nobody's.
    run(server.caller(), &scenarios[..1]).await;
    run(server.caller(), &scenarios[..SIZES[0]]).await;
    let mut costs: [Vec<Cost>; 3] = Default::default();
    // In turns, so that a machine that is busy for a while is busy for all.
    for _ in 0..rounds() {
        for (size, costs) in SIZES.iter().zip(&mut costs) {
            costs.push(measure_once(&server, &scenarios[..*size]).await);
        }
    }
    let asking = cost_of_asking(&server).await;
    let _ = server.end();

    let medians = costs.map(|costs| {
        let of = |part: fn(&Cost) -> f64| median(costs.iter().map(part).collect());
        Cost {
            cpu: of(|cost| cost.cpu),
            children: of(|cost| cost.children),
            wall: of(|cost| cost.wall),
        }
    });
    for (size, cost) in SIZES.iter().zip(&medians) {
        report.at_most(
            &format!("server CPU per no-op trial, job of {size}"),
            cost.cpu,
            4.0,
            "ms",
        );
        report.note(
            "the same: processes that the server waited for; rate",
            format!("{:.2} ms; {:.0}/s", cost.children, 1000.0 / cost.wall),
        );
    }
    report.note(
        &format!(
            "one look at a job of {}, every {:?} × trials",
            asking.0, PAUSE_PER_TRIAL
        ),
        format!("{:.1} ms CPU", asking.1),
    );
    let (small, large) = (&medians[0], &medians[SIZES.len() - 1]);
    report.at_most(
        "server CPU per no-op trial, 1,000 : 50",
        large.cpu / small.cpu,
        1.25,
        "×",
    );
}

/// Jobs of this size until enough of the processors was used.
async fn measure_once(server: &BenchServer, scenarios: &[String]) -> Cost {
    let (began, before) = (Instant::now(), server.cpu());
    let (mut trials, mut used) = (0usize, CpuTime::default());
    while used.own < LEAST_CPU {
        run(server.caller(), scenarios).await;
        trials += scenarios.len();
        used = server.cpu() - before;
    }
    let per_trial = |span: Duration| millis(span) / trials as f64;
    Cost {
        cpu: per_trial(used.own),
        children: per_trial(used.ended_children),
        wall: per_trial(began.elapsed()),
    }
}

/// Scenarios with the cheapest scorer that looks into a box.
pub(crate) async fn make_scenarios(caller: &Caller, many: usize) -> Vec<String> {
    let mut made = Vec::new();
    for number in 0..many {
        let body = json!({
            "name": format!("scale-{number}"),
            "input_context": {"problem_statement": "Do nothing."},
            "scoring_contract": {"scoring_function_parameters": [
                {"name": "yes", "weight": 1.0, "scorer": {"type": "command_scorer", "command": "true"}},
            ]},
        });
        let scenario = caller.post("/v1/scenarios", body).await;
        made.push(scenario["id"].as_str().unwrap().to_owned());
    }
    made
}

/// A job of one agent that does nothing, to its end.
pub(crate) async fn run(caller: &Caller, scenarios: &[String]) -> Value {
    let body = json!({"spec": {
        "type": "scenarios",
        "scenario_ids": scenarios,
        "agent_configs": [{"type": "job_agent", "name": "nop"}],
        "orchestrator_config": {"n_concurrent_trials": AT_ONCE},
    }});
    let job = caller.post("/v1/benchmark_jobs", body).await;
    let path = format!("/v1/benchmark_jobs/{}", job["id"].as_str().unwrap());
    let pause = PAUSE_PER_TRIAL * u32::try_from(scenarios.len()).unwrap();
    let job = loop {
        tokio::time::sleep(pause).await;
        let job = caller.get(&path).await;
        if !["initializing", "queued", "running"].contains(&job["state"].as_str().unwrap()) {
            break job;
        }
    };
    let outcome = &job["benchmark_outcomes"][0];
    let ended = (
        &job["state"],
        &outcome["n_completed"],
        &outcome["average_score"],
    );
    let expected = (&json!("completed"), &json!(scenarios.len()), &json!(1.0));
    assert_eq!(ended, expected, "{}", failures(outcome));
    job
}

/// The trials that did not complete, and why.
fn failures(outcome: &Value) -> Value {
    let trials = outcome["scenario_outcomes"]
        .as_array()
        .into_iter()
        .flatten();
    let failed = trials.filter(|trial| trial["state"] != "COMPLETED");
    failed.cloned().collect()
}

/// What it costs to look at the newest job, and how many trials that has.
async fn cost_of_asking(server: &BenchServer) -> (usize, f64) {
    let caller = server.caller();
    let jobs = caller.get("/v1/benchmark_jobs?limit=1").await;
    let path = format!(
        "/v1/benchmark_jobs/{}",
        jobs["jobs"][0]["id"].as_str().unwrap()
    );
    let (before, mut asked, mut trials) = (server.cpu(), 0u32, 0);
    while (server.cpu() - before).own < LEAST_CPU / 4 {
        let job = caller.get(&path).await;
        let outcomes = job["benchmark_outcomes"][0]["scenario_outcomes"].as_array();
        trials = outcomes.unwrap().len();
        asked += 1;
    }
    (
        trials,
        millis((server.cpu() - before).own) / f64::from(asked),
    )
}
