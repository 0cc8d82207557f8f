//! Job files that are refused, and what has no effect in one.

use super::support::{Files, Harbor};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_is_wrong_is_named_at_once() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("plain", &Files::plain());
    let of_env = Files::plain().with_toml(
        "[environment.env]\nA = \"${FIRST_KEY}\"\n[verifier.env]\nB = \"${SECOND_KEY}\"",
    );
    harbor.task("keys", &of_env);
    let missing = harbor
        .refused("tasks: [{path: 'tasks:own/keys'}]\nagents: [{name: oracle, env: {C: '${THIRD_KEY}', D: '${PATH}'}}]\n")
        .await;
    for name in ["FIRST_KEY", "SECOND_KEY", "THIRD_KEY", "PATH"] {
        assert!(missing.contains(name), "{name}: {missing}");
    }
    for (yaml, told) in [
        ("tasks: [{path: /etc}]", "the server does not read paths"),
        ("tasks: [{path: 'tasks:nobody/x'}]", "there are own"),
        ("tasks: [{path: 'tasks:own/../../etc'}]", "leads out of it"),
        (
            "tasks: [{path: 'tasks:own/none'}]",
            "there is no directory 'none'",
        ),
        (
            "tasks: [{path: 'object:obj_x'}]",
            "is not the id of an object",
        ),
        ("tasks: [{name: org/task}]", "a name in a registry"),
        (
            "agents: [{name: nobody}]\ntasks: [{path: 'tasks:own/plain'}]",
            "there are oracle, nop",
        ),
        (
            "agents: [{name: oracle, import_path: x}]\ntasks: [{path: 'tasks:own/plain'}]",
            "no Python is run",
        ),
        (
            "environment: {mounts: [a]}\ntasks: [{path: 'tasks:own/plain'}]",
            "mounts",
        ),
        (
            "datasets: [{path: 'tasks:own', task_names: ['no-*']}]",
            "no task matches",
        ),
        ("a: &a [1]\nb: [*a, *a]\nagents: 7", "agents"),
        (
            "agents: [{name: oracle}]",
            "names no 'tasks' and no 'datasets'",
        ),
        ("[", "spec.inline_yaml"),
    ] {
        let answer = harbor.asked(yaml, "").await;
        assert_eq!(answer.status, 400, "{yaml}: {}", answer.body);
        assert!(
            answer.body.to_string().contains(told),
            "{yaml}: {}",
            answer.body
        );
    }
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_set_says_which_of_its_tasks_are_not_valid() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("good", &Files::plain());
    harbor.task("bad", &Files::plain().without("tests/test.sh"));
    let refused = harbor.refused("datasets: [{path: 'tasks:own'}]").await;
    assert!(refused.contains("the task bad is not valid"), "{refused}");
    let yaml = "n_concurent_trials: 2\nmetadata: {strict: false}\ndatasets: [{path: 'tasks:own'}]\nagents: [{name: oracle}, {name: nop}]\nn_attempts: 3\n";
    let plan = harbor.asked(yaml, "?dry_run=true").await;
    assert_eq!(plan.status, 200, "{}", plan.body);
    assert_eq!(plan.body["n_trials"], 6, "{}", plan.body);
    assert_eq!(plan.body["tasks"][0]["name"], "good");
    let images = &plan.body["images"][0];
    assert_eq!(
        (images["name"].as_str(), images["presence"].as_str()),
        (Some("base"), Some("here"))
    );
    let warnings = plan.body["warnings"].to_string();
    assert!(
        warnings.contains("did you mean n_concurrent_trials?"),
        "{warnings}"
    );
    assert!(warnings.contains("the task bad is not valid"), "{warnings}");
    let jobs = harbor.server.read("/v1/benchmark_jobs").await;
    assert_eq!(
        jobs.body["jobs"],
        serde_json::json!([]),
        "nothing was started"
    );
    harbor.end().await;
}
