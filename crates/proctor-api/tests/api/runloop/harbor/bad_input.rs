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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_lead_out_of_themselves_or_ask_for_too_much_are_refused() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let plain = Files::plain;
    let steps = "[[steps]]\nname = \"one\"\n";
    for (name, files, told) in [
        (
            "out",
            plain().with_link("tests/passwd", "/etc/passwd"),
            "tests/passwd",
        ),
        (
            "up",
            plain().with_link("solution/up", "../../plain"),
            "solution/up",
        ),
        (
            "circle",
            plain().with_link("tests/a", "b").with_link("tests/b", "a"),
            "tests/",
        ),
        ("step", plain().with_toml(steps), "steps/one/instruction.md"),
        (
            "windows",
            plain().with("task.toml", "[environment]\nos = \"windows\"\n"),
            "os",
        ),
        (
            "gpu",
            plain().with("task.toml", "[environment]\ngpus = 1\n"),
            "gpus",
        ),
        (
            "wide",
            plain().with(
                "task.toml",
                "[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"10.0.0.0/8\"]\n",
            ),
            "allowed_hosts",
        ),
        (
            "large",
            plain().with("task.toml", "[environment]\nmemory_mb = 9999999\n"),
            "are more than the 65536",
        ),
        (
            "capable",
            plain().with(
                "environment/docker-compose.yaml",
                "services: {a: {build: ., cap_add: [SYS_ADMIN]}}\n",
            ),
            "cap_add",
        ),
        (
            "image",
            plain().with("environment/Dockerfile", "FROM nobody/has-this:1\n"),
            "nobody/has-this:1",
        ),
        (
            "unreadable",
            plain().with("environment/Dockerfile", "FROM base\nONBUILD RUN x\n"),
            "ONBUILD",
        ),
        (
            "toml",
            plain().with("task.toml", "[environment\n"),
            "task.toml",
        ),
    ] {
        harbor.task(name, &files);
        let yaml = format!("tasks: [{{path: 'tasks:own/{name}'}}]\n");
        let refused = harbor.refused(&yaml).await;
        assert!(refused.contains(told), "{name}: {refused}");
    }
    let jobs = harbor.server.read("/v1/benchmark_jobs").await;
    assert_eq!(jobs.body["jobs"], serde_json::json!([]));
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_files_that_grow_or_ask_for_what_is_not_done_are_refused() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("plain", &Files::plain());
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let answer = harbor.asked(&bomb, "").await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    for (key, told) in [
        ("environment: {import_path: 'a:B'}", "import_path"),
        (
            "environment: {extra_docker_compose: [x]}",
            "extra_docker_compose",
        ),
        ("environment: {override_gpus: 1}", "override_gpus"),
        ("environment: {override_tpu: {type: v5}}", "override_tpu"),
        ("verifier: {import_path: 'a:B'}", "verifier.import_path"),
        ("agents: [{name: 'acp:x'}]", "ACP"),
        (
            "agents: [{name: oracle, load_trajectory: x}]",
            "load_trajectory",
        ),
        (
            "agents: [{name: oracle, concurrency_group: g}]",
            "concurrency_group",
        ),
        ("user_agent: {name: x}", "user_agent"),
        ("source_jobs: [x]", "source_jobs"),
        ("install_only: true", "install_only"),
        ("extra_instruction_paths: [a.md]", "extra_instruction_paths"),
        ("metrics: [{type: uv-script}]", "no scripts are run"),
        ("n_attempts: 0", "n_attempts"),
        ("metadata: {proctor_verifier: loose}", "proctor_verifier"),
    ] {
        let yaml = format!("{key}\ntasks: [{{path: 'tasks:own/plain'}}]\n");
        let refused = harbor.refused(&yaml).await;
        assert!(refused.contains(told), "{key}: {refused}");
    }
    harbor.end().await;
}
