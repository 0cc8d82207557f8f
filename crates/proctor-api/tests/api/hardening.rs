//! What the server tells browsers, strangers and whoever names another host.

use http::header;
use reqwest::Method;
use serde_json::json;

use crate::support::TestServer;

#[tokio::test]
async fn every_page_and_file_says_what_it_is_and_that_nothing_in_it_may_run() {
    let server = TestServer::start().await;
    for path in [
        "/docs",
        "/healthz",
        "/metrics",
        "/openapi.json",
        "/solvers",
        "/no/such/page",
        "/v1/nothing",
    ] {
        let answer = server.get(path).send().await.unwrap();
        let headers = answer.headers();
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("sandbox"), "{path}: {policy}");
        assert!(!policy.contains("script-src"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn an_address_that_shows_wrong_keys_again_and_again_must_wait_and_right_keys_are_not_held_up()
{
    let server = TestServer::start().await;
    let mut refused = None;
    for number in 0..400 {
        let request = server
            .get("/v1/accounts/me")
            .bearer_auth(format!("ak_guess_{number}"));
        let answer = request.send().await.unwrap();
        match answer.status().as_u16() {
            401 => {}
            429 => {
                assert!(number >= 200, "a burst is allowed: {number}");
                assert!(answer.headers().contains_key("retry-after"));
                assert!(answer.headers().contains_key("x-request-id"));
                let body: serde_json::Value = answer.json().await.unwrap();
                assert!(body.to_string().contains("wrong keys"), "{body}");
                refused = Some(number);
                break;
            }
            other => panic!("{other}"),
        }
    }
    assert!(refused.is_some(), "guessing was never held up");
    assert_eq!(server.read("/solvers").await.status, 200);
}

#[tokio::test]
async fn a_link_leads_to_this_server_whatever_host_a_request_names() {
    let server = TestServer::start().await;
    for (host, honest) in [
        (None, true),
        (Some("evil.example"), false),
        (Some("evil.example:80@localhost"), false),
    ] {
        let mut request = server.own(Method::POST, "/v1/objects");
        if let Some(host) = host {
            request = request.header(header::HOST, host);
        }
        let body = json!({"name": "notes", "content_type": "text"});
        let answer = request.json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{host:?}");
        let object: serde_json::Value = answer.json().await.unwrap();
        let link = object["upload_url"].as_str().unwrap();
        assert!(!link.contains("evil"), "{link}");
        if honest {
            assert!(
                link.starts_with(&format!("http://{}/", server.address)),
                "{link}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_cannot_write_is_not_ready() {
    let server = TestServer::start().await;
    assert_eq!(server.get("/readyz").send().await.unwrap().status(), 200);
    server.fill_up().await;
    let answer = server.get("/readyz").send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(server.get("/healthz").send().await.unwrap().status(), 200);
}
