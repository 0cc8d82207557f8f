//! Programs written for the published Runloop clients run unchanged.

use std::process::Command;

use rstest::rstest;

use crate::support::TestServer;

const RUN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/clients/runloop/run"
);

#[rstest]
#[case("python")]
#[case("node")]
#[tokio::test(flavor = "multi_thread")]
async fn the_published_client_manages_secrets(#[case] language: &'static str) {
    let server = TestServer::start().await;
    let (base_url, key) = (server.url(""), server.key.clone());
    let output = tokio::task::spawn_blocking(move || {
        Command::new(RUN)
            .arg(language)
            .env("RUNLOOP_BASE_URL", base_url)
            .env("RUNLOOP_API_KEY", key)
            .output()
            .expect("the script can be started")
    })
    .await
    .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("all well"));
}
