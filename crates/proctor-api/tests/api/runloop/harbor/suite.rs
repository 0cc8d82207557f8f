//! One small task for each rule of the format, with what the oracle and doing nothing are worth.

use std::time::Duration;

use serde_json::Value;

use super::support::{DOCKERFILE, Files, Harbor, reward};

/// What a trial must come to: a reward, or an exception.
type Expected = Result<f64, &'static str>;

struct Case {
    name: &'static str,
    files: Files,
    oracle: Expected,
    nop: Expected,
}

fn case(name: &'static str, files: Files, oracle: Expected, nop: Expected) -> Case {
    Case {
        name,
        files,
        oracle,
        nop,
    }
}

/// The plain task with other tests.
fn tests(script: &str) -> Files {
    Files::plain().with("tests/test.sh", &format!("#!/bin/sh\n{script}\n"))
}

/// The plain task with another solution.
fn solution(script: &str) -> Files {
    Files::plain().with("solution/solve.sh", &format!("#!/bin/sh\n{script}\n"))
}

/// Tests that write `if_done` or `else_` into the reward file of this name.
fn writes(file: &str, if_done: &str, otherwise: &str) -> Files {
    tests(&format!(
        "if [ -e /app/done ]; then echo '{if_done}'; else echo '{otherwise}'; fi > /logs/verifier/{file}"
    ))
}

/// Tests that pass if a shell condition holds.
fn holds(condition: &str) -> Files {
    tests(&format!(
        "if {condition}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt"
    ))
}

fn rewards() -> Vec<Case> {
    let both = |name, files, expected| case(name, files, expected, expected);
    let parse = Err("VerifierOutputParseError");
    vec![
        case("plain", Files::plain(), Ok(1.0), Ok(0.0)),
        case(
            "json-goes-before-text",
            tests("echo 1 > /logs/verifier/reward.txt; [ -e /app/done ] && echo '{\"reward\": 0.5}' > /logs/verifier/reward.json || echo '{\"reward\": 0.25}' > /logs/verifier/reward.json"),
            Ok(0.5),
            Ok(0.25),
        ),
        case(
            "mean-of-keys",
            writes("reward.json", "{\"a\": 1, \"b\": 0.5}", "{\"a\": 0, \"b\": 0.5}"),
            Ok(0.75),
            Ok(0.25),
        ),
        case(
            "key-reward-goes-before-others",
            writes("reward.json", "{\"reward\": 1, \"style\": 0}", "{\"reward\": 0, \"style\": 1}"),
            Ok(1.0),
            Ok(0.0),
        ),
        case("truth-is-one", writes("reward.json", "{\"reward\": true}", "{\"reward\": false}"), Ok(1.0), Ok(0.0)),
        both("negative-is-nothing", writes("reward.txt", "-3", "-3"), Ok(0.0)),
        both("huge-is-all", writes("reward.txt", "1e300", "7"), Ok(1.0)),
        both("bare-number-in-json", writes("reward.json", "1", "1"), parse),
        both("not-a-number", writes("reward.txt", "NaN", "inf"), parse),
        both("bad-json-beside-good-text", tests("echo 1 > /logs/verifier/reward.txt; echo '{' > /logs/verifier/reward.json"), parse),
        both("no-reward", tests("true"), Err("RewardFileNotFoundError")),
        both("empty-reward", tests(": > /logs/verifier/reward.txt"), Err("RewardFileEmptyError")),
        both("nested-reward", writes("reward.json", "{\"reward\": {\"a\": 1}}", "{\"reward\": [1]}"), parse),
        both("no-number-in-json", writes("reward.json", "{\"reward\": NaN}", "{\"reward\": \"1\"}"), parse),
        both("reward-of-a-gigabyte", tests("truncate -s 1G /logs/verifier/reward.txt"), parse),
        both("linked-reward", tests("echo 1 > /tmp/one; ln -s /tmp/one /logs/verifier/reward.txt"), parse),
        both("reward-is-a-pipe", tests("mkfifo /logs/verifier/reward.txt"), parse),
        both("reward-is-a-directory", tests("mkdir /logs/verifier/reward.json"), parse),
        case("status-of-tests-is-ignored", tests("[ -e /app/done ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt; exit 7"), Ok(1.0), Ok(0.0)),
        both(
            "slow-verifier",
            tests("echo 1 > /logs/verifier/reward.txt; sleep 60").with_toml("").with("task.toml", "[agent]\ntimeout_sec = 60.0\n[verifier]\ntimeout_sec = 1.0\n[environment]\nallow_internet = false\n"),
            Err("VerifierTimeoutError"),
        ),
        case(
            "tests-without-a-first-line",
            Files::plain().with("tests/test.sh", "if [ -e /app/done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"),
            Ok(1.0),
            Ok(0.0),
        ),
        both("tests-that-kill-their-parent", tests("echo 0.5 > /logs/verifier/reward.txt; kill -9 $PPID; sleep 1"), Ok(0.5)),
    ]
}

