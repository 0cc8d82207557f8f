use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::TestServer;

async fn with_secrets(count: usize) -> TestServer {
    let server = TestServer::start().await;
    for n in 0..count {
        let body = json!({"name": format!("S{n}"), "value": "v"});
        server.ask(Method::POST, "/v1/secrets", body).await;
    }
    server
}

fn names(page: &Value) -> Vec<&str> {
    page["secrets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|secret| secret["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_list_continues_after_an_id() {
    let server = with_secrets(3).await;
    let first = server.read("/v1/secrets?limit=2").await.body;
    assert_eq!(names(&first), ["S2", "S1"]);
    assert_eq!(
        (&first["has_more"], &first["total_count"]),
        (&json!(true), &json!(3))
    );
    let last = first["secrets"][1]["id"].as_str().unwrap();
    let rest = server
        .read(&format!(
            "/v1/secrets?limit=2&starting_after={last}&include_total_count=false"
        ))
        .await
        .body;
    assert_eq!(names(&rest), ["S0"]);
    assert_eq!(rest["has_more"], json!(false));
    assert!(rest.get("total_count").is_none());
}

#[tokio::test]
async fn no_limit_and_zero_are_the_default_and_large_ones_clamp() {
    let server = with_secrets(22).await;
    for (query, items) in [("", 20), ("?limit=0", 20), ("?limit=999999999999", 22)] {
        let page = server.read(&format!("/v1/secrets{query}")).await.body;
        assert_eq!(names(&page).len(), items, "{query}");
    }
}

#[rstest]
#[case("limit_negative", "limit=-1")]
#[case("limit_word", "limit=many")]
#[case("starting_after", "starting_after=sec_1")]
#[case("total_count", "include_total_count=perhaps")]
#[tokio::test]
async fn a_wrong_query_is_400(#[case] name: &str, #[case] query: &str) {
    let server = TestServer::start().await;
    let answer = server.read(&format!("/v1/secrets?{query}")).await;
    insta::assert_snapshot!(format!("query_{name}"), answer.shape());
}
