//! Jobs of both kinds of world over `/jobs`: clinical tasks, scenarios and mixed benchmarks, with built-in agents and with commands in
//! boxes of their own; and such jobs after `kill -9` of the server.

use std::path::Path;

use proctor_testkit::{
    eventually_seen,
    server::{Caller, Server, authoring::forty_two, authoring::is_registered, proctor},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{PROCTOR, leftovers::no_box_is_left};

const FAX: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../benchmarks/clinical/fax-referral.yaml"
);

/// Publishes the fax benchmark.
fn publish(server: &Server) {
    let mut command = proctor(PROCTOR);
    command
        .args([
            "benchmark",
            "push",
            FAX,
            "--publish",
            "--server",
            &server.url(""),
        ])
        .args(["--key", proctor_testkit::server::KEY]);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}

/// The job as soon as it is over.
async fn over(caller: &Caller, job: &str) -> Value {
    eventually_seen("the job is over", async || {
        let seen = caller.get(&format!("/jobs/{job}")).await;
        match seen["ended_at"].is_null() {
            true => Err(seen),
            false => Ok(seen),
        }
    })
    .await
}

async fn results(caller: &Caller, body: Value) -> (Value, Value) {
    let made = caller.post("/jobs", body).await;
    let job = made["id"].as_str().unwrap();
    let seen = over(caller, job).await;
    (seen, caller.get(&format!("/jobs/{job}/results")).await)
}

fn scores(results: &Value) -> Vec<(String, Value)> {
    let agents = results["agents"].as_array().unwrap().iter();
    agents
        .map(|agent| {
            let name = agent["name"].as_str().unwrap().to_owned();
            (name, agent["summary"]["score"].clone())
        })
        .collect()
}

#[tokio::test]
async fn the_oracle_and_the_null_agent_take_a_clinical_benchmark_in_a_job() {
    let server = Server::fresh(PROCTOR);
    publish(&server);
    let caller = server.caller();
    let body = json!({"benchmark": "fax-referral@1", "agents": ["oracle", {"name": "null"}], "attempts": 2,
        "concurrency": 4, "labels": {"branch": "main"}});
    let (seen, results) = results(caller, body).await;
    assert_eq!(seen["status"], "completed", "{seen:#}");
    assert_eq!(
        (&seen["planned"], &seen["settled"], &seen["attempts"]),
        (&json!(16), &json!(16), &json!(2)),
        "{seen:#}"
    );
    assert_eq!(seen["benchmark"]["slug"], "fax-referral", "{seen:#}");
    assert_eq!(
        scores(&results),
        [
            ("oracle".to_owned(), json!(1.0)),
            ("null".to_owned(), json!(0.0))
        ],
        "{results:#}"
    );
    let run = results["agents"][0]["run_ids"][0].as_str().unwrap();
    let run = caller.get(&format!("/benchmark-runs/{run}")).await;
    assert_eq!(run["labels"]["branch"], "main", "{run:#}");
    assert_eq!(
        (&run["status"], &run["score"]),
        (&json!("completed"), &json!(1.0))
    );
    // The other dialect shows the same job.
    let other = seen["id"].as_str().unwrap().replacen("job_", "bmj_", 1);
    let other = caller.get(&format!("/v1/benchmark_jobs/{other}")).await;
    assert_eq!(other["state"], "completed", "{other:#}");
    assert_eq!(other["benchmark_outcomes"][0]["average_score"], 1.0);
    let listed = caller.get("/jobs?limit=1").await;
    assert_eq!(listed["data"][0]["id"], seen["id"], "{listed:#}");
}

/// A benchmark of a clinical task and a coding scenario.
async fn mixed(caller: &Caller) -> String {
    let environment = caller.make_environment(&["Fhir"]).await;
    let body = json!({"name": "Mixed", "environment_id": environment, "timeout": 600});
    let benchmark = caller.make("/benchmarks", body).await;
    let solution = json!([{"call": "PUT fhir/Patient/p0", "expect": 201, "body": {"resourceType": "Patient", "id": "p0"}}]);
    let body = json!({"benchmark_id": benchmark, "name": "clinical", "solution": solution});
    let task = caller.make("/tasks", body).await;
    let body = json!({"task_id": task, "label": "p0", "assertion": is_registered("p0")});
    caller.make("/criteria", body).await;
    let scenario = caller.make("/v1/scenarios", forty_two("coding")).await;
    let path = format!(
        "/v1/benchmarks/{}/scenarios",
        benchmark.replace("bench_", "bmd_")
    );
    caller
        .post(&path, json!({"scenarios_to_add": [scenario]}))
        .await;
    benchmark
}

