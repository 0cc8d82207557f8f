//! Scenarios that are imported and proved as people do it: with the program's own commands, against a server with real devboxes.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Output,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proctor_testkit::{
    eventually_seen,
    server::{self, KEY, Server},
};
use serde_json::{Value, json};

use super::{
    desk::{command, contract, modes},
    repository::{FAILS, Repository, git},
};

use crate::PROCTOR;

/// What `proctor` makes of arguments, told about a server.
fn proctor(server: &Server, arguments: &[&dyn AsRef<OsStr>]) -> Output {
    server::proctor(PROCTOR)
        .args(arguments)
        .args(["--key", KEY, "--server", &server.url("")])
        .output()
        .unwrap()
}

/// What `proctor import --dry-run` makes of arguments.
fn rehearsed(arguments: &[&dyn AsRef<OsStr>]) -> Output {
    server::proctor(PROCTOR)
        .args(["import", "--dry-run"])
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A file of instances, one a line.
fn file(directory: &Path, instances: &[Value]) -> PathBuf {
    let lines: Vec<String> = instances.iter().map(Value::to_string).collect();
    let file = directory.join("instances.jsonl");
    fs_err::write(&file, lines.join("\n")).unwrap();
    file
}

/// Imports instances; the ids of their scenarios, in order.
fn imported(server: &Server, file: &Path, arguments: &[&dyn AsRef<OsStr>]) -> Vec<String> {
    let mut all: Vec<&dyn AsRef<OsStr>> = vec![&"import", &"--json", &file];
    all.extend(arguments);
    let output = proctor(server, &all);
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{error}");
    let said: Value = serde_json::from_str(&out).unwrap();
    let scenarios = said["scenarios"].as_array().unwrap().iter();
    scenarios
        .map(|scenario| scenario["id"].as_str().unwrap().to_owned())
        .collect()
}

/// What `proctor scenario validate` says, and its exit code.
fn validated(server: &Server, scenario: &str) -> (Option<i32>, String) {
    let output = proctor(server, &[&"scenario", &"validate", &scenario]);
    let out = text(&output.stdout) + &text(&output.stderr);
    (output.status.code(), out.replace(scenario, "ID"))
}

#[tokio::test]
async fn an_instance_of_swe_bench_from_a_mirror_is_proved_by_its_patch_and_by_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let tiny = Repository::make(&directory.path().join("tiny/tiny"));
    let mut wrong = tiny.instance("wrong", 0);
    wrong["patch"] = json!(tiny.repairs[0].replace("x * 2", "x * 3"));
    let mut misplaced = tiny.instance("misplaced", 0);
    misplaced["patch"] = json!(tiny.repairs[0].replace("x + 3", "x + 4"));
    let instances = [
        tiny.instance("first", 0),
        tiny.instance("second", 1),
        wrong,
        misplaced,
    ];
    let file = file(directory.path(), &instances);
    let server = Server::fresh(PROCTOR);
    let scenarios = imported(&server, &file, &[&"--mirror", &directory.path()]);
    let [first, second, wrong, misplaced] = scenarios.as_slice() else {
        panic!("{scenarios:?}");
    };
    for scenario in [first, second] {
        let proved = "ok  ID  FORWARD: the reference solves the scenario\n    \
             untouched: 0.000\n        0.0 tests (complete)\n    \
             reference: 1.000\n        1.0 tests (complete)\n";
        assert_eq!(validated(&server, scenario), (Some(0), proved.to_owned()));
    }
    let refuted = "no  ID  FORWARD: the reference does not solve the scenario\n    \
         untouched: 0.000\n        0.0 tests (complete)\n    \
         reference: 0.000\n        0.0 tests (complete)\n";
    assert_eq!(validated(&server, wrong), (Some(1), refuted.to_owned()));
    let (code, said) = validated(&server, misplaced);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.starts_with("no  ID  FORWARD: the reference could not be applied\n"),
        "{said}"
    );
    assert!(said.contains("Hunk #1 FAILED"), "{said}");
}

