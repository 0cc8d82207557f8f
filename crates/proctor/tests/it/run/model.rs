//! `model:PROVIDER/NAME`: our own model agent takes a clinical and a coding benchmark, against a model that plays a script.

use std::{net::SocketAddr, path::Path, sync::Arc};

use axum::{
    Router, body::Bytes, extract::State, http::header, response::IntoResponse, routing::post,
};
use proctor_core::trajectory::Trajectory;
use proctor_testkit::server::proctor;
use serde_json::{Value, json as value};
use tokio::task::JoinSet;

use super::{agents::answers, attempt, command, told};
use crate::PROCTOR;

/// What the model answers, as its provider streams it: by how many results of tools it has seen.
type Script = Arc<dyn Fn(&Value) -> Vec<Value> + Send + Sync>;

/// A model's provider that plays a script; where it is.
async fn provider(servers: &mut JoinSet<()>, script: Script) -> SocketAddr {
    async fn answer(State(script): State<Script>, body: Bytes) -> impl IntoResponse {
        let question: Value = serde_json::from_slice(&body).unwrap();
        let mut text = String::new();
        for event in script(&question) {
            text += &format!("data: {event}\n\n");
        }
        text += "data: [DONE]\n\n";
        ([(header::CONTENT_TYPE, "text/event-stream")], text)
    }
    let router = Router::new()
        .route("/v1/chat/completions", post(answer))
        .with_state(script);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    servers.spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

/// An answer that calls one tool.
fn calls(name: &str, arguments: &Value) -> Vec<Value> {
    let function = value!({"name": name, "arguments": arguments.to_string()});
    let call = value!({"index": 0, "id": "call", "type": "function", "function": function});
    vec![
        value!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null}]}),
        value!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        value!({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}),
    ]
}

/// How many results of tools a question has.
fn results_seen(question: &Value) -> usize {
    let messages = question["messages"].as_array().unwrap().iter();
    messages.filter(|message| message["role"] == "tool").count()
}

/// A benchmark file with one clinical task.
fn ward(directory: &Path) -> String {
    let file = directory.join("ward.yaml");
    let text = r#"
name: Ward
slug: ward
timeout: 120
environment:
  name: Ward
  simulators: [{type: Fhir, name: Chart}]
tasks:
  - name: Register Ada
    task_item: {instructions: Register a patient with the family name Moreau.}
    criteria:
      - label: She is on file
        assertion: {assert: fhir-resource-state, resource_type: Patient, search: {family: Moreau}}
    solution:
      - {call: POST fhir/Patient, expect: 201, body: {resourceType: Patient, name: [{family: Moreau}]}}
"#;
    fs_err::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn take(data: &Path, arguments: &[&str], provider: SocketAddr, code: i32) -> Value {
    let mut command = command(data, arguments);
    command
        .args(["--agent", "model:openai/toy-1", "--json"])
        .env("PROCTOR_MODEL_URL", format!("http://{provider}/v1"))
        .env_remove("OPENAI_API_KEY");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", told(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_takes_a_clinical_and_a_coding_benchmark() {
    let data = tempfile::tempdir().unwrap();
    let mut servers = JoinSet::new();
    let clinical: Script = Arc::new(|question| match results_seen(question) {
        0 => {
            let tools = question["tools"].to_string();
            assert!(
                tools.contains("fhir_search") && tools.contains("complete"),
                "{tools}"
            );
            assert!(
                question["messages"].to_string().contains("Moreau"),
                "{question}"
            );
            let resource = value!({"resourceType": "Patient", "name": [{"family": "Moreau"}]});
            calls(
                "fhir_create",
                &value!({"resource_type": "Patient", "resource": resource}),
            )
        }
        _ => calls("complete", &value!({})),
    });
    let clinical = provider(&mut servers, clinical).await;
    let prices = data.path().join("prices.toml");
    fs_err::write(&prices, "[toy-1]\ninput = 100.0\noutput = 1000.0\n").unwrap();
    let file = ward(data.path());
    let arguments = [&file, "--prices", prices.to_str().unwrap()];
    let results = take(data.path(), &arguments, clinical, 0);
    assert_eq!(results["score"], 1.0, "{results:#}");
    assert_eq!(results["agents"][0]["name"], "model:openai/toy-1");
    let used =
        value!({"input_tokens": 2000, "cached_tokens": 0, "output_tokens": 200, "cost_usd": 0.4});
    assert_eq!(attempt(&results)["usage"], used, "{results:#}");

    let coding: Script = Arc::new(|question| match results_seen(question) {
        0 => calls("shell", &value!({"command": "echo 42 > answer.txt"})),
        _ => calls("complete", &value!({})),
    });
    let coding = provider(&mut servers, coding).await;
    let results = take(data.path(), &[&answers(data.path())], coding, 0);
    assert_eq!(results["score"], 1.0, "{results:#}");

    // Both trajectories are on the server, whole.
    let listing = fs_err::read_dir(data.path().join("attempts")).unwrap();
    let places: Vec<_> = listing.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(places.len(), 2);
    for place in places {
        let text = fs_err::read_to_string(place.join("trajectory.json")).unwrap();
        let written: Value = serde_json::from_str(&text).unwrap();
        let task_run = place.file_name().unwrap().to_str().unwrap();
        let kept = kept_trajectory(data.path(), task_run);
        assert_eq!(kept["steps"], written["steps"], "{kept:#}");
        assert_eq!(Trajectory::read(kept).unwrap().steps, 3);
    }
}

/// The trajectory of a task run as the server keeps it.
fn kept_trajectory(data: &Path, task_run: &str) -> Value {
    let mut command = proctor(PROCTOR);
    command
        .args(["show", task_run, "--trajectory", "--data"])
        .arg(data);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_none_is_void_and_never_the_agents_zero() {
    let data = tempfile::tempdir().unwrap();
    let file = ward(data.path());
    let mut servers = JoinSet::new();
    // Something answers there that is no model.
    let page =
        Router::new().fallback(async || ([(header::CONTENT_TYPE, "text/html")], "<p>Hello</p>"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    servers.spawn(async move { axum::serve(listener, page).await.unwrap() });
    let arguments = [file.as_str(), "--retry-void", "0", "--timeout", "200"];
    let results = take(data.path(), &arguments, address, 3);
    let seen = attempt(&results);
    assert_eq!(
        (&seen["cause"], &seen["reason"], &seen["score"]),
        (
            &value!("infrastructure"),
            &value!("model_provider"),
            &value!(null)
        ),
        "{seen:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_spends_too_much_is_ended() {
    let data = tempfile::tempdir().unwrap();
    let mut servers = JoinSet::new();
    let talker: Script = Arc::new(|_| calls("fhir_search", &value!({"resource_type": "Patient"})));
    let talker = provider(&mut servers, talker).await;
    let prices = data.path().join("prices.toml");
    fs_err::write(&prices, "[toy-1]\ninput = 100.0\noutput = 1000.0\n").unwrap();
    let file = ward(data.path());
    let prices = prices.to_str().unwrap();
    let arguments = [&file, "--prices", prices, "--max-cost", "1"];
    let results = take(data.path(), &arguments, talker, 0);
    let seen = attempt(&results);
    assert_eq!(seen["cause"], "agent_timeout", "{seen:#}");
    assert!(
        seen["reason"]
            .as_str()
            .unwrap()
            .contains("the cost budget of $1 is over"),
        "{seen:#}"
    );
}