/// A command that solves both tasks of the mixed benchmark, and reports what it used up where it can.
const SOLVER: &str = r#"
if [ -n "${PROCTOR_FHIR_URL:-}" ]; then
    curl --fail -sS -X PUT -H "Authorization: Bearer $PROCTOR_TOKEN" -H 'Content-Type: application/fhir+json' \
        --data '{"resourceType": "Patient", "id": "p0"}' "$PROCTOR_FHIR_URL/Patient/p0"
    echo '{"input_tokens": 3, "output_tokens": 4, "cost_usd": 0.5}' > "$PROCTOR_USAGE_FILE"
    # Nothing else of the server can be asked for.
    if curl --fail -sS "$PROCTOR_URL/metrics" > /dev/null 2>&1; then exit 9; fi
else
    echo 42 > answer.txt
fi
"#;

#[tokio::test]
async fn commands_and_built_in_agents_take_a_mixed_benchmark() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, data.path());
    let caller = server.caller();
    let benchmark = mixed(caller).await;
    let agents = json!(["oracle", "null", {"name": "solver", "command": SOLVER},
        {"name": "broken", "command": "exit 3"}, {"name": "slow", "command": "sleep 600", "timeout": 2}]);
    let body = json!({"benchmark": benchmark, "agents": agents, "concurrency": 5});
    let (seen, results) = results(caller, body).await;
    assert_eq!(seen["status"], "completed", "{seen:#}");
    let named = |name: &str, score: f64| (name.to_owned(), json!(score));
    assert_eq!(
        scores(&results),
        [
            named("oracle", 1.0),
            named("null", 0.0),
            named("solver", 1.0),
            named("broken", 0.0),
            named("slow", 0.0)
        ],
        "{results:#}"
    );
    let causes: Vec<&Value> = results["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| &agent["attempts"][0]["cause"])
        .collect();
    assert_eq!(
        causes[3..],
        [&json!("agent_crash"), &json!("agent_timeout")],
        "{results:#}"
    );
    assert_eq!(
        results["agents"][2]["usage"]["cost_usd"], 0.5,
        "{results:#}"
    );
    no_boxes(caller).await;
    no_box_is_left(data.path()).await;
}

async fn no_boxes(caller: &Caller) {
    eventually_seen("no box is left", async || {
        let seen = caller.get("/v1/devboxes?status=running").await;
        match seen["devboxes"] == json!([]) {
            true => Ok(seen),
            false => Err(seen),
        }
    })
    .await;
}

#[tokio::test]
async fn a_clinical_job_goes_on_after_kill_9_of_the_server_and_nothing_is_done_twice() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::on(PROCTOR, data.path());
    let benchmark = mixed(server.caller()).await;
    let mark = "$HOME/began";
    // It takes its time, and would notice a second beginning in its box.
    let command = format!("test ! -e {mark} || exit 8; touch {mark}; sleep 3; {SOLVER}");
    let agents = json!(["oracle", {"name": "solver", "command": command}]);
    let body = json!({"benchmark": benchmark, "agents": agents, "attempts": 3, "concurrency": 4});
    let made = server.caller().post("/jobs", body).await;
    let job = made["id"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
        server.kill();
        server = Server::on(PROCTOR, data.path());
    }
    let caller = server.caller();
    let seen = over(caller, &job).await;
    assert_eq!(seen["status"], "completed", "{seen:#}");
    let results = caller.get(&format!("/jobs/{job}/results")).await;
    for agent in results["agents"].as_array().unwrap() {
        assert_eq!(agent["summary"]["planned"], 6, "{results:#}");
        assert_eq!(agent["summary"]["score"], 1.0, "{results:#}");
    }
    no_boxes(caller).await;
}

