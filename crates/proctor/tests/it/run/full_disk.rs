//! A disk that fills up in the middle of `proctor run`: nothing that counts is lost, and the rest is finished when there is room.

use std::process::Command;

use proctor_testkit::server::proctor;
use serde_json::Value;

use super::told;
use crate::{PROCTOR, small_disk::As};

#[test]
fn a_run_whose_disk_fills_up_is_finished_when_there_is_room_again() {
    if !As::Anybody.can_mount() {
        eprintln!("skipped: this user may not mount a disk");
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let (data, outside) = (data.path().display(), outside.path().display());
    // The second attempt leaves no room.
    let agent = format!(
        "echo $PROCTOR_TASK_RUN_ID >> {outside}/began; test $(wc -l < {outside}/began) != 2 || \
         {{ dd if=/dev/zero of={data}/filler bs=1M; dd if=/dev/zero of={data}/filler2 bs=1; }} 2>/dev/null; true"
    );
    let script = format!(
        "\"$1\" run fax-referral --agent \"$2\" --data {data} 2>{outside}/told; echo $? > {outside}/code; \
         rm -f {data}/filler {data}/filler2; exec \"$1\" run --resume --json --data {data}"
    );
    let mut plain = proctor(PROCTOR);
    plain.env_remove("PROCTOR_KEY");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh", PROCTOR, &agent]);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let place = std::path::PathBuf::from(data.to_string());
    let output = As::Anybody
        .with_disk(&place, "160m", &shell)
        .output()
        .unwrap();
    let first = fs_err::read_to_string(format!("{outside}/told")).unwrap();
    let code = fs_err::read_to_string(format!("{outside}/code")).unwrap();
    assert_eq!(code.trim(), "3", "{first}");
    assert!(first.contains("--resume br_"), "{first}");
    assert_eq!(output.status.code(), Some(0), "{first}\n{}", told(&output));
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let summary = &results["agents"][0]["summary"];
    assert_eq!(summary["scored"], summary["planned"], "{results:#}");
    let attempts = results["agents"][0]["attempts"].as_array().unwrap();
    let tries: u64 = attempts
        .iter()
        .map(|one| one["tries"].as_u64().unwrap())
        .sum();
    let began = fs_err::read_to_string(format!("{outside}/began")).unwrap();
    assert_eq!(
        began.lines().count() as u64,
        tries,
        "nothing was begun twice: {began}"
    );
}
