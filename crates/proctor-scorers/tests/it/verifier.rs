//! Verifiers of Harbor tasks: what an agent leaves must not decide what they say.

use std::{
    collections::BTreeMap, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration,
};

use proctor_devbox::{Error, ExecId, ExecSpec, User};
use proctor_harbor::exceptions::ExceptionType;
use proctor_scorers::verifier::{Verification, VerifierOrder, verify};
use tempfile::TempDir;

use crate::support::{Agent, Boxes};

/// Tests on the host, and a place for logs.
struct Tests {
    directory: TempDir,
}

impl Tests {
    fn new(script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tests = directory.path().join("tests");
        fs_err::create_dir(&tests).unwrap();
        let path = tests.join("test.sh");
        fs_err::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        fs_err::set_permissions(&tests, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { directory }
    }

    fn order(&self, seconds: u64) -> VerifierOrder {
        VerifierOrder {
            id: ExecId::new("verifier").unwrap(),
            tests: Some(self.directory.path().join("tests")),
            logs: self.logs(),
            user: User::Root,
            environment: [("KEY".to_owned(), "value".to_owned())].into(),
            working_directory: Some("/tmp".to_owned()),
            time_limit: Duration::from_secs(seconds),
            entrypoint: None,
            is_fresh: false,
        }
    }

    fn logs(&self) -> PathBuf {
        self.directory.path().join("logs")
    }
}

/// What a verifier says after the agent left something; none where boxes cannot be sealed.
async fn verified(left: &str, script: &str) -> Option<Verification> {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent.does("mkdir -p /logs/verifier /logs/agent /app").await;
    leave(&agent, left).await;
    let tests = Tests::new(script);
    let found = verify(agent.devbox.as_ref(), &tests.order(20)).await;
    let found = match found {
        Err(proctor_scorers::JudgeError::Devbox(Error::NotOffered(why))) => {
            eprintln!("skipped: {why}");
            None
        }
        other => Some(other.unwrap()),
    };
    agent.devbox.destroy().await.unwrap();
    boxes.end().await;
    found
}

/// Runs a script of the agent's and lets go on what it left in the background.
async fn leave(agent: &Agent<'_>, script: &str) {
    let id = ExecId::new("agent-work").unwrap();
    let execution = agent
        .devbox
        .exec(ExecSpec::shell(id, script))
        .await
        .unwrap();
    execution.wait().await.unwrap();
}

fn reward(found: &Verification) -> Result<f64, ExceptionType> {
    let rewards = found.rewards.as_ref();
    rewards
        .map(|rewards| rewards["reward"])
        .map_err(|error| error.exception)
}

const PASSES_IF_SOLVED: &str = "test -f /app/solved && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verifier_sees_what_the_agent_did_and_says_what_it_is_worth() {
    let Some(found) = verified("touch /app/solved", PASSES_IF_SOLVED).await else {
        return;
    };
    assert_eq!(reward(&found), Ok(1.0));
    assert_eq!(found.suspicious, Vec::<String>::new());
    let Some(found) = verified(
        "true",
        "echo said; pwd; echo $KEY; id -u; echo '{\"reward\": 0.25, \"style\": true}' > /logs/verifier/reward.json; exit 3",
    )
    .await
    else {
        return;
    };
    assert_eq!(reward(&found), Ok(0.25));
    assert_eq!(found.rewards.unwrap()["style"], 1.0);
    assert_eq!(found.output, "said\n/tmp\nvalue\n0\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_agent_left_running_cannot_forge_the_reward() {
    let forger =
        "(while :; do echo '{\"reward\": 1}' > /logs/verifier/reward.json; done) >/dev/null 2>&1 &";
    let script = format!("sleep 0.5; {PASSES_IF_SOLVED}; sleep 0.5");
    let Some(found) = verified(forger, &script).await else {
        return;
    };
    assert_eq!(reward(&found), Ok(0.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_agent_left_running_cannot_take_the_place_of_the_tests() {
    let thief = "mkdir -p /evil; printf '#!/bin/sh\\necho 1 > /logs/verifier/reward.txt\\n' > /evil/test.sh; chmod +x /evil/test.sh
        (while :; do rm -rf /tests /logs; mv /tests /moved; mv /logs /moved-logs; cp -r /evil /tests; ln -s /evil /tests; done) >/dev/null 2>&1 &";
    let script = format!("for i in 1 2 3 4 5; do sleep 0.1; ls /tests; done; {PASSES_IF_SOLVED}");
    let Some(found) = verified(thief, &script).await else {
        return;
    };
    assert_eq!(reward(&found), Ok(0.0));
    assert_eq!(found.output, "test.sh\n".repeat(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_were_left_in_the_places_of_the_verifier_are_covered() {
    let left =
        "mkdir -p /tests; echo 'echo 1' > /tests/helper.sh; echo 1 > /logs/verifier/reward.txt";
    let Some(found) = verified(left, "ls -A /tests /logs/verifier").await else {
        return;
    };
    assert_eq!(
        reward(&found),
        Err(ExceptionType::RewardFileNotFoundError),
        "a reward from before does not count"
    );
    assert_eq!(
        found.output,
        "/logs/verifier:\ntest-stdout.txt\n\n/tests:\ntest.sh\n"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_and_missing_directories_are_replaced_and_named() {
    let left = "rm -rf /logs; mkdir /elsewhere; ln -s /elsewhere /logs; ln -s /elsewhere /tests";
    let Some(found) = verified(left, PASSES_IF_SOLVED).await else {
        return;
    };
    assert_eq!(reward(&found), Ok(0.0));
    assert!(
        found
            .suspicious
            .contains(&"/logs was not a directory".to_owned())
            && found
                .suspicious
                .contains(&"/tests was not a directory".to_owned()),
        "{:?}",
        found.suspicious
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verifier_and_the_agents_processes_cannot_see_each_other_but_share_the_network() {
    let left = "(sleep 987 & exec python3 -m http.server 8123 --bind 127.0.0.1 --directory /app) >/dev/null 2>&1 &
        echo hello > /app/page
        (while :; do for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; done | grep -q 'te[s]t.sh' && touch /app/seen; done) >/dev/null 2>&1 &";
    let script = "grep -l '[s]leep' /proc/[0-9]*/cmdline 2>/dev/null | wc -l
        echo $$ | grep -c .
        for i in $(seq 50); do python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:8123/page\").read().decode().strip())' 2>/dev/null && break; sleep 0.1; done
        sleep 0.5
        test -e /app/seen && echo seen
        echo 1 > /logs/verifier/reward.txt";
    let Some(found) = verified(left, script).await else {
        return;
    };
    assert_eq!(found.output, "0\n1\nhello\n");
    assert_eq!(reward(&found), Ok(1.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_of_a_verifier_has_ended_before_its_rewards_are_read() {
    let script = "echo 0.5 > /logs/verifier/reward.txt
        (setsid sh -c 'while :; do echo 1 > /logs/verifier/new; mv /logs/verifier/new /logs/verifier/reward.txt; sleep 0.01; done' >/dev/null 2>&1 &)
        sleep 0.3; kill -9 $PPID; kill -9 -1";
    let Some(found) = verified("true", script).await else {
        return;
    };
    assert!(
        found.rewards.is_ok(),
        "a test that kills its parent is just over"
    );
    let Some(found) = verified("true", "(sleep 600 &) ; sleep 600").await else {
        return;
    };
    assert_eq!(reward(&found), Err(ExceptionType::VerifierTimeoutError));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rewards_that_are_no_files_are_refused() {
    for (script, expected) in [
        (
            "ln -s /app/mine /logs/verifier/reward.json; echo 1 > /logs/verifier/reward.txt",
            ExceptionType::VerifierOutputParseError,
        ),
        (
            "mkfifo /logs/verifier/reward.txt",
            ExceptionType::VerifierOutputParseError,
        ),
        (
            "mkdir /logs/verifier/reward.json",
            ExceptionType::VerifierOutputParseError,
        ),
        (
            "truncate -s 1G /logs/verifier/reward.txt",
            ExceptionType::VerifierOutputParseError,
        ),
        (
            "echo NaN > /logs/verifier/reward.txt",
            ExceptionType::VerifierOutputParseError,
        ),
        (
            ": > /logs/verifier/reward.txt",
            ExceptionType::RewardFileEmptyError,
        ),
    ] {
        let left = "echo '{\"reward\": 1}' > /app/mine";
        let Some(found) = verified(left, script).await else {
            return;
        };
        assert_eq!(reward(&found), Err(expected), "{script}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_cannot_be_changed_and_another_user_can_still_write_rewards() {
    let boxes = Boxes::new();
    if !boxes.have_many_users().await {
        return boxes.end().await;
    }
    let agent = boxes.agent().await;
    let tests = Tests::new(
        "echo x >> /tests/test.sh || true; rm /tests/test.sh 2>/dev/null || true; id -u; echo 1 > /logs/verifier/reward.txt",
    );
    let order = VerifierOrder {
        user: User::Ids {
            uid: 1000,
            gid: 1000,
        },
        environment: BTreeMap::new(),
        ..tests.order(20)
    };
    let found = verify(agent.devbox.as_ref(), &order).await.unwrap();
    assert_eq!(reward(&found), Ok(1.0));
    assert!(found.output.ends_with("1000\n"), "{}", found.output);
    assert!(tests.directory.path().join("tests/test.sh").exists());
    agent.devbox.destroy().await.unwrap();
    boxes.end().await;
}
