//! `kill -9` of the command in the middle: what it left is mentioned, and finished by another, nothing twice.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use super::{command, is_running, json, run, told};

fn lines(path: &Path) -> usize {
    fs_err::read_to_string(path).map_or(0, |text| text.lines().count())
}

#[test]
fn a_killed_command_is_mentioned_and_finished() {
    let data = tempfile::tempdir().unwrap();
    let (began, ended) = (data.path().join("began"), data.path().join("ended"));
    // The fourth attempt hangs once, until the command around it is killed.
    let agent = format!(
        "echo $PROCTOR_TASK_RUN_ID >> {began}; test $(wc -l < {began}) != 4 || sleep 73.25; echo $PROCTOR_TASK_RUN_ID >> {ended}",
        began = began.display(),
        ended = ended.display()
    );
    let arguments = [
        "fax-referral",
        "--agent",
        &agent,
        "-k",
        "3",
        "--agent-name",
        "mine",
    ];
    let mut killed = command(data.path(), &arguments).spawn().unwrap();
    let since = Instant::now();
    while lines(&began) < 4 {
        assert!(
            since.elapsed() < Duration::from_secs(120),
            "the fourth attempt does not begin"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let since = Instant::now();
    while is_running("sleep 73.25") {
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "the agent outlives the command"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(lines(&ended), 3);
    let mentioned = run(
        data.path(),
        &["fax-referral", "--agent", "null", "--task", "Register*"],
    );
    assert!(
        told(&mentioned).contains("a run of fax-referral by mine did not come to its end"),
        "{}",
        told(&mentioned)
    );
    let results = json(data.path(), &["--resume"], 0);
    let attempts = results["agents"][0]["attempts"].as_array().unwrap();
    assert_eq!(results["agents"][0]["name"], "mine");
    assert_eq!(
        results["agents"][0]["summary"]["scored"],
        attempts.len(),
        "{results:#}"
    );
    let tries: Vec<u64> = attempts
        .iter()
        .map(|one| one["tries"].as_u64().unwrap())
        .collect();
    assert_eq!(
        tries.iter().filter(|tries| **tries == 2).count(),
        1,
        "one was interrupted: {tries:?}"
    );
    assert_eq!(
        tries.iter().filter(|tries| **tries == 1).count(),
        attempts.len() - 1
    );
    assert_eq!(lines(&ended), attempts.len(), "nothing was done twice");
    let again = run(data.path(), &["--resume"]);
    assert_eq!(
        again.status.code(),
        Some(2),
        "it is finished: {}",
        told(&again)
    );
}
