//! Tasks of several steps: one box, each step verified before the next begins.

use serde_json::Value;

use super::support::{DOCKERFILE, Files, Harbor, outcomes, reward};

const CONFIG: &str = "[agent]\ntimeout_sec = 60.0\n[environment]\nnetwork_mode = \"no-network\"\n";

/// A task of two steps: each wants a file of its name.
fn two_steps(more: &str) -> Files {
    let steps = "[[steps]]\nname = \"one\"\n[[steps]]\nname = \"two\"\n";
    let test = |name: &str| {
        format!(
            "#!/bin/sh\nif [ -e /app/{name} ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
        )
    };
    Files::plain()
        .without("instruction.md")
        .without("tests/test.sh")
        .without("solution/solve.sh")
        .with("task.toml", &format!("{more}{CONFIG}{steps}"))
        .with("environment/Dockerfile", DOCKERFILE)
        .with("steps/one/instruction.md", "Make /app/one.\n")
        .with("steps/one/tests/test.sh", &test("one"))
        .with("steps/one/solution/solve.sh", "#!/bin/sh\ntouch /app/one\n")
        .with("steps/two/instruction.md", "Make /app/two.\n")
        .with("steps/two/tests/test.sh", &test("two"))
        .with(
            "steps/two/solution/solve.sh",
            "#!/bin/sh\n[ -e /app/one ] && touch /app/two\n",
        )
}

fn with_min_reward(files: Files, least: &str) -> Files {
    let steps =
        format!("[[steps]]\nname = \"one\"\nmin_reward = {least}\n[[steps]]\nname = \"two\"\n");
    files.with("task.toml", &format!("{CONFIG}{steps}"))
}