#[tokio::test]
async fn a_job_that_is_cancelled_leaves_nothing_and_counts_as_void() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, data.path());
    let caller = server.caller();
    let benchmark = mixed(caller).await;
    let body = json!({"benchmark": benchmark, "concurrency": 2,
        "agents": [{"name": "slow", "command": "sleep 600"}]});
    let made = caller.post("/jobs", body).await;
    let job = made["id"].as_str().unwrap();
    eventually_seen("both are at work", async || {
        let seen = caller.get("/v1/devboxes?status=running").await;
        match seen["devboxes"].as_array().unwrap().len() {
            2 => Ok(()),
            _ => Err(seen),
        }
    })
    .await;
    for _ in 0..2 {
        let seen = caller.post(&format!("/jobs/{job}/cancel"), json!({})).await;
        assert_eq!(seen["status"], "cancelled", "{seen:#}");
    }
    no_boxes(caller).await;
    let results = caller.get(&format!("/jobs/{job}/results")).await;
    let summary = &results["agents"][0]["summary"];
    assert_eq!(
        (&summary["void"], &summary["score"]),
        (&json!(2), &Value::Null),
        "{results:#}"
    );
    no_box_is_left(data.path()).await;
}

#[tokio::test]
async fn a_job_in_rounds_stops_by_itself_over_jobs_too() {
    let server = Server::fresh(PROCTOR);
    let caller = server.caller();
    let benchmark = mixed(caller).await;
    let body = json!({"benchmark": benchmark, "rounds": 4, "concurrency": 4,
        "agents": [{"name": "main", "command": SOLVER}, {"name": "branch", "command": "exit 1"}],
        "policy": {"about": "suite", "line": [{"kind": "change", "at": -0.05}]}});
    let (seen, results) = results(caller, body).await;
    assert_eq!(seen["rounds"], 4, "{seen:#}");
    assert_eq!(results["rounds"]["planned"], 4, "{results:#}");
    assert!(
        results["rounds"]["done"].as_u64().unwrap() >= 2,
        "{results:#}"
    );
}

#[tokio::test]
async fn what_is_no_job_is_refused_with_all_that_is_wrong() {
    let server = Server::fresh(PROCTOR);
    let caller = server.caller();
    let benchmark = mixed(caller).await;
    for (body, fields) in [
        (json!({}), &["benchmark", "agents"][..]),
        (
            json!({"benchmark": benchmark, "agents": [], "attempts": 0, "concurrency": 0, "retries": 101}),
            &["agents", "attempts", "concurrency", "retries"],
        ),
        (
            json!({"benchmark": benchmark, "agents": [5, {}, {"name": "", "more": 1}, {"name": "x", "timeout": -1, "env": {"a=b": "c"}}]}),
            &[
                "agents.0",
                "agents.1.name",
                "agents.2.name",
                "agents.2.more",
                "agents.3.timeout",
            ],
        ),
        (
            json!({"benchmark": benchmark, "agents": ["nobody"]}),
            &["agents.0.name"],
        ),
        (
            json!({"benchmark": benchmark, "agents": ["oracle"], "rounds": 1}),
            &["rounds"],
        ),
        (
            json!({"benchmark": benchmark, "agents": ["oracle"], "rounds": 3, "attempts": 2}),
            &["attempts"],
        ),
        (
            json!({"benchmark": benchmark, "agents": ["oracle"], "policy": {}}),
            &["policy"],
        ),
        (
            json!({"benchmark": benchmark, "agents": ["oracle"], "labels": {"proctor.job": "x"}}),
            &["labels.proctor.job"],
        ),
        (
            json!({"benchmark": benchmark, "agents": ["oracle"], "n_attempts": 3}),
            &["n_attempts"],
        ),
        (
            json!({"benchmark": "no-version", "agents": ["oracle"]}),
            &["benchmark"],
        ),
    ] {
        let (status, answer) = caller.ask(Method::POST, "/jobs", body.clone()).await;
        assert_eq!(status, 400, "{body}: {answer:#}");
        let text = answer.to_string();
        for field in fields {
            assert!(text.contains(field), "{body} lacks {field}: {answer:#}");
        }
    }
    for (method, path, wanted) in [
        (Method::POST, "/jobs", 404),
        (Method::GET, "/jobs?offset=3", 400),
        (Method::GET, "/jobs?limit=0", 400),
        (Method::GET, "/jobs/job_00000000000000000000000000", 404),
        (Method::GET, "/jobs/nonsense/results", 404),
        (
            Method::POST,
            "/jobs/job_00000000000000000000000000/cancel",
            404,
        ),
    ] {
        let body = match wanted {
            404 if path == "/jobs" => json!({"benchmark": "nobody@7", "agents": ["oracle"]}),
            _ => json!({}),
        };
        let (status, answer) = caller.ask(method, path, body).await;
        assert_eq!(status, wanted, "{path}: {answer:#}");
    }
    assert!(Path::new(FAX).is_file());
}
