//! Whoever takes scenarios over HTTP.

use std::{
    os::unix::fs::MetadataExt as _,
    time::{Duration, Instant},
};

use proctor_testkit::{
    archive::unzipped,
    server::{Caller, KEY},
};
use reqwest::Method;
use serde_json::{Value, json};

/// How long a server may take that is busy or was just started again. The callers run on several threads, so they wait in loops and not with
/// async closures, which would not be `Send`.
const PATIENCE: Duration = Duration::from_secs(120);

/// A scenario that was started, and its devbox.
pub(crate) struct Taken {
    pub(crate) run: String,
    pub(crate) devbox: String,
}

/// A command whose exit status is the score.
pub(crate) fn command(command: &str) -> Value {
    json!({"type": "command_scorer", "command": command})
}

/// The scoring contract of scorers that count the same.
pub(crate) fn contract(scorers: &[Value]) -> Value {
    let weight = 1.0 / scorers.len() as f64;
    let functions: Vec<Value> = scorers
        .iter()
        .enumerate()
        .map(|(place, scorer)| json!({"name": format!("s{place}"), "weight": weight, "scorer": scorer}))
        .collect();
    json!({"scoring_function_parameters": functions})
}

/// Posts as the vendors' clients do: again when the server is too busy, in which case it has changed nothing.
async fn post(caller: &Caller, path: &str, body: Value) -> Value {
    let began = Instant::now();
    loop {
        let (status, answer) = caller.ask(Method::POST, path, body.clone()).await;
        match status {
            200 => return answer,
            503 if began.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            other => panic!("{path}: {other} with {answer}"),
        }
    }
}

/// Makes a scenario that is scored in this mode; what the agent makes is `answer`.
pub(crate) async fn scenario(caller: &Caller, mode: &str, scorers: &[Value]) -> String {
    let body = json!({
        "name": format!("scored {mode}"),
        "input_context": {"problem_statement": "Write the answer."},
        "scoring_contract": contract(scorers),
        "metadata": {"proctor.scoring": mode, "proctor.artifacts": "answer"},
    });
    let made = post(caller, "/v1/scenarios", body).await;
    made["id"].as_str().unwrap().to_owned()
}

/// Starts a scenario with environment variables, and waits for its devbox.
pub(crate) async fn start(caller: &Caller, scenario: &str, variables: Value) -> Taken {
    start_with(caller, scenario, json!({"envVars": variables})).await
}

/// Starts a scenario with a profile, and waits for its devbox.
pub(crate) async fn start_with(caller: &Caller, scenario: &str, profile: Value) -> Taken {
    let body = json!({"scenario_id": scenario, "runProfile": profile});
    let started = post(caller, "/v1/scenarios/start_run", body).await;
    let text = |member: &str| started[member].as_str().unwrap().to_owned();
    let (run, devbox) = (text("id"), text("devbox_id"));
    let wait = format!("/v1/devboxes/{devbox}/wait_for_status");
    let ready = caller.wait(&wait, &["running", "failure"]).await;
    assert_eq!(ready["status"], "running", "{ready}");
    Taken { run, devbox }
}

impl Taken {
    /// Runs a command in the devbox to its end: what it wrote.
    pub(crate) async fn does(&self, caller: &Caller, command: &str) -> String {
        let path = format!("/v1/devboxes/{}/execute_sync", self.devbox);
        let done = post(caller, &path, json!({"command": command})).await;
        done["stdout"].as_str().unwrap().to_owned()
    }

    /// The path of something about the scenario run.
    pub(crate) fn path(&self, action: &str) -> String {
        format!("/v1/scenarios/runs/{}{action}", self.run)
    }

    /// Begins to score it.
    pub(crate) async fn score(&self, caller: &Caller) {
        let scoring = post(caller, &self.path("/score"), Value::Null).await;
        assert_eq!(scoring["state"], "scoring", "{scoring}");
    }

    /// The scenario run as soon as it is not being scored.
    pub(crate) async fn settled(&self, caller: &Caller) -> Value {
        let began = Instant::now();
        loop {
            let (status, seen) = caller.ask(Method::GET, &self.path(""), Value::Null).await;
            match status {
                200 if seen["state"] != "scoring" => return seen,
                200 | 503 => {}
                other => panic!("{other} with {seen}"),
            }
            assert!(began.elapsed() < PATIENCE, "still being scored: {seen:#}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Its logs, names and texts.
    pub(crate) async fn logs(&self, caller: &Caller) -> Vec<(String, String)> {
        let url = caller.url(&self.path("/download_logs"));
        let request = reqwest::Client::new().post(url).bearer_auth(KEY);
        unzipped(request.send().await.unwrap().bytes().await.unwrap())
    }

    /// Completes it, which ends its devbox.
    pub(crate) async fn complete(&self, caller: &Caller) -> Value {
        post(caller, &self.path("/complete"), Value::Null).await
    }

    /// What scoring it again finds.
    pub(crate) async fn rescored(&self, caller: &Caller, criteria: &str) -> Value {
        let body = json!({"criteria": criteria});
        post(caller, &self.path("/rescore"), body).await
    }
}

/// The score of a scenario run, or of one that was scored again.
pub(crate) fn score_of(view: &Value) -> Option<f64> {
    view["scoring_contract_result"]["score"].as_f64()
}

/// The modes that work here: one of them needs several users in a box, which only root can have.
pub(crate) fn modes() -> &'static [&'static str] {
    const ALL: [&str; 4] = ["live", "quiet", "clone", "artifacts"];
    let is_root = fs_err::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root { &ALL } else { &ALL[..3] }
}
