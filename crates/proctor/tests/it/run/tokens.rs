//! What the token of an attempt opens: its own world or box, and nothing else.

use proctor_testkit::server::{Caller, Server, authoring::forty_two};
use reqwest::Method;
use serde_json::{Value, json};

use crate::PROCTOR;

/// A started task run with its token.
struct Attempt {
    task_run: String,
    run: String,
    token: Value,
}

/// Starts a run's task, and makes a token for it.
async fn start(caller: &Caller, begun: &Value, number: usize) -> Attempt {
    let task_run = begun["task_runs"][number]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    caller
        .post(&format!("/task-runs/{task_run}/start"), json!({}))
        .await;
    let token = caller
        .post(&format!("/task-runs/{task_run}/token"), json!({}))
        .await;
    Attempt {
        run: begun["benchmark_run_id"].as_str().unwrap().to_owned(),
        task_run,
        token,
    }
}

impl Attempt {
    fn agent(&self, caller: &Caller) -> Caller {
        caller.with_key(self.token["token"].as_str().unwrap())
    }
}

/// Asks with an agent's token for what is not its own; each must be refused as if it were not there, or as not for such a token.
async fn is_shut_out(agent: &Caller, paths: &[(Method, String)]) {
    for (method, path) in paths {
        let (status, answer) = agent.ask(method.clone(), path, json!({})).await;
        assert!(
            matches!(status, 401 | 404),
            "{method} {path}: {status} {answer}"
        );
    }
}

#[tokio::test]
async fn the_token_of_a_clinical_attempt_opens_its_world_alone() {
    let server = Server::fresh(PROCTOR);
    let caller = server.caller();
    caller.publish_ward(&["one", "two"], 1).await;
    let body = json!({"benchmark": "ward@1", "concurrency": 2, "held": true});
    let begun = caller.post("/benchmark-runs", body).await;
    let (one, two) = (
        start(caller, &begun, 0).await,
        start(caller, &begun, 1).await,
    );
    let agent = one.agent(caller);
    let fhir = one.token["endpoints"]["fhir"].as_str().unwrap();
    assert_eq!(fhir, format!("/v1/task-runs/{}/fhir", one.task_run));
    let patient = json!({"resourceType": "Patient", "id": "p0"});
    let (status, answer) = agent
        .ask(Method::PUT, &format!("{fhir}/Patient/p0"), patient)
        .await;
    assert_eq!(status, 201, "{answer}");
    // Below the run, too, its own world is meant.
    let below = format!("/v1/benchmark-runs/{}/fhir/Patient/p0", one.run);
    agent.get(&below).await;
    let (status, _) = two.agent(caller).ask(Method::GET, &below, json!({})).await;
    assert_eq!(status, 404, "the other world has no such patient");

    let (run, other) = (&one.run, &two.task_run);
    let get = |path: String| (Method::GET, path);
    let post = |path: String| (Method::POST, path);
    is_shut_out(
        &agent,
        &[
            get(format!("/v1/task-runs/{other}/fhir/Patient")),
            post(format!("/v1/task-runs/{other}/start")),
            post(format!("/v1/task-runs/{other}/complete")),
            get(format!("{below}?task_run_id={other}")),
            get(format!("/v1/benchmark-runs/{run}")),
            get("/benchmark-runs".to_owned()),
            get(format!("/benchmark-runs/{run}")),
            get(format!("/benchmark-runs/{run}/results")),
            post(format!("/benchmark-runs/{run}/complete")),
            get(format!("/task-runs/{}", one.task_run)),
            get(format!("/task-runs?benchmark_run_id={run}")),
            get(format!("/criterion-runs?task_run_id={}", one.task_run)),
            post(format!("/task-runs/{}/token", one.task_run)),
            post(format!("/task-runs/{}/fail", one.task_run)),
            post(format!("/task-runs/{}/rescore", one.task_run)),
            get(format!("/task-runs/{}/events", one.task_run)),
            get("/benchmarks".to_owned()),
            get("/tasks".to_owned()),
            get("/criteria".to_owned()),
            get("/solvers".to_owned()),
            get("/api-keys".to_owned()),
            get("/playgrounds".to_owned()),
            get("/v1/scenarios".to_owned()),
            get("/v1/benchmarks".to_owned()),
            get("/v1/devboxes".to_owned()),
            get("/v1/secrets".to_owned()),
            post("/v1/benchmark-runs".to_owned()),
            post("/v1/devboxes".to_owned()),
            get("/organizations".to_owned()),
        ],
    )
    .await;

    let path = format!("/v1/task-runs/{}/complete", one.task_run);
    let completed = agent.post(&path, json!({})).await;
    assert_eq!(completed["status"], "completed", "{completed:#}");
    let (status, _) = agent
        .ask(Method::GET, &format!("{fhir}/Patient/p0"), json!({}))
        .await;
    assert_eq!(status, 409, "its world is closed");
    caller
        .post(&format!("/benchmark-runs/{run}/cancel"), json!({}))
        .await;
    let (status, _) = agent.ask(Method::POST, &path, json!({})).await;
    assert_eq!(status, 401, "the token ends with the run");
}

