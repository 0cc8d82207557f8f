//! Scenarios on real boxes: what is shipped, and what is imported. Doing nothing is worth less than the reference.

use std::{collections::BTreeMap, path::Path, process::Command, time::Duration};

use proctor_scenarios::{
    Reference, SHIPPED, Scenario,
    swe::{self, Collection, ImportOptions, Repository, read_instances},
};
use proctor_scorers::{JudgeOrder, Mode, Scored};
use serde_json::json;

use crate::support::{Agent, Boxes, order};

/// What an agent gets for a scenario if it does what `work` says, or nothing.
async fn taken(
    boxes: &Boxes,
    scenario: &Scenario,
    custom: &BTreeMap<String, String>,
    work: Option<&str>,
) -> (f64, Vec<Scored>) {
    let agent = boxes.agent().await;
    for command in &scenario.launch_commands {
        let said = agent.does(&format!("set -e\n{command}")).await;
        assert_eq!(said, "", "{}: {command:.80}", scenario.name);
    }
    let directory = scenario.working_directory.as_deref().unwrap_or("/root");
    if let Some(work) = work {
        solve(&agent, directory, work).await;
    }
    let order = JudgeOrder {
        scorers: scenario.scorers().unwrap(),
        custom: custom.clone(),
        mode: scenario.settings.mode,
        artifacts: scenario.settings.artifacts.clone(),
        prepare: scenario.launch_commands.clone(),
        working_directory: Some(directory.to_owned()),
        time_limit: Duration::from_secs(scenario.scorer_timeout_sec.unwrap_or(300).into()),
        ..order(json!({"type": "command_scorer", "command": "true"}))
    };
    let judgement = agent.judged(&order).await;
    agent.devbox.destroy().await.unwrap();
    let score = judgement
        .results
        .iter()
        .map(|scored| scored.weight * scored.score)
        .sum();
    (score, judgement.results)
}

async fn solve(agent: &Agent<'_>, directory: &str, reference: &str) {
    match Reference::of(reference) {
        Reference::Patch(patch) => {
            let input = &mut patch.as_bytes();
            let user = proctor_devbox::User::Root;
            agent
                .devbox
                .write_file("/tmp/reference", &user, None, input)
                .await
                .unwrap();
            let said = agent
                .does(&format!(
                    "cd {directory} && patch -s -p1 </tmp/reference; rm /tmp/reference"
                ))
                .await;
            assert_eq!(said, "");
        }
        Reference::Commands(commands) => {
            let said = agent.does(&format!("cd {directory}\n{commands}")).await;
            assert_eq!(said, "");
        }
    }
}

#[tokio::test]
async fn every_shipped_scenario_is_solved_by_its_reference_and_not_by_doing_nothing() {
    let boxes = Boxes::new();
    let many_users = boxes.have_many_users().await;
    for shipped in SHIPPED {
        let set = shipped.read().unwrap();
        for scenario in &set.scenarios {
            if scenario.settings.mode == Mode::Artifacts && !many_users {
                continue;
            }
            let (nothing, results) = taken(&boxes, scenario, &set.custom, None).await;
            assert!(
                nothing == 0.0,
                "{}: doing nothing gave {nothing}: {results:?}",
                scenario.name
            );
            let reference = scenario.reference_output.as_deref();
            let (solved, results) = taken(&boxes, scenario, &set.custom, reference).await;
            assert!(
                (solved - 1.0).abs() < 1e-9,
                "{}: the reference gave {solved}: {results:?}",
                scenario.name
            );
            eprintln!(
                "{}: nothing {nothing:.2}, reference {solved:.2}",
                scenario.name
            );
        }
    }
    boxes.end().await;
}

fn git(directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let done = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .current_dir(directory)
        .env("HOME", directory)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    done.stdout
}

/// A repository with a fault, its repair, and the repair's tests, each as a patch.
struct Tiny {
    directory: tempfile::TempDir,
    base: String,
    repair: String,
    tests: String,
}

const FAULTY: &str = "def double(x):\n    return x + 3\n\n\ndef half(x):\n    return x / 2\n";
const TESTS: &str = "from tiny import half\n\n\ndef test_half():\n    assert half(4) == 2\n";

fn tiny() -> Tiny {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let write = |name: &str, text: &str| {
        let file = path.join(name);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(file, text).unwrap();
    };
    git(path, &["init", "-q"]);
    write("tiny.py", FAULTY);
    write("tests/test_tiny.py", TESTS);
    git(path, &["add", "."]);
    git(path, &["commit", "-q", "-m", "base"]);
    let base = String::from_utf8(git(path, &["rev-parse", "HEAD"])).unwrap();
    write("tiny.py", &FAULTY.replace("x + 3", "x * 2"));
    let repair = String::from_utf8(git(path, &["diff"])).unwrap();
    git(path, &["checkout", "-q", "."]);
    let more = "\n\ndef test_double():\n    assert double(4) == 8\n";
    write(
        "tests/test_tiny.py",
        &(TESTS.replace("import half", "import double, half") + more),
    );
    let tests = String::from_utf8(git(path, &["diff"])).unwrap();
    git(path, &["checkout", "-q", "."]);
    Tiny {
        directory,
        base: base.trim().to_owned(),
        repair,
        tests,
    }
}

