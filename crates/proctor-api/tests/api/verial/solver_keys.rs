use reqwest::Method;
use serde_json::json;

use super::solver;
use crate::support::TestServer;

#[tokio::test]
async fn a_solvers_key_is_made_listed_and_revoked() {
    let server = TestServer::start().await;
    let made = server.ask(Method::POST, "/solvers", solver("ada")).await;
    let path = format!("/solvers/{}/api-keys", made.text("id"));
    let key = server.ask(Method::POST, &path, json!({})).await;
    insta::assert_snapshot!("solver_key_made", key.shape());
    assert!(key.text("key").starts_with("vrl_slv_"));
    insta::assert_snapshot!("solver_keys_listed", server.read(&path).await.shape());
    assert_eq!(
        server.read("/api-keys").await.body["data"]
            .as_array()
            .unwrap()
            .len(),
        1,
        "a Solver's keys are not the organization's"
    );
    let one = format!("{path}/{}", key.text("id"));
    let gone = server.own(Method::DELETE, &one).send().await.unwrap();
    assert_eq!(gone.status(), 204);
    let again = server.own(Method::DELETE, &one).send().await.unwrap();
    assert_eq!(again.status(), 404);
    assert_eq!(server.read(&path).await.body["data"], json!([]));
}

#[tokio::test]
async fn a_solver_that_is_not_there_has_no_keys() {
    let server = TestServer::start().await;
    let path = "/solvers/slv_01K0000000000000000000000A/api-keys";
    insta::assert_snapshot!("no_solver_list", server.read(path).await.shape());
    let answer = server.ask(Method::POST, path, json!({})).await;
    insta::assert_snapshot!("no_solver_create", answer.shape());
}

#[tokio::test]
async fn another_solvers_key_is_not_revoked_through_this_one() {
    let server = TestServer::start().await;
    let ada = server.ask(Method::POST, "/solvers", solver("ada")).await;
    let bob = server.ask(Method::POST, "/solvers", solver("bob")).await;
    let path = format!("/solvers/{}/api-keys", ada.text("id"));
    let key = server.ask(Method::POST, &path, json!({})).await;
    let crossed = format!("/solvers/{}/api-keys/{}", bob.text("id"), key.text("id"));
    let answer = server.own(Method::DELETE, &crossed).send().await.unwrap();
    assert_eq!(answer.status(), 404);
}
