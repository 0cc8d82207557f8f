//! Playgrounds and sandboxes, of runs and by themselves.

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::{Clinic, make};
use crate::support::{Answer, TestServer};

#[tokio::test]
async fn everything_in_a_sandbox_is_an_event() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.solve().await;
    run.complete(0).await;
    let server = &clinic.server;
    let mut told = Vec::new();
    for sandbox in run.created.body["sandboxes"].as_array().unwrap() {
        let id = sandbox["id"].as_str().unwrap();
        let events = server
            .read(&format!("/sandboxes/{id}/events?limit=100"))
            .await;
        assert_eq!(events.status, 200, "{}", events.body);
        for event in events.body["data"].as_array().unwrap().iter().rev() {
            assert_eq!(event["sandbox_id"], id);
            told.push(format!(
                "{}: {} {} {}",
                sandbox["type"].as_str().unwrap(),
                event["seq"],
                event["direction"].as_str().unwrap(),
                event["type"].as_str().unwrap(),
            ));
        }
    }
    insta::assert_snapshot!("events", told.join("\n"));
    let fhir = run.created.body["sandboxes"][0]["id"].as_str().unwrap();
    let newest = server
        .read(&format!("/sandboxes/{fhir}/events?limit=1"))
        .await;
    insta::assert_snapshot!("fhir_event", newest.shape());
}

