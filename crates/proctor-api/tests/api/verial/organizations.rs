//! `/organizations`, the operator's key, and limits where things are made.

use proctor_store::credentials::PlainKey;
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::studio::Studio;
use crate::support::{Answer, TestServer};

async fn operator_key(server: &TestServer) -> String {
    let issued = server.store.create_operator_key(None, PlainKey::Random);
    issued.await.unwrap().secret.expose_secret().to_owned()
}

async fn ask(server: &TestServer, key: &str, method: Method, path: &str, body: Value) -> Answer {
    let mut request = server.request(method, path).bearer_auth(key);
    if !body.is_null() {
        request = request.body(body.to_string());
    }
    Answer::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn an_operator_makes_organizations_lists_and_limits_them() {
    let server = TestServer::start().await;
    let operator = operator_key(&server).await;
    let body = json!({"name": "North Clinic", "limits": {"devboxes": 3, "storage_bytes": 1000}});
    let made = ask(&server, &operator, Method::POST, "/organizations", body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let limits =
        json!({"devboxes": 3, "runs": null, "storage_bytes": 1000, "requests_per_minute": null});
    assert_eq!(made.body["limits"], limits);
    let key = made.body["api_key"]["key"].as_str().unwrap();
    assert!(key.starts_with("vk_"), "{}", made.body);
    let path = format!("/organizations/{}", made.text("id"));
    let own = ask(&server, key, Method::GET, "/solvers", Value::Null).await;
    assert_eq!(own.status, 200, "the key opens the new organization");

    let listed = ask(
        &server,
        &operator,
        Method::GET,
        "/organizations",
        Value::Null,
    )
    .await;
    let names = listed.body["data"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["North Clinic", "Test Clinic"]);
    assert!(listed.body["data"][0].get("api_key").is_none());

    let body = json!({"limits": {"devboxes": null, "runs": 5, "requests_per_minute": 600}});
    let changed = ask(&server, &operator, Method::PATCH, &path, body).await;
    let limits =
        json!({"devboxes": null, "runs": 5, "storage_bytes": 1000, "requests_per_minute": 600});
    assert_eq!(changed.body["limits"], limits);
    assert_eq!(changed.body["name"], "North Clinic");
    let usage = json!({"devboxes": 0, "runs": 0, "storage_bytes": 0});
    assert_eq!(changed.body["usage"], usage);

    let more = ask(
        &server,
        &operator,
        Method::POST,
        &format!("{path}/api-keys"),
        json!({"name": "second"}),
    )
    .await;
    assert_eq!(more.status, 201, "{}", more.body);
    let second = more.text("key");
    let own = ask(&server, &second, Method::GET, "/solvers", Value::Null).await;
    assert_eq!(own.status, 200);

    for (body, field) in [
        (json!({}), "name"),
        (json!({"name": ""}), "name"),
        (
            json!({"name": "n", "limits": {"requests_per_minute": 0}}),
            "limits.requests_per_minute",
        ),
        (
            json!({"name": "n", "limits": {"devboxes": -1}}),
            "limits.devboxes",
        ),
        (
            json!({"name": "n", "limits": {"devboxes": 1.5, "storage_bytes": "much"}}),
            "limits.devboxes",
        ),
        (
            json!({"name": "n", "limits": {"devboxes": 1.5, "storage_bytes": "much"}}),
            "limits.storage_bytes",
        ),
        (json!({"name": "n", "limits": {"cpus": 1}}), "limits.cpus"),
    ] {
        let refused = ask(&server, &operator, Method::POST, "/organizations", body).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let details = &refused.body["error"]["details"];
        assert!(details.get(field).is_some(), "{field}: {details}");
    }
}

#[tokio::test]
async fn an_operator_key_is_good_for_nothing_else_and_nothing_else_is_good_for_its_routes() {
    let server = TestServer::start().await;
    let operator = operator_key(&server).await;
    let told = ask(&server, &operator, Method::GET, "/solvers", Value::Null).await;
    assert_eq!(told.body["error"]["code"], "UNAUTHORIZED");
    let told = ask(&server, &operator, Method::GET, "/v1/devboxes", Value::Null).await;
    assert_eq!(
        (told.status, &told.body["code"]),
        (401, &json!("unauthorized"))
    );
    let told = ask(
        &server,
        &server.key,
        Method::GET,
        "/organizations",
        Value::Null,
    )
    .await;
    assert_eq!(told.status, 401);
    let message = told.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("vk_op_"), "{message}");
    let document = server.read("/openapi.json").await.body;
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let Some(schemes) = operation["security"]
                .as_array()
                .filter(|all| !all.is_empty())
            else {
                continue;
            };
            let is_operators = schemes.iter().any(|one| one.get("operator_key").is_some());
            let path = path.replace(['{', '}'], "");
            let method: Method = method.to_uppercase().parse().unwrap();
            let key = if is_operators { &server.key } else { &operator };
            let answer = ask(&server, key, method.clone(), &path, json!({})).await;
            // A made-up id may be refused before anybody is asked who they are, and who shows many wrong keys has to wait.
            assert!(
                matches!(answer.status, 401 | 404 | 429),
                "{method} {path}: {} {}",
                answer.status,
                answer.body
            );
            asked += u32::from(answer.status == 401);
        }
    }
    assert!(asked > 60, "{asked}");
}