const FAILS: &str = "tests/test_tiny.py::test_double";
const PASSES: &str = "tests/test_tiny.py::test_half";

/// Whether boxes can run pytest and git.
async fn have_tools(boxes: &Boxes) -> bool {
    let agent = boxes.agent().await;
    let said = agent
        .does("python3 -m pytest --version && git --version && echo both")
        .await;
    let have = said.ends_with("both\n");
    if !have {
        eprintln!("skipped: boxes here have no pytest or no git");
    }
    have
}

#[tokio::test]
async fn an_instance_of_swe_bench_is_solved_by_its_patch_and_by_nothing_less() {
    let boxes = Boxes::new();
    if !have_tools(&boxes).await {
        return boxes.end().await;
    }
    let tiny = tiny();
    let text = json!({
        "instance_id": "tiny__tiny-1", "repo": "tiny/tiny", "base_commit": tiny.base, "problem_statement": "double is wrong",
        "patch": tiny.repair, "test_patch": tiny.tests, "FAIL_TO_PASS": format!("[\"{FAILS}\"]"), "PASS_TO_PASS": [PASSES],
    });
    let instance = read_instances(&text.to_string()).unwrap().remove(0);
    let archive = git(
        tiny.directory.path(),
        &["archive", "--format=tar.gz", &tiny.base],
    );
    let options = ImportOptions::new(Collection::SweBench);
    let scenario = swe::scenario(&instance, &Repository::Archive(archive), &options);
    let breaks_half = "sed -i -e 's/x + 3/x * 2/' -e 's/x \\/ 2/x/' tiny.py";
    let spoils_tests =
        "printf 'def test_double(): pass\\ndef test_half(): pass\\n' >tests/test_tiny.py";
    for (work, expected) in [
        (None, 0.0),
        (Some(tiny.repair.as_str()), 1.0),
        (Some(breaks_half), 0.0),
        (Some(spoils_tests), 0.0),
        (
            Some("git log --all --oneline >/tmp/log; [ \"$(wc -l </tmp/log)\" = 1 ]"),
            0.0,
        ),
    ] {
        let (score, results) = taken(&boxes, &scenario, &BTreeMap::new(), work).await;
        assert_eq!(score, expected, "{work:?}: {results:?}");
    }
    boxes.end().await;
}

#[tokio::test]
async fn an_instance_of_swe_smith_is_solved_by_taking_its_fault_out() {
    let boxes = Boxes::new();
    if !have_tools(&boxes).await {
        return boxes.end().await;
    }
    let tiny = tiny();
    // There, the repository is whole and the patch makes the fault; a branch may have it already.
    let path = tiny.directory.path();
    let fault = proctor_scenarios::patch::reversed(&tiny.repair);
    for (patches, message) in [
        (vec![&tiny.repair, &tiny.tests], "whole"),
        (vec![&fault], "faulty"),
    ] {
        for patch in patches {
            fs_err::write(path.join("p"), patch).unwrap();
            git(path, &["apply", "p"]);
        }
        fs_err::remove_file(path.join("p")).unwrap();
        git(path, &["commit", "-q", "-a", "-m", message]);
    }
    let text = json!({
        "instance_id": "tiny__tiny.1__func_basic__1", "repo": "swesmith/tiny__tiny.1", "problem_statement": "double is wrong",
        "patch": fault, "FAIL_TO_PASS": [FAILS], "PASS_TO_PASS": [PASSES], "image_name": "none",
    });
    let instance = read_instances(&text.to_string()).unwrap().remove(0);
    let options = ImportOptions::new(Collection::SweSmith);
    for commit in ["HEAD~1", "HEAD"] {
        let archive = git(path, &["archive", "--format=tar.gz", commit]);
        let scenario = swe::scenario(&instance, &Repository::Archive(archive), &options);
        let (nothing, results) = taken(&boxes, &scenario, &BTreeMap::new(), None).await;
        assert_eq!(nothing, 0.0, "{results:?}");
        let reference = scenario.reference_output.as_deref();
        let (solved, results) = taken(&boxes, &scenario, &BTreeMap::new(), reference).await;
        assert_eq!(solved, 1.0, "{results:?}");
    }
    boxes.end().await;
}
