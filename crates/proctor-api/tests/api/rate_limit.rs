//! One credential asks too often.

use std::num::NonZeroU32;

use proctor_api::{ApiOptions, RateLimit};
use reqwest::Method;

use crate::support::{Answer, Setup};

#[tokio::test]
async fn a_key_that_asks_too_often_is_told_how_long_to_wait() {
    let setup = Setup {
        api: ApiOptions {
            rate_limit: Some(RateLimit {
                per_minute: NonZeroU32::new(1).unwrap(),
                burst: NonZeroU32::new(2).unwrap(),
            }),
            ..ApiOptions::default()
        },
        ..Setup::default()
    };
    let server = setup.start().await;
    for _ in 0..2 {
        assert_eq!(server.read("/solvers").await.status, 200);
    }
    for (path, code) in [("/solvers", "/error/code"), ("/v1/accounts/me", "/code")] {
        let answer = server.own(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), 429);
        let wait: u64 = answer.headers()["retry-after"]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        let answer = Answer::of(answer).await;
        let code = answer.body.pointer(code).unwrap().as_str().unwrap();
        assert_eq!(code.to_ascii_uppercase(), "RATE_LIMITED");
    }
    let other = server
        .get("/solvers")
        .bearer_auth(server.foreign_key().await);
    assert_eq!(other.send().await.unwrap().status(), 200);
    assert_eq!(server.get("/healthz").send().await.unwrap().status(), 200);
}