#[tokio::test]
async fn an_instance_of_swe_smith_from_an_address_is_proved_by_taking_its_fault_out() {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("swesmith/tiny__tiny.1");
    let tiny = Repository::make(&whole);
    let tests = "from tiny import *\n\n\ndef test_double():\n    assert double(4) == 8\n\n\n\
                 def test_half():\n    assert half(4) == 2\n";
    fs_err::write(whole.join("tests/test_tiny.py"), tests).unwrap();
    git(&whole, &["commit", "-q", "-a", "-m", "whole"]);
    // There, the newest commit is whole, and the patch makes the fault.
    let faults = [0, 1].map(|fault| {
        let patch = git(
            &whole,
            &["diff", &tiny.commits[fault + 1], &tiny.commits[fault]],
        );
        json!({
            "instance_id": format!("tiny__tiny.1__func__{fault}"), "repo": "swesmith/tiny__tiny.1", "image_name": "none",
            "problem_statement": "Repair it.", "patch": patch, "FAIL_TO_PASS": [FAILS[fault]], "PASS_TO_PASS": [FAILS[1 - fault]],
        })
    });
    let file = file(directory.path(), &faults);
    let server = Server::fresh(PROCTOR);
    let address = format!("file://{}/{{repo}}", directory.path().display());
    let scenarios = imported(
        &server,
        &file,
        &[&"--format", &"swe-smith", &"--git-url", &address],
    );
    assert_eq!(scenarios.len(), 2);
    for scenario in &scenarios {
        let output = proctor(&server, &[&"scenario", &"validate", &"--json", scenario]);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{found:#}");
        assert_eq!(found["valid"], true);
        let score = |trial: &str| found[trial]["run"]["scoring_contract_result"]["score"].as_f64();
        assert_eq!(
            (score("untouched"), score("reference")),
            (Some(0.0), Some(1.0))
        );
    }
}

#[tokio::test]
async fn the_repository_of_a_blueprint_is_put_on_the_commit_of_each_instance() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("tiny");
    let tiny = Repository::make(&place);
    git(&place, &["bundle", "create", "-q", "all", "--all", "HEAD"]);
    let bundle = STANDARD.encode(fs_err::read(place.join("all")).unwrap());
    // Where boxes have one user only, there is nobody to give it to.
    let dockerfile = format!(
        "FROM host\nRUN echo {bundle} | base64 -d >/tmp/all && git clone -q /tmp/all /testbed && rm /tmp/all\n\
         RUN cp -r /testbed /roots && chmod -R go-w /roots && {{ chown -R 1000:1000 /testbed || true; }}\n"
    );
    let server = Server::fresh(PROCTOR);
    let body = json!({"name": "tiny", "dockerfile": dockerfile});
    let made = server.caller().post("/v1/blueprints", body).await;
    let blueprint = made["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/blueprints/{blueprint}");
    let built = eventually_seen("the build is over", async || {
        let seen = server.caller().get(&path).await;
        match seen["status"].as_str() {
            Some("queued" | "provisioning" | "building") => Err(seen),
            _ => Ok(seen),
        }
    })
    .await;
    assert_eq!(built["status"], "build_complete", "{built:#}");

    let mut lost = tiny.instance("lost", 0);
    lost["base_commit"] = json!("0123456789012345678901234567890123456789");
    let instances = [tiny.instance("first", 0), tiny.instance("second", 1), lost];
    let file = file(directory.path(), &instances);
    let scenarios = imported(&server, &file, &[&"--blueprint", &blueprint]);
    for scenario in &scenarios[..2] {
        let (code, said) = validated(&server, scenario);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("untouched: 0.000\n"), "{said}");
        assert!(said.contains("reference: 1.000\n"), "{said}");
    }
    let lost = "its repository does not have the commit 0123456789012345678901234567890123456789";
    does_not_launch(&server, &scenarios[2], &format!("/testbed: {lost}")).await;
    let mut wrong = vec![
        ("/nowhere", "is not in the blueprint's image"),
        ("/etc", "is no git repository"),
    ];
    if modes().contains(&"artifacts") {
        // Only where boxes have several users can it be somebody else's.
        wrong.push(("/roots", "belongs to somebody else than user"));
    }
    for (place, expected) in wrong {
        let elsewhere: &[&dyn AsRef<OsStr>] =
            &[&"--blueprint", &blueprint, &"--working-directory", &place];
        let scenarios = imported(&server, &file, elsewhere);
        does_not_launch(&server, &scenarios[0], &format!("{place}: {expected}")).await;
    }
}

/// Whoever takes a scenario finds in the log of its devbox why that cannot be launched, and whoever proves it is told.
async fn does_not_launch(server: &Server, scenario: &str, expected: &str) {
    let caller = server.caller();
    let body = json!({"scenario_id": scenario});
    let started = caller.post("/v1/scenarios/start_run", body).await;
    let devbox = format!("/v1/devboxes/{}", started["devbox_id"].as_str().unwrap());
    let wait = format!("{devbox}/wait_for_status");
    let seen = caller.wait(&wait, &["running", "failure"]).await;
    assert_eq!(seen["status"], "failure", "{seen:#}");
    let log = caller.text(&format!("{devbox}/logs")).await;
    assert!(log.contains(expected), "{log}");

    let (code, said) = validated(server, scenario);
    assert_eq!(code, Some(1), "{said}");
    let refuted = "no  ID  FORWARD: the reference could not be applied\n    \
         untouched: no score, failed\n    reference: no score, failed\n        the devbox failed: ";
    assert!(said.starts_with(refuted), "{said}");
    assert!(said.contains(expected), "{said}");
}

