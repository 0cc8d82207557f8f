//! Bodies that are wrong before any route has looked at them.

use reqwest::header::CONTENT_TYPE;
use rstest::rstest;

use crate::support::{TestServer, shape};

#[rstest]
#[case("malformed", "{\"a\":", "application/json")]
#[case("trailing", "{} {}", "application/json")]
#[case("not_json_at_all", "a=1", "application/x-www-form-urlencoded")]
#[case("control_character", "{\"a\":\"\u{1}\"}", "application/json")]
#[case("array", "[1, 2]", "application/json")]
#[case("number", "17", "application/json")]
#[tokio::test]
async fn a_body_that_is_not_json_is_refused_in_each_dialect(
    #[case] name: &str,
    #[case] body: &'static str,
    #[case] content_type: &str,
) {
    let server = TestServer::start().await;
    for (dialect, path) in [("verial", "/test/echo"), ("runloop", "/v1/test/echo")] {
        let answer = server
            .post(path)
            .header(CONTENT_TYPE, content_type)
            .body(body)
            .send()
            .await
            .unwrap();
        insta::assert_snapshot!(format!("{name}_{dialect}"), shape(answer).await);
    }
}

#[tokio::test]
async fn a_body_that_is_not_utf8_is_refused() {
    let server = TestServer::start().await;
    let answer = server
        .post("/test/echo")
        .body(b"{\"a\":\"\xff\"}".to_vec())
        .send()
        .await
        .unwrap();
    insta::assert_snapshot!("not_utf8", shape(answer).await);
}

#[tokio::test]
async fn json_is_read_whatever_the_content_type_says() {
    let server = TestServer::start().await;
    for content_type in ["text/plain", "application/fhir+json", "nonsense"] {
        let answer = server
            .post("/test/echo")
            .header(CONTENT_TYPE, content_type)
            .body("{\"n\": 1.10}")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 200, "{content_type}");
        assert_eq!(answer.text().await.unwrap(), "{\"n\":1.10}");
    }
}

/// A length at which the body would take several reads.
const OVER_THE_LIMIT: usize = (64 << 10) + 1;

#[tokio::test]
async fn a_body_over_the_limit_is_413_in_each_dialect() {
    let server = TestServer::start().await;
    for (dialect, path) in [("verial", "/test/echo"), ("runloop", "/v1/test/echo")] {
        let announced = server
            .post(path)
            .body("x".repeat(OVER_THE_LIMIT))
            .send()
            .await
            .unwrap();
        insta::assert_snapshot!(format!("too_large_{dialect}"), shape(announced).await);
    }
}

#[tokio::test]
async fn a_body_without_length_is_limited_too() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let server = TestServer::start().await;
    let mut stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    stream
        .write_all(b"POST /v1/test/echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    for _ in 0..9 {
        stream.write_all(b"4000\r\n").await.unwrap();
        stream.write_all(&[b' '; 0x4000]).await.unwrap();
        stream.write_all(b"\r\n").await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(
        answer.contains("\"code\":\"payload_too_large\""),
        "{answer}"
    );
}

#[tokio::test]
async fn a_body_at_the_limit_is_read() {
    let server = TestServer::start().await;
    let body = "{}".to_owned() + &" ".repeat(OVER_THE_LIMIT - 3);
    let answer = server.post("/test/echo").body(body).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}
