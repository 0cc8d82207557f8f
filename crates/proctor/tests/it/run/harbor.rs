//! Harbor tasks, data sets and job files in `proctor run`.

use std::path::Path;

use serde_json::{Value, json as value};

use super::{command, json, told};

/// A task that is solved by a file, below a directory.
fn task(directory: &Path, name: &str) {
    let write = |path: &str, text: &str| {
        let path = directory.join(name).join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    };
    write(
        "task.toml",
        "version = \"1.0\"\n[agent]\ntimeout_sec = 60\n[verifier]\ntimeout_sec = 60\n",
    );
    let instruction = format!("Write 42 into answer.txt ({name}).\n");
    write("instruction.md", &instruction);
    write("environment/Dockerfile", "FROM tiny\nWORKDIR /app\n");
    write("solution/solve.sh", "#!/bin/sh\necho 42 > answer.txt\n");
    write(
        "tests/test.sh",
        "#!/bin/sh\nif grep -qx 42 answer.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n",
    );
}

#[test]
fn a_task_a_data_set_and_a_job_file_are_taken_like_any_benchmark() {
    let data = tempfile::tempdir().unwrap();
    let tasks = data.path().join("tasks");
    task(&tasks, "one");
    task(&tasks, "two");
    let one = tasks.join("one");
    let (one, all) = (one.to_str().unwrap(), tasks.to_str().unwrap());
    let image = ["--image", "tiny=host"];
    let take = |arguments: &[&str]| json(data.path(), &[arguments, &image[..]].concat(), 0);

    let results = take(&[one, "--agent", "oracle", "--min-score", "1"]);
    assert_eq!(
        (&results["score"], &results["verdict"]),
        (&value!(1.0), &value!("pass")),
        "{results:#}"
    );
    let results = take(&[all, "--agent", "null", "-k", "2", "-n", "2"]);
    assert_eq!(results["score"], 0.0, "{results:#}");
    let summary = &results["agents"][0]["summary"];
    assert_eq!(summary["planned"], 4, "{results:#}");
    assert_eq!(results["agents"][0]["name"], "nop");

    // Several agents have no one score.
    let results = take(&[all, "--agent", "oracle", "--agent", "nop", "--task", "two"]);
    assert_eq!(results["score"], value!(null));
    let scores = |results: &Value| -> Vec<Value> {
        let agents = results["agents"].as_array().unwrap().iter();
        agents
            .map(|agent| agent["summary"]["score"].clone())
            .collect()
    };
    assert_eq!(scores(&results), [value!(1.0), value!(0.0)], "{results:#}");

    let file = data.path().join("job.yaml");
    let text = format!("agents: [{{name: oracle}}, {{name: nop}}]\ndatasets:\n  - path: {all}\n");
    fs_err::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let results = take(&[file]);
    assert_eq!(scores(&results), [value!(1.0), value!(0.0)], "{results:#}");
    let results = take(&[file, "--agent", "oracle", "--strict"]);
    assert_eq!(scores(&results), [value!(1.0)], "{results:#}");
}

#[test]
fn what_harbor_tasks_cannot_be_told_is_refused_before_anything_is_started() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().join("data");
    let tasks = data.path().join("tasks");
    task(&tasks, "one");
    let one = tasks.join("one");
    let one = one.to_str().unwrap();
    for (arguments, words) in [
        (
            &[one, "--agent", "python3 agent.py"][..],
            "cannot take Harbor tasks",
        ),
        (
            &[one, "--agent", "oracle", "--max-cost", "1"],
            "--max-cost cannot be used",
        ),
        (
            &[one, "--agent", "oracle", "--task", "x"],
            "--task chooses among",
        ),
        (
            &["fax-referral", "--agent", "oracle", "--strict"],
            "--strict is for Harbor tasks",
        ),
        (
            &["fax-referral", "--agent", "oracle", "--agent", "null"],
            "several agents can be given for Harbor tasks only",
        ),
    ] {
        let output = command(&place, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(words), "{}", told(&output));
    }
    assert!(!place.exists(), "no server was started");
}