async fn job(harbor: &Harbor, names: &[&str], agents: &str) -> Value {
    let tasks: String = names
        .iter()
        .map(|name| format!("  - path: tasks:own/{name}\n"))
        .collect();
    let job = harbor
        .job(&format!("agents: {agents}\ntasks:\n{tasks}"))
        .await;
    assert_eq!(job["state"], "completed", "{job:#}");
    job
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_are_done_one_after_the_other_and_their_rewards_become_one() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("mean", &two_steps(""));
    harbor.task(
        "last",
        &two_steps("multi_step_reward_strategy = \"final\"\n"),
    );
    harbor.task("gate", &with_min_reward(two_steps(""), "1.0"));
    // What a step brings is there when its agent begins, and was prepared by its script.
    let brought = two_steps("")
        .with("steps/two/workdir/data.txt", "brought\n")
        .with("steps/two/workdir/setup.sh", "cp data.txt prepared\n")
        .with(
            "steps/two/solution/solve.sh",
            "#!/bin/sh\n[ \"$(cat prepared)\" = brought ] && touch /app/two\n",
        );
    harbor.task("brought", &brought);
    harbor.task(
        "broken",
        &two_steps("").with("steps/two/workdir/setup.sh", "exit 3\n"),
    );
    let names = ["mean", "last", "gate", "brought", "broken"];
    let job = job(&harbor, &names, "[{name: oracle}, {name: nop}]").await;
    let found: Vec<Result<f64, String>> = outcomes(&job).iter().map(reward).collect();
    let broken = Err("RuntimeError".to_owned());
    assert_eq!(
        found,
        [
            Ok(1.0),
            Ok(1.0),
            Ok(1.0),
            Ok(1.0),
            broken.clone(),
            Ok(0.0),
            Ok(0.0),
            Ok(0.0),
            Ok(0.0),
            broken,
        ],
        "{job:#}"
    );
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_step_is_not_in_the_box_before_its_time() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("steps", &two_steps(""));
    // It does what it is told, and looks for what it must not know yet.
    let command = "grep -rq 'app/two' /tests /solution /logs \"$PROCTOR_PROBLEM_FILE\" 2>/dev/null && [ \"$PROCTOR_STEP\" = one ] && exit 9\n\
                   [ -e /tests/test.sh ] && exit 9\n\
                   touch \"$(sed -n 's/Make \\(.*\\)\\./\\1/p' \"$PROCTOR_PROBLEM_FILE\")\"";
    let agents = serde_json::json!([{"name": "reader", "kwargs": {"command": command}}]);
    let job = job(&harbor, &["steps"], &agents.to_string()).await;
    assert_eq!(reward(&outcomes(&job)[0]), Ok(1.0), "{job:#}");
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_of_a_step_is_one_of_the_trial() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let no_reward = two_steps("").with("steps/two/tests/test.sh", "#!/bin/sh\ntrue\n");
    harbor.task("no-reward", &no_reward);
    let job = job(&harbor, &["no-reward"], "[{name: oracle}]").await;
    let outcome = &outcomes(&job)[0];
    assert_eq!(
        reward(outcome),
        Err("RewardFileNotFoundError".to_owned()),
        "{job:#}"
    );
    // The first step was verified, and counts.
    let results = harbor.results(&job).await;
    assert_eq!(results["agents"][0]["summary"]["score"], 1.0, "{results:#}");
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_step_is_a_result_of_its_own_beside_that_of_the_trial() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("gate", &with_min_reward(two_steps(""), "1.0"));
    let keys = "#!/bin/sh\necho '{\"reward\": 0.5, \"style\": 1}' > /logs/verifier/reward.json\n";
    let last = two_steps("multi_step_reward_strategy = \"final\"\n");
    harbor.task("last", &last.with("steps/two/tests/test.sh", keys));
    let job = job(&harbor, &["gate", "last"], "[{name: oracle}, {name: nop}]").await;
    let mut found = Vec::new();
    for outcome in outcomes(&job) {
        let id = outcome["scenario_run_id"].as_str().unwrap();
        let run = harbor
            .server
            .read(&format!("/v1/scenarios/runs/{id}"))
            .await;
        let contract = run.body["scoring_contract_result"].clone();
        let results = contract["scoring_function_results"].as_array().unwrap();
        let told: Vec<String> = results
            .iter()
            .map(|one| {
                let name = one["scoring_function_name"].as_str().unwrap();
                format!("{name}={}", one["score"])
            })
            .collect();
        found.push(format!("{} of {}", contract["score"], told.join(" ")));
    }
    assert_eq!(
        found,
        [
            "1.0 of reward=1.0 step/one/reward=1.0 step/two/reward=1.0",
            "0.5 of reward=0.5 step/one/reward=1.0 step/two/reward=0.5",
            "0.0 of reward=0.0 step/one/reward=0.0 step/two/reward=0.0",
            "0.5 of reward=0.5 step/one/reward=0.0 step/two/reward=0.5",
        ],
        "{job:#}"
    );
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_are_verified_where_the_task_or_the_job_wants_it() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    // The second step has a box of its own for its verifier, whose image brings the tests.
    let separate = "artifacts = [\"/app/two\"]\n".to_owned()
        + CONFIG
        + "[[steps]]\nname = \"one\"\n[[steps]]\nname = \"two\"\n[steps.verifier]\nenvironment_mode = \"separate\"\n";
    let check = "#!/bin/sh\n[ -e /app/two ] && [ ! -e /app/one ] && [ -e /own ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n";
    let own_box = two_steps("")
        .with("task.toml", &separate)
        .without("steps/two/tests/test.sh")
        .with("steps/two/tests/check.sh", check)
        .with("steps/two/tests/Dockerfile", "FROM base\nRUN mkdir -p /app /tests && touch /own\nCOPY check.sh /tests/test.sh\nRUN chmod +x /tests/test.sh\nWORKDIR /app\n");
    harbor.task("own-box", &own_box);
    harbor.task("plain", &two_steps(""));
    let agents = "[{name: oracle}, {name: nop}]";
    let found =
        |job: &Value| -> Vec<Result<f64, String>> { outcomes(job).iter().map(reward).collect() };
    let apart = job(&harbor, &["own-box"], agents).await;
    assert_eq!(found(&apart), [Ok(1.0), Ok(0.0)], "{apart:#}");
    // A shell of the agent's own fools a verifier on its disk, and none in a clean box.
    let shell = "rm -f /bin/sh /usr/bin/sh; printf '#!/bin/bash\\n/usr/bin/echo 1 > /logs/verifier/reward.txt\\n' > /usr/bin/sh; chmod +x /usr/bin/sh";
    let cheat = serde_json::json!([{"name": "cheat", "kwargs": {"command": shell}}]);
    for (mode, cheats) in [("clone", 1.0), ("strict", 0.0)] {
        let yaml = |agents: &str| {
            format!(
                "metadata: {{proctor_verifier: {mode}}}\nagents: {agents}\ntasks: [{{path: 'tasks:own/plain'}}]\n"
            )
        };
        let honest = harbor.job(&yaml(agents)).await;
        assert_eq!(found(&honest), [Ok(1.0), Ok(0.0)], "{mode}: {honest:#}");
        let cheated = harbor.job(&yaml(&cheat.to_string())).await;
        assert_eq!(found(&cheated), [Ok(cheats)], "{mode}: {cheated:#}");
    }
    harbor.end().await;
}
