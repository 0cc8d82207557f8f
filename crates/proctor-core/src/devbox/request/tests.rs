use serde_json::json;

use super::*;
use crate::{devbox::IdleAction, document::Document};

const SNAPSHOT: &str = "snp_01K00000000000000000000000";
const POLICY: &str = "npo_01K00000000000000000000000";

fn launch(document: Value) -> LaunchRequest {
    serde_json::from_value(document).unwrap()
}

/// Everything that can be said, as it was stored before there were types for it.
fn in_full() -> Value {
    json!({
        "resource_size_request": "CUSTOM_SIZE", "custom_cpu_cores": 0.5, "custom_gb_memory": 2, "custom_disk_size": 4,
        "keep_alive_time_seconds": 600, "after_idle": {"idle_time_seconds": 60, "on_idle": "suspend"},
        "lifecycle": {
            "after_idle": {"idle_time_seconds": 60, "on_idle": "suspend"},
            "lifecycle_hooks": {"suspend_commands": ["sync"], "suspend_deadline_ms": 500},
        },
        "launch_commands": ["true"], "user_parameters": {"username": "dev", "uid": 1000},
        "network_policy_id": POLICY, "architecture": "x86_64",
    })
}

#[test]
fn everything_that_can_be_said_is_read_and_written_as_it_was() {
    let read = launch(in_full());
    assert_eq!(read.size, Some(SizeRequest::Custom));
    assert_eq!((read.cpu_halves, read.memory_gib), (Some(1), Some(2)));
    assert_eq!(serde_json::to_value(&read).unwrap(), in_full());
    let resolved = read.resolve().unwrap();
    assert_eq!(resolved.keep_alive_seconds, Some(600));
    assert_eq!(resolved.suspend_commands, ["sync"]);
    assert_eq!(resolved.after_idle.unwrap().action, IdleAction::Suspend);
    assert_eq!(resolved.user.unwrap().uid, 1000);
}

#[test]
fn what_is_said_nearer_goes_before_field_by_field() {
    let general = launch(json!({
        "resource_size_request": "SMALL", "launch_commands": ["a"],
        "lifecycle": {"lifecycle_hooks": {"suspend_commands": ["sync"]}},
    }));
    let near = launch(json!({"resource_size_request": "LARGE", "lifecycle": {}}));
    let both = near.over(&general);
    assert_eq!(
        serde_json::to_value(&both).unwrap(),
        json!({"resource_size_request": "LARGE", "launch_commands": ["a"], "lifecycle": {}})
    );
    assert_eq!(LaunchRequest::default().over(&general), general);
    assert!(LaunchRequest::default().is_empty());
}

#[test]
fn a_contradiction_is_named() {
    let problems = |document: Value| launch(document).resolve().unwrap_err();
    assert_eq!(
        problems(json!({"resource_size_request": "CUSTOM_SIZE"})),
        [
            LaunchProblem::Missing(Dimension::Cpu),
            LaunchProblem::Missing(Dimension::Memory)
        ]
    );
    let small = json!({"resource_size_request": "CUSTOM_SIZE", "custom_cpu_cores": 2, "custom_gb_memory": 1});
    assert!(matches!(
        problems(small)[..],
        [LaunchProblem::Size(Dimension::Memory, _)]
    ));
    let idle = |seconds: u32| json!({"idle_time_seconds": seconds, "on_idle": "shutdown"});
    let twice = json!({"after_idle": idle(1), "lifecycle": {"after_idle": idle(2)}});
    assert_eq!(problems(twice), [LaunchProblem::AfterIdleTwice]);
}

#[test]
fn what_a_task_says_of_its_devbox_is_read() {
    let document =
        json!({"snapshot_id": SNAPSHOT, "launch_parameters": {}, "working_directory": "/w"});
    let read = Document::<DevboxDefinition>::of(document.clone());
    let definition = read.get().unwrap();
    assert!(matches!(definition.base, BaseRequest::Snapshot(_)));
    assert_eq!(definition.working_directory.as_deref(), Some("/w"));
    assert_eq!(definition.launch, Some(LaunchRequest::default()));
    assert_eq!(definition.write(), document);
    assert_eq!(DevboxDefinition::default().write(), json!({}));
    for (document, base) in [
        (
            json!({"blueprint_id": "x"}),
            BaseRequest::NotABlueprint("x".to_owned()),
        ),
        (
            json!({"snapshot_id": ""}),
            BaseRequest::NotASnapshot(String::new()),
        ),
    ] {
        let read = DevboxDefinition::read(&document).unwrap();
        assert_eq!((&read.base, read.write()), (&base, document));
    }
}

#[test]
fn what_cannot_be_read_is_named_and_kept() {
    let both = json!({"blueprint_id": "bpt_x", "snapshot_id": SNAPSHOT});
    for (document, is_expected) in [
        (
            both,
            (|problem| matches!(problem, UnreadableDevbox::SeveralBases)) as fn(&_) -> bool,
        ),
        (json!({"launch_parameters": "large"}), |problem| {
            matches!(problem, UnreadableDevbox::Form(_))
        }),
        (json!(null), |problem| {
            matches!(problem, UnreadableDevbox::Form(_))
        }),
    ] {
        let read = Document::<DevboxDefinition>::of(document.clone());
        assert!(read.get().is_err_and(is_expected), "{document}");
        assert_eq!(read.to_value(), document);
    }
}
