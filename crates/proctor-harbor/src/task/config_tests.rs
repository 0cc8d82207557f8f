use proptest::prelude::*;

use super::*;
use crate::task::{NetworkMode, VerifierMode};

fn read_text(text: &str) -> (TaskConfig, Vec<String>) {
    let (config, warnings) = TaskConfig::read(text).unwrap();
    (config, warnings.iter().map(ToString::to_string).collect())
}

fn problems(text: &str) -> Vec<String> {
    match TaskConfig::read(text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn an_empty_file_has_the_usual_values() {
    let (config, warnings) = read_text("");
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(config.schema_version, "1.4");
    assert_eq!(config.agent.timeout, None);
    assert_eq!(config.verifier.timeout, 600.0);
    assert_eq!(config.environment.build_timeout, 600.0);
    assert_eq!(config.environment.network.mode, NetworkMode::Public);
}

#[test]
fn a_whole_file_is_read_without_a_warning() {
    let (config, warnings) = read_text(
        r#"
        version = "1.0"
        source = "terminal-bench"
        multi_step_reward_strategy = "final"
        artifacts = ["/app/out", {source = "/db", destination = "dump", exclude = ["*.tmp"], service = "db"}]
        [task]
        name = "org/hello"
        version = "2"
        description = "says hello"
        authors = [{name = "Ada", email = "ada@example.org"}]
        keywords = ["a"]
        [metadata]
        difficulty = "easy"
        anything = {goes = true}
        [agent]
        timeout_sec = 120
        user = 1000
        network_mode = "allowlist"
        allowed_hosts = ["example.org"]
        [verifier]
        timeout_sec = 30.5
        env = {KEY = "${SECRET}"}
        user = "root"
        environment_mode = "separate"
        [verifier.environment]
        docker_image = "tests:1"
        [[verifier.collect]]
        command = "dump"
        service = "db"
        timeout_sec = 5
        user = "postgres"
        [solution]
        env = {A = "b"}
        [environment]
        build_timeout_sec = 60.0
        docker_image = "python:3.12-slim"
        os = "Linux"
        cpus = 2
        memory_mb = 2048
        storage_mb = 10240
        gpus = 0
        gpu_types = []
        env = {B = "c"}
        workdir = "/app"
        network_mode = "no-network"
        skills_dir = "/skills"
        mcp_servers = [{name = "s", transport = "http", url = "http://s", headers = {X = "y"}}]
        [environment.healthcheck]
        command = "true"
        interval_sec = 1
        timeout_sec = 2
        start_period_sec = 3
        start_interval_sec = 4
        retries = 5
        [[steps]]
        name = "one"
        min_reward = 0.5
        artifacts = ["/x"]
        [steps.agent]
        timeout_sec = 5
        [steps.verifier]
        timeout_sec = 6
        [steps.healthcheck]
        command = "true"
        [[steps]]
        name = "two"
        min_reward = {a = 1, b = 0.5}
        "#,
    );
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(config.schema_version, "1.0");
    assert_eq!(config.agent.user.as_deref(), Some("1000"));
    assert_eq!(config.verifier.own_mode(), Some(VerifierMode::Separate));
    assert_eq!(config.steps[1].verifier.timeout, 600.0);
    assert_eq!(config.artifacts[1].place(), "dump");
    assert_eq!(config.artifacts[0].place(), "app/out");
    assert_eq!(config.environment.mcp_servers[0].name, "s");
    assert_eq!(config.steps[1].min_reward.as_ref().unwrap().0.len(), 2);
}

#[test]
fn every_key_that_is_ignored_is_named_with_the_nearest_known_one() {
    let (_, warnings) = read_text(
        r#"
        [task]
        name = "a/b"
        format = "x"
        [agent]
        timeout = 5
        [environment]
        allow_internet = true
        network_mode = "public"
        memory = "2G"
        [[steps]]
        name = "one"
        timeout_sec = 7
        dependencies = []
        inherit_prior_session = true
        "#,
    );
    insta::assert_snapshot!(warnings.join("\n"));
}

#[test]
fn the_old_keys_mean_what_they_meant() {
    let (config, _) =
        read_text("[environment]\nallow_internet = false\nmemory = \"2G\"\nstorage = \"512M\"");
    assert_eq!(config.environment.network.mode, NetworkMode::NoNetwork);
    assert_eq!(config.environment.memory_mb, Some(2048));
    assert_eq!(config.environment.storage_mb, Some(512));
}

#[test]
fn everything_that_is_wrong_is_named_at_once() {
    let said = problems(
        r#"
        artifacts = ["../x", {destination = "y"}, {source = "/a", destination = "/abs"}]
        [task]
        name = "no-org"
        [agent]
        timeout_sec = -1
        network_mode = "open"
        [verifier]
        environment_mode = "shared"
        environment = {}
        [environment]
        os = "windows"
        gpus = 1
        tpu = {type = "v4", topology = "2x2"}
        cpus = 0
        memory = "lots"
        privileged = true
        cap_add = ["ALL"]
        network_mode = "allowlist"
        allowed_hosts = ["10.0.0.0/8"]
        [[steps]]
        name = "../up"
        [[steps]]
        name = "A"
        [[steps]]
        name = "a"
        "#,
    );
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_text_that_is_not_toml_is_refused_in_words() {
    let said = problems("a = [");
    assert!(said[0].starts_with("is not TOML"), "{said:?}");
}

#[test]
fn names_of_steps_are_directories_on_every_system() {
    for good in ["one", "step 1", "01-setup", "é"] {
        assert_eq!(bad_step_name(good), None, "{good}");
    }
    for bad in [
        "", " ", ".", "..", "a/b", "a\\b", "CON", "com1.txt", "a.", "a ", "a\nb", "x?",
    ] {
        assert!(bad_step_name(bad).is_some(), "{bad}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_config_or_problems(text in "[a-z\\[\\]=\"\n. 0-9{}]{0,80}") {
        let _ = TaskConfig::read(&text);
    }

    #[test]
    fn a_config_is_the_same_after_it_was_kept(timeout in 0.0f64..1e6, name in "[a-z]{1,8}") {
        let (config, _) = TaskConfig::read(&format!("[agent]\ntimeout_sec = {timeout}\n[[steps]]\nname = \"{name}\"")).unwrap();
        let kept = serde_json::to_string(&config).unwrap();
        let again: TaskConfig = serde_json::from_str(&kept).unwrap();
        prop_assert_eq!(again, config);
    }
}
