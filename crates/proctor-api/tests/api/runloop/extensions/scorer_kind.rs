//! A kind of scorer that the program does not have.

use async_trait::async_trait;
use proctor_core::shell::quoted;
use proctor_engine::Extensions;
use proctor_scorers::{Bench, Ended, Finding, JudgeError, Kind, Members, ReadMembers as _, Script};
use proctor_testkit::eventually_seen;
use serde_json::{Value, json};

use crate::runloop::devboxes::support::Boxes;

/// `file_scorer`: whether a file has a certain line.
struct FileScorer {
    path: String,
    line: String,
}

#[async_trait]
impl Kind for FileScorer {
    const NAME: &'static str = "file_scorer";

    fn read(members: &Members<'_>) -> Option<Self> {
        let path = members.text("path");
        let line = members.text("line");
        Some(Self {
            path: path?.to_owned(),
            line: line?.to_owned(),
        })
    }

    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        let script = format!(
            "grep -xF -e {} -- {}",
            quoted(&self.line),
            quoted(&self.path)
        );
        bench.finding(&Script::new(script), Ended::by_status).await
    }
}

fn scenario(scorer: &Value) -> Value {
    json!({"name": "write", "input_context": {"problem_statement": "Write it down."},
        "scoring_contract": {"scoring_function_parameters": [{"name": "written", "weight": 1, "scorer": scorer}]}})
}

async fn scored(boxes: &Boxes, path: &str) -> Value {
    eventually_seen("a scenario run is scored", async || {
        let run = boxes.get(path).await;
        if run["state"] == "scored" {
            Ok(run)
        } else {
            Err(run)
        }
    })
    .await
}

#[tokio::test]
async fn a_scenario_is_scored_by_a_kind_that_was_added_from_outside() {
    let boxes = Boxes::start_extended(Extensions::shipped().with_scorer_kind::<FileScorer>()).await;

    // It is read, checked and kept like the others.
    let refused = boxes.refused(
        "/v1/scenarios",
        scenario(&json!({"type": "file_scorer", "path": 7})),
    );
    let place = "scoring_contract.scoring_function_parameters.0.scorer";
    let message = format!("{place}.line: is required; {place}.path: must be a text");
    assert_eq!(refused.await, (400, message));
    let refused = boxes.refused("/v1/scenarios", scenario(&json!({"type": "luck"})));
    let (_, message) = refused.await;
    assert!(
        message.ends_with("test_based_scorer, file_scorer"),
        "{message}"
    );
    let scorer = json!({"type": "file_scorer", "path": "answer.txt", "line": "it's 42"});
    let mut given = scorer.clone();
    given["unknown"] = json!(true);
    let made = boxes.post("/v1/scenarios", scenario(&given)).await;
    let kept = &made["scoring_contract"]["scoring_function_parameters"][0]["scorer"];
    assert_eq!(*kept, scorer);

    // And it looks at what an agent leaves.
    for (command, score) in [
        ("echo \"it's 42\" >answer.txt", 1.0),
        ("echo 41 >answer.txt", 0.0),
    ] {
        let start = json!({"scenario_id": made["id"]});
        let run = boxes.post("/v1/scenarios/start_run", start).await;
        let devbox = format!("/v1/devboxes/{}", run["devbox_id"].as_str().unwrap());
        boxes.reaches(&devbox, "running").await;
        let ran = boxes.execute(&devbox, json!({"command": command})).await;
        assert_eq!(ran["exit_status"], 0, "{ran}");
        let path = format!("/v1/scenarios/runs/{}", run["id"].as_str().unwrap());
        boxes.post(&format!("{path}/score"), Value::Null).await;
        let scored = scored(&boxes, &path).await;
        assert_eq!(
            scored["scoring_contract_result"]["score"], score,
            "{scored}"
        );
        boxes.post(&format!("{path}/complete"), Value::Null).await;
    }
    boxes.end().await;
}
