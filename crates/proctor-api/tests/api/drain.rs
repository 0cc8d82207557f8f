//! The end of a server: no new connections, old requests answered.

use std::time::Duration;

use proctor_api::server::Drained;
use proctor_testkit::eventually;
use reqwest::Client;
use rstest::rstest;

use crate::support::{Setup, TestServer};

#[rstest]
#[case(Client::new())]
#[case(Client::builder().http2_prior_knowledge().build().unwrap())]
#[tokio::test]
async fn a_request_in_flight_is_answered_before_the_server_ends(#[case] client: Client) {
    let mut server = TestServer::start().await;
    let answer = client.get(server.url("/test/sleeps")).send();
    let stop = async {
        until_in_flight(&server, 2).await;
        server.stop.cancel();
    };
    let (answer, ()) = tokio::join!(answer, stop);
    assert_eq!(answer.unwrap().text().await.unwrap(), "slept");
    assert_eq!((&mut server.ended).await.unwrap(), Drained::Completely);
    server.get("/healthz").send().await.unwrap_err();
}

#[rstest]
#[case(Client::new())]
#[case(Client::builder().http2_prior_knowledge().build().unwrap())]
#[tokio::test]
async fn what_outlasts_the_grace_period_is_cut(#[case] client: Client) {
    let mut setup = Setup::default();
    setup.server.grace = Duration::from_millis(100);
    let mut server = setup.start().await;
    let answer = client.get(server.url("/test/never")).send();
    let stop = async {
        until_in_flight(&server, 2).await;
        server.stop.cancel();
    };
    let (answer, ()) = tokio::join!(answer, stop);
    answer.unwrap_err();
    let drained = (&mut server.ended).await.unwrap();
    assert!(matches!(drained, Drained::CutShort { .. }), "{drained:?}");
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_up_the_end() {
    let mut server = TestServer::start().await;
    server.get("/healthz").send().await.unwrap();
    server.stop.cancel();
    assert_eq!((&mut server.ended).await.unwrap(), Drained::Completely);
}

/// Waits until so many requests (with the one that asks) have no answer yet.
async fn until_in_flight(server: &TestServer, requests: usize) {
    let wanted = format!("proctor_http_requests_in_flight {requests}\n");
    eventually(&wanted, async || {
        let metrics = server.get("/metrics").send().await.unwrap();
        metrics.text().await.unwrap().contains(&wanted)
    })
    .await;
}
