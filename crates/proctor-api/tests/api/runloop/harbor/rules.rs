//! What a job file says besides its agents and tasks, each rule with a trial that shows it.

use serde_json::{Value, json};

use super::support::{Files, Harbor, outcomes, reward};

/// A command agent in a job file.
fn agent(name: &str, command: &str) -> Value {
    json!({"name": name, "kwargs": {"command": command}})
}

/// A job of one task.
fn job(task: &str, agents: &[Value], more: &str) -> String {
    format!(
        "{more}\nagents: {}\ntasks: [{{path: 'tasks:own/{task}'}}]\n",
        json!(agents)
    )
}

fn rewards(job: &Value) -> Vec<Result<f64, String>> {
    outcomes(job).iter().map(reward).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_told_the_instruction_without_canaries_and_what_the_task_offers() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let toml = "[environment]\nnetwork_mode = \"no-network\"\nskills_dir = \"/skills\"\n[environment.env]\nLITERAL = \"plain-$HOME\"\n[[environment.mcp_servers]]\nname = \"tools\"\ntransport = \"sse\"\nurl = \"http://localhost:1/sse\"\n[agent]\ntimeout_sec = 60.0\n";
    let told = Files::plain().with("task.toml", toml).with(
        "instruction.md",
        "<!-- harbor-CANARY GUID 1 -->\n# Canary 2\n\n\nMake it.\n",
    );
    harbor.task("told", &told);
    let command = "[ \"$(head -n 1 \"$PROCTOR_PROBLEM_FILE\")\" = 'Make it.' ] || exit 11\n\
        grep -qi canary \"$PROCTOR_PROBLEM_FILE\" && exit 12\n\
        [ \"$(tail -n 1 \"$PROCTOR_PROBLEM_FILE\")\" = 'And be quick.' ] || exit 13\n\
        [ \"$PROCTOR_SKILLS_DIR\" = /skills ] || exit 14\n\
        case \"$PROCTOR_MCP_SERVERS\" in *'http://localhost:1/sse'*) ;; *) exit 15 ;; esac\n\
        case \"$PROCTOR_TRIAL_NAME\" in told__?*) ;; *) exit 16 ;; esac\n\
        [ \"$LITERAL\" = 'plain-$HOME' ] || exit 17\n\
        case \"$PROCTOR_AGENT_KWARGS\" in *effort*) ;; *) exit 18 ;; esac\n\
        [ \"$PROCTOR_MODEL_NAME\" = lab/model ] || exit 19\n\
        touch /app/done";
    let mut reader = agent("reader", command);
    reader["model_name"] = json!("lab/model");
    reader["kwargs"]["effort"] = json!("high");
    let ended = harbor
        .job(&job(
            "told",
            &[reader],
            "extra_instructions: [And be quick.]",
        ))
        .await;
    assert_eq!(rewards(&ended), [Ok(1.0)], "{ended:#}");
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_those_of_the_task_the_job_and_its_factors() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("plain", &Files::plain());
    let slow = agent("slow", "sleep 20; touch /app/done");
    let time_out = [Err("AgentTimeoutError".to_owned())];
    // 60 seconds by the task.
    for more in ["agent_timeout_multiplier: 0.02", "timeout_multiplier: 0.02"] {
        let ended = harbor
            .job(&job("plain", std::slice::from_ref(&slow), more))
            .await;
        assert_eq!(rewards(&ended), time_out, "{more}: {ended:#}");
    }
    let mut bounded = slow.clone();
    bounded["max_timeout_sec"] = json!(1);
    let ended = harbor.job(&job("plain", &[bounded], "")).await;
    assert_eq!(rewards(&ended), time_out, "{ended:#}");
    let slow_tests = Files::plain().with("tests/test.sh", "#!/bin/sh\nsleep 20\n");
    harbor.task("slow-tests", &slow_tests);
    let nop = [json!({"name": "nop"})];
    for more in [
        "verifier: {override_timeout_sec: 1}",
        "verifier: {max_timeout_sec: 1}",
        "verifier_timeout_multiplier: 0.02",
    ] {
        let ended = harbor.job(&job("slow-tests", &nop, more)).await;
        let expected = [Err("VerifierTimeoutError".to_owned())];
        assert_eq!(rewards(&ended), expected, "{more}: {ended:#}");
    }
    let slow_build = Files::plain().with("environment/Dockerfile", "FROM base\nRUN sleep 15\n");
    harbor.task("slow-build", &slow_build);
    let more = "environment_build_timeout_multiplier: 0.001";
    let ended = harbor.job(&job("slow-build", &nop, more)).await;
    let expected = [Err("EnvironmentStartTimeoutError".to_owned())];
    assert_eq!(rewards(&ended), expected, "{ended:#}");
    let attempt = &harbor.results(&ended).await["agents"][0]["attempts"][0];
    assert_eq!(attempt["cause"], "infrastructure", "{attempt:#}");
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_follow_their_rules_and_every_try_is_kept() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("plain", &Files::plain());
    let crash = agent("crash", "exit 3");
    let waits = "min_wait_sec: 0.01, max_wait_sec: 0.02";
    for (rules, tries) in [
        (format!("{{max_retries: 2, {waits}}}"), 3),
        (
            format!("{{max_retries: 2, exclude_exceptions: [NonZeroAgentExitCodeError], {waits}}}"),
            1,
        ),
        (
            format!("{{max_retries: 2, include_exceptions: [HealthcheckError], {waits}}}"),
            1,
        ),
    ] {
        let more = format!("retry: {rules}");
        let ended = harbor
            .job(&job("plain", std::slice::from_ref(&crash), &more))
            .await;
        let results = harbor.results(&ended).await;
        let attempt = &results["agents"][0]["attempts"][0];
        assert_eq!(attempt["tries"], tries, "{rules}: {results:#}");
        let exported = harbor.exported(&ended).await;
        let trials: Vec<Value> = exported
            .iter()
            .filter(|(path, _)| path.matches('/').count() == 2 && path.ends_with("/result.json"))
            .map(|(_, bytes)| serde_json::from_slice(bytes).unwrap())
            .collect();
        assert_eq!(trials.len(), tries);
        let replaced = trials
            .iter()
            .filter(|one| one["proctor"]["superseded_by"].is_string());
        assert_eq!(replaced.count(), tries - 1);
    }
    // Usually not after a time-out.
    let mut slow = agent("slow", "sleep 20");
    slow["override_timeout_sec"] = json!(1);
    let ended = harbor
        .job(&job(
            "plain",
            &[slow],
            &format!("retry: {{max_retries: 2, {waits}}}"),
        ))
        .await;
    let results = harbor.results(&ended).await;
    assert_eq!(
        results["agents"][0]["attempts"][0]["tries"], 1,
        "{results:#}"
    );
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_are_repeats_and_agents_that_differ_in_anything_stay_apart() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let keys = "#!/bin/sh\n[ -e /app/done ] && d=1 || d=0\necho \"{\\\"reward\\\": $d, \\\"style\\\": 0.5}\" > /logs/verifier/reward.json\n";
    harbor.task("keys", &Files::plain().with("tests/test.sh", keys));
    let mut first = agent("same", "touch /app/done");
    let mut second = agent("same", "touch /app/done");
    first["kwargs"]["effort"] = json!("low");
    second["kwargs"]["effort"] = json!("high");
    let more = "n_attempts: 3\nmetrics: [{type: sum}, {type: min}, {type: max}, {type: mean}]";
    let ended = harbor.job(&job("keys", &[first, second], more)).await;
    let results = harbor.results(&ended).await;
    let agents = results["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 2, "{results:#}");
    for agent in agents {
        assert_eq!(agent["attempts"].as_array().unwrap().len(), 3);
        assert_eq!(agent["run_ids"].as_array().unwrap().len(), 3);
        assert_eq!(
            agent["metrics"],
            json!({
                "sum": {"reward": 3.0, "style": 1.5},
                "min": {"reward": 1.0, "style": 0.5},
                "max": {"reward": 1.0, "style": 0.5},
                "mean": {"reward": 1.0, "style": 0.5},
            })
        );
    }
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn artifacts_and_logs_are_those_that_the_task_and_the_job_name() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let toml = "artifacts = [{source = \"/app\", destination = \"tree\", exclude = [\"*.tmp\"]}, \"/none\"]\n[agent]\ntimeout_sec = 60.0\n[verifier]\ntimeout_sec = 60.0\n[[verifier.collect]]\ncommand = \"cp /app/done /app/noted\"\n[[verifier.collect]]\ncommand = \"exit 9\"\n[environment]\nnetwork_mode = \"no-network\"\n";
    harbor.task("kept", &Files::plain().with("task.toml", toml));
    let command = "echo d > /app/done; echo t > /app/x.tmp; echo one > /logs/agent/one.txt; echo two > /logs/agent/two.log; exit 0";
    let mut kept = agent("kept", command);
    kept["exclude_logs"] = json!(["*.log"]);
    let ended = harbor
        .job(&job("kept", &[kept], "artifacts: [/etc/hostname]"))
        .await;
    assert_eq!(
        rewards(&ended),
        [Ok(1.0)],
        "a failing hook changes nothing: {ended:#}"
    );
    let exported = harbor.exported(&ended).await;
    let has = |end: &str| exported.iter().any(|(path, _)| path.ends_with(end));
    for path in [
        "artifacts/tree/done",
        "artifacts/tree/noted",
        "agent/one.txt",
        "verifier/reward.txt",
    ] {
        assert!(has(path), "{path}");
    }
    assert!(!has("x.tmp") && !has("two.log"));
    let (_, manifest) = exported
        .iter()
        .find(|(path, _)| path.ends_with("artifacts/manifest.json"))
        .unwrap();
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    let status = |source: &str| {
        let mut entries = manifest.as_array().unwrap().iter();
        let entry = entries.find(|one| one["source"] == source).unwrap();
        entry["status"].clone()
    };
    assert_eq!(status("/app"), "ok");
    assert_eq!(status("/none"), "failed");
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_uses_up_the_memory_is_verified_and_named() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    if !harbor.limits_memory().await {
        return;
    }
    let toml = "[agent]\ntimeout_sec = 60.0\n[environment]\nnetwork_mode = \"no-network\"\nmemory_mb = 1024\ncpus = 0.5\n";
    harbor.task("greedy", &Files::plain().with("task.toml", toml));
    let command = "touch /app/done; exec python3 -c 'x = bytearray(3 << 30); print(len(x))'";
    let ended = harbor
        .job(&job("greedy", &[agent("greedy", command)], ""))
        .await;
    let expected = [Err("SandboxLikelyOutOfMemoryError".to_owned())];
    assert_eq!(rewards(&ended), expected, "{ended:#}");
    let attempt = &harbor.results(&ended).await["agents"][0]["attempts"][0];
    assert_eq!(
        attempt["score"], 1.0,
        "it counts with what it did: {attempt:#}"
    );
    harbor.end().await;
}
