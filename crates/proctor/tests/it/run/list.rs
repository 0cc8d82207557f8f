//! `proctor runs`, `show` and `compare` on the data directory that runs accumulate in, and `watch` on a server.

use std::path::Path;

use proctor_testkit::server::{KEY, Server, authoring::forty_two, proctor};
use serde_json::{Value, json as value};

use super::json;
use crate::PROCTOR;

fn asked(data: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let output = proctor(PROCTOR)
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
    (text(&output.stdout), told)
}

fn listed(data: &Path, more: &[&str]) -> Vec<Value> {
    let (printed, _) = asked(data, &[&["runs", "--json"], more].concat(), 0);
    let mut answer: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(answer["version"], 1);
    serde_json::from_value(answer["runs"].take()).unwrap()
}

#[test]
fn runs_accumulate_and_are_listed_shown_compared_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let task = ["--task", "Register*"];
    let taken = |agent: &str| {
        let results = json(
            data,
            &[&["fax-referral", "--agent", agent, "-k", "2"], &task[..]].concat(),
            0,
        );
        results["run_ids"][0].as_str().unwrap().to_owned()
    };
    let (oracle, printing) = (taken("oracle"), taken("echo hello"));
    assert_eq!(listed(data, &[]).len(), 4);
    assert_eq!(listed(data, &["--agent", "oracle"]).len(), 2);
    assert_eq!(listed(data, &["--benchmark", "fax-referral"]).len(), 4);
    assert_eq!(listed(data, &["--benchmark", "other"]).len(), 0);
    assert_eq!(
        listed(data, &["--since", "1d", "--status", "completed"]).len(),
        4
    );
    asked(data, &["runs", "--status", "odd"], 2);
    asked(data, &["runs", "--since", "soon"], 2);
    let (table, _) = asked(data, &["runs"], 0);
    assert!(table.contains(&oracle) && table.contains(" KiB"), "{table}");
    assert!(
        table.contains("4 runs: 4 completed, 0 active, 0 cancelled, 0 failed; "),
        "{table}"
    );
    let (shown, _) = asked(data, &["show", &oracle], 0);
    assert!(shown.contains("1.000"), "{shown}");
    let (compared, _) = asked(data, &["compare", &printing, &oracle, "--json"], 0);
    assert!(compared.contains("\"version\":1"), "{compared}");

    asked(data, &["runs", "delete", "br_nonsense"], 2);
    let (removed, _) = asked(data, &["runs", "delete", &oracle], 0);
    assert_eq!(removed.trim(), oracle);
    assert_eq!(listed(data, &[]).len(), 3);
    asked(data, &["show", &oracle], 2);
    asked(data, &["runs", "prune", "--older-than", "1d"], 0);
    assert_eq!(listed(data, &[]).len(), 3, "none is so old");
    asked(
        data,
        &["runs", "prune", "--older-than", "0m", "--dry-run"],
        0,
    );
    assert_eq!(listed(data, &[]).len(), 3, "it was only said");
    asked(data, &["runs", "prune", "--older-than", "0m"], 0);
    assert_eq!(listed(data, &[]).len(), 0);
    let left = fs_err::read_dir(data.join("attempts")).unwrap();
    assert_eq!(left.count(), 0, "what attempts left is gone too");
    let verified = proctor(PROCTOR)
        .args(["verify-journal", "--data"])
        .arg(data)
        .status()
        .unwrap();
    assert!(verified.success());
}

#[tokio::test]
async fn a_job_is_watched_until_it_is_over() {
    let server = Server::fresh(PROCTOR);
    let caller = server.caller();
    let scenario = caller.make("/v1/scenarios", forty_two("one")).await;
    let agent = value!({"type": "job_agent", "name": "oracle"});
    let spec = value!({"type": "scenarios", "scenario_ids": [scenario], "agent_configs": [agent]});
    let job = caller
        .post("/v1/benchmark_jobs", value!({"spec": spec}))
        .await;
    let job = job["id"].as_str().unwrap();
    let output = proctor(PROCTOR)
        .args(["watch", job, "--json", "--server", &server.url("")])
        .env("PROCTOR_KEY", KEY)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(
        told.contains(&format!("{job}: completed")) && told.contains("oracle: ✔ pass  1.000"),
        "{told}"
    );
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["agents"][0]["summary"]["score"], 1.0);
}
