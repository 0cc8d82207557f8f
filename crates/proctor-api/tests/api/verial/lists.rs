use reqwest::Method;
use rstest::rstest;
use serde_json::Value;

use super::solver;
use crate::support::TestServer;

async fn with_solvers(count: usize) -> TestServer {
    let server = TestServer::start().await;
    for n in 0..count {
        let made = server
            .ask(Method::POST, "/solvers", solver(&format!("s{n}")))
            .await;
        assert_eq!(made.status, 201);
    }
    server
}

fn aliases(page: &Value) -> Vec<&str> {
    page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|solver| solver["alias"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_list_is_walked_to_its_end_and_back() {
    let server = with_solvers(5).await;
    let first = server.read("/solvers?limit=2").await.body;
    assert_eq!(aliases(&first), ["s4", "s3"]);
    assert_eq!(first["_meta"]["prev"], Value::Null);
    assert_eq!(first["_meta"]["next"], first["next_cursor"]);
    let at = async |cursor: &Value| {
        let cursor = cursor.as_str().unwrap();
        server
            .read(&format!("/solvers?limit=2&cursor={cursor}"))
            .await
            .body
    };
    let second = at(&first["next_cursor"]).await;
    assert_eq!(aliases(&second), ["s2", "s1"]);
    let third = at(&second["next_cursor"]).await;
    assert_eq!(aliases(&third), ["s0"]);
    assert_eq!(third["next_cursor"], Value::Null);
    let back = at(&third["_meta"]["prev"]).await;
    assert_eq!(aliases(&back), ["s2", "s1"]);
    let start = at(&back["_meta"]["prev"]).await;
    assert_eq!(aliases(&start), ["s4", "s3"]);
    assert_eq!(start["_meta"]["prev"], Value::Null);
}

#[tokio::test]
async fn limits_have_a_default_and_clamp() {
    let server = with_solvers(22).await;
    for (query, limit, items) in [("", 20, 20), ("?limit=1", 1, 1), ("?limit=1000", 100, 22)] {
        let page = server.read(&format!("/solvers{query}")).await.body;
        assert_eq!(page["_meta"]["limit"], limit);
        assert_eq!(aliases(&page).len(), items);
    }
}

#[rstest]
#[case("limit_zero", "limit=0")]
#[case("limit_negative", "limit=-5")]
#[case("limit_word", "limit=many")]
#[case("limit_twice", "limit=1&limit=2")]
#[case("cursor_nonsense", "cursor=nonsense!")]
#[case(
    "cursor_of_another_list",
    "cursor=b2xkZXI6a2V5XzAxSzAwMDAwMDAwMDAwMDAwMDAwMDAwMDBB"
)]
#[case("cursor_empty", "cursor=")]
#[tokio::test]
async fn a_wrong_query_is_400(#[case] name: &str, #[case] query: &str) {
    let server = TestServer::start().await;
    let answer = server.read(&format!("/solvers?{query}")).await;
    insta::assert_snapshot!(format!("query_{name}"), answer.shape());
}
