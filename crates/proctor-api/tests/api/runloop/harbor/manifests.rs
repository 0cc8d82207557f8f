//! Agents by manifest: installed once as a layer, with hosts, logs, a trajectory and secrets of their own.

use proctor_core::agent::AgentManifest;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Files, Harbor, outcomes, reward};

/// The shell agent that comes with the program.
const SHELL: &str = include_str!("../../../../../../examples/agents/shell.toml");

fn manifest(document: &Value) -> AgentManifest {
    AgentManifest::read(document).unwrap()
}

fn shell() -> AgentManifest {
    manifest(&toml::from_str(SHELL).unwrap())
}

fn told(command: &str) -> Files {
    Files::plain().with(
        "instruction.md",
        &format!("Do this:\n\n```sh\n{command}\n```\n"),
    )
}

fn job(agent: &str, task: &str) -> String {
    format!("agents: [{{name: {agent}}}]\ntasks: [{{path: 'tasks:own/{task}'}}]\n")
}

impl Harbor {
    /// How many blueprints with an agent there are.
    async fn layers(&self) -> usize {
        let listed = self.server.read("/v1/blueprints?limit=100").await.body;
        let all = listed["blueprints"].as_array().unwrap().iter();
        all.filter(|one| one["name"].as_str().unwrap().starts_with("agent-"))
            .count()
    }

