//! A server whose disk fills up: it says so, loses nothing, and goes on when there is room again.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
};

use proctor_testkit::{eventually, server::Server};
use reqwest::Method;
use serde_json::json;

use crate::{PROCTOR, small_disk::As};

/// Writes until there is no room left.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    for piece in [1 << 20, 1 << 12, 1] {
        let zeros = vec![0; piece];
        while file.write_all(&zeros).is_ok() {}
    }
}

#[tokio::test]
async fn a_server_without_room_is_not_ready_and_says_so_until_there_is_room_again() {
    if !As::Anybody.can_mount() {
        eprintln!("skipped: this user may not mount a disk");
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let plain = Server::command_on(PROCTOR, data.path());
    let mut command = As::Anybody.with_disk(data.path(), "96m", &plain);
    let server = Server::start(&mut command);
    let caller = server.caller();
    let ready = async || {
        let answer = reqwest::get(server.url("/readyz")).await.unwrap();
        answer.status().as_u16()
    };
    assert_eq!(ready().await, 200);
    let body = json!({"name": "before", "value": "kept"});
    caller.post("/v1/secrets", body).await;

    // The disk as the server sees it.
    let disk = PathBuf::from(format!(
        "/proc/{}/root{}",
        server.pid(),
        data.path().display()
    ));
    let filler = disk.join("filler");
    fill(&filler);
    assert_eq!(ready().await, 503);
    let alive = reqwest::get(server.url("/healthz")).await.unwrap();
    assert_eq!(alive.status(), 200, "restarting it would not help");
    // What needs more room than the database has at hand.
    let large = "x".repeat(1 << 20);
    let body = json!({"name": "large", "metadata": {}, "input_context": {"problem_statement": large},
        "scoring_contract": {"scoring_function_parameters":
            [{"name": "a", "weight": 1, "scorer": {"type": "command_scorer", "command": "true"}}]}});
    let (status, answer) = caller
        .ask(Method::POST, "/v1/scenarios", body.clone())
        .await;
    assert_eq!(status, 503, "{answer}");
    let told = answer["message"].as_str().unwrap();
    assert!(told.contains("not available"), "{told}");
    let secrets = caller.get("/v1/secrets").await;
    assert_eq!(secrets["secrets"][0]["name"], "before", "reading goes on");

    fs_err::remove_file(&filler).unwrap();
    eventually("the server is ready again", async || ready().await == 200).await;
    let (status, answer) = caller.ask(Method::POST, "/v1/scenarios", body).await;
    assert_eq!(status, 200, "{answer}");
}
