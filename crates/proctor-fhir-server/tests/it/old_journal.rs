//! Journals that `proctor fhir` kept when its store was not a world yet.

use std::{path::Path, sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Method;
use proctor_core::{
    id::kinds::WorldId,
    time::{Clock, ManualClock, Timestamp},
};
use proctor_fhir_server::serve::{Bound, ServeOptions};
use proctor_fhir_store::{Seed, State};
use proctor_simulation::exchange::Request;
use proctor_store::{Store, StoreOptions, ambient::RandomIds, journal::NewEvent};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// One event to a line, as such a store wrote them.
const JOURNAL: &str = include_str!("../fixtures/lone-store-journal.jsonl");
/// What it was started with.
const LOADED: &str =
    "{\"resourceType\":\"Patient\",\"id\":\"a\"}\n{\"resourceType\":\"Patient\"}\n";
const SEED: u64 = 5;
/// When it was started.
const NOON: Timestamp = Timestamp::from_millis(1_776_790_800_000);
/// The digest of its state at the end.
const DIGEST: &str = "bee8d219cb74ea11e2eca2c4f55aaa111047b4cb58e423c99b3520b7f073f2e1";
/// The id that it would have given away next.
const NEXT_ID: &str = "63b82e7f-1253-438a-b483-def05b00627c";
const WORLD: WorldId = WorldId::from_uuid(Uuid::from_u128(1));

fn events() -> Vec<NewEvent> {
    let read = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        NewEvent {
            at: Timestamp::from_millis(event["at"].as_i64().unwrap()),
            kind: event["kind"].as_str().unwrap().into(),
            payload: match &event["payload"] {
                Value::String(text) => text.clone().into_bytes(),
                packed => BASE64_STANDARD
                    .decode(packed["base64"].as_str().unwrap())
                    .unwrap(),
            },
        }
    };
    JOURNAL.lines().map(read).collect()
}

async fn open_store(data: &Path, clock: &Arc<ManualClock>) -> Store {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let ids = Arc::new(RandomIds::default());
    Store::open(&StoreOptions::embedded(data), clock, ids)
        .await
        .unwrap()
}

async fn start(data: &Path, loaded: &Path, clock: &Arc<ManualClock>) -> Bound {
    let options = ServeOptions {
        load: vec![loaded.to_owned()],
        data: Some(data.to_owned()),
        seed: Seed::from_number(SEED),
        base_url: Some("http://fhir.test/base".to_owned()),
        ..ServeOptions::at("127.0.0.1:0".parse().unwrap())
    };
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    Bound::bind(options, clock, Arc::new(RandomIds::default()))
        .await
        .unwrap()
}

async fn stop(bound: Bound) {
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    bound.run(shutdown).await.unwrap();
}

async fn digest(bound: &Bound) -> String {
    let digest = bound
        .world()
        .look(|exhibits| State::digest(exhibits.evidence::<State>().unwrap()[0]));
    let bytes = digest.await.unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_journal_of_a_store_without_a_world_is_read_and_continued() {
    let directory = tempfile::tempdir().unwrap();
    let loaded = directory.path().join("two.ndjson");
    fs_err::write(&loaded, LOADED).unwrap();
    let data = directory.path().join("data");
    let clock = Arc::new(ManualClock::at(NOON));
    clock.advance(Duration::from_secs(3_600));
    let store = open_store(&data, &clock).await;
    store.journal().append(WORLD, 0, events()).await.unwrap();
    store.close().await;

    let bound = start(&data, &loaded, &clock).await;
    assert_eq!(digest(&bound).await, DIGEST);
    let told = bound.world().events(None).await.unwrap();
    let lines: Vec<String> = told
        .iter()
        .map(|event| {
            let payload = &event.payload;
            let kind = &payload["response_body"]["resourceType"];
            let text = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
            format!(
                "{} {} {} {}",
                text(&payload["method"]),
                text(&payload["path"]),
                payload["status"],
                text(kind)
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "PUT /Patient/a 200 Patient",
            "POST /Patient 201 Patient",
            "GET /Patient/a 200 Patient",
            "GET /Patient?gender=female 200 Bundle",
            "POST /Patient 422 OperationOutcome",
            "POST / 200 Bundle",
            "DELETE /Patient/a 204 nothing",
            "GET /Patient/a 410 OperationOutcome",
        ]
    );
    let new = json!({"resourceType": "Patient"}).to_string();
    let create = Request::new(Method::POST, "fhir/Patient", NOON).with_body(new);
    let created = bound.world().handle(0, create).await;
    assert_eq!(created.status, 201);
    let created: Value = serde_json::from_slice(&created.body).unwrap();
    assert_eq!(created["id"], NEXT_ID);
    let after = digest(&bound).await;
    stop(bound).await;

    let again = start(&data, &loaded, &clock).await;
    assert_eq!(digest(&again).await, after);
    assert_eq!(
        again.world().events(None).await.unwrap().len(),
        told.len() + 1
    );
    stop(again).await;
    let store = open_store(&data, &clock).await;
    store.journal().verify(WORLD).await.unwrap().unwrap();
}
