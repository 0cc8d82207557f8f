//! A task is taken through the Model Context Protocol alone.

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::{Clinic, ORM, Run};
use crate::mcp::Mcp;

fn endpoint<'c>(run: &Run<'c>, number: usize) -> Mcp<'c> {
    let path = format!("/v1/task-runs/{}/mcp", run.task_runs[number]);
    Mcp::new(&run.clinic.server, path, &run.token)
}

#[tokio::test]
async fn a_task_is_solved_with_tools_alone_and_every_call_is_an_event() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let mcp = endpoint(&run, 0);
    insta::assert_snapshot!("tools", mcp.tools().await.join("\n"));
    let prompt = mcp.ask("prompts/get", json!({"name": "task"})).await;
    let said = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.starts_with("A referral came in by fax."), "{said}");

    let faxes = mcp.does("fax_list", json!({"direction": "inbound"})).await;
    assert_eq!(faxes["data"][0]["text"], "Referral for Ada Ray");
    let inbox = mcp.does("hl7_inbox", json!({})).await;
    assert_eq!(inbox["data"][0]["message_control_id"], "LAB1");
    let files = mcp.does("files_list", json!({"directory": "inbox"})).await;
    assert_eq!(files["data"][0]["path"], "inbox/referral.txt");
    let read = json!({"path": "inbox/referral.txt"});
    assert_eq!(mcp.does("files_read", read).await, "see fax");
    let patient = json!({"resource_type": "Patient", "id": "ada"});
    assert_eq!(mcp.does("fhir_read", patient).await["id"], "ada");

    let visit = json!({"resourceType": "Appointment", "status": "proposed", "participant": [
        {"actor": {"display": "Dr. Rivera"}, "status": "accepted"},
        {"actor": {"reference": "Patient/ada"}, "status": "accepted"}]});
    let create = json!({"resource_type": "Appointment", "resource": visit});
    let made = mcp.does("fhir_create", create).await;
    let patch = json!({"resource_type": "Appointment", "id": made["id"],
        "patch": [{"op": "replace", "path": "/status", "value": "booked"}]});
    assert_eq!(mcp.does("fhir_patch", patch).await["status"], "booked");
    let search = json!({"resource_type": "Appointment",
        "parameters": {"patient": "Patient/ada", "status": ["booked"]}});
    assert_eq!(mcp.does("fhir_search", search).await["total"], 1);

    let sent = mcp.does("hl7_send", json!({"payload": ORM})).await;
    assert_eq!(sent["ack_code"], "AA");
    let draft = json!({"patient_member_id": "BCB123456789", "provider_npi": "1234567893",
        "procedure_code": "72148", "status": "draft"});
    let draft = mcp.does("portal_create_prior_auth", draft).await;
    let codes = json!({"id": draft["request_id"], "diagnosis_codes": ["M54.5"]});
    mcp.does("portal_update_prior_auth", codes).await;
    let submit = json!({"id": draft["request_id"]});
    let submitted = mcp.does("portal_submit_prior_auth", submit).await;
    assert_eq!(submitted["determination"]["status"], "approved");
    let claim =
        json!({"path": "outbound/claims/1.json", "content": "{\"claim\": {\"total\": 240.50}}"});
    mcp.does("files_write", claim).await;
    let call = mcp.does("voice_call", json!({})).await["call_id"].clone();
    for text in ["Prior auth please", "The member ID is BCB123456789"] {
        mcp.does("voice_say", json!({"call_id": call, "text": text}))
            .await;
    }
    mcp.does("voice_hang_up", json!({"call_id": call})).await;
    let covered = mcp
        .does("clearinghouse_eligibility", json!({"patient_id": "ada"}))
        .await;
    assert_eq!(covered["transaction"], "271", "{covered}");

    let result = mcp.does("complete", json!({})).await;
    assert_eq!(result["score"], 1.0, "{result}");
    assert_eq!(result["verdict"], "pass");
    assert_eq!(mcp.does("complete", json!({})).await["score"], 1.0);
    let late = mcp.fails("fax_list", json!({})).await;
    assert!(late.contains("completed"), "{late}");

    let path = format!("/task-runs/{}/events?limit=100", run.task_runs[0]);
    let events = clinic.server.read(&path).await;
    let kinds: Vec<&str> = events.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    for kind in [
        "fax_request",
        "hl7_request",
        "file_list",
        "file_read",
        "hl7_outbound",
        "portal_request",
        "file_write",
        "voice_turn",
        "x12_exchange",
    ] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_told_in_plain_words() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let mcp = endpoint(&run, 0);
    let unknown = mcp
        .post("tools/call", json!({"name": "fax_sned", "arguments": {}}))
        .await;
    let message = unknown.body["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("there is no tool 'fax_sned'; the tools are fhir_search, "));
    for (tool, arguments, expected) in [
        (
            "fhir_read",
            json!({"resource_type": "Patient"}),
            "id: is required",
        ),
        (
            "fhir_read",
            json!({"resource_type": 5, "id": "ada", "colour": 1}),
            "resource_type: must be a text; colour: is not an argument of this tool; it takes resource_type, id",
        ),
        (
            "complete",
            json!({"score": 1}),
            "score: is not an argument of this tool, which takes none",
        ),
        (
            "portal_prior_auths",
            json!({"status": "lost"}),
            "status: must be one of draft, submitted, pending, approved, denied, need_more_info",
        ),
    ] {
        assert_eq!(mcp.fails(tool, arguments).await, expected, "{tool}");
    }
    // What only the simulator knows, it says in its own shape.
    let missing = json!({"resource_type": "Patient", "id": "nobody"});
    let missing: Value = serde_json::from_str(&mcp.fails("fhir_read", missing).await).unwrap();
    assert_eq!(missing["resourceType"], "OperationOutcome");
    let empty: Value = serde_json::from_str(
        &mcp.fails(
            "fax_send",
            json!({"patient_id": "ada",
        "to_number": "+1 555 0100", "document_type": "referral"}),
        )
        .await,
    )
    .unwrap();
    assert_eq!(empty["error"]["code"], "VALIDATION_ERROR");
}

#[tokio::test]
async fn the_endpoint_is_open_for_the_taker_of_a_started_task_run_only() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    let other = clinic.begin_open().await;
    let early = endpoint(&run, 0).post("tools/list", json!({})).await;
    assert_eq!(early.status, 409, "{}", early.body);
    assert_eq!(early.body["error"]["code"], "CONFLICT");
    run.start(0).await;
    let path = format!("/v1/task-runs/{}/mcp", run.task_runs[0]);
    let server = &clinic.server;
    for (token, status) in [
        (other.token.as_str(), 404),
        (server.key.as_str(), 401),
        (clinic.solver_key.as_str(), 401),
        ("vrl_run_nobody", 401),
    ] {
        let refused = Mcp::new(server, path.clone(), token)
            .post("tools/list", json!({}))
            .await;
        assert_eq!(refused.status, status, "{}", refused.body);
    }
    for body in [json!({"hello": "world"}), json!([]), json!("tools/list")] {
        let wrong = run.ask(Method::POST, &path, body).await;
        assert_eq!(wrong.status, 400, "{}", wrong.body);
        let said = wrong.body["error"]["message"].as_str().unwrap();
        assert!(said.starts_with("this is not a message of the Model Context Protocol"));
    }
    let got = run.ask(Method::GET, &path, Value::Null).await;
    assert_eq!(got.status, 405, "{}", got.body);
}
