//! What agents leave about themselves, and what they may cost.

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, extract::State, routing::post};
use proctor_testkit::{
    eventually,
    server::{KEY, Server, proctor},
};
use serde_json::{Value, json as value};

use super::{TASK, attempt, command, json, run, told};
use crate::PROCTOR;

const CLINICAL: &str = "fax-referral";
const TRAJECTORY: &str = r#"{"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": [{"step_id": 1, "source": "user", "message": "Do it."}]}"#;

fn usage(cost: &str) -> String {
    format!(
        r#"echo '{{"input_tokens": 100, "output_tokens": 20, "model": "m-1"{cost}}}' >> "$PROCTOR_USAGE_FILE""#
    )
}

#[test]
fn the_trajectory_and_the_usage_of_a_command_are_kept_and_shown() {
    let data = tempfile::tempdir().unwrap();
    let agent = format!(
        "printf %s '{TRAJECTORY}' > \"$PROCTOR_TRAJECTORY_FILE\"; {0}; {0}",
        usage(r#", "cost_usd": 0.25"#)
    );
    let arguments = [CLINICAL, "--task", TASK, "--agent", &agent, "-k", "2"];
    let results = json(data.path(), &arguments, 0);
    assert_eq!(results["warnings"], value!([]), "{results:#}");
    let agent = &results["agents"][0];
    let used =
        value!({"input_tokens": 400, "cached_tokens": 0, "output_tokens": 80, "cost_usd": 1.0});
    assert_eq!(agent["usage"], used, "{results:#}");
    assert_eq!(agent["attempts"][0]["usage"]["cost_usd"], 0.5);
    let run = results["run_ids"][0].as_str().unwrap();
    let ask = |arguments: &[&str]| {
        let mut command = proctor(PROCTOR);
        command.args(arguments).arg("--data").arg(data.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = ask(&["show", run]);
    assert!(
        shown.contains("usage: 200 tokens in, 40 out, $0.5000"),
        "{shown}"
    );
    let listed = ask(&["runs"]);
    assert!(
        listed.contains("COST") && listed.contains("$0.5000"),
        "{listed}"
    );
    // One that reports nothing has no cost, and never one of 0.
    json(
        data.path(),
        &[CLINICAL, "--task", TASK, "--agent", "true"],
        0,
    );
    let newest: Value = serde_json::from_str(&ask(&["runs", "--json"])).unwrap();
    assert_eq!(newest["runs"][0].get("usage"), None, "{newest:#}");
}

#[test]
fn costs_follow_from_prices_where_agents_report_none() {
    let data = tempfile::tempdir().unwrap();
    let prices = data.path().join("prices.toml");
    fs_err::write(&prices, "[m-1]\ninput = 1000.0\noutput = 5000.0\n").unwrap();
    let prices = prices.to_str().unwrap();
    let agent = usage("");
    let arguments = [CLINICAL, "--task", TASK, "--agent", &agent];
    let results = json(
        data.path(),
        &[&arguments[..], &["--prices", prices]].concat(),
        0,
    );
    assert_eq!(attempt(&results)["usage"]["cost_usd"], 0.2, "{results:#}");
    let results = json(data.path(), &arguments, 0);
    assert_eq!(attempt(&results)["usage"]["cost_usd"], value!(null));
}

#[test]
fn a_broken_trajectory_is_a_warning_and_costs_no_result() {
    let data = tempfile::tempdir().unwrap();
    for (written, words) in [
        (
            "printf '{\"steps\": [' > \"$PROCTOR_TRAJECTORY_FILE\"",
            "it is not JSON",
        ),
        (
            "printf '{\"steps\": []}' > \"$PROCTOR_TRAJECTORY_FILE\"",
            "schema_version",
        ),
        (
            "ln -s /dev/zero \"$PROCTOR_TRAJECTORY_FILE\"",
            "not a regular file",
        ),
        (
            "head -c 20000000 /dev/zero > \"$PROCTOR_TRAJECTORY_FILE\"",
            "more than",
        ),
        ("mkfifo \"$PROCTOR_USAGE_FILE\"", "not a regular file"),
        ("echo nonsense > \"$PROCTOR_USAGE_FILE\"", "line 1"),
    ] {
        let arguments = [CLINICAL, "--task", TASK, "--agent", written];
        let results = json(data.path(), &arguments, 0);
        assert_eq!(attempt(&results)["cause"], value!(null), "{results:#}");
        let warnings = results["warnings"].to_string();
        assert!(warnings.contains(words), "{written}: {warnings}");
    }
}

#[test]
fn when_the_money_is_spent_the_attempt_ends_and_no_other_begins() {
    let data = tempfile::tempdir().unwrap();
    // It goes on for ever, and every turn costs.
    let agent = format!(
        "while :; do {}; sleep 0.05; done",
        usage(r#", "cost_usd": 0.25"#)
    );
    let arguments = [CLINICAL, "--agent", &agent, "--max-cost", "1", "-k", "2"];
    let results = json(data.path(), &arguments, 0);
    let attempts = results["agents"][0]["attempts"].as_array().unwrap();
    assert_eq!(
        results["run_ids"].as_array().unwrap().len(),
        1,
        "{results:#}"
    );
    assert!(
        attempts.iter().all(|one| one["cause"] == "agent_timeout"),
        "{results:#}"
    );
    let reason = attempts[0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the cost budget of $1 is over: $1."),
        "{reason}"
    );
    let warnings = results["warnings"].to_string();
    assert!(
        warnings
            .contains("3 tasks of the runs that were begun, and 1 further runs, were not started"),
        "{warnings}"
    );
}

#[test]
fn one_call_that_costs_more_than_all_may_is_the_last() {
    let data = tempfile::tempdir().unwrap();
    let agent = usage(r#", "cost_usd": 50"#);
    let arguments = [CLINICAL, "--agent", &agent, "--max-cost", "0.5"];
    let results = json(data.path(), &arguments, 0);
    let attempts = results["agents"][0]["attempts"].as_array().unwrap();
    let reasons: Vec<&str> = attempts
        .iter()
        .map(|one| one["reason"].as_str().unwrap())
        .collect();
    assert_eq!(
        reasons[0],
        "the cost budget of $0.5 is over: $50.0000 were spent"
    );
    assert!(
        attempts.iter().all(|one| one["score"] == 0.0),
        "{results:#}"
    );
    let output = run(
        data.path(),
        &[CLINICAL, "--agent", "true", "--max-cost", "-1"],
    );
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
}

#[test]
fn a_budget_says_when_it_cannot_be_kept() {
    let data = tempfile::tempdir().unwrap();
    let agent = usage("");
    let arguments = [
        CLINICAL,
        "--task",
        TASK,
        "--agent",
        &agent,
        "--max-cost",
        "1",
    ];
    let output = command(data.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(
        told(&output).contains("without a cost"),
        "{}",
        told(&output)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_did_reaches_a_collector_as_spans_without_what_it_said() {
    type Received = Arc<Mutex<Vec<u8>>>;
    let received = Received::default();
    let collect = async |State(received): State<Received>, body: Bytes| {
        received.lock().unwrap().extend_from_slice(&body);
    };
    let router = Router::new()
        .route("/v1/traces", post(collect))
        .with_state(Arc::clone(&received));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let collector = format!("http://{}", listener.local_addr().unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
    let data = tempfile::tempdir().unwrap();
    let mut command = Server::command_on(PROCTOR, data.path());
    command.args(["--otlp-endpoint", &collector]);
    let server = Server::start(&mut command);
    let trajectory = r#"{"schema_version": "ATIF-v1.7", "agent": {"name": "clerk", "version": "1", "model_name": "toy-1"}, "steps": [{"step_id": 1, "source": "agent", "message": "whispered", "tool_calls": [{"tool_call_id": "c", "function_name": "fhir_read", "arguments": {}}]}]}"#;
    let agent = format!(
        "printf %s '{trajectory}' > \"$PROCTOR_TRAJECTORY_FILE\"; {}",
        usage("")
    );
    let mut run = proctor(PROCTOR);
    run.args([
        "run",
        CLINICAL,
        "--task",
        TASK,
        "--agent",
        &agent,
        "--server",
        &server.url(""),
    ])
    .env("PROCTOR_KEY", KEY)
    .env("XDG_DATA_HOME", data.path().join("home"));
    let output = run.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let has = |wanted: &str| {
        let received = received.lock().unwrap();
        received
            .windows(wanted.len())
            .any(|window| window == wanted.as_bytes())
    };
    for wanted in [
        "invoke_agent clerk",
        "chat toy-1",
        "execute_tool fhir_read",
        "gen_ai.tool.name",
    ] {
        eventually(wanted, async || has(wanted)).await;
    }
    assert!(!has("whispered"), "what was said stays here");
    // The trajectory tells of the model; its usage is not told a second time.
    assert!(!has("chat m-1"));
}