    async fn scenario_run(&self, job: &Value) -> String {
        let outcome = &outcomes(job)[0];
        outcome["scenario_run_id"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_installed_once_for_an_image_and_leaves_a_trajectory() {
    let Some(harbor) = Harbor::start_with([("shell", shell())]).await else {
        return;
    };
    harbor.task("first", &told("touch /app/done"));
    harbor.task("second", &told("echo \"a \\\\ b\"; touch /app/done; true"));
    for (task, layers) in [("first", 1), ("second", 1), ("first", 1)] {
        let ended = harbor.job(&job("shell", task)).await;
        assert_eq!(reward(&outcomes(&ended)[0]), Ok(1.0), "{task}: {ended:#}");
        assert_eq!(
            harbor.layers().await,
            layers,
            "one image, one layer: {task}"
        );
        let id = harbor.scenario_run(&ended).await;
        let path = format!("/v1/scenarios/runs/{id}/trajectory");
        let trajectory = harbor.server.read(&path).await;
        assert_eq!(trajectory.status, 200, "{}", trajectory.body);
        let said = trajectory.body["steps"][1]["message"].as_str().unwrap();
        assert!(said.contains("touch /app/done"), "{said}");
    }
    // Another image has a layer of its own.
    let other = told("touch /app/done").with(
        "environment/Dockerfile",
        "FROM base\nRUN mkdir -p /app && echo other > /other\nWORKDIR /app\n",
    );
    harbor.task("other", &other);
    let ended = harbor.job(&job("shell", "other")).await;
    assert_eq!(reward(&outcomes(&ended)[0]), Ok(1.0), "{ended:#}");
    assert_eq!(harbor.layers().await, 2);
    // Its log and its trajectory are where Harbor has them.
    let exported = harbor.exported(&ended).await;
    let find = |end: &str| exported.iter().find(|(path, _)| path.ends_with(end));
    let (_, trajectory) = find("agent/trajectory.json").unwrap();
    let trajectory: Value = serde_json::from_slice(trajectory).unwrap();
    assert_eq!(trajectory["schema_version"], "ATIF-v1.6");
    let (_, log) = find("agent/log.txt").unwrap();
    assert!(String::from_utf8_lossy(log).contains("running: touch /app/done"));
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strict_verifier_does_not_stand_on_what_installing_the_agent_left() {
    let install = "printf '#!/bin/bash\\n/bin/echo 1 > /logs/verifier/reward.txt\\n' > /usr/local/bin/test-helper; chmod +x /usr/local/bin/test-helper";
    let cheat = manifest(&json!({"command": "true", "install": install}));
    let Some(harbor) = Harbor::start_with([("cheat", cheat)]).await else {
        return;
    };
    let tests = "#!/bin/sh\nif command -v test-helper; then test-helper; else echo 0 > /logs/verifier/reward.txt; fi\n";
    harbor.task("helped", &Files::plain().with("tests/test.sh", tests));
    for (mode, expected) in [("sealed", 1.0), ("strict", 0.0)] {
        let yaml = format!(
            "metadata: {{proctor_verifier: {mode}}}\n{}",
            job("cheat", "helped")
        );
        let ended = harbor.job(&yaml).await;
        assert_eq!(
            reward(&outcomes(&ended)[0]),
            Ok(expected),
            "{mode}: {ended:#}"
        );
    }
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_cannot_be_installed_is_no_attempt() {
    let broken =
        manifest(&json!({"command": "true", "install": "echo 'no such package'\nfalse\ntrue"}));
    let slow = manifest(&json!({"command": "true", "install": "sleep 30"}));
    let Some(harbor) = Harbor::start_with([("broken", broken), ("slow", slow)]).await else {
        return;
    };
    harbor.task("plain", &Files::plain());
    let ended = harbor.job(&job("broken", "plain")).await;
    let outcome = &outcomes(&ended)[0];
    assert_eq!(
        reward(outcome),
        Err("AgentSetupError".to_owned()),
        "{ended:#}"
    );
    let message = outcome["failure_reason"]["exception_message"]
        .as_str()
        .unwrap();
    assert!(message.contains("no such package"), "{message}");
    let results = harbor.results(&ended).await;
    let attempt = &results["agents"][0]["attempts"][0];
    assert_eq!(
        (&attempt["cause"], &attempt["score"]),
        (&json!("infrastructure"), &Value::Null)
    );
    let yaml = "agents: [{name: slow, override_setup_timeout_sec: 1}]\ntasks: [{path: 'tasks:own/plain'}]\n";
    let ended = harbor.job(yaml).await;
    let outcome = &outcomes(&ended)[0];
    assert_eq!(reward(outcome), Err("AgentSetupTimeoutError".to_owned()));
    assert_eq!(outcome["state"], "TIMEOUT", "{ended:#}");
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_says_of_its_failure_is_a_reason_and_never_makes_it_void() {
    let errors = json!([{"regex": "HTTP 429", "exception_type": "ApiRateLimitError"}]);
    let limited = manifest(
        &json!({"command": "touch /app/done; echo 'HTTP 429' >&2; exit 3", "errors": errors}),
    );
    let by_log = manifest(&json!({
        "command": "echo 'HTTP 429' > /tmp/agent.log; exit 4", "log": "/tmp/agent.log", "errors": errors,
    }));
    let fine = manifest(&json!({"command": "touch /app/done; echo 'HTTP 429'", "errors": errors}));
    let agents = [("limited", limited), ("by-log", by_log), ("fine", fine)];
    let Some(harbor) = Harbor::start_with(agents).await else {
        return;
    };
    harbor.task("plain", &Files::plain());
    for (agent, named, score) in [
        ("limited", Some("ApiRateLimitError"), 1.0),
        ("by-log", Some("ApiRateLimitError"), 0.0),
        ("fine", None, 1.0),
    ] {
        let ended = harbor.job(&job(agent, "plain")).await;
        let outcome = &outcomes(&ended)[0];
        let exception = outcome["failure_reason"]["exception_type"].as_str();
        assert_eq!(exception, named, "{agent}: {ended:#}");
        let attempt = harbor.results(&ended).await["agents"][0]["attempts"][0].clone();
        assert_eq!(
            attempt["score"], score,
            "it counts with what it did: {attempt:#}"
        );
    }
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_of_an_agent_is_in_its_own_process_and_nowhere_else() {
    let command =
        "[ \"$MINE_KEY\" = hush-hush-hush ] && touch /app/done; env > /logs/agent/env.txt";
    let mine = manifest(
        &json!({"command": command, "env": ["MINE_KEY"], "install": "env > /installed-with"}),
    );
    let Some(harbor) = Harbor::start_with([("mine", mine)]).await else {
        return;
    };
    let tests = "#!/bin/sh\nif [ -e /app/done ] && ! env | grep -q hush && ! grep -q hush /installed-with && ! cat /proc/*/environ 2>/dev/null | grep -q hush; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n";
    harbor.task("plain", &Files::plain().with("tests/test.sh", tests));
    let missing = harbor.refused(&job("mine", "plain")).await;
    assert!(missing.contains("MINE_KEY"), "{missing}");
    let secret = json!({"name": "MINE_KEY", "value": "hush-hush-hush"});
    let made = harbor.server.ask(Method::POST, "/v1/secrets", secret).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let ended = harbor.job(&job("mine", "plain")).await;
    assert_eq!(reward(&outcomes(&ended)[0]), Ok(1.0), "{ended:#}");
    for (path, bytes) in harbor.exported(&ended).await {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hush-hush-hush"), "{path}: {text}");
    }
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_reaches_its_hosts_while_it_works_and_its_verifier_does_not() {
    // A connection to the server's own port, by an address that the manifest lists.
    let Some(mut harbor) = Harbor::start().await else {
        return;
    };
    let address = harbor.server.address;
    let ask = format!(
        "exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'GET http://{address}/healthz HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"
    );
    let command = format!(
        "bash -c \"{}\" && touch /app/done; true",
        ask.replace('"', "\\\"")
    );
    let online = json!({"command": command, "hosts": [address.ip().to_string()]});
    harbor.register("online", &online).await;
    let offline = json!({"command": command});
    harbor.register("offline", &offline).await;
    let tests = format!(
        "#!/bin/bash\n({ask}) 2>/dev/null && reached=1 || reached=0\n[ -e /app/done ] && done=1 || done=0\necho \"{{\\\"reward\\\": $done, \\\"reached\\\": $reached}}\" > /logs/verifier/reward.json\n"
    );
    harbor.task("net", &Files::plain().with("tests/test.sh", &tests));
    for (agent, expected) in [("online", 1.0), ("offline", 0.0)] {
        let ended = harbor.job(&job(agent, "net")).await;
        assert_eq!(
            reward(&outcomes(&ended)[0]),
            Ok(expected),
            "{agent}: {ended:#}"
        );
        let results = harbor.results(&ended).await;
        let metrics = &results["agents"][0]["metrics"]["mean"];
        assert_eq!(
            metrics["reached"], 0.0,
            "a verifier reaches what its task allows: {results:#}"
        );
        assert_eq!(metrics["reward"], expected);
    }
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_installed_for_jobs_of_scenarios_too() {
    let Some(harbor) = Harbor::start_with([("shell", shell())]).await else {
        return;
    };
    let scorer = json!({"type": "command_scorer", "command": "test -e done"});
    let scenario = json!({
        "name": "fix",
        "input_context": {"problem_statement": "```sh\ntouch done\n```"},
        "scoring_contract": {"scoring_function_parameters": [{"name": "done", "weight": 1.0, "scorer": scorer}]},
    });
    let scenario = harbor
        .server
        .ask(Method::POST, "/v1/scenarios", scenario)
        .await;
    assert_eq!(scenario.status, 200, "{}", scenario.body);
    let spec = json!({
        "type": "scenarios", "scenario_ids": [scenario.text("id")],
        "agent_configs": [{"type": "job_agent", "name": "shell"}],
    });
    let ended = harbor.over(json!({"spec": spec})).await;
    let outcome = &outcomes(&ended)[0];
    assert_eq!(reward(outcome), Ok(1.0), "{ended:#}");
    assert_eq!(harbor.layers().await, 1);
    let id = harbor.scenario_run(&ended).await;
    let path = format!("/v1/scenarios/runs/{id}/trajectory");
    let trajectory = harbor.server.read(&path).await;
    assert_eq!(
        trajectory.body["agent"]["name"], "shell",
        "{}",
        trajectory.body
    );
    harbor.end().await;
}
