//! Verifiers in boxes of their own, and tasks in repositories.

use std::process::Command;

use reqwest::Method;
use serde_json::json;

use super::support::{Files, Harbor, outcomes, reward};

const SEPARATE: &str = "artifacts = [\"/app/answer\"]\n[agent]\ntimeout_sec = 60.0\n[verifier]\nenvironment_mode = \"separate\"\n[environment]\nnetwork_mode = \"no-network\"\n";

fn separate() -> Files {
    Files::plain()
        .with("task.toml", SEPARATE)
        .with("solution/solve.sh", "#!/bin/sh\necho 42 > /app/answer\ntouch /app/other\n")
        .with(
            "tests/test.sh",
            "#!/bin/sh\n[ ! -e /app/other ] && [ \"$(cat /app/answer)\" = 42 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
        )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_separate_verifier_meets_the_artifacts_only() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("agents-image", &separate());
    // Its image brings the tests, and something else that they need.
    let own_image = separate()
        .with("tests/Dockerfile", "FROM base\nRUN mkdir -p /tests && echo 42 > /tests/expected\nWORKDIR /app\nCOPY check.sh /tests/test.sh\nRUN chmod +x /tests/test.sh\n")
        .with("tests/check.sh", "#!/bin/sh\ncmp -s /tests/expected /app/answer && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n")
        .without("tests/test.sh");
    harbor.task("own-image", &own_image);
    let named = SEPARATE.to_owned()
        + "[verifier.environment]\nworkdir = \"/srv\"\n[verifier.environment.env]\nKIND = \"own\"\n";
    let named = separate().with("task.toml", &named).with(
        "tests/test.sh",
        "#!/bin/sh\n[ \"$KIND\" = own ] && [ \"$(pwd)\" = /srv ] && [ -e /app/answer ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
    );
    harbor.task("own-settings", &named);
    let yaml = "agents: [{name: oracle}, {name: nop}]\ndatasets:\n  - path: tasks:own\n";
    let job = harbor.job(yaml).await;
    assert_eq!(job["state"], "completed", "{job:#}");
    let found: Vec<Result<f64, String>> = outcomes(&job).iter().map(reward).collect();
    assert_eq!(
        found,
        [Ok(1.0), Ok(1.0), Ok(1.0), Ok(0.0), Ok(0.0), Ok(0.0)],
        "{job:#}"
    );
    harbor.end().await;
}

/// Makes a repository with a task among the mirrors of the server; the commit.
fn repository(harbor: &Harbor, name: &str, files: &Files) -> String {
    let place = harbor.mirrors.join("lab").join(name);
    files.write(&place.join("tasks/plain"));
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .current_dir(&place)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet", "--initial-branch=main", "."]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=tasks"]);
    git(&["rev-parse", "HEAD"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_come_from_repositories_at_a_recorded_commit() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let commit = repository(&harbor, "bench", &Files::plain());
    let url = "https://github.com/lab/bench";
    let plan = harbor
        .asked(
            &format!("datasets:\n  - repo: {url}\n    path: tasks\n"),
            "?dry_run=true",
        )
        .await;
    assert_eq!(plan.status, 200, "{}", plan.body);
    assert_eq!(plan.body["tasks"][0]["name"], "plain");
    let job = harbor
        .job(&format!(
            "tasks:\n  - git_url: {url}\n    path: tasks/plain\n"
        ))
        .await;
    assert_eq!(reward(&outcomes(&job)[0]), Ok(1.0), "{job:#}");
    let path = format!(
        "/v1/benchmark_jobs/{}/harbor.tar.zst",
        job["id"].as_str().unwrap()
    );
    let answer = harbor.server.own(Method::GET, &path).send().await.unwrap();
    let bytes = answer.bytes().await.unwrap();
    let into = tempfile::tempdir().unwrap();
    let root = into.path().join("tree");
    proctor_fleet::trees::unpack(bytes.as_ref(), &root, proctor_fleet::trees::LARGEST_TREE)
        .unwrap();
    let lock = fs_err::read_to_string(root.join("plain/lock.json")).unwrap();
    let lock: serde_json::Value = serde_json::from_str(&lock).unwrap();
    let task = &lock["trials"][0]["task"];
    assert_eq!(task["type"], "git", "{lock:#}");
    assert_eq!(task["git_commit_id"], json!(commit), "{lock:#}");
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_repository_does_not_have_is_told() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let files = Files::plain().with("environment/model.bin", pointer);
    repository(&harbor, "large", &files);
    let url = "https://github.com/lab/large";
    let refused = harbor
        .refused(&format!(
            "tasks:\n  - git_url: {url}\n    path: tasks/plain\n"
        ))
        .await;
    assert!(
        refused.contains("environment/model.bin is a pointer of Git LFS"),
        "{refused}"
    );
    let missing = format!(
        "tasks:\n  - git_url: {url}\n    path: tasks/plain\n    git_commit_id: {}\n",
        "ab".repeat(20)
    );
    let refused = harbor.refused(&missing).await;
    assert!(
        refused.contains("has no branch, tag or commit"),
        "{refused}"
    );
    let registry = json!([{"name": "bench", "version": "1.0", "tasks": [{"name": "plain", "git_url": url, "path": "tasks/plain"}]}]);
    fs_err::write(harbor.tasks.join("registry.json"), registry.to_string()).unwrap();
    let by_name = |name: &str| {
        format!("datasets:\n  - name: {name}\n    registry_path: tasks:own/registry.json\n")
    };
    let refused = harbor.refused(&by_name("other")).await;
    assert!(
        refused.contains("the registry has no data set 'other'; it has bench"),
        "{refused}"
    );
    // It is found, and fetched.
    let refused = harbor.refused(&by_name("bench")).await;
    assert!(refused.contains("Git LFS"), "{refused}");
    harbor.end().await;
}
