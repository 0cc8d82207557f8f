//! `proctor doctor` on this machine, whatever it can do.

use std::process::{Command, Output};

use crate::PROCTOR;

fn doctor(data: &std::path::Path, flags: &[&str]) -> Output {
    Command::new(PROCTOR)
        .arg("doctor")
        .arg("--data")
        .arg(data)
        .args(flags)
        .output()
        .expect("the program runs")
}

#[test]
fn the_verdict_the_findings_and_the_exit_code_agree() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let output = doctor(data.path(), &["--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let backend = &report["backends"][0];
    assert_eq!(backend["backend"], "local");
    let findings = backend["findings"].as_array().expect("findings");
    assert!(findings.len() > 5, "{findings:?}");
    let blocked = findings
        .iter()
        .any(|finding| finding["severity"] == "blocking");
    assert_eq!(report["usable"], !blocked, "{report}");
    assert_eq!(output.status.code(), Some(i32::from(blocked)), "{report}");
    for finding in findings {
        // What is missing says what that costs.
        assert_eq!(finding["severity"] == "fine", finding["costs"].is_null());
    }

    let output = doctor(data.path(), &[]);
    assert_eq!(output.status.code(), Some(i32::from(blocked)));
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("local: devboxes "), "{text}");
    for finding in findings {
        let what = finding["what"].as_str().expect("text");
        assert!(text.contains(&format!(" {what}: ")), "{what} in {text}");
    }
    let left: Vec<_> = data.path().read_dir().expect("a directory").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_machine_that_forbids_user_namespaces_is_a_no_with_what_to_do() {
    let data = tempfile::tempdir().expect("a temporary directory");
    // In a user namespace of its own, anybody may forbid further ones.
    let output = Command::new("unshare")
        .args(["-Ur", "sh", "-c"])
        .arg("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" doctor --data \"$1\"")
        .arg(PROCTOR)
        .arg(data.path())
        .output()
        .expect("unshare runs");
    let text = String::from_utf8(output.stdout).expect("text");
    if text.is_empty() {
        eprintln!(
            "skipped: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.starts_with("local: devboxes do not work here"),
        "{text}"
    );
    assert!(
        text.contains("  blocking  user namespaces: user.max_user_namespaces is 0\n            no boxes: set user.max_user_namespaces above 0\n"),
        "{text}"
    );
}
