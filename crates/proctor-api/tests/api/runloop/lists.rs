use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::scenarios::parameters;
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

#[tokio::test]
async fn empty_parameters_are_the_defaults() {
    let server = with_secrets(21).await;
    let page = server
        .read("/v1/secrets?limit=&include_total_count=&starting_after=&newer=1")
        .await
        .body;
    assert_eq!(names(&page).len(), 20);
    assert_eq!(page["total_count"], 21);
    for path in [
        "/v1/agents?is_public=&name=&version=",
        "/v1/benchmark_runs?state=&limit=&benchmark_id=",
        "/v1/scenarios?validation_type=&include_total_count=",
    ] {
        let answer = server.read(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert_eq!(answer.body["total_count"], 0, "{path}");
    }
}

#[rstest]
#[case("scenarios")]
#[case("benchmarks")]
#[tokio::test]
async fn the_values_of_a_key_that_no_metadata_has_are_400(#[case] list: &str) {
    let server = TestServer::start().await;
    let mut body = parameters("a");
    body["metadata"] = json!({"team": "a", "empty": ""});
    let made = server.ask(Method::POST, &format!("/v1/{list}"), body).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let values = async |key: &str| {
        let path = format!("/v1/{list}/metadata/keys/{key}/values");
        server.read(&path).await
    };
    assert_eq!(values("team").await.body["values"], json!(["a"]));
    assert_eq!(values("empty").await.body["values"], json!([""]));
    let refused = values("tam").await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert_eq!(
        refused.text("message"),
        "key: no metadata has the key 'tam'"
    );
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
