//! What the server tells about itself.

use serde_json::Value;

use crate::support::TestServer;

#[tokio::test]
async fn metrics_name_routes_by_template_and_never_by_path() {
    let server = TestServer::start().await;
    server.get("/healthz").send().await.unwrap();
    server.get("/healthz").send().await.unwrap();
    server.get("/some/made-up/path").send().await.unwrap();
    server.get("/v1/test/panics").send().await.unwrap();
    let answer = server.get("/metrics").send().await.unwrap();
    assert_eq!(
        answer.headers()["content-type"],
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    let text = answer.text().await.unwrap();
    for line in [
        r#"proctor_http_requests_total{dialect="verial",method="GET",route="/healthz",status="200"} 2"#,
        r#"proctor_http_requests_total{dialect="verial",method="GET",route="(none)",status="404"} 1"#,
        r#"proctor_http_requests_total{dialect="runloop",method="GET",route="/v1/test/panics",status="500"} 1"#,
        r#"proctor_http_request_duration_seconds_count{dialect="verial",method="GET",route="/healthz"} 2"#,
        "proctor_http_requests_in_flight 1",
        "proctor_http_connections 1",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    assert!(!text.contains("made-up"));
}

/// The description of the API as the server gives it.
async fn description(server: &TestServer) -> Value {
    let answer = server.get("/openapi.json").send().await.unwrap();
    answer.json().await.unwrap()
}

#[tokio::test]
async fn the_openapi_document_describes_every_route_of_both_dialects() {
    let server = TestServer::start().await;
    let document = description(&server).await;
    insta::assert_snapshot!("openapi", serde_json::to_string_pretty(&document).unwrap());
}

#[tokio::test]
async fn every_reference_in_the_document_leads_somewhere() {
    let server = TestServer::start().await;
    let document = description(&server).await;
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 3);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

fn collect_references<'d>(value: &'d Value, found: &mut Vec<&'d str>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str() {
                    Some(reference) if name == "$ref" => found.push(reference),
                    _ => collect_references(field, found),
                }
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_page_shows_every_operation_and_loads_nothing() {
    let server = TestServer::start().await;
    let document = description(&server).await;
    let answer = server.get("/docs").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/html; charset=utf-8");
    let page = answer.text().await.unwrap();
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(
            page.contains(&format!("<span class=\"path\">{path}</span>")),
            "{path}"
        );
    }
    for forbidden in ["<script", "http://", "https://", "src="] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}
