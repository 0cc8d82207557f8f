//! Agents: those that work, those that fail, and those that misbehave.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use proctor_testkit::server::{KEY, Server, proctor};
use serde_json::json as value;

use crate::PROCTOR;

use super::{TASK, attempt, command, is_running, json, run, told};

const PLAIN: &str = concat!(
    "python3 ",
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/agents/plain.py"
);
const CLINICAL: &str = "fax-referral";

#[test]
fn the_plain_agent_takes_a_shipped_benchmark_and_runs_accumulate() {
    let data = tempfile::tempdir().unwrap();
    let output = run(data.path(), &[CLINICAL, "--agent", PLAIN, "-n", "2"]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}\n{table}", told(&output));
    assert!(table.contains("Register a new patient"), "{table}");
    assert!(
        told(&output).contains("evidence: proctor show br_"),
        "{}",
        told(&output)
    );
    let results = json(
        data.path(),
        &[CLINICAL, "--agent", PLAIN, "-k", "2", "--task", TASK],
        0,
    );
    assert_eq!(results["run_ids"].as_array().unwrap().len(), 2);
    let summary = &results["agents"][0]["summary"];
    assert_eq!(
        (&summary["planned"], &summary["void"]),
        (&value!(2), &value!(0))
    );
    let score = results["score"].as_f64().unwrap();
    assert!(score > 0.4 && score < 1.0, "it books no visit: {results:#}");
}

#[test]
fn what_json_prints_has_one_shape() {
    let data = tempfile::tempdir().unwrap();
    let label = [
        "--label",
        "branch=main",
        "--agent-version",
        "7",
        "--agent-name",
        "nobody",
    ];
    let arguments = [&[CLINICAL, "--agent", "null", "--task", TASK], &label[..]].concat();
    let results = json(data.path(), &arguments, 0);
    let run = results["run_ids"][0].as_str().unwrap().to_owned();
    let task = attempt(&results)["task"].as_str().unwrap().to_owned();
    let shown = format!("{results:#}")
        .replace(&run, "br_…")
        .replace(&task, "task_…");
    insta::assert_snapshot!(shown);
}

#[test]
fn the_oracle_gets_everything_and_the_null_agent_misses_the_least_score() {
    let data = tempfile::tempdir().unwrap();
    let results = json(
        data.path(),
        &[CLINICAL, "--agent", "oracle", "-n", "4", "--min-score", "1"],
        0,
    );
    assert_eq!(results["score"], 1.0, "{results:#}");
    assert_eq!(results["verdict"], "pass");
    let results = json(
        data.path(),
        &[CLINICAL, "--agent", "nop", "--min-score", "0.5"],
        1,
    );
    assert_eq!(results["agents"][0]["name"], "null");
}

