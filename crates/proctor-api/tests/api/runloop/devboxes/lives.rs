use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::support::Boxes;
use crate::{
    support::{Answer, TestServer},
    verial::organizations::limit,
};

#[tokio::test]
async fn a_devbox_lives_from_create_to_shutdown() {
    let boxes = Boxes::start().await;
    let made = boxes
        .server
        .ask(
            Method::POST,
            "/v1/devboxes",
            json!({
                "name": "box", "metadata": {"team": "a"}, "snapshot_id": null, "unknown": [1],
                "environment_variables": {"GREETING": "hello"}, "file_mounts": {"note.txt": "mounted"},
                "launch_parameters": {
                    "resource_size_request": "X_SMALL", "keep_alive_time_seconds": 600,
                    "launch_commands": ["echo launched >log"],
                    "after_idle": null
                }
            }),
        )
        .await;
    insta::assert_snapshot!("devbox_made", made.shape());
    let path = format!("/v1/devboxes/{}", made.text("id"));
    let view = boxes.reaches(&path, "running").await;
    let steps: Vec<_> = view["state_transitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["status"].as_str().unwrap())
        .collect();
    assert_eq!(steps, ["provisioning", "initializing", "running"]);
    let said = boxes
        .execute(
            &path,
            json!({"command": "cat note.txt log; echo $GREETING"}),
        )
        .await;
    assert_eq!(said["stdout"], "mountedlaunched\nhello\n");

    let changed = boxes.post(&path, json!({"name": "", "metadata": {}})).await;
    assert!(changed.get("name").is_none());
    assert_eq!(changed["metadata"], json!({}));
    assert_eq!(
        boxes.post(&format!("{path}/keep_alive"), json!({})).await,
        json!({})
    );
    let listed = boxes.get("/v1/devboxes?status=running").await;
    assert_eq!(listed["total_count"], 1);
    assert_eq!(
        boxes.get("/v1/devboxes?status=queued").await["devboxes"],
        json!([])
    );

    boxes.server.clock.advance(Duration::from_secs(10));
    let ended = boxes.post(&format!("{path}/shutdown"), json!({})).await;
    assert_eq!(
        (&ended["status"], &ended["shutdown_reason"]),
        (&json!("shutdown"), &json!("api_shutdown"))
    );
    assert_eq!(
        boxes.post(&format!("{path}/shutdown"), json!({})).await,
        ended
    );
    assert_eq!(boxes.get(&path).await, ended);
    let usage = boxes.get(&format!("{path}/usage")).await;
    assert_eq!(
        (
            usage["total_elapsed_seconds"].as_u64(),
            usage["vcpu_seconds"].as_u64()
        ),
        (Some(10), Some(5))
    );
    boxes.end().await;
}

#[tokio::test]
async fn a_wait_ends_at_once_when_it_holds_and_with_408_when_it_does_not() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    let wait = format!("{path}/wait_for_status");
    let view = boxes.post(&wait, json!({"statuses": ["running"]})).await;
    assert_eq!(view["status"], "running");
    let (status, message) = boxes
        .refused(
            &wait,
            json!({"statuses": ["suspended", "queued"], "timeout_seconds": 0.05}),
        )
        .await;
    assert_eq!(
        (status, message.as_str()),
        (408, "the devbox is not suspended or queued yet; ask again")
    );
    // Somebody who waits is woken by the change itself.
    let statuses = json!({"statuses": ["suspended"], "timeout_seconds": 30});
    let suspend = format!("{path}/suspend");
    let (suspended, _) =
        tokio::join!(boxes.post(&wait, statuses), boxes.post(&suspend, json!({})),);
    assert_eq!(suspended["status"], "suspended");
    // A command brings it back, and the wait for that is part of the command.
    let ran = boxes
        .post(
            &format!("{path}/execute_sync"),
            json!({"command": "echo x"}),
        )
        .await;
    assert_eq!(
        (&ran["exit_status"], &ran["stdout"]),
        (&json!(0), &json!("x\n"))
    );
    assert_eq!(boxes.get(&path).await["status"], "running");
    boxes.post(&suspend, json!({})).await;
    boxes.reaches(&path, "suspended").await;
    let resumed = boxes.post(&format!("{path}/resume"), json!({})).await;
    assert!(["provisioning", "running"].contains(&resumed["status"].as_str().unwrap()));
    assert_eq!(boxes.reaches(&path, "running").await["status"], "running");
    boxes.end().await;
}

