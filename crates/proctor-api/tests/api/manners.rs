//! What every route does alike: errors in the dialect's shape, request ids, time-outs, panics.

use std::time::Duration;

use proctor_api::ApiOptions;
use reqwest::Method;
use rstest::rstest;

use crate::support::{Setup, TestServer, shape};

#[rstest]
#[case("verial", "/no/such/route")]
#[case("verial_run", "/v1/task-runs")]
#[case("runloop", "/v1/no/such/route")]
#[tokio::test]
async fn an_unknown_route_is_404_in_the_dialects_shape(#[case] name: &str, #[case] path: &str) {
    let server = TestServer::start().await;
    let answer = shape(server.get(path).send().await.unwrap()).await;
    insta::assert_snapshot!(format!("unknown_route_{name}"), answer);
}

#[rstest]
#[case("verial", "/test/echo")]
#[case("runloop", "/v1/test/echo")]
#[tokio::test]
async fn a_wrong_method_is_405_and_names_the_right_ones(#[case] name: &str, #[case] path: &str) {
    let server = TestServer::start().await;
    let answer = server.request(Method::DELETE, path).send().await.unwrap();
    insta::assert_snapshot!(format!("wrong_method_{name}"), shape(answer).await);
}

#[rstest]
#[case("verial", "/test/panics")]
#[case("runloop", "/v1/test/panics")]
#[tokio::test]
async fn a_panic_is_500_without_the_panics_words(#[case] name: &str, #[case] path: &str) {
    let server = TestServer::start().await;
    let answer = shape(server.get(path).send().await.unwrap()).await;
    assert!(!answer.contains("own words"));
    insta::assert_snapshot!(format!("panic_{name}"), answer);
    let next = server.get("/healthz").send().await.unwrap();
    assert_eq!(next.status(), 200, "the server goes on");
}

fn hurried() -> Setup {
    Setup {
        api: ApiOptions {
            request_time_out: Duration::from_millis(50),
            ..ApiOptions::default()
        },
        ..Setup::default()
    }
}

#[rstest]
#[case("verial", "/test/never")]
#[case("runloop", "/v1/test/never")]
#[tokio::test]
async fn a_request_that_takes_too_long_is_408(#[case] name: &str, #[case] path: &str) {
    let server = hurried().start().await;
    let answer = shape(server.get(path).send().await.unwrap()).await;
    insta::assert_snapshot!(format!("timed_out_{name}"), answer);
}

#[tokio::test]
async fn an_unhurried_route_takes_the_time_it_needs() {
    let server = hurried().start().await;
    let answer = server.get("/test/unhurried").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.text().await.unwrap(), "slept");
}

#[tokio::test]
async fn a_clients_request_id_comes_back_and_a_bad_one_is_replaced() {
    let server = TestServer::start().await;
    for (sent, kept) in [
        ("trace-1", true),
        (&"x".repeat(128), true),
        (&"x".repeat(129), false),
        ("", false),
        ("tab\tbed", false),
    ] {
        for path in ["/healthz", "/no/such/route", "/test/panics"] {
            let answer = server
                .get(path)
                .header("x-request-id", sent)
                .send()
                .await
                .unwrap();
            let id = answer.headers()["x-request-id"].to_str().unwrap();
            assert_eq!(id == sent, kept, "{path} {sent:?} {id:?}");
            assert!(!id.is_empty());
        }
    }
    let ids: Vec<_> = [
        server.get("/healthz").send().await.unwrap(),
        server.get("/healthz").send().await.unwrap(),
    ]
    .iter()
    .map(|answer| answer.headers()["x-request-id"].clone())
    .collect();
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let server = TestServer::start().await;
    let answer = server
        .request(Method::HEAD, "/healthz")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.text().await.unwrap(), "");
}