#[tokio::test]
async fn a_scenario_that_is_solved_to_begin_with_is_proved_by_taking_its_reference_back() {
    let server = Server::fresh(PROCTOR);
    let reference = "--- a/answer\n+++ b/answer\n@@ -1 +1 @@\n-41\n+42\n";
    let scenario = async |name: &str, answer: &str, scorer: &str| {
        let write = format!("mkdir -p work && echo {answer} >work/answer");
        let body = json!({
            "name": name,
            "input_context": {"problem_statement": "Keep the answer."},
            "scoring_contract": contract(&[command(scorer)]),
            "environment_parameters": {
                "working_directory": "/home/user/work",
                "launch_parameters": {"launch_commands": [write]},
            },
            "reference_output": reference,
            "validation_type": "REVERSE",
        });
        let made = server.caller().post("/v1/scenarios", body).await;
        made["id"].as_str().unwrap().to_owned()
    };
    let good = scenario("good", "42", "grep -qx 42 answer").await;
    let proved = "ok  ID  REVERSE: taking the reference back breaks the scenario\n    \
         untouched: 1.000\n        1.0 s0 (complete)\n    \
         reference: 0.000\n        0.0 s0 (complete)\n";
    assert_eq!(validated(&server, &good), (Some(0), proved.to_owned()));

    let unbroken = scenario("unbroken", "42", "test -e answer").await;
    let refuted = "no  ID  REVERSE: the scenario is still solved without the reference\n    \
         untouched: 1.000\n        1.0 s0 (complete)\n    \
         reference: 1.000\n        1.0 s0 (complete)\n";
    assert_eq!(validated(&server, &unbroken), (Some(1), refuted.to_owned()));

    let unsolved = scenario("unsolved", "42", "grep -qx 43 answer").await;
    let (code, said) = validated(&server, &unsolved);
    assert_eq!(code, Some(1), "{said}");
    let expected = "no  ID  REVERSE: the scenario is not solved to begin with\n";
    assert!(said.starts_with(expected), "{said}");

    let elsewhere = scenario("elsewhere", "7", "grep -qx 7 answer").await;
    let (code, said) = validated(&server, &elsewhere);
    assert_eq!(code, Some(1), "{said}");
    let expected = "no  ID  REVERSE: the reference could not be applied\n";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_repository_that_cannot_be_had_is_named_with_its_instance_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let tiny = Repository::make(&directory.path().join("tiny/tiny"));
    let instance = tiny.instance("tiny__tiny-1", 0);
    let marker = directory.path().join("was-run");
    let refused = |instance: &Value, address: &str| {
        let file = file(directory.path(), std::slice::from_ref(instance));
        let output = rehearsed(&[&file, &format!("--git-url={address}")]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{address}: {said}");
        assert!(said.contains("the repository of tiny__tiny-1"), "{said}");
        assert_eq!(text(&output.stdout), "");
        assert!(!marker.exists(), "{address} was run");
        said
    };
    let here = format!("file://{}/{{repo}}", directory.path().display());
    let touch = format!("touch {}", marker.display());
    for address in [
        &format!("{here}-elsewhere"),
        &format!("ext::sh -c '{touch}'"),
        &format!("--upload-pack={touch}"),
        &format!("-c core.sshCommand={touch}"),
    ] {
        let said = refused(&instance, address);
        for word in ["cannot be cloned", "--git-url", "--mirror", "--blueprint"] {
            assert!(said.contains(word), "{address}: {said}");
        }
    }
    let with = |member: &str, value: &str| {
        let mut changed = instance.clone();
        changed[member] = json!(value);
        changed
    };
    for commit in [
        "0123456789012345678901234567890123456789",
        "no such",
        &format!("--output={}", marker.display()),
    ] {
        let said = refused(&with("base_commit", commit), &here);
        assert!(
            said.contains(&format!("has no commit '{commit}'")),
            "{said}"
        );
    }
    for repo in ["../tiny", "/etc", "tiny/tiny;x", "-x/tiny", ""] {
        let said = refused(&with("repo", repo), &here);
        assert!(said.contains("is no name of a repository"), "{said}");
    }
}

#[test]
fn a_mirror_may_be_named_from_where_the_user_is_and_has_commits_that_no_branch_leads_to() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("mirror/tiny__tiny.git");
    let tiny = Repository::make(&place);
    // No branch leads to the first commit any more.
    git(&place, &["checkout", "-q", "--orphan", "other"]);
    git(&place, &["commit", "-q", "-m", "something else"]);
    for branch in ["main", "master"] {
        let there = format!("refs/heads/{branch}");
        git(&place, &["update-ref", "-d", &there]);
    }
    let file = file(directory.path(), &[tiny.instance("tiny__tiny-1", 0)]);
    let output = server::proctor(PROCTOR)
        .args(["import", "--dry-run", "--mirror", "mirror"])
        .arg(&file)
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let environment = &said["environment_parameters"];
    assert_eq!(environment["working_directory"], "/home/user/testbed");
    assert_eq!(said["metadata"]["base_commit"], json!(tiny.commits[0]));
}