#[test]
fn a_coding_scenario_is_taken_by_a_command_on_this_machine() {
    let data = tempfile::tempdir().unwrap();
    let file = answers(data.path());
    let agent = r#"
set -e
grep -q 'Write 42' "$PROCTOR_PROBLEM_FILE"
grep -q problem_statement "$PROCTOR_TASK_FILE"
test -z "$PROCTOR_KEY" && test "$PROCTOR_MODEL_NAME" = m-1 && test "$PROCTOR_AGENT_KWARGS" = '{"a":1}'
curl --fail -sS -H "Authorization: Bearer $PROCTOR_TOKEN" -H 'Content-Type: application/json' \
    --data '{"command": "echo 42 > answer.txt"}' "$PROCTOR_DEVBOX_URL/execute_sync"
"#;
    let file = file.as_str();
    let more = ["--model", "m-1", "--kwargs", r#"{"a":1}"#];
    let results = json(
        data.path(),
        &[&[file, "--agent", agent], &more[..]].concat(),
        0,
    );
    assert_eq!(results["score"], 1.0, "{results:#}");
    let results = json(data.path(), &[file, "--agent", "oracle"], 0);
    assert_eq!(results["score"], 1.0, "{results:#}");
    let results = json(data.path(), &[file, "--agent", "null"], 0);
    assert_eq!(results["score"], 0.0, "{results:#}");
    let results = json(data.path(), &[file, "--agent", "exit 3"], 0);
    let attempt = attempt(&results);
    assert_eq!(attempt["cause"], "agent_crash", "{attempt:#}");
    assert_eq!(attempt["reason"], "the agent ended with status 3");
}

#[test]
fn what_cannot_be_is_refused_before_a_run_is_made() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().join("data");
    let refused = |arguments: &[&str], words: &str| {
        let output = run(&place, arguments);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(words), "{}", told(&output));
    };
    refused(
        &[CLINICAL, "--agent", "no-such-program"],
        "there is no program 'no-such-program' here",
    );
    refused(
        &[CLINICAL, "--agent", "if true"],
        "a shell cannot read the agent's command",
    );
    refused(
        &["fax-referal", "--agent", "true"],
        "did you mean fax-referral?",
    );
    refused(&["mine@3", "--agent", "oracle"], "give the file");
    refused(
        &[CLINICAL, "--agent", "true", "--kwargs", "[]"],
        "--kwargs is not a JSON object",
    );
    refused(&["--resume", "--agent", "true"], "cannot be used with");
    assert!(!place.exists(), "no server was started");
    refused(
        &[CLINICAL, "--agent", "true", "--task", "x*"],
        "no task matches 'x*'; the tasks are 'Register a new patient",
    );
    refused(&["mine@3", "--agent", "true"], "no benchmark 'mine@3'");
    refused(&["--resume"], "no unfinished run is known");
}

#[test]
fn an_agent_that_ends_badly_counts_0_and_says_why() {
    let data = tempfile::tempdir().unwrap();
    let results = json(
        data.path(),
        &[CLINICAL, "--task", TASK, "--agent", "echo broken; exit 7"],
        0,
    );
    let seen = attempt(&results);
    assert_eq!(
        (&seen["cause"], &seen["score"]),
        (&value!("agent_crash"), &value!(0.0)),
        "{seen:#}"
    );
    assert_eq!(seen["reason"], "the agent ended with status 7");
    let output = run(
        data.path(),
        &[CLINICAL, "--task", TASK, "--agent", "kill -9 $$"],
    );
    assert!(
        told(&output).contains("agent_crash: the agent was ended by signal 9 (log: "),
        "{}",
        told(&output)
    );
}

#[test]
fn an_agent_that_prints_without_end_has_a_log_with_an_end() {
    let data = tempfile::tempdir().unwrap();
    let agent = "head -c 1000000000 /dev/zero; echo the last words";
    let results = json(
        data.path(),
        &[CLINICAL, "--task", TASK, "--agent", agent],
        0,
    );
    assert_eq!(attempt(&results)["cause"], value!(null));
    let attempts = fs_err::read_dir(data.path().join("attempts")).unwrap();
    let places: Vec<_> = attempts.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(places.len(), 1);
    let log = fs_err::read(places[0].join("agent.log")).unwrap();
    assert!(log.ends_with(b"the last words\n"));
    assert!(log.len() < 3 * 1024 * 1024, "{}", log.len());
}

#[test]
fn an_agent_that_will_not_end_is_ended_with_all_that_it_started() {
    let data = tempfile::tempdir().unwrap();
    // Both ignore SIGTERM; the second has left its session and its parent.
    let agent = "trap '' TERM; (setsid sh -c \"trap '' TERM; while :; do sleep 71.25; done\" &) ; while :; do sleep 71.25; done";
    let began = Instant::now();
    let results = json(
        data.path(),
        &[CLINICAL, "--task", TASK, "--timeout", "1", "--agent", agent],
        0,
    );
    assert!(began.elapsed() < Duration::from_secs(60));
    let seen = attempt(&results);
    assert_eq!(seen["cause"], "agent_timeout", "{seen:#}");
    assert_eq!(seen["reason"], "the agent took longer than 1 s");
    assert!(!is_running("sleep 71.25"));
}