/// Sets limits of the server's own organization.
pub(crate) async fn limit(server: &TestServer, limits: Value) {
    let operator = operator_key(server).await;
    let path = format!("/organizations/{}", server.organization);
    let changed = ask(
        server,
        &operator,
        Method::PATCH,
        &path,
        json!({"limits": limits}),
    )
    .await;
    assert_eq!(changed.status, 200, "{}", changed.body);
}

#[tokio::test]
async fn an_organization_that_asks_too_often_waits_with_all_its_keys() {
    let server = TestServer::start().await;
    let second = server
        .ask(Method::POST, "/api-keys", json!({}))
        .await
        .text("key");
    limit(&server, json!({"requests_per_minute": 2})).await;
    assert_eq!(server.read("/solvers").await.status, 200);
    let other = ask(&server, &second, Method::GET, "/solvers", Value::Null).await;
    assert_eq!(other.status, 200);
    for (path, code) in [("/solvers", "/error/code"), ("/v1/accounts/me", "/code")] {
        let answer = server.get(path).bearer_auth(&second).send().await.unwrap();
        assert_eq!(answer.status(), 429);
        assert!(answer.headers().contains_key("retry-after"));
        let answer = Answer::of(answer).await;
        let code = answer.body.pointer(code).unwrap().as_str().unwrap();
        assert_eq!(code.to_ascii_uppercase(), "RATE_LIMITED");
    }
    let foreign = server.foreign_key().await;
    let other = ask(&server, &foreign, Method::GET, "/solvers", Value::Null).await;
    assert_eq!(other.status, 200, "others have limits of their own");
}

#[tokio::test]
async fn runs_are_refused_beyond_the_limit_in_both_dialects() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    limit(&server, json!({"runs": 1})).await;
    let body = json!({"benchmark_id": studio.benchmark});
    let first = server
        .ask(Method::POST, "/benchmark-runs", body.clone())
        .await;
    assert_eq!(first.status, 201, "{}", first.body);
    let refused = server
        .ask(Method::POST, "/benchmark-runs", body.clone())
        .await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert_eq!(refused.body["error"]["code"], "CONFLICT");
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("1 runs at once and has 1"), "{message}");

    let suite = json!({"name": "suite"});
    let suite = server.ask(Method::POST, "/v1/benchmarks", suite).await;
    let body_of_suite = json!({"benchmark_id": suite.text("id")});
    let refused = server
        .ask(Method::POST, "/v1/benchmarks/start_run", body_of_suite)
        .await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(refused.body["code"], "forbidden");

    let cancel = format!("/benchmark-runs/{}/cancel", first.text("benchmark_run_id"));
    assert_eq!(
        server.ask(Method::POST, &cancel, json!({})).await.status,
        200
    );
    let again = server.ask(Method::POST, "/benchmark-runs", body).await;
    assert_eq!(again.status, 201, "{}", again.body);
}

#[tokio::test]
async fn bytes_are_refused_beyond_the_limit_and_leave_nothing_behind() {
    let server = TestServer::start().await;
    limit(&server, json!({"storage_bytes": 10})).await;
    let upload = async |bytes: &'static str| {
        let new = json!({"name": "notes", "content_type": "text"});
        let object = server.ask(Method::POST, "/v1/objects", new).await;
        let url = object.text("upload_url");
        let sent = server.client.put(url).body(bytes).send().await.unwrap();
        (object.text("id"), Answer::of(sent).await)
    };
    let (first, taken) = upload("123456").await;
    assert!(taken.status < 300, "{}", taken.body);
    let (_, refused) = upload("12345").await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let message = refused.body["message"].as_str().unwrap();
    assert!(
        message.contains("may store 10 bytes and stores 6"),
        "{message}"
    );
    let deleted = server
        .ask(
            Method::POST,
            &format!("/v1/objects/{first}/delete"),
            json!({}),
        )
        .await;
    assert_eq!(deleted.status, 200, "{}", deleted.body);
    let (_, taken) = upload("1234567890").await;
    assert!(taken.status < 300, "{}", taken.body);
}
