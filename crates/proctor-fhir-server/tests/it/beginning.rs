//! What a store that stands alone begins with.

use std::{path::Path, sync::Arc, time::Duration};

use http::Method;
use proctor_core::time::{ManualClock, Timestamp};
use proctor_fhir_server::{
    beginning::BeginError,
    serve::{Bound, ServeError, ServeOptions},
};
use proctor_fhir_store::State;
use proctor_simulation::exchange::Request;
use proctor_store::ambient::RandomIds;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

const NOON: Timestamp = Timestamp::from_millis(1_776_790_800_000);

async fn start(
    data: Option<&Path>,
    files: &[&Path],
    clock: &Arc<ManualClock>,
) -> Result<Bound, ServeError> {
    let options = ServeOptions {
        load: files.iter().map(|file| file.to_path_buf()).collect(),
        data: data.map(Path::to_owned),
        ..ServeOptions::at("127.0.0.1:0".parse().unwrap())
    };
    Bound::bind(options, clock.clone(), Arc::new(RandomIds::default())).await
}

async fn stop(bound: Bound) {
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    bound.run(shutdown).await.unwrap();
}

async fn digest(bound: &Bound) -> [u8; 32] {
    let digest = bound
        .world()
        .look(|exhibits| State::digest(exhibits.evidence::<State>().unwrap()[0]));
    digest.await.unwrap()
}

async fn read(bound: &Bound, path: &str) -> Value {
    let request = Request::new(Method::GET, &format!("fhir/{path}"), NOON);
    let response = bound.world().handle(0, request).await;
    serde_json::from_slice(&response.body).unwrap()
}

#[tokio::test]
async fn loaded_resources_were_updated_when_they_were_loaded_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("two.ndjson");
    fs_err::write(
        &file,
        "{\"resourceType\":\"Patient\",\"id\":\"a\"}\n{\"resourceType\":\"Patient\"}\n",
    )
    .unwrap();
    let data = directory.path().join("data");
    let clock = Arc::new(ManualClock::at(NOON));
    let bound = start(Some(&data), &[&file], &clock).await.unwrap();
    let patient = read(&bound, "Patient/a").await;
    assert_eq!(patient["meta"]["lastUpdated"], "2026-04-21T17:00:00.000Z");
    let put = Request::new(Method::PUT, "fhir/Patient/a", NOON)
        .with_body(r#"{"resourceType":"Patient","id":"a","active":true}"#);
    assert_eq!(bound.world().handle(0, put).await.status, 200);
    let before = digest(&bound).await;
    stop(bound).await;

    clock.advance(Duration::from_secs(3_600));
    let again = start(Some(&data), &[&file], &clock).await.unwrap();
    assert_eq!(digest(&again).await, before);
    let first = read(&again, "Patient/a/_history/1").await;
    assert_eq!(first, patient);
    stop(again).await;
}

#[tokio::test]
async fn a_store_without_a_journal_begins_anew_each_time() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.json");
    fs_err::write(&file, r#"{"resourceType":"Patient","id":"a"}"#).unwrap();
    let clock = Arc::new(ManualClock::at(NOON));
    clock.advance(Duration::from_secs(60));
    let bound = start(None, &[&file], &clock).await.unwrap();
    let patient = read(&bound, "Patient/a").await;
    assert_eq!(patient["meta"]["lastUpdated"], "2026-04-21T17:01:00.000Z");
}

#[tokio::test]
async fn a_journal_is_not_continued_on_other_files() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.json");
    fs_err::write(&file, r#"{"resourceType":"Patient","id":"a"}"#).unwrap();
    let data = directory.path().join("data");
    let clock = Arc::new(ManualClock::at(NOON));
    let bound = start(Some(&data), &[&file], &clock).await.unwrap();
    stop(bound).await;
    let outcome = start(Some(&data), &[], &clock).await;
    let Err(ServeError::Begin(BeginError::OtherBase { known, loaded })) = outcome else {
        panic!("the store began on nothing");
    };
    assert_eq!((known, loaded), (1, 0));
}
