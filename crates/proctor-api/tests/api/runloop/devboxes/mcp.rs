//! A scenario is taken through the Model Context Protocol alone.

use serde_json::{Value, json};

use super::support::Boxes;
use crate::{
    mcp::Mcp,
    runloop::scenarios::{create, parameters},
};

/// A run of a scenario that is solved by a file.
async fn started(boxes: &Boxes) -> String {
    let mut body = parameters("greet");
    body["scoring_contract"]["scoring_function_parameters"][0]["scorer"]["command"] =
        "grep -q hello /home/user/greeting.txt".into();
    let scenario = create(&boxes.server, body).await;
    let run = boxes
        .post("/v1/scenarios/start_run", json!({"scenario_id": scenario}))
        .await;
    run["id"].as_str().unwrap().to_owned()
}

fn endpoint<'b>(boxes: &'b Boxes, run: &str) -> Mcp<'b> {
    let path = format!("/v1/scenarios/runs/{run}/mcp");
    Mcp::new(&boxes.server, path, &boxes.server.key)
}

#[tokio::test]
async fn a_scenario_is_solved_with_tools_alone() {
    let boxes = Boxes::start().await;
    let run = started(&boxes).await;
    let mcp = endpoint(&boxes, &run);
    assert_eq!(
        mcp.tools().await,
        ["shell", "read_file", "write_file", "list_files", "complete"]
    );
    let prompt = mcp.ask("prompts/get", json!({"name": "task"})).await;
    let said = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.starts_with("echo hello\n"), "{said}");

    let ran = mcp
        .does(
            "shell",
            json!({"command": "echo out; echo err >&2; exit 3"}),
        )
        .await;
    assert_eq!(
        ran,
        json!({"exit_status": 3, "stdout": "out\n", "stderr": "err\n"})
    );
    let written = json!({"path": "/home/user/greeting.txt", "content": "hello\n"});
    mcp.does("write_file", written).await;
    let read = json!({"path": "/home/user/greeting.txt"});
    assert_eq!(mcp.does("read_file", read).await, "hello\n");
    let listed = mcp.does("list_files", json!({"path": "/home/user"})).await;
    let listing = listed["stdout"].as_str().unwrap();
    assert!(listing.contains("greeting.txt"), "{listing}");

    let result = mcp.does("complete", json!({})).await;
    let expected = json!({"scenario_run_id": run, "state": "completed", "score": 1.0});
    assert_eq!(result, expected);
    assert_eq!(mcp.does("complete", json!({})).await, expected);
    let late = mcp.fails("shell", json!({"command": "true"})).await;
    assert!(late.contains("completed"), "{late}");
    boxes.end().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_told_in_plain_words() {
    let boxes = Boxes::start().await;
    let run = started(&boxes).await;
    let mcp = endpoint(&boxes, &run);
    for (tool, arguments, expected) in [
        ("shell", json!({}), "command: is required"),
        (
            "shell",
            json!({"command": "true", "timeout_seconds": 0}),
            "timeout_seconds: must be from 1 to 1800",
        ),
        (
            "write_file",
            json!({"path": "x", "contents": "y"}),
            "content: is required; contents: is not an argument of this tool; it takes path, content",
        ),
    ] {
        assert_eq!(mcp.fails(tool, arguments).await, expected, "{tool}");
    }
    let missing = mcp.fails("read_file", json!({"path": "nowhere.txt"})).await;
    assert!(missing.contains("nowhere.txt"), "{missing}");
    let slow = json!({"command": "echo begun; sleep 600", "timeout_seconds": 1});
    let slow: Value = serde_json::from_str(&mcp.fails("shell", slow).await).unwrap();
    assert_eq!(slow["error"], "killed after 1 seconds", "{slow}");
    assert_eq!(slow["stdout"], "begun\n");
    let stranger = boxes.server.foreign_key().await;
    let path = format!("/v1/scenarios/runs/{run}/mcp");
    let refused = Mcp::new(&boxes.server, path, &stranger)
        .post("tools/list", json!({}))
        .await;
    assert_eq!(refused.status, 404, "{}", refused.body);
    boxes.end().await;
}
