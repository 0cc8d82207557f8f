use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::solver;
use crate::support::TestServer;

#[tokio::test]
async fn a_solver_is_made_shown_changed_and_removed() {
    let server = TestServer::start().await;
    let made = server.ask(Method::POST, "/solvers", solver("ada")).await;
    insta::assert_snapshot!("made", made.shape());
    let path = format!("/solvers/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);
    let changed = server
        .ask(
            Method::PATCH,
            &path,
            json!({"alias": "lovelace", "agent_version": "2.1"}),
        )
        .await;
    insta::assert_snapshot!("changed", changed.shape());
    let cleared = server
        .ask(Method::PATCH, &path, json!({"agent_version": null}))
        .await;
    assert_eq!(cleared.body["agent_version"], Value::Null);
    assert_eq!(cleared.text("alias"), "lovelace");
    let unchanged = server.ask(Method::PATCH, &path, json!({})).await;
    assert_eq!(unchanged.text("alias"), "lovelace");
    let gone = server.own(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(gone.status(), 204);
    insta::assert_snapshot!("gone", server.read(&path).await.shape());
    let again = server.own(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(again.status(), 404);
}

#[rstest]
#[case("empty", json!({}))]
#[case("blank", json!({"alias": " ", "real_name": "", "agent_description": "\t", "contact_email": ""}))]
#[case("too_long", json!({"alias": "a".repeat(101), "real_name": "r".repeat(201), "agent_description": "d".repeat(2001), "contact_email": format!("{}@example.org", "e".repeat(250)), "agent_version": "v".repeat(101)}))]
#[case("no_email", json!({"alias": "a", "real_name": "r", "agent_description": "d", "contact_email": "nobody"}))]
#[case("nul", json!({"alias": "a\u{0}", "real_name": "r", "agent_description": "d", "contact_email": "a@b.co"}))]
#[case("wrong_type", json!({"alias": 5, "real_name": "r", "agent_description": "d", "contact_email": "a@b.co"}))]
#[case("unknown_fields", json!({"alias": "a", "real_name": "r", "agent_description": "d", "contact_email": "a@b.co", "role": "admin", "id": "slv_1"}))]
#[tokio::test]
async fn a_wrong_body_is_told_every_wrong_field(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/solvers", body).await;
    insta::assert_snapshot!(format!("refused_{name}"), answer.shape());
    assert_eq!(server.read("/solvers").await.body["data"], json!([]));
}

#[tokio::test]
async fn a_wrong_change_is_refused_and_changes_nothing() {
    let server = TestServer::start().await;
    let made = server.ask(Method::POST, "/solvers", solver("ada")).await;
    let path = format!("/solvers/{}", made.text("id"));
    let answer = server
        .ask(
            Method::PATCH,
            &path,
            json!({"alias": null, "contact_email": "x", "real_name": "New"}),
        )
        .await;
    insta::assert_snapshot!("refused_change", answer.shape());
    assert_eq!(server.read(&path).await.body, made.body);
}

#[tokio::test]
async fn an_alias_is_taken_once() {
    let server = TestServer::start().await;
    server.ask(Method::POST, "/solvers", solver("ada")).await;
    let answer = server.ask(Method::POST, "/solvers", solver("ada")).await;
    insta::assert_snapshot!("alias_taken", answer.shape());
}

#[rstest]
#[case("nonsense", "/solvers/nonsense")]
#[case("other_kind", "/solvers/key_01K0000000000000000000000A")]
#[case("unknown", "/solvers/slv_01K0000000000000000000000A")]
#[case("encoded", "/solvers/%2e%2e%2fapi-keys")]
#[case("not_utf8", "/solvers/%ff")]
#[case("long", &format!("/solvers/{}", "x".repeat(500)))]
#[tokio::test]
async fn an_id_that_names_nothing_is_404(#[case] name: &str, #[case] path: &str) {
    let server = TestServer::start().await;
    insta::assert_snapshot!(format!("id_{name}"), server.read(path).await.shape());
}

#[tokio::test]
async fn an_id_is_read_in_lower_case_too() {
    let server = TestServer::start().await;
    let made = server.ask(Method::POST, "/solvers", solver("ada")).await;
    let path = format!("/solvers/{}", made.text("id").to_lowercase());
    assert_eq!(server.read(&path).await.body, made.body);
}