#[test]
fn daemons_that_an_agent_leaves_are_ended() {
    let data = tempfile::tempdir().unwrap();
    let agent = "setsid -f sleep 72.25; sleep 72.25 & disown 2>/dev/null; nohup sleep 72.25 >/dev/null 2>&1 & exit 0";
    let results = json(
        data.path(),
        &[CLINICAL, "--task", TASK, "--agent", agent],
        0,
    );
    assert_eq!(
        attempt(&results)["cause"],
        value!(null),
        "it is done: {results:#}"
    );
    assert!(!is_running("sleep 72.25"));
}

#[test]
fn an_attempt_that_says_nothing_about_the_agent_is_tried_again() {
    let data = tempfile::tempdir().unwrap();
    let mark = data.path().join("mark");
    // What ran the agent is lost the first time.
    let agent = format!(
        "test -e {0} || {{ touch {0}; kill -9 $PPID; exit; }}",
        mark.display()
    );
    let results = json(
        data.path(),
        &[CLINICAL, "--task", TASK, "--agent", &agent],
        0,
    );
    let seen = attempt(&results);
    assert_eq!(
        (&seen["tries"], &seen["cause"]),
        (&value!(2), &value!(null)),
        "{seen:#}"
    );
    let agent = "kill -9 $PPID";
    let arguments = [
        CLINICAL,
        "--task",
        TASK,
        "--agent",
        agent,
        "--retry-void",
        "1",
    ];
    let results = json(data.path(), &arguments, 3);
    let seen = attempt(&results);
    assert_eq!(
        (&seen["tries"], &seen["cause"]),
        (&value!(2), &value!("infrastructure")),
        "{seen:#}"
    );
    assert_eq!(
        (&results["score"], &results["verdict"]),
        (&value!(null), &value!(null))
    );
}

