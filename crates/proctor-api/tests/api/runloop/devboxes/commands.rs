use proctor_testkit::eventually;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::Boxes;

const ID: &str = "0190f5c0-0000-7000-8000-000000000001";

#[tokio::test]
async fn a_command_is_run_once_for_its_id_and_shown_with_its_last_lines() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    let body = json!({"command": "seq 1 300; echo oops >&2; echo x >>times; exit 5", "command_id": ID, "shell_name": null});
    let first = boxes.execute(&path, body.clone()).await;
    assert_eq!(
        (
            &first["execution_id"],
            &first["status"],
            &first["exit_status"]
        ),
        (&json!(ID), &json!("completed"), &json!(5))
    );
    assert!(first["stdout"].as_str().unwrap().starts_with("201\n"));
    assert_eq!(
        (
            &first["stdout_truncated"],
            &first["stderr"],
            &first["stderr_truncated"]
        ),
        (&json!(true), &json!("oops\n"), &json!(false))
    );
    let again = boxes.post(&format!("{path}/execute?last_n=2"), body).await;
    assert_eq!(again["stdout"], "299\n300\n");
    let shown = boxes.get(&format!("{path}/executions/{ID}?last_n=1")).await;
    assert_eq!(shown["stdout"], "300\n");
    let times = boxes
        .post(
            &format!("{path}/execute_sync"),
            json!({"command": "cat times"}),
        )
        .await;
    assert_eq!(
        (&times["stdout"], &times["exit_status"]),
        (&json!("x\n"), &json!(0))
    );
    boxes.end().await;
}

#[tokio::test]
async fn a_command_can_be_waited_for_fed_interrupted_and_killed() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    let start = async |command: &str| -> String {
        let body = json!({"command": command, "attach_stdin": true});
        let begun = boxes.post(&format!("{path}/execute_async"), body).await;
        assert_eq!(begun["status"], "running", "{begun}");
        format!(
            "{path}/executions/{}",
            begun["execution_id"].as_str().unwrap()
        )
    };
    let cat = start("cat; echo over").await;
    let wait = format!("{cat}/wait_for_status?last_n=50");
    assert_eq!(
        boxes.post(&wait, json!({"statuses": ["running"]})).await["status"],
        "running"
    );
    let (status, _) = boxes
        .refused(
            &wait,
            json!({"statuses": ["completed"], "timeout_seconds": 0.05}),
        )
        .await;
    assert_eq!(status, 408);
    let sent = boxes
        .post(&format!("{cat}/send_std_in"), json!({"text": "fed\n"}))
        .await;
    assert_eq!(sent["success"], true);
    boxes
        .post(&format!("{cat}/send_std_in"), json!({"signal": "EOF"}))
        .await;
    let done = boxes
        .post(
            &wait,
            json!({"statuses": ["completed"], "timeout_seconds": 25}),
        )
        .await;
    assert_eq!(
        (&done["stdout"], &done["exit_status"]),
        (&json!("fed\nover\n"), &json!(0))
    );
    let late = boxes
        .post(&format!("{cat}/send_std_in"), json!({"text": "late"}))
        .await;
    assert_eq!(late["success"], false);

    let sleeper = start("sleep 1000").await;
    boxes
        .post(
            &format!("{sleeper}/send_std_in"),
            json!({"signal": "INTERRUPT"}),
        )
        .await;
    let done = boxes
        .post(
            &format!("{sleeper}/wait_for_status"),
            json!({"statuses": ["completed"]}),
        )
        .await;
    assert_eq!(done["exit_status"], 130);
    let stubborn = start("trap '' TERM INT; sleep 1000").await;
    let killed = boxes
        .post(
            &format!("{stubborn}/kill"),
            json!({"kill_process_group": true}),
        )
        .await;
    assert_eq!(
        (&killed["status"], &killed["exit_status"]),
        (&json!("completed"), &json!(137))
    );
    assert_eq!(
        boxes.post(&format!("{stubborn}/kill"), json!({})).await["exit_status"],
        137
    );
    boxes.end().await;
}