fn surroundings() -> Vec<Case> {
    let both = |name, files, expected| case(name, files, expected, expected);
    let toml = |text: &str| format!("[agent]\ntimeout_sec = 60.0\n{text}");
    vec![
        case("helpers-of-tests", holds("[ \"$(cat /tests/data/answer)\" = 42 ] && [ -e /app/done ]").with("tests/data/answer", "42\n"), Ok(1.0), Ok(0.0)),
        case(
            "ignored-helpers",
            holds("[ ! -e /tests/secret ] && [ ! -e /tests/.harborignore ] && [ -e /app/done ]")
                .with("tests/.harborignore", "secret\n")
                .with("tests/secret", "x"),
            Ok(1.0),
            Ok(0.0),
        ),
        case("agent-sees-no-tests", solution("[ -e /tests/test.sh ] || touch /app/done"), Ok(1.0), Ok(0.0)),
        both("verifier-sees-no-solution", holds("[ ! -e /solution/solve.sh ]"), Ok(1.0)),
        case("helpers-of-the-solution", solution("sh /solution/lib/help.sh").with("solution/lib/help.sh", "touch /app/done\n"), Ok(1.0), Ok(0.0)),
        case("status-of-the-solution-is-no-failure", solution("touch /app/done; exit 3"), Ok(1.0), Ok(0.0)),
        case("no-solution", Files::plain().without("solution/solve.sh"), Err("FileNotFoundError"), Ok(0.0)),
        case(
            "variables-of-the-task",
            solution("[ \"$KIND\" = fruit ] && [ \"$DEFAULTED\" = else ] && touch /app/done")
                .with("task.toml", &toml("[environment]\nnetwork_mode = \"no-network\"\n[environment.env]\nKIND = \"fruit\"\nDEFAULTED = \"${NOBODY_HAS_THIS:-else}\"\n")),
            Ok(1.0),
            Ok(0.0),
        ),
        case(
            "variables-of-the-verifier-are-its-own",
            holds("[ \"$GRADE\" = strict ] && [ -z \"$HINT\" ] && [ -e /app/done ]")
                .with("solution/solve.sh", "#!/bin/sh\n[ -z \"$GRADE\" ] && [ \"$HINT\" = help ] && touch /app/done\n")
                .with("task.toml", &toml("[environment]\nnetwork_mode = \"no-network\"\n[verifier.env]\nGRADE = \"strict\"\n[solution.env]\nHINT = \"help\"\n")),
            Ok(1.0),
            Ok(0.0),
        ),
        both("directory-of-the-image", holds("[ \"$(pwd)\" = /app ]"), Ok(1.0)),
        both(
            "directory-of-the-task",
            holds("[ \"$(pwd)\" = /srv ]").with("task.toml", &toml("[environment]\nworkdir = \"/srv\"\nnetwork_mode = \"no-network\"\n")),
            Ok(1.0),
        ),
        case(
            "user-of-the-agent",
            holds("[ \"$(cat /logs/agent/who)\" = 65534 ] && [ \"$(id -u)\" = 0 ]")
                .with("solution/solve.sh", "#!/bin/sh\nid -u > /logs/agent/who\n")
                .with("task.toml", "[agent]\ntimeout_sec = 60.0\nuser = \"nobody\"\n[environment]\nnetwork_mode = \"no-network\"\n"),
            Ok(1.0),
            Ok(0.0),
        ),
        both(
            "user-of-the-verifier",
            holds("[ \"$(id -u)\" = 65534 ]").with("task.toml", &toml("[verifier]\nuser = 65534\n[environment]\nnetwork_mode = \"no-network\"\n")),
            Ok(1.0),
        ),
        both(
            "files-of-the-environment",
            holds("[ \"$(cat /app/given)\" = given ]")
                .with("environment/given.txt", "given\n")
                .with("environment/Dockerfile", &format!("{DOCKERFILE}COPY given.txt /app/given\n")),
            Ok(1.0),
        ),
        both(
            "stages-labels-and-here-documents",
            holds("[ \"$(cat /app/made)\" = made ] && [ \"$(cat /app/here)\" = here ]").with(
                "environment/Dockerfile",
                "FROM base AS maker\nRUN mkdir -p /out && echo made > /out/made\nFROM base\nLABEL a=b\nCMD [\"true\"]\nEXPOSE 80\nWORKDIR /app\nCOPY --from=maker /out/made /app/made\nRUN <<EOF\necho here > /app/here\nEOF\n",
            ),
            Ok(1.0),
        ),
        both(
            "image-instead-of-a-dockerfile",
            holds("[ -e /etc/passwd ]")
                .without("environment/Dockerfile")
                .with("task.toml", &toml("[environment]\ndocker_image = \"base\"\nnetwork_mode = \"no-network\"\n")),
            Ok(1.0),
        ),
        both(
            "compose-file-of-one-service",
            holds("[ \"$FROM_COMPOSE\" = yes ] && [ -d /app ]").with(
                "environment/docker-compose.yaml",
                "services:\n  main:\n    build:\n      context: .\n    environment:\n      FROM_COMPOSE: \"yes\"\n",
            ),
            Ok(1.0),
        ),
        both(
            "old-keys",
            Files::plain().with("task.toml", "version = \"1.0\"\n[agent]\ntimeout_sec = 60\n[environment]\nmemory = \"2G\"\nstorage = \"4G\"\ncpus = 1\nallow_internet = false\n").with("tests/test.sh", "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n"),
            Ok(1.0),
        ),
        both("build-that-fails", Files::plain().with("environment/Dockerfile", "FROM base\nRUN echo no; exit 3\n"), Err("SandboxBuildFailedError")),
        both(
            "healthy-after-a-while",
            holds("[ -e /tmp/up ]")
                .with("environment/Dockerfile", &format!("{DOCKERFILE}ENTRYPOINT [\"/bin/sh\", \"-c\", \"sleep 0.3; touch /tmp/up; exec \\\"$0\\\" \\\"$@\\\"\"]\n"))
                .with_toml("[environment.healthcheck]\ncommand = \"test -e /tmp/up\"\ninterval_sec = 0.1\nstart_period_sec = 30\nstart_interval_sec = 0.1\nretries = 2"),
            Ok(1.0),
        ),
        both(
            "never-healthy",
            Files::plain().with_toml("[environment.healthcheck]\ncommand = \"false\"\ninterval_sec = 0.1\nretries = 2"),
            Err("HealthcheckError"),
        ),
        case(
            "links-inside-the-task",
            holds("[ \"$(cat /tests/shared/answer)\" = 42 ] && [ -e /app/done ]").with("environment/shared/answer", "42\n").with_link("tests/shared", "../environment/shared"),
            Ok(1.0),
            Ok(0.0),
        ),
        case(
            "status-of-the-oracle-is-noted",
            holds("[ \"$(cat /logs/agent/exit-code.txt)\" = 5 ] && grep -q said /logs/agent/oracle.txt").with("solution/solve.sh", "#!/bin/sh\necho said\nexit 5\n"),
            Ok(1.0),
            Ok(0.0),
        ),
        case(
            "solution-by-its-first-line",
            solution("").with("solution/solve.sh", "#!/usr/bin/env python3\nopen('/app/done', 'w').close()\n"),
            Ok(1.0),
            Ok(0.0),
        ),
        both(
            "later-health-counts-failures-after-the-start-period",
            holds("[ -e /app/up ]").with_toml("[environment.healthcheck]\ncommand = \"test -e /app/up || { touch /app/up; false; }\"\ninterval_sec = 0.05\nretries = 3"),
            Ok(1.0),
        ),
        both(
            "verifier-runs-where-the-image-says-and-may-write-there",
            tests("echo x > here && echo 1 > /logs/verifier/reward.txt && [ -e /app/here ] || echo 0 > /logs/verifier/reward.txt"),
            Ok(1.0),
        ),
        both("tests-are-read-only", holds("! touch /tests/new 2>/dev/null"), Ok(1.0)),
        case(
            "slow-agent-is-verified",
            solution("touch /app/done; sleep 60").with("task.toml", "[agent]\ntimeout_sec = 1.0\n[environment]\nnetwork_mode = \"no-network\"\n"),
            Err("AgentTimeoutError"),
            Ok(0.0),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_rule_of_the_format_has_a_task_that_shows_it() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let cases: Vec<Case> = rewards().into_iter().chain(surroundings()).collect();
    assert!(cases.len() >= 25, "{}", cases.len());
    for case in &cases {
        harbor.task(case.name, &case.files);
    }
    let yaml = "agents: [{name: oracle}, {name: nop}]\ndatasets:\n  - path: tasks:own\n";
    let job = harbor.job_within(yaml, Duration::from_secs(400)).await;
    assert_eq!(job["state"], "completed", "{job:#}");
    let mut wrong = Vec::new();
    for (agent, expected) in [(0, true), (1, false)] {
        let outcomes = &job["benchmark_outcomes"][agent]["scenario_outcomes"];
        for case in &cases {
            let wanted = if expected { case.oracle } else { case.nop };
            let mut all = outcomes.as_array().unwrap().iter();
            let found = all.find(|one| one["scenario_name"] == case.name);
            let found = found.unwrap_or(&Value::Null);
            if reward(found) != wanted.map_err(str::to_owned) {
                let name = case.name;
                wrong.push(format!("{name}, agent {agent}: wanted {wanted:?}: {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let results = harbor.results(&job).await;
    let attempts = results["agents"][0]["attempts"].as_array().unwrap().clone();
    assert!(!attempts.is_empty(), "{results:#}");
    harbor.end().await;
}
