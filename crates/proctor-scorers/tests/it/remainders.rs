//! What is left behind after scoring: nothing, however it ended.

use std::{collections::BTreeSet, time::Duration};

use proctor_devbox::Backend as _;
use proctor_scorers::{JudgeOrder, Mode, judge};
use serde_json::json;

use crate::support::{Agent, Boxes, WORK, functions, order};

/// Every file of the box that is not the base's, and every process but the one that may wait for the next program.
async fn traces(agent: &Agent<'_>) -> Vec<String> {
    let seen = agent
        .does("find / -xdev -newermt '@1' -type f ! -path '/proc/*' ! -path '/usr/*' ! -path '/etc/*' -printf '%p %s\\n' | sort; ps -eo comm=")
        .await;
    let lines = seen.lines().filter(|line| *line != "proctor-box");
    lines.map(str::to_owned).collect()
}

/// One scorer of every kind that puts something into a box.
fn every_kind() -> JudgeOrder {
    let mut order = order(json!({"type": "command_scorer", "command": "true"}));
    order.scorers = functions(&[
        json!({"type": "bash_script_scorer", "bash_script": "echo MARKER-OF-A-SCORER; echo score=1"}),
        json!({"type": "command_scorer", "command": ": MARKER-OF-A-SCORER"}),
        json!({"type": "python_script_scorer", "python_script": "# MARKER-OF-A-SCORER\nprint(1)"}),
        json!({
            "type": "test_based_scorer",
            "test_files": [{"file_path": "new/t.txt", "file_contents": "MARKER-OF-A-SCORER"}],
            "test_command": "grep -q MARKER new/t.txt",
        }),
        json!({"type": "custom_scorer", "custom_scorer_type": "mine", "scorer_params": {"a": "MARKER-OF-A-SCORER"}}),
    ]);
    order.custom.insert(
        "mine".into(),
        "echo MARKER-OF-A-SCORER; echo score=1".into(),
    );
    order
}

#[tokio::test]
async fn no_mode_leaves_text_processes_boxes_or_layers() {
    let boxes = Boxes::new();
    let many_users = boxes.have_many_users().await;
    let agent = boxes.agent().await;
    agent.writes("a.txt", "the agent's").await;
    let before = traces(&agent).await;
    for mode in Mode::ALL {
        if mode == Mode::Artifacts && !many_users {
            continue;
        }
        let order = JudgeOrder {
            mode,
            ..every_kind()
        };
        let judgement = agent.judged(&order).await;
        for scored in &judgement.results {
            assert_eq!(scored.score, 1.0, "{mode}: {scored:?}");
        }
        assert_eq!(traces(&agent).await, before, "after {mode}");
        let found = agent
            .does("grep -rl MARKER-OF-A-SCORER /home /root /tmp /var /run /srv /opt /dev/shm")
            .await;
        assert_eq!(found, "", "after {mode}");
        let boxes_left = boxes.backend.list().await.unwrap().len();
        assert_eq!(boxes_left, 1, "after {mode}");
        let left = boxes.backend.layers().await.unwrap();
        let owned: Vec<_> = judgement.layer.into_iter().collect();
        let left: Vec<_> = left
            .into_iter()
            .map(|layer| layer.id)
            .filter(|id| id.as_str().starts_with(&order.id))
            .collect();
        assert_eq!(left, owned, "after {mode}: what is left is handed over");
    }
    agent.devbox.destroy().await.unwrap();
    for layer in boxes.backend.layers().await.unwrap() {
        boxes.backend.delete_layer(&layer.id).await.unwrap();
    }
    boxes.end().await;
}

#[tokio::test]
async fn test_files_go_away_by_themselves_when_nobody_waits_for_the_scorer_any_more() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let order = order(json!({
        "type": "test_based_scorer",
        "test_files": [{"file_path": "secret.txt", "file_contents": "secret"}],
        "test_command": "sleep 1.5",
    }));
    let judging = judge(boxes.backend.as_ref(), agent.devbox.as_ref(), &order);
    // As after the death of the server: the judging is simply not there any more.
    let given_up = tokio::time::timeout(Duration::from_millis(700), judging).await;
    assert!(given_up.is_err());
    assert_eq!(
        agent.does(&format!("cat {WORK}/secret.txt")).await,
        "secret"
    );
    let gone = agent
        .does(&format!(
            "left() {{ ls -A {WORK}; ls -A /tmp; }}; for i in $(seq 100); do [ -n \"$(left)\" ] || break; sleep 0.1; done; left"
        ))
        .await;
    assert_eq!(gone, "");
    boxes.end().await;
}

#[tokio::test]
async fn what_a_dead_server_left_running_is_ended_and_cleans_up_before_the_next_judging() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent.writes("secret.txt", "the agent's own").await;
    for mode in [Mode::Live, Mode::Quiet] {
        let before = traces(&agent).await;
        let first = order(json!({
            "type": "test_based_scorer",
            "test_files": [{"file_path": "secret.txt", "file_contents": "secret"}],
            "test_command": "sleep 600",
        }));
        let judging = judge(boxes.backend.as_ref(), agent.devbox.as_ref(), &first);
        let given_up = tokio::time::timeout(Duration::from_millis(700), judging).await;
        assert!(given_up.is_err());
        let looks = "grep -q own secret.txt && ! pgrep sleep";
        let second = JudgeOrder {
            mode,
            forerunners: Some("judge-".to_owned()),
            ..order(json!({"type": "command_scorer", "command": looks}))
        };
        let judgement = agent.judged(&second).await;
        assert_eq!(judgement.results[0].score, 1.0, "{judgement:?}");
        assert_eq!(traces(&agent).await, before, "after {mode}");
    }
    boxes.end().await;
}

#[tokio::test]
async fn test_files_go_away_when_the_script_that_placed_them_is_killed() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent.writes("secret.txt", "the agent's own").await;
    let order = order(json!({
        "type": "test_based_scorer",
        "test_files": [{"file_path": "secret.txt", "file_contents": "secret"}],
        // Its parent keeps the time, and that one's parent placed the files.
        "test_command": "kill -9 $(ps -o ppid= -p $PPID); sleep 5",
    }));
    let scored = agent.judged(&order).await.results.remove(0);
    assert_eq!(scored.score, 0.0, "{scored:?}");
    let left = agent
        .does(&format!("ls -A {WORK}; ls -A /tmp; cat {WORK}/secret.txt"))
        .await;
    assert_eq!(
        left,
        "secret.txt
the agent's own"
    );
    boxes.end().await;
}

#[tokio::test]
async fn boxes_of_a_scoring_that_nobody_ended_are_swept() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let order = JudgeOrder {
        mode: Mode::Clone,
        ..order(json!({"type": "command_scorer", "command": "sleep 600"}))
    };
    let judging = judge(boxes.backend.as_ref(), agent.devbox.as_ref(), &order);
    let given_up = tokio::time::timeout(Duration::from_millis(700), judging).await;
    assert!(given_up.is_err());
    let listed = boxes.backend.list().await.unwrap();
    let left: Vec<_> = listed.iter().map(|record| &record.spec.id).collect();
    assert_eq!(left.len(), 2);
    let owned = BTreeSet::from([agent.devbox.id().clone()]);
    boxes.backend.sweep(&owned).await.unwrap();
    assert_eq!(boxes.backend.list().await.unwrap().len(), 1);
    boxes.end().await;
}
