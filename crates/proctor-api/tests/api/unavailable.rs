//! A database that is not there.

use crate::support::{TestServer, shape};

#[tokio::test]
async fn a_closed_database_is_503_with_retry_after_and_health_still_answers() {
    let server = TestServer::start().await;
    server.store.close().await;
    for (dialect, path) in [("verial", "/readyz"), ("runloop", "/v1/accounts/me")] {
        let request = server.get(path).bearer_auth("vk_not-in-any-cache-yet");
        let answer = shape(request.send().await.unwrap()).await;
        insta::assert_snapshot!(format!("unavailable_{dialect}"), answer);
    }
    assert_eq!(server.get("/healthz").send().await.unwrap().status(), 200);
}