#[tokio::test]
async fn a_launch_that_fails_says_why_and_is_no_500() {
    let boxes = Boxes::start().await;
    let body = json!({"launch_parameters": {"launch_commands": ["echo no such luck >&2; exit 7"]}});
    let made = boxes
        .post("/v1/devboxes/create_and_await_running", body)
        .await;
    assert_eq!(made["status"], "provisioning");
    let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
    let view = boxes.reaches(&path, "running").await;
    assert_eq!(
        (&view["status"], &view["failure_reason"]),
        (&json!("failure"), &json!("execution_failed"))
    );
    let last = view["state_transitions"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    let told = last["failure_reason"].as_str().unwrap();
    assert!(told.contains("status 7: no such luck"), "{told}");
    boxes.end().await;
}

#[tokio::test]
async fn keep_alive_and_idle_end_devboxes_by_the_clock() {
    let boxes = Boxes::start().await;
    let by_time = boxes
        .running(json!({"launch_parameters": {"keep_alive_time_seconds": 60}}))
        .await;
    let idle = json!({"idle_time_seconds": 60, "on_idle": "suspend"});
    let by_idle = boxes
        .running(json!({"launch_parameters": {"lifecycle": {"after_idle": idle}}}))
        .await;
    boxes.server.clock.advance(Duration::from_secs(61));
    boxes.fleet.end_what_is_due().await;
    let view = boxes.reaches(&by_time, "shutdown").await;
    assert_eq!(view["shutdown_reason"], "keep_alive_timeout");
    let view = boxes.reaches(&by_idle, "suspended").await;
    assert_eq!(
        (&view["status"], &view["launch_parameters"]["after_idle"]),
        (&json!("suspended"), &idle)
    );
    boxes.end().await;
}

#[tokio::test]
async fn devboxes_belong_to_their_organization() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    let key = boxes.server.foreign_key().await;
    for (method, tail) in [
        (Method::GET, ""),
        (Method::POST, "/shutdown"),
        (Method::POST, "/suspend"),
        (Method::GET, "/logs"),
        (Method::GET, "/logs/tail"),
        (
            Method::GET,
            "/executions/0190f5c0-0000-7000-8000-000000000001",
        ),
    ] {
        let request = boxes
            .server
            .request(method, &format!("{path}{tail}"))
            .bearer_auth(&key);
        let answer = boxes.answer(request).await;
        assert_eq!(answer.status, 404, "{tail}: {}", answer.body);
    }
    let request = boxes
        .server
        .request(Method::POST, &format!("{path}/execute"))
        .bearer_auth(&key);
    assert_eq!(
        boxes
            .answer(request.body("{\"command\":\"true\"}"))
            .await
            .status,
        404
    );
    boxes.end().await;
}

#[tokio::test]
async fn what_is_not_offered_is_501_and_not_worth_a_retry() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    for tail in [
        "create_ssh_key",
        "create_pty_tunnel",
        "create_gateway_token",
        "create_mcp_token",
    ] {
        let request = boxes.server.own(Method::POST, &format!("{path}/{tail}"));
        let response = request.send().await.unwrap();
        assert_eq!(
            (
                response.status().as_u16(),
                response.headers()["x-should-retry"].to_str().unwrap()
            ),
            (501, "false"),
            "{tail}"
        );
    }
    let (status, message) = boxes
        .refused(
            "/v1/devboxes",
            json!({"gateways": {"A": {"gateway": "g", "secret": "s"}}}),
        )
        .await;
    assert_eq!(
        (status, message.as_str()),
        (501, "gateways are not offered by this server")
    );
    boxes.end().await;
}

#[tokio::test]
async fn a_server_without_devboxes_says_so() {
    let server = TestServer::start().await;
    let answer: Answer = server.ask(Method::POST, "/v1/devboxes", json!({})).await;
    insta::assert_snapshot!("no_devboxes", answer.shape());
}

#[tokio::test]
async fn devboxes_are_refused_beyond_the_limit_of_their_organization() {
    let boxes = Boxes::start().await;
    limit(&boxes.server, json!({"devboxes": 1})).await;
    let first = boxes.running(json!({})).await;
    let (status, message) = boxes.refused("/v1/devboxes", json!({})).await;
    assert_eq!(status, 403, "{message}");
    assert_eq!(
        message,
        "this organization may have 1 devboxes at once and has 1; shut one down first"
    );
    let listed = boxes.get("/v1/devboxes").await;
    assert_eq!(listed["devboxes"].as_array().unwrap().len(), 1, "{listed}");
    // One that stands still has a box too.
    boxes.post(&format!("{first}/suspend"), json!({})).await;
    boxes.reaches(&first, "suspended").await;
    assert_eq!(boxes.refused("/v1/devboxes", json!({})).await.0, 403);
    boxes.post(&format!("{first}/shutdown"), json!({})).await;
    boxes.running(json!({})).await;
    boxes.end().await;
}