#[tokio::test]
async fn a_stream_adds_up_to_the_output_and_goes_on_from_any_offset() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    let body = json!({"command": "for i in $(seq 1 40); do echo \"Zeile $i: äöü\"; sleep 0.01; done; echo end >&2"});
    let begun = boxes.post(&format!("{path}/execute_async"), body).await;
    let execution = format!(
        "{path}/executions/{}",
        begun["execution_id"].as_str().unwrap()
    );
    let whole = boxes
        .events(&format!("{execution}/stream_stdout_updates"))
        .await;
    let text = |events: &[Value]| -> String {
        events
            .iter()
            .map(|event| event["output"].as_str().unwrap())
            .collect()
    };
    let all = text(&whole);
    assert_eq!(all.lines().count(), 40);
    assert_eq!(
        whole.last().unwrap()["offset"].as_u64(),
        Some(all.len() as u64)
    );
    let middle = whole[whole.len() / 2]["offset"].as_u64().unwrap();
    let rest = boxes
        .events(&format!(
            "{execution}/stream_stdout_updates?offset={middle}"
        ))
        .await;
    assert_eq!(text(&rest), all[usize::try_from(middle).unwrap()..]);
    let end = all.len();
    assert_eq!(
        boxes
            .events(&format!("{execution}/stream_stdout_updates?offset={end}"))
            .await,
        [] as [Value; 0]
    );
    assert_eq!(
        text(
            &boxes
                .events(&format!("{execution}/stream_stderr_updates"))
                .await
        ),
        "end\n"
    );

    // Also when the devbox is no more.
    boxes.post(&format!("{path}/shutdown"), json!({})).await;
    eventually("no devbox is live", async || {
        boxes.fleet.live_devboxes() == 0
    })
    .await;
    assert_eq!(
        text(
            &boxes
                .events(&format!("{execution}/stream_stdout_updates"))
                .await
        ),
        all
    );
    boxes.end().await;
}

#[tokio::test]
async fn named_shells_remember_and_logs_tell_without_secrets() {
    let boxes = Boxes::start().await;
    boxes
        .post(
            "/v1/secrets",
            json!({"name": "PASSWORD", "value": "s3cr3t-value"}),
        )
        .await;
    let path = boxes
        .running(json!({"secrets": {"DB_PASS": "PASSWORD"}}))
        .await;
    let shell = async |command: &str| {
        boxes
            .execute(&path, json!({"command": command, "shell_name": "main"}))
            .await
    };
    shell("cd /tmp; export MODE=fast").await;
    let said = shell("pwd; echo $MODE $DB_PASS").await;
    assert_eq!(
        (&said["stdout"], &said["shell_name"]),
        (&json!("/tmp\nfast s3cr3t-value\n"), &json!("main"))
    );
    boxes
        .execute(&path, json!({"command": "echo elsewhere"}))
        .await;

    let logs = boxes.get(&format!("{path}/logs?shell_name=main")).await;
    let told = logs.to_string();
    assert!(
        told.contains("fast ********") && !told.contains("elsewhere") && !told.contains("s3cr3t"),
        "{told}"
    );
    let id = said["execution_id"].as_str().unwrap();
    let logs = boxes.get(&format!("{path}/logs?execution_id={id}")).await;
    let kinds: Vec<_> = logs["logs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|log| {
            (
                log["cmd"].is_string(),
                log["message"].as_str().unwrap_or(""),
                log["exit_code"].as_i64(),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            (true, "", None),
            (false, "/tmp", None),
            (false, "fast ********", None),
            (false, "", Some(0))
        ]
    );
    assert!(!boxes.get(&path).await.to_string().contains("s3cr3t"));
    let (tail, shutdown) = (format!("{path}/logs/tail"), format!("{path}/shutdown"));
    let (events, _) = tokio::join!(boxes.events(&tail), boxes.post(&shutdown, json!({})));
    assert!(
        events.iter().any(|event| event["message"] == "elsewhere"),
        "{events:?}"
    );
    boxes.end().await;
}

#[tokio::test]
async fn the_same_request_id_starts_one_command() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    let request = || {
        boxes
            .server
            .own(Method::POST, &format!("{path}/execute"))
            .header("x-request-id", "only-once-please")
            .body(json!({"command": "echo x >>times"}).to_string())
    };
    let (first, second) = tokio::join!(boxes.answer(request()), boxes.answer(request()));
    assert_eq!((first.status, &first.body), (200, &second.body));
    assert_eq!(
        boxes.execute(&path, json!({"command": "cat times"})).await["stdout"],
        "x\n"
    );
    boxes.end().await;
}

#[tokio::test]
async fn a_refusal_that_passes_is_not_kept_for_the_request_id() {
    let boxes = Boxes::start().await;
    let slow = json!({"launch_parameters": {"launch_commands": ["sleep 0.5"]}});
    let made = boxes.post("/v1/devboxes", slow).await;
    let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
    let request = || {
        boxes
            .server
            .own(Method::POST, &format!("{path}/execute"))
            .header("x-request-id", "too-early")
            .body(json!({"command": "echo x >>times; cat times"}).to_string())
    };
    let early = boxes.answer(request()).await;
    assert_eq!(early.status, 400, "{}", early.body);
    let wait = format!("{path}/wait_for_status");
    let statuses = json!({"statuses": ["running", "failure"]});
    let ready = boxes.post(&wait, statuses).await;
    assert_eq!(ready["status"], "running", "{ready}");
    let late = boxes.answer(request()).await;
    assert_eq!(late.status, 200, "{}", late.body);
    assert_eq!(late.body["stdout"], "x\n");
    assert_eq!(boxes.answer(request()).await.body, late.body);
    boxes.end().await;
}
