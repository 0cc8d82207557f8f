use proptest::prelude::*;

use super::*;

fn read(text: &str) -> (JobConfig, Vec<String>) {
    let (config, warnings) = JobConfig::read(text).unwrap();
    (config, warnings.iter().map(ToString::to_string).collect())
}

fn problems(text: &str) -> String {
    match JobConfig::read(text) {
        Ok(_) => String::new(),
        Err(problems) => {
            let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
            said.join("\n")
        }
    }
}

#[test]
fn a_small_file_has_the_usual_values() {
    let (config, warnings) = read("tasks: [{path: 'object:obj_1'}]");
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(
        (config.attempts, config.trials_at_once, config.retry.most),
        (1, 4, 0)
    );
    assert_eq!(config.agents, [AgentEntry::default()]);
    assert!(!config.retry.applies_to("AgentTimeoutError"));
    assert!(config.retry.applies_to("NonZeroAgentExitCodeError"));
    let json = read(r#"{"tasks": [{"path": "object:obj_1"}]}"#);
    assert_eq!(json.0, config);
}

#[test]
fn a_whole_file_is_read_without_a_warning() {
    let (config, warnings) = read(
        r#"
job_name: nightly
n_attempts: 2
timeout_multiplier: 1.5
agent_timeout_multiplier: 2
verifier_timeout_multiplier: 3
agent_setup_timeout_multiplier: 4
environment_build_timeout_multiplier: 5
n_concurrent_trials: 8
retry: {max_retries: 3, include_exceptions: [A], exclude_exceptions: [B], wait_multiplier: 2, min_wait_sec: 0, max_wait_sec: 9}
environment: {override_cpus: 2, override_memory_mb: 512, override_storage_mb: 1024, env: {A: b}, force_build: true, extra_allowed_hosts: [a.example]}
verifier: {override_timeout_sec: 5, max_timeout_sec: 6, env: {C: d}, disable: false, include_logs: ['*'], exclude_logs: [x], extra_allowed_hosts: [b.example]}
metrics: [{type: mean}, {type: max}]
agents:
  - name: oracle
  - {name: mine, model_name: m, override_timeout_sec: 1, override_setup_timeout_sec: 2, max_timeout_sec: 3, kwargs: {a: 1}, env: {K: '${KEY}'},
     n_concurrent: 2, concurrency_group: g, extra_allowed_hosts: [c.example], include_logs: [y], exclude_logs: [z]}
datasets: [{path: 'tasks:bench/all', task_names: ['a*'], exclude_task_names: ['ab'], n_tasks: 3}]
tasks: [{path: one, git_url: 'https://example.org/r.git', git_commit_id: abc}]
artifacts: [/app/out]
extra_instructions: [Be brief.]
metadata: {proctor_verifier: strict, strict: false}
"#,
    );
    assert_eq!(warnings, Vec::<String>::new());
    insta::assert_json_snapshot!(config);
}

#[test]
fn what_has_no_effect_is_a_warning() {
    let (config, warnings) = read(
        r#"
n_concurent_trials: 9
jobs_dir: out
quiet: true
debug: true
plugins: []
orchestrator: {n_concurrent_trials: 2, type: local}
environment: {type: docker, delete: true, stream: false, kwargs: {}, cpu_enforcement_policy: limit, env: [A=b]}
agents: [{name: nop, base_url: 'http://x'}, {name: 'null'}, {name: nop, base_url: 'http://x'}]
tasks: [{path: 'object:obj_1', overwrite: true}]
"#,
    );
    assert_eq!(config.trials_at_once, 2);
    assert_eq!(config.environment.env["A"], "b");
    assert_eq!(config.agents[1].name, "nop");
    insta::assert_snapshot!(warnings.join("\n"));
}

#[test]
fn everything_that_is_refused_is_named_at_once() {
    insta::assert_snapshot!(problems(
        r#"
n_attempts: 0
install_only: true
user_agent: {name: x}
source_jobs: [{action: regrade}]
extra_instruction_paths: [a.md]
timeout_multiplier: -1
metrics: [{type: uv-script}, {type: median}]
environment: {import_path: 'a:B', mounts: [{type: bind}], extra_docker_compose: [x], override_gpus: 1, override_tpu: {}}
verifier: {import_path: 'a:B'}
agents: [{import_path: 'a:B'}, {name: 'acp:x'}, {load_trajectory: x}, {name: a, concurrency_group: g}, {name: b, n_concurrent: 5}]
datasets: [{path: a, name: b}, {}, {name: n, registry_url: 'https://x'}]
tasks: [{}, {path: a, git_commit_id: x}]
"#
    ));
    assert_eq!(problems("{}"), "names no 'tasks' and no 'datasets'");
}

#[test]
fn bombs_are_refused_before_they_grow() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let before = level - 1;
        let aliases = vec![format!("*a{before}"); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert_ne!(problems(&bomb), "");
    assert_ne!(problems(&"[".repeat(10_000)), "");
    assert_ne!(problems(&"x".repeat(LONGEST_FILE + 1)), "");
    assert_ne!(problems("a: [1"), "");
    let wide = format!("tasks: [{}]", "{path: x}, ".repeat(60_000));
    assert_ne!(problems(&wide), "");
}

#[test]
fn paths_say_where_tasks_are() {
    for written in [
        "object:obj_1",
        "object:obj_1/a/b",
        "tasks:bench",
        "tasks:bench/x",
        "./local",
    ] {
        assert_eq!(TaskPath::of(written).written(), written);
    }
    assert_eq!(
        TaskPath::of("object:obj_1/a/"),
        TaskPath::Object {
            id: "obj_1".to_owned(),
            below: "a".to_owned()
        }
    );
}

#[test]
fn a_data_set_is_filtered_by_names_and_then_by_number() {
    let names: Vec<String> = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
        .map(str::to_owned)
        .into();
    let (config, _) = read(
        "datasets: [{path: 'tasks:x', task_names: ['*a'], exclude_task_names: ['b*'], n_tasks: 2}]",
    );
    assert_eq!(config.datasets[0].choose(&names).unwrap(), [0, 2]);
    let (config, _) = read("datasets: [{path: 'tasks:x', task_names: ['Alpha']}]");
    let none = config.datasets[0].choose(&names).unwrap_err();
    assert_eq!(
        none.to_string(),
        "no task matches Alpha; 6 are there, such as alpha, beta, gamma, delta, epsilon"
    );
}

#[test]
fn two_entries_that_differ_in_anything_stay_apart() {
    let (config, warnings) = read(
        "agents: [{name: a, kwargs: {x: 1}}, {name: a, kwargs: {x: 2}}]\ntasks: [{path: 'object:o'}]",
    );
    assert_ne!(config.agents[0].identity(), config.agents[1].identity());
    assert_eq!(warnings, Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_is_a_job_or_problems(text in "[a-z:\\[\\]{}&*,'\"\n 0-9-]{0,120}") {
        let _ = JobConfig::read(&text);
    }

    #[test]
    fn a_job_is_the_same_after_it_was_kept(attempts in 1u32..1000, multiplier in 0.01f64..1000.0) {
        let text = format!("n_attempts: {attempts}\ntimeout_multiplier: {multiplier}\ntasks: [{{path: 'object:o'}}]");
        let (config, _) = JobConfig::read(&text).unwrap();
        let kept = serde_json::to_string(&config).unwrap();
        prop_assert_eq!(serde_json::from_str::<JobConfig>(&kept).unwrap(), config);
    }
}