#[tokio::test]
async fn the_events_of_a_task_run_are_those_of_all_its_sandboxes_in_order() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    let server = &clinic.server;
    let path = format!("/task-runs/{}/events", run.task_runs[0]);
    let read = async |query: &str| {
        let answer = server.read(&format!("{path}{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    };
    assert_eq!(read("").await["data"], json!([]), "nobody began it");
    run.start(0).await;
    run.solve().await;
    run.complete(0).await;
    let all = read("?limit=100").await["data"].clone();
    let all = all.as_array().unwrap();
    let mut by_sandbox = 0;
    for sandbox in run.created.body["sandboxes"].as_array().unwrap() {
        let id = sandbox["id"].as_str().unwrap();
        let events = server
            .read(&format!("/sandboxes/{id}/events?limit=100"))
            .await;
        let of_sandbox = events.body["data"].as_array().unwrap().clone();
        let ids = |events: &[Value]| -> Vec<Value> {
            events.iter().map(|event| event["id"].clone()).collect()
        };
        let here: Vec<Value> = all
            .iter()
            .filter(|event| event["sandbox_id"] == id)
            .cloned()
            .collect();
        assert_eq!(ids(&here), ids(&of_sandbox), "{sandbox}");
        by_sandbox += of_sandbox.len();
    }
    assert_eq!(all.len(), by_sandbox);
    let places: Vec<u64> = all.iter().map(|one| one["seq"].as_u64().unwrap()).collect();
    let newest_first: Vec<u64> = (0..all.len() as u64).rev().collect();
    assert_eq!(places, newest_first);
    let first = read("?limit=2").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = read(&format!("?limit=2&cursor={cursor}")).await;
    assert_eq!(second["data"].as_array().unwrap()[..], all[2..4]);
    assert_eq!(server.read(&format!("{path}?limti=2")).await.status, 400);
    let foreign = server.foreign_key().await;
    let hidden = server.get(&path).bearer_auth(foreign).send().await.unwrap();
    assert_eq!(hidden.status(), 404);
}

#[tokio::test]
async fn a_playground_lives_by_itself() {
    let clinic = Clinic::open(1, 1).await;
    let server = &clinic.server;
    let made = server
        .ask(
            Method::POST,
            "/playgrounds",
            json!({"environment_id": clinic.environment}),
        )
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    insta::assert_snapshot!("playground", made.shape());
    let path = format!("/playgrounds/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);
    let fhir = made.body["sandboxes"][0]["id"].as_str().unwrap().to_owned();
    let patient = server
        .read(&format!("/sandboxes/{fhir}/fhir/Patient/ada"))
        .await;
    assert_eq!((patient.status, patient.text("id").as_str()), (200, "ada"));
    let by_other_name = server
        .read(&format!("/services/{fhir}/fhir/Patient/ada"))
        .await;
    assert_eq!(by_other_name.status, 200);
    let more = json!([{"resourceType": "Patient", "id": "bob"}]);
    let more = json!({"name": "more", "type": "FHIR", "data": more});
    let dataset = make(server, "/datasets", more).await;
    let attach = format!("/sandboxes/{fhir}/datasets/{dataset}");
    assert_eq!(
        server.ask(Method::POST, &attach, json!({})).await.status,
        204
    );
    let bob = format!("/sandboxes/{fhir}/fhir/Patient/bob");
    assert_eq!(server.read(&bob).await.status, 200);
    assert_eq!(
        server.ask(Method::DELETE, &attach, json!({})).await.status,
        204
    );
    assert_eq!(server.read(&bob).await.status, 410);
    let teardown = server
        .ask(Method::POST, &format!("{path}/teardown"), json!({}))
        .await;
    assert_eq!(teardown.text("status"), "torn_down");
    let write = server
        .ask(
            Method::PUT,
            &bob,
            json!({"resourceType": "Patient", "id": "bob"}),
        )
        .await;
    assert_eq!(write.status, 409, "{}", write.body);
    let events = server.read(&format!("/sandboxes/{fhir}/events")).await;
    assert!(events.body["data"].as_array().unwrap().len() >= 5);
}

#[tokio::test]
async fn a_sandbox_of_one_simulator_has_a_token_endpoint_of_its_own() {
    let clinic = Clinic::open(1, 1).await;
    let server = &clinic.server;
    let simulator = make(
        server,
        "/simulators",
        json!({"type": "fhir", "name": "Lone EHR"}),
    )
    .await;
    let made = server
        .ask(
            Method::POST,
            "/sandboxes",
            json!({"simulator_id": simulator}),
        )
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    let base = format!("/sandboxes/{}/fhir", made.text("id"));
    let open = server
        .get(&format!("{base}/metadata"))
        .send()
        .await
        .unwrap();
    assert_eq!(open.status(), 200);
    let closed = server.get(&format!("{base}/Patient")).send().await.unwrap();
    assert_eq!(closed.status(), 401);
    let well_known = server
        .get(&format!("{base}/.well-known/smart-configuration"))
        .send()
        .await
        .unwrap();
    let well_known: Value = well_known.json().await.unwrap();
    let token_endpoint = clinic.server.url(&format!("{base}/token"));
    assert_eq!(well_known["token_endpoint"], token_endpoint);
    let credentials = &made.body["credentials"];
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", credentials["client_id"].as_str().unwrap()),
        (
            "client_secret",
            credentials["client_secret"].as_str().unwrap(),
        ),
    ];
    let form = form
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join("&");
    let token = server
        .post(&format!("{base}/token"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form)
        .send()
        .await
        .unwrap();
    let token: Value = token.json().await.unwrap();
    let read = server
        .get(&format!("{base}/Patient"))
        .bearer_auth(token["access_token"].as_str().unwrap())
        .send()
        .await
        .unwrap();
    assert_eq!(read.status(), 200);
    let list = server.read("/sandboxes").await;
    assert!(!list.body["data"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_world_is_closed_to_strangers() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let door = run.created.body["sandboxes"][1]["id"].as_str().unwrap();
    let path = format!("/sandboxes/{door}/hl7/inbox");
    let ask = async |key: &str| {
        let request = clinic.server.get(&path).bearer_auth(key);
        Answer::of(request.send().await.unwrap()).await.status
    };
    assert_eq!(ask(&run.token).await, 200);
    assert_eq!(ask(&clinic.server.key).await, 200);
    assert_eq!(ask(&clinic.solver_key).await, 404);
    assert_eq!(ask(&clinic.server.foreign_key().await).await, 404);
    let other = clinic.begin_open().await;
    assert_eq!(ask(&other.token).await, 404);
    for path in [
        "/sandboxes/sbx_1",
        "/playgrounds/pg_1",
        "/sandboxes/sbx_1/fhir/Patient",
    ] {
        assert_eq!(clinic.server.read(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn browsers_reach_the_portals_pages_and_nothing_else() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let ask = async |path: &str| {
        let path = format!("/v1/benchmark-runs/{}/{path}", run.id);
        let request = clinic.server.get(&path).header("accept", "text/html");
        Answer::of(request.send().await.unwrap()).await.status
    };
    assert_eq!(ask("portal/login").await, 200);
    for closed in [
        "portal/prior-auths",
        "portal/prior%2Dauths",
        "portal//prior-auths",
        "portal/patients",
        "fhir/Patient",
        "files",
    ] {
        assert_eq!(ask(closed).await, 401, "{closed}");
    }
    let request = clinic
        .server
        .get(&format!("/v1/benchmark-runs/{}/portal/login", run.id))
        .bearer_auth("vk_of-somebody-else");
    let answer = Answer::of(request.send().await.unwrap()).await;
    assert_eq!(
        answer.status, 401,
        "a wrong credential is not the same as none"
    );
}

#[tokio::test]
async fn bad_requests_to_sandboxes_are_told_and_lose_nothing() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let raw = async |method: Method, path: &str, body: Vec<u8>| {
        let path = format!("/v1/benchmark-runs/{}/{path}", run.id);
        let request = run.request(method, &path).body(body);
        Answer::of(request.send().await.unwrap()).await.status
    };
    for (status, method, path, body) in [
        (400, Method::POST, "hl7/outbound", b"{".to_vec()),
        (400, Method::POST, "hl7/outbound", b"\xff\xfe".to_vec()),
        (400, Method::POST, "portal/prior-auths", b"[]".to_vec()),
        (400, Method::POST, "portal/prior-auths", b"{}".to_vec()),
        (400, Method::PUT, "files/%2e%2e/etc/passwd", b"x".to_vec()),
        (400, Method::PUT, "files/a/%2e%2e/%2e%2e/b", b"x".to_vec()),
        (
            400,
            Method::POST,
            "voice/calls/x/turns",
            b"{\"text\":5}".to_vec(),
        ),
        (
            400,
            Method::POST,
            "clearinghouse/eligibility",
            b"{}".to_vec(),
        ),
        (404, Method::GET, "faxes/none", Vec::new()),
        (405, Method::DELETE, "hl7/inbox", Vec::new()),
        (400, Method::POST, "fhir/Patient", b"{".to_vec()),
        (404, Method::GET, "fhir/Patient/none", Vec::new()),
    ] {
        let answered = raw(method, path, body).await;
        let is_close = answered == status || (status == 400 && matches!(answered, 404 | 422));
        assert!(is_close, "{path}: {answered}");
    }
    assert_eq!(run.complete(0).await.status, 200);
}

#[tokio::test]
async fn a_store_answers_with_the_address_that_was_asked() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let sandboxes = run.created.body["sandboxes"].as_array().unwrap();
    let fhir = sandboxes.iter().find(|one| one["type"] == "Fhir").unwrap();
    let bases = [
        format!("/v1/benchmark-runs/{}", run.id),
        format!("/v1/task-runs/{}", run.task_runs[0]),
        format!("/sandboxes/{}", fhir["id"].as_str().unwrap()),
        format!("/services/{}", fhir["id"].as_str().unwrap()),
    ];
    let mut written = Vec::new();
    for base in &bases {
        let address = clinic.server.url(&format!("{base}/fhir"));
        let smart = run
            .ask(
                Method::GET,
                &format!("{base}/fhir/.well-known/smart-configuration"),
                Value::Null,
            )
            .await;
        if smart.status == 200 {
            assert_eq!(smart.body["token_endpoint"], format!("{address}/token"));
        }
        let patient = json!({"resourceType": "Observation", "status": "final",
            "code": {"text": "weight"}, "subject": {"reference": format!("{address}/Patient/ada")}});
        let made = run
            .request(Method::POST, &format!("{base}/fhir/Observation"))
            .header("content-type", "application/fhir+json")
            .body(patient.to_string());
        let made = made.send().await.unwrap();
        assert_eq!(made.status(), 201, "{base}");
        let location = made.headers()["location"].to_str().unwrap().to_owned();
        assert!(
            location.starts_with(&format!("{address}/Observation/")),
            "{location}"
        );
        let made: Value = made.json().await.unwrap();
        written.push(made["id"].as_str().unwrap().to_owned());
        let read = run
            .ask(
                Method::GET,
                location.strip_prefix(&clinic.server.url("")).unwrap(),
                Value::Null,
            )
            .await;
        assert_eq!(
            read.body["subject"]["reference"],
            format!("{address}/Patient/ada")
        );

        let search = format!("{base}/fhir/Observation?subject={address}/Patient/ada");
        let found = run.ask(Method::GET, &search, Value::Null).await;
        assert_eq!(found.body["total"], written.len(), "{}", found.body);
        for entry in found.body["entry"].as_array().unwrap() {
            let full_url = entry["fullUrl"].as_str().unwrap();
            assert!(
                full_url.starts_with(&format!("{address}/Observation/")),
                "{full_url}"
            );
        }
        let own = found.body["link"][0]["url"].as_str().unwrap();
        assert!(own.starts_with(&format!("{address}/Observation")), "{own}");
        let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": [
            {"request": {"method": "GET", "url": format!("{address}/Patient/ada")}}]});
        let batch = run
            .request(Method::POST, &format!("{base}/fhir"))
            .header("content-type", "application/fhir+json")
            .body(bundle.to_string());
        let batch: Value = batch.send().await.unwrap().json().await.unwrap();
        assert_eq!(batch["entry"][0]["resource"]["id"], "ada", "{batch}");
    }
}

#[tokio::test]
async fn a_file_that_a_scenario_drops_into_the_inbox_may_name_it() {
    let clinic = Clinic::open(1, 1).await;
    let tasks = clinic.server.read("/tasks").await;
    let task = format!("/tasks/{}", tasks.body["data"][0]["id"].as_str().unwrap());
    let scenario = json!({"scenario": [
        {"type": "drop_file_inbox", "path": "inbox/referral.txt", "content": "see fax"}]});
    clinic.server.ask(Method::PATCH, &task, scenario).await;
    let publish = format!("/benchmarks/{}/publish", clinic.benchmark);
    clinic
        .server
        .ask(Method::POST, &publish, json!({"slug": "clinic-day"}))
        .await;
    let run = clinic.begin(json!({"benchmark": "clinic-day@2"})).await;
    run.start(0).await;
    let inbox = run.sandbox(Method::GET, "files/inbox", Value::Null).await;
    assert_eq!(
        inbox.body["data"][0]["path"], "inbox/referral.txt",
        "{}",
        inbox.body
    );
}

#[tokio::test]
async fn a_list_of_a_simulator_refuses_parameters_that_it_does_not_know() {
    let server = TestServer::start().await;
    let environment = make(&server, "/environments", json!({"name": "everything"})).await;
    for kind in [
        "Fax", "Message", "Files", "Voice", "Hl7", "Payer", "CdsHooks",
    ] {
        let body = json!({"type": kind, "name": kind});
        let simulator = make(&server, "/simulators", body).await;
        let path = format!("/environments/{environment}/simulators/{simulator}");
        let linked = server.ask(Method::POST, &path, json!({})).await;
        assert!(linked.status < 300, "{}", linked.body);
    }
    let body = json!({"environment_id": environment});
    let made = server.ask(Method::POST, "/playgrounds", body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let sandbox = |kind: &str| {
        let sandboxes = made.body["sandboxes"].as_array().unwrap();
        let found = sandboxes.iter().find(|one| one["type"] == kind);
        let found = found.unwrap_or_else(|| panic!("no {kind}: {}", made.body));
        found["id"].as_str().unwrap().to_owned()
    };
    for (kind, path, known) in [
        ("Fax", "faxes", "direction=inbound"),
        ("Message", "messages", "channel=sms"),
        ("Files", "files", ""),
        ("Voice", "voice/calls", ""),
        ("Voice", "voice/voicemails", ""),
        ("Hl7", "hl7/inbox", "message_type=ORU"),
        ("Hl7", "hl7/outbound", "message_type=ORM"),
        ("Payer", "portal/prior-auths", "status=draft"),
        ("Payer", "portal/patients", "last_name=ray"),
        ("Payer", "portal/providers", "name=rivera"),
        ("CdsHooks", "cds-services", ""),
    ] {
        let path = format!("/sandboxes/{}/{path}", sandbox(kind));
        let seen = server.read(&format!("{path}?{known}")).await;
        assert_eq!(seen.status, 200, "{path}?{known}: {}", seen.body);
        let refused = server.read(&format!("{path}?{known}&colour=green")).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.body);
        let details = refused.body["error"]["details"].as_object().unwrap();
        assert!(details.contains_key("colour"), "{path}: {details:?}");
    }
}
