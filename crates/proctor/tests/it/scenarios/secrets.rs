//! The values of secrets are in no view, no log and no archive, whatever scorers, references and agents print.

use proctor_testkit::{
    eventually_seen,
    server::{Caller, Server},
};
use serde_json::{Value, json};

use super::desk::{contract, scenario, start_with};
use crate::PROCTOR;

const VALUE: &str = "first-line-of-it\nhush-hush-hush";

async fn with_secret(caller: &Caller) -> Value {
    let secret = json!({"name": "MINE", "value": VALUE});
    caller.post("/v1/secrets", secret).await;
    json!({"secrets": {"KEY": "MINE"}})
}

fn assert_hidden(text: &str) {
    for line in VALUE.lines() {
        assert!(!text.contains(line), "{text}");
    }
}

#[tokio::test]
async fn scorers_tell_no_secrets_not_even_former_ones() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, directory.path());
    let caller = server.caller();
    let profile = with_secret(caller).await;
    // More than is kept of it, so that something is left out near a secret.
    let script = "for n in $(seq 9000); do echo \"$n $KEY\"; done; echo \"$KEY\" >&2; echo score=1";
    let scorer = json!({"type": "bash_script_scorer", "bash_script": script});
    let scenario = scenario(caller, "live", &[scorer]).await;
    let taken = start_with(caller, &scenario, profile).await;
    let changed = json!({"value": "another-value"});
    caller.post("/v1/secrets/MINE", changed).await;
    taken.score(caller).await;
    let scored = taken.settled(caller).await;
    let output = &scored["scoring_contract_result"]["scoring_function_results"][0]["output"];
    let output = output.as_str().unwrap();
    assert!(
        output.contains("1 ********") && output.contains("left out"),
        "{output}"
    );
    assert_hidden(&scored.to_string());
    let again = taken.rescored(caller, "own").await;
    assert!(again.to_string().contains("1 ********"), "{again}");
    assert!(!again.to_string().contains("another-value"), "{again}");
    for (name, text) in taken.logs(caller).await {
        assert!(name.starts_with(&taken.run));
        assert_hidden(&text);
    }
    taken.complete(caller).await;
}

#[tokio::test]
async fn references_and_agents_tell_no_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, directory.path());
    let caller = server.caller();
    let profile = with_secret(caller).await;
    let body = json!({
        "name": "talkative",
        "input_context": {"problem_statement": "Say nothing."},
        "scoring_contract": contract(&[json!({"type": "command_scorer", "command": "test -e done"})]),
        "reference_output": "env; touch done",
    });
    let scenario = caller.post("/v1/scenarios", body).await["id"].clone();
    let path = format!("/v1/scenarios/{}/validate", scenario.as_str().unwrap());
    let proved = caller.post(&path, json!({"runProfile": profile})).await;
    assert_eq!(proved["valid"], true, "{proved}");
    let printed = proved["reference"]["output"].as_str().unwrap();
    assert!(printed.contains("KEY=********"), "{printed}");
    assert_hidden(&proved.to_string());

    let agent = json!({"type": "job_agent", "name": "talker", "agent_environment": profile,
        "kwargs": {"command": "echo \"I know $KEY\" >&2; exit 3"}});
    let job = json!({"spec": {"type": "scenarios", "scenario_ids": [scenario], "agent_configs": [agent]}});
    let job = caller.post("/v1/benchmark_jobs", job).await["id"].clone();
    let path = format!("/v1/benchmark_jobs/{}", job.as_str().unwrap());
    let seen = eventually_seen("the job is completed", async || {
        let seen = caller.get(&path).await;
        if seen["state"] == "completed" {
            Ok(seen)
        } else {
            Err(seen)
        }
    })
    .await;
    let outcome = &seen["benchmark_outcomes"][0]["scenario_outcomes"][0];
    let told = outcome["failure_reason"]["exception_message"].as_str();
    assert_eq!(
        told,
        Some("the agent ended with status 3: I know ********"),
        "{seen}"
    );
    assert_hidden(&seen.to_string());
}
