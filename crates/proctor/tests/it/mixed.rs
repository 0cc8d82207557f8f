//! One benchmark with both kinds of world, in real boxes and real playgrounds: it is taken, survives `kill -9`, is scored and scored again.

use proctor_testkit::{
    eventually,
    server::{
        Caller, Server,
        authoring::{forty_two, is_registered},
    },
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::PROCTOR;

/// A benchmark of a clinical task and a coding scenario: its id in Verial's dialect and the scenario's in Runloop's.
async fn author(caller: &Caller) -> (String, String) {
    let environment = caller.make_environment(&["Fhir"]).await;
    let body =
        json!({"name": "Mixed", "environment_id": environment, "timeout": 600, "concurrency": 2});
    let benchmark = caller.make("/benchmarks", body).await;
    let body = json!({"benchmark_id": benchmark, "name": "clinical"});
    let task = caller.make("/tasks", body).await;
    for patient in ["p0", "p1"] {
        let body = json!({"task_id": task, "label": patient, "assertion": is_registered(patient)});
        caller.make("/criteria", body).await;
    }
    let scenario = caller.make("/v1/scenarios", forty_two("coding")).await;
    let suite = benchmark.replace("bench_", "bmd_");
    let path = format!("/v1/benchmarks/{suite}/scenarios");
    caller
        .post(&path, json!({"scenarios_to_add": [scenario]}))
        .await;
    (benchmark, scenario)
}

/// The scenario run of a benchmark run, whose box has come up.
async fn scenario_run(caller: &Caller, run: &str) -> Value {
    let path = format!("/v1/benchmark_runs/{run}/scenario_runs");
    let seen = caller.get(&path).await;
    let runs = seen["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1, "the clinical task has no box: {seen:#}");
    let devbox = format!("/v1/devboxes/{}", runs[0]["devbox_id"].as_str().unwrap());
    let ready = caller
        .wait(
            &format!("{devbox}/wait_for_status"),
            &["running", "failure"],
        )
        .await;
    assert_eq!(ready["status"], "running", "{ready:#}");
    runs[0].clone()
}

#[tokio::test]
async fn a_benchmark_of_both_kinds_of_world_is_taken_in_one_run() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::on(PROCTOR, data.path());
    let (benchmark, scenario) = author(server.caller()).await;
    let body = json!({"benchmark_id": benchmark, "draft": true});
    let begun = server.caller().post("/benchmark-runs", body).await;
    let token = begun["bearer_token"].as_str().unwrap();
    let run = begun["benchmark_run_id"].as_str().unwrap();
    let task_runs = begun["task_runs"].as_array().unwrap();
    assert_eq!(task_runs.len(), 2, "{begun:#}");
    let step = |number: usize, action: &str| {
        let id = task_runs[number]["id"].as_str().unwrap();
        format!("/v1/task-runs/{id}/{action}")
    };
    let agent = server.caller().with_key(token);
    for number in 0..2 {
        agent.post(&step(number, "start"), json!({})).await;
    }
    let as_suite_run = run.replacen("br_", "bmr_", 1);
    let coding = scenario_run(server.caller(), &as_suite_run).await;
    assert_eq!(coding["scenario_id"], json!(scenario));
    let devbox = format!("/v1/devboxes/{}", coding["devbox_id"].as_str().unwrap());
    let body = json!({"command": "echo 42 > answer.txt"});
    let done = server
        .caller()
        .post(&format!("{devbox}/execute_sync"), body)
        .await;
    assert_eq!(done["exit_status"], 0, "{done:#}");
    let patient = json!({"resourceType": "Patient", "id": "p0"});
    // Two task runs are started: a path below the run alone would not say whose world is meant.
    let path = step(0, "fhir/Patient/p0");
    let (status, answer) = agent.ask(Method::PUT, &path, patient).await;
    assert_eq!(status, 201, "{answer}");

    // Both worlds are as they were: the box still has its file, the playground its patient.
    server.kill();
    server = Server::on(PROCTOR, data.path());
    let caller = server.caller();
    let agent = caller.with_key(token);
    agent.get(&path).await;
    scenario_run(caller, &as_suite_run).await;

    let mut scores = Vec::new();
    for number in 0..2 {
        let completed = agent.post(&step(number, "complete"), json!({})).await;
        scores.push(completed["score"].clone());
    }
    assert_eq!(
        scores,
        [json!(0.5), json!(1.0)],
        "one of two patients, and 42"
    );
    let over = caller
        .get(&format!("/v1/benchmark_runs/{as_suite_run}"))
        .await;
    assert_eq!(
        (&over["state"], &over["score"]),
        (&json!("completed"), &json!(0.75)),
        "{over:#}"
    );
    let results = caller.get(&format!("/benchmark-runs/{run}/results")).await;
    let summary = &results["agents"][0]["summary"];
    assert_eq!(
        (&summary["score"], &summary["void"]),
        (&json!(0.75), &json!(0)),
        "{results:#}"
    );
    for (task_run, score) in task_runs.iter().zip(&scores) {
        let path = format!("/task-runs/{}/rescore", task_run["id"].as_str().unwrap());
        let again = caller.post(&path, json!({})).await;
        assert_eq!(&again["score"], score, "{again:#}");
    }
    let boxes = caller.get("/v1/devboxes?status=running").await;
    assert_eq!(boxes["devboxes"], json!([]), "no box is left");
}

#[tokio::test]
async fn what_was_scored_keeps_its_score_when_it_is_completed() {
    let server = Server::fresh(PROCTOR);
    let caller = server.caller();
    let (benchmark, _) = author(caller).await;
    let body = json!({"benchmark_id": benchmark, "draft": true});
    let begun = caller.post("/benchmark-runs", body).await;
    let agent = caller.with_key(begun["bearer_token"].as_str().unwrap());
    let task_run = begun["task_runs"][1]["id"].as_str().unwrap();
    let path = format!("/v1/task-runs/{task_run}");
    agent.post(&format!("{path}/start"), json!({})).await;
    let run = begun["benchmark_run_id"].as_str().unwrap();
    let coding = scenario_run(caller, &run.replacen("br_", "bmr_", 1)).await;
    let devbox = format!("/v1/devboxes/{}", coding["devbox_id"].as_str().unwrap());
    let write = async |answer: &str| {
        let body = json!({"command": format!("echo {answer} > answer.txt")});
        let done = caller.post(&format!("{devbox}/execute_sync"), body).await;
        assert_eq!(done["exit_status"], 0, "{done:#}");
    };
    write("42").await;
    let scenario_run = format!("/v1/scenarios/runs/{}", coding["id"].as_str().unwrap());
    caller
        .post(&format!("{scenario_run}/score"), json!({}))
        .await;
    eventually("the scenario run is scored", async || {
        caller.get(&scenario_run).await["state"] == "scored"
    })
    .await;
    write("41").await;
    let completed = agent.post(&format!("{path}/complete"), json!({})).await;
    assert_eq!(
        completed["score"], 1.0,
        "what was judged is not judged again: {completed:#}"
    );
}

#[tokio::test]
async fn a_job_takes_both_kinds_of_world_and_what_a_run_without_a_token_leaves_out_is_named() {
    let server = Server::fresh(PROCTOR);
    let caller = server.caller();
    let (benchmark, scenario) = author(caller).await;
    let suite = benchmark.replace("bench_", "bmd_");
    let body = json!({"spec": {"type": "benchmark", "benchmark_id": suite,
        "agent_configs": [{"type": "job_agent", "name": "nop"}]}});
    let job = caller.post("/v1/benchmark_jobs", body).await;
    let job = job["id"].as_str().unwrap();
    let seen = caller.finished_job(job).await;
    assert_eq!(seen["state"], "completed", "{seen:#}");
    let path = format!("/v1/benchmark_jobs/{job}/results");
    let results = caller.get(&path).await;
    assert_eq!(results["warnings"], json!([]), "{results:#}");
    let attempts = results["agents"][0]["attempts"].as_array().unwrap();
    let scores: Vec<&Value> = attempts.iter().map(|one| &one["score"]).collect();
    assert_eq!(scores, [&json!(0.0), &json!(0.0)], "{results:#}");
    let outcomes = &seen["benchmark_outcomes"][0];
    assert_eq!(outcomes["n_completed"], 2, "{outcomes:#}");
    let body = json!({"benchmark_id": suite});
    let run = caller.post("/v1/benchmarks/start_run", body).await;
    let run = run["id"].as_str().unwrap();
    let told = "1 of the benchmark's 2 tasks are left out, because they are done in playgrounds and not in devboxes: 'clinical'. \
                A run that is made at /benchmark-runs takes all of them.";
    let path = format!("/v1/benchmark_runs/{run}/results");
    let results = caller.get(&path).await;
    assert_eq!(results["warnings"], json!([told]), "{path}");
    let attempts = results["agents"][0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0]["task"], json!(scenario));
    let body = json!({"benchmark_id": benchmark, "draft": true});
    let begun = caller.post("/benchmark-runs", body).await;
    let run = begun["benchmark_run_id"].as_str().unwrap();
    let results = caller.get(&format!("/benchmark-runs/{run}/results")).await;
    assert_eq!(results["warnings"], json!([]), "it takes all of them");
}
