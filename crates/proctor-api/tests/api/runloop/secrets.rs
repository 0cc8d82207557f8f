use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Answer, TestServer};

#[tokio::test]
async fn a_secret_goes_in_and_never_comes_out() {
    let server = TestServer::start().await;
    let made = server
        .ask(
            Method::POST,
            "/v1/secrets",
            json!({"name": "TOKEN", "value": "hush-1"}),
        )
        .await;
    insta::assert_snapshot!("secret_made", made.shape());
    server.clock.advance(std::time::Duration::from_millis(5));
    let changed = server
        .ask(
            Method::POST,
            "/v1/secrets/TOKEN",
            json!({"value": "hush-2"}),
        )
        .await;
    insta::assert_snapshot!("secret_changed", changed.shape());
    let shown = server.read("/v1/secrets/TOKEN").await;
    assert_eq!(shown.body, changed.body);
    let listed = server.read("/v1/secrets").await;
    insta::assert_snapshot!("secrets_listed", listed.shape());
    let gone = server
        .own(Method::POST, "/v1/secrets/TOKEN/delete")
        .header("content-type", "application/json")
        .send()
        .await
        .unwrap();
    let gone = Answer::of(gone).await;
    assert_eq!((gone.status, &gone.body), (200, &changed.body));
    insta::assert_snapshot!(
        "secret_gone",
        server.read("/v1/secrets/TOKEN").await.shape()
    );
    for answer in [made, changed, shown, listed, gone] {
        assert!(!answer.shape().contains("hush"));
    }
}

#[rstest]
#[case("my-secret-1", "my-secret-1")]
#[case("a.b", "a.b")]
#[case("two words", "two%20words")]
#[case("1/2 ü", "1%2F2%20%C3%BC")]
#[tokio::test]
async fn a_secret_is_called_by_any_text(#[case] name: &str, #[case] in_path: &str) {
    let server = TestServer::start().await;
    let body = json!({"name": name, "value": "v"});
    let made = server.ask(Method::POST, "/v1/secrets", body).await;
    assert_eq!((made.status, made.text("name").as_str()), (200, name));
    let path = format!("/v1/secrets/{in_path}");
    assert_eq!(server.read(&path).await.body["name"], name);
    let changed = server.ask(Method::POST, &path, json!({"value": "w"})).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let gone = server
        .ask(Method::POST, &format!("{path}/delete"), Value::Null)
        .await;
    assert_eq!(gone.status, 200, "{}", gone.body);
    assert_eq!(server.read(&path).await.status, 404);
}

#[rstest]
#[case("empty", Value::Null)]
#[case("nulls", json!({"name": null, "value": null}))]
#[case("bad_name", json!({"name": "two\nlines", "value": "v"}))]
#[case("wrong_type", json!({"name": "A", "value": 987654321}))]
#[case("nul", json!({"name": "A", "value": "a\u{0}b"}))]
#[tokio::test]
async fn a_wrong_secret_is_400(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/v1/secrets", body).await;
    assert!(!answer.shape().contains("987654321"), "no value is quoted");
    insta::assert_snapshot!(format!("secret_{name}"), answer.shape());
}

#[tokio::test]
async fn unknown_fields_are_ignored() {
    let server = TestServer::start().await;
    let body = json!({"name": "A", "value": "v", "new_in_some_version": null, "x": [1]});
    let answer = server.ask(Method::POST, "/v1/secrets", body).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let server = TestServer::start().await;
    let body = json!({"name": "A", "value": "v"});
    server.ask(Method::POST, "/v1/secrets", body.clone()).await;
    let answer = server.ask(Method::POST, "/v1/secrets", body).await;
    insta::assert_snapshot!("secret_taken", answer.shape());
}

#[rstest]
#[case("/v1/secrets/NOBODY")]
#[case("/v1/secrets/not%20a%20name")]
#[case("/v1/secrets/%00")]
#[tokio::test]
async fn a_name_that_names_nothing_is_404(#[case] path: &str) {
    let server = TestServer::start().await;
    assert_eq!(server.read(path).await.status, 404);
    let update = server.ask(Method::POST, path, json!({"value": "v"})).await;
    assert_eq!(update.status, 404);
    let delete = format!("{path}/delete");
    assert_eq!(
        server.ask(Method::POST, &delete, json!({})).await.status,
        404
    );
}
