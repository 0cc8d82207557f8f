//! Who is let in, and what the others are told.

use std::time::Duration;

use proctor_core::{id::kinds::RunId, time::Clock as _};
use proctor_store::credentials::{KeyOwner, PlainKey};
use reqwest::{Method, header::AUTHORIZATION};
use rstest::rstest;
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::support::{Answer, TestServer, shape};

#[rstest]
#[case("missing", None)]
#[case("no_scheme", Some("vk_abc"))]
#[case("basic", Some("Basic dXNlcjpwYXNz"))]
#[case("empty", Some("Bearer  "))]
#[case("unknown", Some("Bearer vk_nobody-made-this-key"))]
#[tokio::test]
async fn without_a_good_credential_it_is_401_in_the_dialects_shape(
    #[case] name: &str,
    #[case] header: Option<&str>,
) {
    let server = TestServer::start().await;
    for (dialect, path) in [("verial", "/solvers"), ("runloop", "/v1/secrets")] {
        let mut request = server.get(path);
        if let Some(header) = header {
            request = request.header(AUTHORIZATION, header);
        }
        let answer = shape(request.send().await.unwrap()).await;
        insta::assert_snapshot!(format!("{name}_{dialect}"), answer);
    }
}

#[tokio::test]
async fn a_header_that_is_not_text_is_401() {
    let server = TestServer::start().await;
    let answer = server
        .get("/solvers")
        .header(AUTHORIZATION, &b"Bearer \xff"[..])
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 401);
}

#[tokio::test]
async fn the_scheme_is_read_in_any_case() {
    let server = TestServer::start().await;
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let answer = server
            .get("/v1/accounts/me")
            .header(AUTHORIZATION, format!("{scheme} {}", server.key))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 200, "{scheme}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_told_so() {
    let server = TestServer::start().await;
    let made = server.ask(Method::POST, "/api-keys", json!({})).await;
    let revoked = server
        .own(Method::DELETE, &format!("/api-keys/{}", made.text("id")))
        .send()
        .await
        .unwrap();
    assert_eq!(revoked.status(), 204);
    let answer = server
        .get("/solvers")
        .bearer_auth(made.text("key"))
        .send()
        .await
        .unwrap();
    insta::assert_snapshot!("revoked", shape(answer).await);
}

#[tokio::test]
async fn an_expired_token_is_told_so() {
    let server = TestServer::start().await;
    let token = server
        .store
        .issue_run_token(
            server.organization,
            RunId::from_uuid(uuid::Uuid::from_u128(9)),
            server.clock.now().plus(Duration::from_secs(60)),
        )
        .await
        .unwrap();
    let ask = async || {
        let request = server.get("/solvers");
        let request = request.bearer_auth(token.secret.expose_secret());
        Answer::of(request.send().await.unwrap()).await
    };
    insta::assert_snapshot!("run_token_where_a_key_belongs", ask().await.shape());
    server.clock.advance(Duration::from_secs(60));
    insta::assert_snapshot!("expired", ask().await.shape());
}

#[tokio::test]
async fn a_solver_key_does_not_open_management_routes() {
    let server = TestServer::start().await;
    let solver = server
        .ask(Method::POST, "/solvers", crate::verial::solver("ada"))
        .await;
    let id = solver.text("id").parse().unwrap();
    let issued = server
        .store
        .create_key(
            server.organization,
            KeyOwner::Solver(id),
            None,
            PlainKey::Random,
        )
        .await
        .unwrap()
        .unwrap();
    for (dialect, path) in [("verial", "/solvers"), ("runloop", "/v1/accounts/me")] {
        let request = server.get(path).bearer_auth(issued.secret.expose_secret());
        let answer = shape(request.send().await.unwrap()).await;
        insta::assert_snapshot!(format!("solver_key_{dialect}"), answer);
    }
}

#[tokio::test]
async fn nothing_of_another_organization_can_be_seen() {
    let server = TestServer::start().await;
    let solver = server
        .ask(Method::POST, "/solvers", crate::verial::solver("ada"))
        .await;
    server
        .ask(
            Method::POST,
            "/v1/secrets",
            json!({"name": "TOKEN", "value": "x"}),
        )
        .await;
    let foreign = server.foreign_key().await;
    for path in [
        &format!("/solvers/{}", solver.text("id")),
        "/v1/secrets/TOKEN",
    ] {
        let answer = server.get(path).bearer_auth(&foreign).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
    }
    let list = server.get("/solvers").bearer_auth(&foreign);
    let list = Answer::of(list.send().await.unwrap()).await;
    assert_eq!(list.body["data"], json!([]));
}
