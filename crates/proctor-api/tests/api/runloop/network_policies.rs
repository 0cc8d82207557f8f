use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::TestServer;

#[tokio::test]
async fn a_policy_is_made_changed_and_deleted() {
    let server = TestServer::start().await;
    let body = json!({
        "name": "builds",
        "description": "What builds may reach",
        "allowed_hostnames": ["GitHub.com", "*.npmjs.org"],
        "allowed_cidrs": [{"cidr": "10.12.0.0/16", "ports": [{"port": 443}, {"port": 8000, "end_port": 8010, "protocol": "TCP"}]}],
        "allow_mcp_gateway": true,
    });
    let made = server.ask(Method::POST, "/v1/network-policies", body).await;
    insta::assert_snapshot!("policy_made", made.shape());
    let path = format!("/v1/network-policies/{}", made.text("id"));
    server.clock.advance(std::time::Duration::from_millis(5));
    let body = json!({"description": null, "allowed_cidrs": [], "allow_all": true});
    let changed = server.ask(Method::POST, &path, body).await;
    insta::assert_snapshot!("policy_changed", changed.shape());
    assert_eq!(server.read(&path).await.body, changed.body);
    let listed = server.read("/v1/network-policies?name=BUILD").await;
    assert_eq!(listed.body["network_policies"], json!([changed.body]));
    let by_id = format!("/v1/network-policies?id={}", made.text("id"));
    assert_eq!(server.read(&by_id).await.body["total_count"], json!(1));
    let delete = format!("{path}/delete");
    let gone = server.ask(Method::POST, &delete, json!({})).await;
    assert_eq!((gone.status, &gone.body), (200, &changed.body));
    assert_eq!(
        server.ask(Method::POST, &delete, json!({})).await.status,
        404
    );
    assert_eq!(server.read(&path).await.status, 404);
    assert_eq!(
        server.read("/v1/network-policies").await.body["total_count"],
        json!(0)
    );
}

#[tokio::test]
async fn a_name_is_taken_once_among_those_that_are_there() {
    let server = TestServer::start().await;
    let make = async |name: &str| {
        let body = json!({"name": name});
        server.ask(Method::POST, "/v1/network-policies", body).await
    };
    let first = make("a").await;
    let second = make("b").await;
    insta::assert_snapshot!("policy_taken", make("a").await.shape());
    let path = format!("/v1/network-policies/{}", second.text("id"));
    let renamed = server.ask(Method::POST, &path, json!({"name": "a"})).await;
    assert_eq!(renamed.status, 400);
    let delete = format!("/v1/network-policies/{}/delete", first.text("id"));
    server.ask(Method::POST, &delete, json!({})).await;
    assert_eq!(make("a").await.status, 200);
}

#[rstest]
#[case("empty", Value::Null)]
#[case("blank_name", json!({"name": " "}))]
#[case("hosts", json!({"name": "a", "allowed_hostnames": ["*", "https://a.com", "a.*.com", "ok.com"]}))]
#[case("cidrs", json!({"name": "a", "allowed_cidrs": [{"cidr": "10.0.0.1/8"}, {"cidr": "x"}, {}, {"cidr": "::/0"}]}))]
#[case("ports", json!({"name": "a", "allowed_cidrs": [{"cidr": "10.0.0.0/8", "ports": [{"port": 0}, {"port": 70000}, {"port": 5, "end_port": 4}, {"port": 5, "protocol": "ICMP"}, {}]}]}))]
#[tokio::test]
async fn a_wrong_policy_is_400(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/v1/network-policies", body).await;
    insta::assert_snapshot!(format!("policy_{name}"), answer.shape());
}

#[tokio::test]
async fn policies_of_others_are_not_there() {
    let server = TestServer::start().await;
    let made = server
        .ask(
            Method::POST,
            "/v1/network-policies",
            json!({"name": "mine"}),
        )
        .await;
    let foreign = server.foreign_key().await;
    let path = format!("/v1/network-policies/{}", made.text("id"));
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::POST, path.clone()),
        (Method::POST, format!("{path}/delete")),
    ] {
        let request = server.request(method, &path).bearer_auth(&foreign);
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
}
