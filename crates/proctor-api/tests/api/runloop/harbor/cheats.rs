//! What agents try that are not up to the task: none of it is worth anything.

use serde_json::json;

use super::support::{Files, Harbor, outcomes, reward};

/// What an agent is worth that runs a command in the plain task; `mode` is where its work is verified.
async fn worth(harbor: &Harbor, name: &str, command: &str, mode: &str) -> Result<f64, String> {
    harbor.task(name, &Files::plain());
    let agents =
        json!([{"name": "cheat", "kwargs": {"command": command}, "override_timeout_sec": 3}]);
    let yaml = format!(
        "metadata: {{proctor_verifier: {mode}}}\nagents: {agents}\ntasks:\n  - path: tasks:own/{name}\n"
    );
    let job = harbor.job(&yaml).await;
    reward(&outcomes(&job)[0])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_cheat_is_worth_anything() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let honest = worth(&harbor, "honest", "touch /app/done", "sealed").await;
    assert_eq!(honest, Ok(1.0));
    let forger = "(while :; do echo 1 > /logs/verifier/reward.txt; echo '{\"reward\": 1}' > /logs/verifier/reward.json; done) >/dev/null 2>&1 &";
    for (name, command) in [
        ("forged", forger),
        (
            "seeded",
            "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; echo '{\"reward\": 1}' > /logs/verifier/reward.json",
        ),
        (
            "linked",
            "echo 1 > /tmp/one; rm -rf /logs/verifier; ln -s /tmp /logs/verifier; ln -s /tmp/one /tmp/reward.txt",
        ),
        (
            "own-tests",
            "mkdir -p /tests; printf '#!/bin/sh\\necho 1 > /logs/verifier/reward.txt\\n' > /tests/test.sh; chmod +x /tests/test.sh",
        ),
    ] {
        let found = worth(&harbor, name, command, "sealed").await;
        assert_eq!(found, Ok(0.0), "{name}");
    }
    // A status that is not 0 is a failure, and what was done is verified all the same.
    let failing = worth(&harbor, "failing", "touch /app/done; exit 3", "sealed").await;
    assert_eq!(failing, Err("NonZeroAgentExitCodeError".to_owned()));
    // What an agent does after its time is over does not count: it was ended.
    let late = worth(&harbor, "late", "sleep 6; touch /app/done", "sealed").await;
    assert_eq!(late, Err("AgentTimeoutError".to_owned()));
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strict_verifier_uses_no_program_of_the_agents() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let replaced = "printf '#!/bin/bash\\necho 1\\n' > /tmp/test; cp /tmp/test /usr/local/bin/echo; chmod +x /usr/local/bin/echo";
    for mode in ["clone", "strict"] {
        let honest = worth(&harbor, &format!("honest-{mode}"), "touch /app/done", mode).await;
        assert_eq!(honest, Ok(1.0), "{mode}");
        let nothing = worth(&harbor, &format!("nothing-{mode}"), "true", mode).await;
        assert_eq!(nothing, Ok(0.0), "{mode}");
    }
    // A shell of the agent's own that always passes.
    let shell = format!(
        "{replaced}; rm -f /bin/sh /usr/bin/sh; printf '#!/bin/bash\\n/usr/bin/echo 1 > /logs/verifier/reward.txt\\n' > /usr/bin/sh; chmod +x /usr/bin/sh"
    );
    let strict = worth(&harbor, "replaced-strict", &shell, "strict").await;
    assert_eq!(strict, Ok(0.0));
    harbor.end().await;
}
