//! `kill -9` at any moment of a run: nothing acknowledged is lost, nothing counts twice, and the run
//! can be finished.

use std::time::Duration;

use proctor_testkit::server::{Caller, Server, proctor};
use rand::{Rng as _, RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PROCTOR;

/// How often the server is killed.
const KILLS: u64 = 50;

/// Everything that an agent does in a run, in order; each may be repeated.
fn plan(run: &Value) -> Vec<(Method, String, Value)> {
    let id = run["benchmark_run_id"].as_str().unwrap();
    let mut steps = Vec::new();
    for task_run in run["task_runs"].as_array().unwrap() {
        let task_run = task_run["id"].as_str().unwrap();
        steps.push((
            Method::POST,
            format!("/v1/task-runs/{task_run}/start"),
            json!({}),
        ));
        for number in 0..4 {
            let path = format!("/v1/benchmark-runs/{id}/fhir/Patient/p{number}");
            let patient = json!({"resourceType": "Patient", "id": format!("p{number}")});
            steps.push((Method::PUT, path, patient));
            let path = format!("/v1/benchmark-runs/{id}/files/outbound/{number}.json");
            steps.push((Method::PUT, path, json!({"done": number})));
        }
        steps.push((
            Method::POST,
            format!("/v1/task-runs/{task_run}/complete"),
            json!({}),
        ));
    }
    steps
}

#[tokio::test]
async fn a_run_survives_kill_9_at_any_moment() {
    let data = TempDir::new().unwrap();
    let mut server = Server::on(PROCTOR, data.path());
    let solver = server.caller().publish_ward(&["First", "Second"], 4).await;
    let mut random = StdRng::seed_from_u64(20_261_115);
    for round in 0..KILLS {
        let begin = json!({"benchmark": "ward@1"});
        let solver = server.caller().with_key(&solver);
        let run = solver.post("/v1/benchmark-runs", begin).await;
        let token = run["bearer_token"].as_str().unwrap();
        let steps = plan(&run);
        let fatal = random.random_range(0..steps.len());
        let pause = Duration::from_micros(u64::from(random.next_u32() % 4_000));
        let mut acknowledged = vec![0; steps.len()];
        for (number, (method, path, body)) in steps.iter().enumerate() {
            if number == fatal {
                // The request is under way when the server dies: it may have been carried out or not.
                let agent = server.caller().with_key(token);
                let asking = agent.try_ask(method.clone(), path, body);
                let killing = async {
                    tokio::time::sleep(pause).await;
                    server.kill();
                };
                let (answer, ()) = tokio::join!(asking, killing);
                acknowledged[number] += usize::from(answer.is_some_and(|(status, _)| status < 300));
                server = Server::on(PROCTOR, data.path());
            }
            let agent = server.caller().with_key(token);
            let (status, answer) = agent.ask(method.clone(), path, body.clone()).await;
            // What the dying server did complete cannot be done again in a frozen world.
            let is_done = number == fatal && status == 409 && acknowledged[number] > 0;
            assert!(
                status < 300 || is_done,
                "round {round}, step {number}: {status} {answer}"
            );
            acknowledged[number] += usize::from(status < 300);
            if path.ends_with("/complete") {
                assert_eq!(answer["score"], 1.0, "round {round}: {answer}");
            }
        }
        let id = run["benchmark_run_id"].as_str().unwrap();
        let path = format!("/benchmark-runs/{id}");
        let whole = server.caller().get(&path).await;
        assert_eq!(
            (&whole["status"], &whole["score"]),
            (&json!("completed"), &json!(1.0)),
            "{whole}"
        );
        for (place, task_run) in whole["task_runs"].as_array().unwrap().iter().enumerate() {
            let found = task_run["criterion_runs"].as_array().unwrap().len();
            assert_eq!(found, 4, "round {round}: one result, not two");
            let of_task = &acknowledged[place * 10..(place + 1) * 10];
            let writes: usize = of_task[1..9].iter().sum();
            let recorded = recorded_writes(server.caller(), task_run).await;
            // One more may have been carried out without the answer reaching us.
            assert!(
                recorded == writes || recorded == writes + 1,
                "round {round}: {writes} acknowledged, {recorded} recorded"
            );
        }
    }
    server.kill();
    let verified = proctor(PROCTOR)
        .args([
            "verify-journal".as_ref(),
            "--data".as_ref(),
            data.path().as_os_str(),
        ])
        .output()
        .unwrap();
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
}

/// How many writes the journal of a task run's world tells of.
async fn recorded_writes(caller: &Caller, task_run: &Value) -> usize {
    let playground = task_run["id"].as_str().unwrap().replacen("tr_", "pg_", 1);
    let path = format!("/playgrounds/{playground}");
    let playground = caller.get(&path).await;
    let mut writes = 0;
    for sandbox in playground["sandboxes"].as_array().unwrap() {
        let id = sandbox["id"].as_str().unwrap();
        let path = format!("/sandboxes/{id}/events?limit=100");
        let events = caller.get(&path).await;
        let is_write = |event: &&Value| {
            let payload = &event["payload"];
            let asked = payload.get("request").unwrap_or(payload);
            let status = payload["status"].as_u64();
            asked["method"] == "PUT" && status.is_some_and(|status| status < 300)
        };
        writes += events["data"]
            .as_array()
            .unwrap()
            .iter()
            .filter(is_write)
            .count();
    }
    writes
}