#[test]
fn a_data_directory_has_one_command_at_a_time() {
    let data = tempfile::tempdir().unwrap();
    let mark = data.path().join("mark");
    let agent = format!("touch {}; sleep 60", mark.display());
    let mut first = command(data.path(), &[CLINICAL, "--task", TASK, "--agent", &agent])
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !mark.exists() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the first command does not begin"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = run(data.path(), &[CLINICAL, "--agent", "true"]);
    let words = told(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(
        words.contains(&format!("process {}, at http://127.0.0.1:", first.id())),
        "{words}"
    );
    assert!(
        words.contains("--server http://127.0.0.1:") && words.contains("--data"),
        "{words}"
    );
    // Ctrl-C cancels, and leaves nothing.
    let signalled = std::process::Command::new("kill")
        .args(["-INT", &first.id().to_string()])
        .status();
    assert!(signalled.unwrap().success());
    assert_eq!(first.wait().unwrap().code(), Some(3));
    assert!(!is_running(&mark.display().to_string()));
    let left = fs_err::read_dir(data.path().join("unfinished")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn the_plain_agent_in_typescript_does_as_well_as_the_one_in_python() {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/agents/plain.ts"
    );
    let mut asked = std::process::Command::new("node");
    asked.args(["-e", "process.exit(process.features.typescript ? 0 : 1)"]);
    if !asked.status().is_ok_and(|status| status.success()) {
        eprintln!("no Node here runs TypeScript");
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let agent = format!("node {script}");
    let results = json(
        data.path(),
        &[CLINICAL, "--agent", &agent, "--task", TASK],
        0,
    );
    let score = results["score"].as_f64().unwrap();
    assert!(score > 0.4, "{results:#}");
}

#[test]
fn the_shell_agent_of_the_examples_works_in_the_devbox_of_its_scenario() {
    let data = tempfile::tempdir().unwrap();
    let file = answers(data.path());
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/agents/shell.sh"
    );
    let agent = format!("sh {script}");
    let results = json(data.path(), &[&file, "--agent", &agent], 0);
    assert_eq!(attempt(&results)["cause"], value!(null), "{results:#}");
}

#[test]
fn every_example_of_an_agent_is_read_by_its_interpreter_and_says_how_it_is_run() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agents");
    let mut seen = 0;
    for entry in fs_err::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let check = match path.extension().and_then(|extension| extension.to_str()) {
            Some("sh") => vec!["sh", "-n"],
            Some("py") => vec![
                "python3",
                "-c",
                "import ast, sys; ast.parse(open(sys.argv[1]).read())",
            ],
            _ => continue,
        };
        seen += 1;
        let mut command = std::process::Command::new(check[0]);
        let output = command.args(&check[1..]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{name}: {}", told(&output));
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(text.contains("proctor run "), "{name} says no command");
        let listed = fs_err::read_to_string(format!("{place}/README.md")).unwrap();
        assert!(listed.contains(&name), "{name} is not in the list");
    }
    assert!(seen >= 6, "{seen}");
}

#[tokio::test]
async fn a_registered_agent_takes_scenarios_in_a_job() {
    let server = Server::fresh(PROCTOR);
    let caller = server.caller();
    let made = caller
        .post("/v1/agents", value!({"name": "mine", "version": "1.0.0"}))
        .await;
    let id = made["id"].as_str().unwrap();
    let manifest =
        value!({"command": "case \"$PROCTOR_MODEL_NAME\" in m-1) echo 42 > answer.txt;; esac"});
    caller
        .post(&format!("/v1/agents/{id}/manifest"), manifest)
        .await;
    let directory = tempfile::tempdir().unwrap();
    let file = answers(directory.path());
    let take = |agent: &str, more: &[&str]| {
        let mut command = proctor(PROCTOR);
        command.args([
            "run",
            &file,
            "--json",
            "--agent",
            agent,
            "--server",
            &server.url(""),
        ]);
        command
            .args(more)
            .env("PROCTOR_KEY", KEY)
            .env("XDG_DATA_HOME", directory.path());
        command.output().unwrap()
    };
    for agent in ["agent:mine", id] {
        let output = take(agent, &["-k", "2", "--model", "m-1", "--min-score", "1"]);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&results["score"], &results["verdict"]),
            (&value!(1.0), &value!("pass")),
            "{results:#}"
        );
        assert_eq!(results["run_ids"].as_array().unwrap().len(), 2);
        assert_eq!(results["agents"][0]["summary"]["planned"], 2);
    }
    let output = take("agent:mine", &["--min-score", "1"]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "without its model it does nothing: {}",
        told(&output)
    );
    // A clinical benchmark is taken from a box beside each world.
    let mut command = proctor(PROCTOR);
    command
        .args([
            "run",
            CLINICAL,
            "--json",
            "--agent",
            "agent:mine",
            "-n",
            "4",
        ])
        .args(["--label", "branch=main", "--server", &server.url("")])
        .env("PROCTOR_KEY", KEY)
        .env("XDG_DATA_HOME", directory.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["agents"][0]["summary"]["scored"], 4, "{results:#}");
    let run = results["run_ids"][0].as_str().unwrap();
    let run = caller.get(&format!("/benchmark-runs/{run}")).await;
    assert_eq!(run["labels"]["branch"], "main", "{run:#}");
    let output = take("agent:nobody", &[]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    let output = take("agent:mine", &["--scored"]);
    assert!(
        told(&output).contains("--scored cannot be used with a registered agent"),
        "{}",
        told(&output)
    );
}

/// A file with one scenario, whose answer is 42.
pub(super) fn answers(directory: &Path) -> String {
    let file = directory.join("answers.yaml");
    let text = r#"
name: Answers
scenarios:
  - name: answer
    problem_statement: Write 42 into answer.txt.
    scorers:
      - name: right
        weight: 1.0
        scorer: {type: bash_script_scorer, bash_script: 'grep -qx 42 answer.txt && echo "score=1.0" || echo "score=0.0"'}
    reference: echo 42 > answer.txt
"#;
    fs_err::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}