#[tokio::test]
async fn the_token_of_a_coding_attempt_opens_its_box_alone() {
    let server = Server::fresh(PROCTOR);
    let caller = server.caller();
    let mut scenarios = Vec::new();
    for name in ["one", "two"] {
        scenarios.push(caller.make("/v1/scenarios", forty_two(name)).await);
    }
    let body = json!({"name": "both", "scenario_ids": scenarios});
    let benchmark = caller
        .make("/v1/benchmarks", body)
        .await
        .replacen("bmd_", "bench_", 1);
    let body = json!({"benchmark_id": benchmark, "draft": true, "concurrency": 2, "held": true});
    let begun = caller.post("/benchmark-runs", body).await;
    let (one, two) = (
        start(caller, &begun, 0).await,
        start(caller, &begun, 1).await,
    );
    let agent = one.agent(caller);
    let (own, other) = (&one.token["devbox_url"], &two.token["devbox_url"]);
    let (own, other) = (own.as_str().unwrap(), other.as_str().unwrap());
    caller
        .wait(&format!("{own}/wait_for_status"), &["running", "failure"])
        .await;
    let body = json!({"command": "echo 42 > answer.txt"});
    let done = agent.post(&format!("{own}/execute_sync"), body).await;
    assert_eq!(done["exit_status"], 0, "{done:#}");
    let body = json!({"file_path": "answer.txt"});
    let (status, _) = agent
        .ask(Method::POST, &format!("{own}/read_file_contents"), body)
        .await;
    assert_eq!(status, 200);

    let (mine, others) = (
        one.task_run.replacen("tr_", "scr_", 1),
        two.task_run.replacen("tr_", "scr_", 1),
    );
    let get = |path: String| (Method::GET, path);
    let post = |path: String| (Method::POST, path);
    is_shut_out(
        &agent,
        &[
            get(own.to_owned()),
            get(other.to_owned()),
            post(format!("{own}/shutdown")),
            post(format!("{own}/snapshot_disk")),
            post(format!("{own}/create_ssh_key")),
            get(format!("{own}/logs")),
            post(format!("{other}/execute_sync")),
            post(format!("{other}/execute_async")),
            post(format!("{other}/read_file_contents")),
            post(format!("{other}/write_file_contents")),
            get(format!("/v1/scenarios/runs/{mine}")),
            post(format!("/v1/scenarios/runs/{mine}/rescore")),
            post(format!("/v1/scenarios/runs/{mine}/download_logs")),
            post(format!("/v1/scenarios/runs/{others}/score")),
            post(format!("/v1/scenarios/runs/{others}/complete")),
            get(format!("/v1/scenarios/{}", scenarios[0])),
            get("/v1/scenarios/scorers".to_owned()),
            post(format!("/v1/scenarios/{}/validate", scenarios[0])),
            get("/v1/objects".to_owned()),
            post("/v1/benchmark_jobs".to_owned()),
        ],
    )
    .await;
    let scored = agent
        .post(&format!("/v1/scenarios/runs/{mine}/score"), json!({}))
        .await;
    assert!(
        scored.get("scoring_contract_result").is_none(),
        "{scored:#}"
    );
}

#[tokio::test]
async fn another_organization_has_no_part_in_an_attempt() {
    let server = Server::fresh(PROCTOR);
    let caller = server.caller();
    let operator = caller.with_key(server.operator_key().unwrap());
    let made = operator
        .post("/organizations", json!({"name": "others"}))
        .await;
    let others = caller.with_key(
        made["api_key"]["key"]
            .as_str()
            .unwrap_or_else(|| panic!("{made:#}")),
    );
    caller.publish_ward(&["one"], 1).await;
    let begun = caller
        .post(
            "/benchmark-runs",
            json!({"benchmark": "ward@1", "held": true}),
        )
        .await;
    let one = start(caller, &begun, 0).await;
    for action in ["token", "fail", "retry"] {
        let path = format!("/task-runs/{}/{action}", one.task_run);
        let (status, answer) = others
            .ask(Method::POST, &path, json!({"cause": "agent_crash"}))
            .await;
        assert_eq!(status, 404, "{path}: {answer}");
    }
    let path = format!("/task-runs/{}/fail", one.task_run);
    let (status, answer) = caller
        .ask(Method::POST, &path, json!({"cause": "boredom"}))
        .await;
    assert_eq!(status, 400, "{answer}");
    let (status, answer) = caller.ask(Method::POST, &path, json!({})).await;
    assert_eq!(status, 400, "{answer}");
    let failed = caller
        .post(
            &path,
            json!({"cause": "agent_crash", "reason": "it fell over"}),
        )
        .await;
    assert_eq!(
        (&failed["cause"], &failed["reason"]),
        (&json!("agent_crash"), &json!("it fell over"))
    );
    let found = caller
        .get(&format!("/criterion-runs?task_run_id={}", one.task_run))
        .await;
    assert_eq!(
        found["data"].as_array().unwrap().len(),
        1,
        "its world is judged as evidence: {found:#}"
    );
    let (status, answer) = caller
        .ask(
            Method::POST,
            &format!("/task-runs/{}/retry", one.task_run),
            json!({}),
        )
        .await;
    assert_eq!(status, 409, "what the agent did counts: {answer}");
}
