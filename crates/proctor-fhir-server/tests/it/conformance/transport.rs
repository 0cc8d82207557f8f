//! What only shows over HTTP.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use proctor_core::time::{ManualClock, Timestamp};
use proctor_fhir_server::{http::router_at, serve::lone_origin};
use proctor_fhir_store::{Base, Seed, Settings, smart::Smart};
use proctor_playground::world::World;
use serde_json::Value;
use tower::ServiceExt;

use super::support::{BASE, Group, text};
use crate::checks;

struct Site {
    router: Router,
    clock: Arc<ManualClock>,
}

fn site(smart: Option<Smart>) -> Site {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_776_790_800_000)));
    let settings = Arc::new(Settings::at(BASE));
    let origin = lone_origin(Base::empty(), settings, Seed::from_number(1), smart);
    Site {
        router: router_at("/deep/below/fhir", World::in_memory(origin, clock.clone())),
        clock,
    }
}

impl Site {
    fn send(
        &self,
        request: http::request::Builder,
        body: &str,
    ) -> (StatusCode, http::HeaderMap, Value) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let request: Request<Body> = request.body(Body::from(body.to_owned())).unwrap();
        runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await.unwrap().to_bytes();
            (
                parts.status,
                parts.headers,
                serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            )
        })
    }
}

fn request(method: &str, path: &str) -> http::request::Builder {
    Request::builder()
        .method(method)
        .uri(format!("/deep/below/fhir/{path}"))
}

pub(crate) fn group() -> Group {
    checks! {
        "HTTP":
        "mounted below any path; `application/fhir+json` both ways" => || {
            let site = site(None);
            let create = request("POST", "Patient").header("content-type", "application/fhir+json");
            let (status, headers, body) = site.send(create, r#"{"resourceType":"Patient","gender":"male"}"#);
            assert_eq!(status, 201);
            assert_eq!(headers["content-type"], "application/fhir+json; charset=utf-8");
            assert!(headers["location"].to_str().unwrap().starts_with(BASE));
            let (status, _, read) = site.send(request("GET", &format!("Patient/{}", text(&body["id"]))), "");
            assert_eq!((status, read), (StatusCode::OK, body));
            for root in ["/deep/below/fhir", "/deep/below/fhir/", "/deep/below/fhir?_id=x"] {
                let (status, _, bundle) = site.send(Request::builder().uri(root), "");
                assert_eq!((status, text(&bundle["type"])), (StatusCode::OK, "searchset".to_owned()), "{root}");
            }
        },
        "`Accept` and `_format`: JSON in every spelling; XML → 406; a body that is not JSON → 415" => || {
            let site = site(None);
            for accept in ["application/fhir+json", "application/json", "*/*", "text/html, */*;q=0.1", "json"] {
                assert_eq!(site.send(request("GET", "Patient").header("accept", accept), "").0, 200, "{accept}");
            }
            assert_eq!(site.send(request("GET", "Patient").header("accept", "application/fhir+xml"), "").0, 406);
            assert_eq!(site.send(request("GET", "Patient?_format=xml"), "").0, 406);
            assert_eq!(site.send(request("GET", "Patient?_format=json&_pretty=true").header("accept", "application/fhir+xml"), "").0, 200);
            let xml = request("POST", "Patient").header("content-type", "application/fhir+xml");
            assert_eq!(site.send(xml, "<Patient/>").0, 415);
        },
        "wrong methods → 405 with `Allow`" => || {
            let site = site(None);
            let (status, headers, outcome) = site.send(request("POST", "Patient/a"), "{}");
            assert_eq!(status, 405);
            assert_eq!(headers["allow"], "GET, HEAD, PUT, PATCH, DELETE");
            assert_eq!(outcome["resourceType"], "OperationOutcome");
            assert_eq!(site.send(request("DELETE", "metadata"), "").0, 405);
            assert_eq!(site.send(request("TRACE", "Patient"), "").0, 405);
        },
        "SMART: configuration, client-credentials token, expiry" => || {
            let site = site(Some(Smart::new("agent", "s3cret", [1; 32], Duration::from_secs(300))));
            assert_eq!(site.send(request("GET", "Patient"), "").0, 401);
            assert_eq!(site.send(request("GET", "metadata"), "").0, 200);
            let (_, _, configuration) = site.send(request("GET", ".well-known/smart-configuration"), "");
            assert_eq!(configuration["token_endpoint"], format!("{BASE}/token"));
            let form = request("POST", "token").header("content-type", "application/x-www-form-urlencoded");
            let (status, _, token) = site.send(form, "grant_type=client_credentials&client_id=agent&client_secret=s3cret");
            assert_eq!(status, 200);
            assert_eq!(token["expires_in"], 300);
            let bearer = format!("Bearer {}", text(&token["access_token"]));
            let read = || site.send(request("GET", "Patient").header("authorization", &bearer), "").0;
            assert_eq!(read(), 200);
            site.clock.advance(Duration::from_secs(301));
            assert_eq!(read(), 401);
        },
    }
}
