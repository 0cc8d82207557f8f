use reqwest::Method;
use serde_json::{Value, json};

use super::support::Boxes;

#[tokio::test]
async fn what_makes_no_sense_is_400_and_names_the_field() {
    let boxes = Boxes::start().await;
    let launch = |parameters: Value| json!({"launch_parameters": parameters});
    let custom = |cpu: f64, memory: i32, disk: i32| {
        launch(
            json!({"resource_size_request": "CUSTOM_SIZE", "custom_cpu_cores": cpu, "custom_gb_memory": memory, "custom_disk_size": disk}),
        )
    };
    for (body, field) in [
        (
            launch(json!({"resource_size_request": "HUGE"})),
            "launch_parameters.resource_size_request",
        ),
        (
            launch(json!({"resource_size_request": "CUSTOM_SIZE"})),
            "launch_parameters.custom_cpu_cores",
        ),
        (custom(3.0, 6, 4), "launch_parameters.custom_cpu_cores"),
        (custom(0.25, 1, 4), "launch_parameters.custom_cpu_cores"),
        (custom(1.0, 16, 4), "launch_parameters.custom_gb_memory"),
        (custom(1.0, 2, 3), "launch_parameters.custom_disk_size"),
        (
            launch(json!({"keep_alive_time_seconds": 172_801})),
            "launch_parameters.keep_alive_time_seconds",
        ),
        (
            launch(json!({"keep_alive_time_seconds": -1})),
            "launch_parameters.keep_alive_time_seconds",
        ),
        (
            launch(json!({"after_idle": {"idle_time_seconds": 5}})),
            "launch_parameters.after_idle.on_idle",
        ),
        (
            launch(json!({"user_parameters": {"username": "Bad Name", "uid": 1}})),
            "launch_parameters.user_parameters.username",
        ),
        (
            launch(json!({"network_policy_id": "npo_01M7H6ZMJ1E3SS5ZB9BFTHPCXX"})),
            "launch_parameters.network_policy_id",
        ),
        (
            launch(json!({"required_services": ["postgres"]})),
            "launch_parameters.required_services",
        ),
        (json!({"secrets": {"A": "NOT_THERE"}}), "secrets.A"),
        (
            json!({"environment_variables": {"A=B": "x"}}),
            "environment_variables.A=B",
        ),
        (json!({"mounts": [{"type": "nonsense"}]}), "mounts.0.type"),
        (
            json!({"mounts": [{"type": "file_mount", "target": "x"}]}),
            "mounts.0.content",
        ),
        (
            json!({"mounts": [{"type": "file_mount", "target": "", "content": "x"}]}),
            "mounts.0.target: must be a path in the devbox",
        ),
        (json!({"file_mounts": {"": "x"}}), "file_mounts"),
        (
            json!({"mounts": [{"type": "agent_mount", "agent_name": "a", "agent_path": " "}]}),
            "mounts.0.agent_path: must be a path",
        ),
        (
            json!({"mounts": [{"type": "code_mount", "repo_owner": "", "repo_name": "a/b"}]}),
            "mounts.0.repo_name: must be letters, digits, '-', '_' or '.'; mounts.0.repo_owner",
        ),
        (
            json!({"code_mounts": [{"repo_owner": "a", "repo_name": "b", "git_ref": "-x"}]}),
            "code_mounts.0.git_ref",
        ),
        (
            json!({"mounts": [{"type": "object_mount", "object_id": "obj_01M7H6ZMJ1E3SS5ZB9BFTHPCXX", "object_path": "/a"}]}),
            "mounts: there is no object",
        ),
        (
            json!({"mounts": [{"type": "agent_mount", "agent_name": "nobody"}]}),
            "mounts: there is no agent 'nobody'",
        ),
        (
            json!({"secrets": {"A-B": "x"}}),
            "secrets.A-B: must be the name",
        ),
        (json!({"snapshot_id": "snp_1"}), "snapshot_id"),
        (
            json!({"snapshot_id": "snp_01M7H6ZMJ1E3SS5ZB9BFTHPCXX"}),
            "snapshot_id",
        ),
        (
            json!({"blueprint_id": "bpt_01M7H6ZMJ1E3SS5ZB9BFTHPCXX"}),
            "blueprint_id: there is no blueprint",
        ),
        (
            json!({"blueprint_name": "nobody's"}),
            "blueprint_name: there is no blueprint",
        ),
        (
            json!({"snapshot_id": "a", "blueprint_id": "b"}),
            "snapshot_id",
        ),
        (json!({"name": 5}), "name"),
    ] {
        let (status, message) = boxes.refused("/v1/devboxes", body.clone()).await;
        assert_eq!(status, 400, "{body}: {message}");
        assert!(message.contains(field), "{body}: {message}");
    }
    assert_eq!(
        boxes.get("/v1/devboxes").await["total_count"],
        0,
        "nothing was made"
    );
    boxes.end().await;
}

#[tokio::test]
async fn sizes_of_ones_own_are_shown_as_they_were_asked_for() {
    let boxes = Boxes::start().await;
    let asked = json!({"resource_size_request": "CUSTOM_SIZE", "custom_cpu_cores": 0.5, "custom_gb_memory": 2, "custom_disk_size": 2});
    let path = boxes.running(json!({"launch_parameters": asked})).await;
    assert_eq!(boxes.get(&path).await["launch_parameters"], asked);
    boxes.end().await;
}

#[tokio::test]
async fn nothing_a_client_sends_to_a_devbox_is_a_500() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    let strange = [
        json!(null),
        json!({}),
        json!({"command": null}),
        json!({"command": 5}),
        json!({"command": "a\u{0}b"}),
        json!({"command": "true", "command_id": "not a uuid"}),
        json!({"command": "true", "shell_name": "\u{1}"}),
        json!({"command": "true", "optimistic_timeout": -1}),
        json!({"command": "true", "optimistic_timeout": 1e300}),
        json!({"statuses": []}),
        json!({"statuses": ["nonsense"]}),
        json!({"statuses": ["running"], "timeout_seconds": "x"}),
        json!({"file_path": "\u{0}"}),
        json!({"path": "/proc/1/mem"}),
        json!({"signal": "HUP"}),
        json!([1, 2]),
    ];
    let id = "0190f5c0-0000-7000-8000-000000000009";
    for tail in [
        "execute",
        "execute_sync",
        "execute_async",
        "wait_for_status",
        "read_file_contents",
        "write_file_contents",
        "download_file",
        "upload_file",
        "snapshot_disk",
        &format!("executions/{id}/wait_for_status"),
        &format!("executions/{id}/kill"),
        &format!("executions/{id}/send_std_in"),
        "executions/nonsense/kill",
    ] {
        for body in &strange {
            let answer = boxes
                .server
                .ask(Method::POST, &format!("{path}/{tail}"), body.clone())
                .await;
            assert!(answer.status < 500, "{tail} {body}: {}", answer.body);
        }
    }
    for query in [
        "offset=x",
        "offset=-1",
        "last_n=x",
        "last_n=-1",
        "offset=99999999999999999999999",
    ] {
        let answer = boxes
            .server
            .read(&format!(
                "{path}/executions/{id}/stream_stdout_updates?{query}"
            ))
            .await;
        assert!(answer.status < 500, "{query}");
        let answer = boxes
            .server
            .read(&format!("{path}/executions/{id}?{query}"))
            .await;
        assert!(answer.status < 500, "{query}");
    }
    assert_eq!(boxes.get(&path).await["status"], "running");
    boxes.end().await;
}
