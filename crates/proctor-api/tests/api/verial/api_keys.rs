use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, TestServer};

#[tokio::test]
async fn a_key_is_shown_once_works_and_is_revoked() {
    let server = TestServer::start().await;
    let made = server
        .ask(Method::POST, "/api-keys", json!({"name": "ci"}))
        .await;
    insta::assert_snapshot!("key_made", made.shape());
    let key = made.text("key");
    assert!(key.starts_with("vk_") && key.starts_with(&made.text("prefix")));
    assert!(key.ends_with(&made.text("suffix")));
    let path = format!("/api-keys/{}", made.text("id"));
    let shown = server.get(&path).bearer_auth(&key).send().await.unwrap();
    let shown = Answer::of(shown).await;
    insta::assert_snapshot!("key_shown", shown.shape());
    assert!(shown.body.get("key").is_none());
    let gone = server.own(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(gone.status(), 204);
    assert_eq!(server.read(&path).await.status, 404);
    let refused = server.get(&path).bearer_auth(&key).send().await.unwrap();
    assert_eq!(refused.status(), 401);
}

#[tokio::test]
async fn a_key_needs_no_body_and_keys_are_listed_newest_first() {
    let server = TestServer::start().await;
    let made = server.own(Method::POST, "/api-keys").send().await.unwrap();
    let made = Answer::of(made).await;
    assert_eq!(made.status, 201);
    let list = server.read("/api-keys").await;
    insta::assert_snapshot!("keys_listed", list.shape());
    assert_eq!(list.body["data"][0]["id"], made.body["id"]);
    assert!(!list.shape().contains(&made.text("key")));
}

#[tokio::test]
async fn a_blank_name_is_refused() {
    let server = TestServer::start().await;
    let answer = server
        .ask(Method::POST, "/api-keys", json!({"name": "  "}))
        .await;
    insta::assert_snapshot!("key_blank_name", answer.shape());
}
