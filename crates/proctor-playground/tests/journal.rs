//! The service on a real journal.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod house;

use std::{sync::Arc, time::Duration};

use house::{House, WORLD};
use http::Method;
use proctor_core::time::{ManualClock, Timestamp};
use proctor_playground::{
    fhir::{
        Base, FhirService, Seed, Settings,
        http::Mounted,
        interaction::Interaction,
        rest::{Request, Response},
        service::{FreezeError, READ_EVENT, WRITE_EVENT},
        smart::Smart,
    },
    recorder::NotRecorded,
};
use proctor_store::journal::SEAL;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

async fn open(house: &House) -> FhirService {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_000_000)));
    let settings = Arc::new(Settings::at("http://x"));
    FhirService::open(
        Base::empty(),
        settings,
        Seed::from_number(1),
        clock,
        house.recorder(),
    )
    .await
    .unwrap()
}

async fn ask(service: &FhirService, method: Method, path: &str, body: Option<Value>) -> Response {
    let mut request = Request::new(method, path, Timestamp::from_millis(0));
    if let Some(body) = body {
        request = request.with_body(body.to_string());
    }
    service.handle(request).await
}

async fn put(service: &FhirService, id: &str) -> Response {
    let body = json!({"resourceType": "Patient", "id": id, "gender": "male"});
    ask(service, Method::PUT, &format!("Patient/{id}"), Some(body)).await
}

#[tokio::test]
async fn what_was_answered_is_there_after_reopening() {
    let house = House::new().await;
    let service = open(&house).await;
    for id in ["a", "b"] {
        assert_eq!(put(&service, id).await.status, 201);
    }
    let created = ask(
        &service,
        Method::POST,
        "Patient",
        Some(json!({"resourceType": "Patient"})),
    )
    .await;
    assert_eq!(
        ask(&service, Method::DELETE, "Patient/b", None)
            .await
            .status,
        204
    );
    let again = open(&house).await;
    let digest = |service: &FhirService| service.look(proctor_playground::fhir::State::digest);
    assert_eq!(digest(&service), digest(&again));
    assert!(service.look(|one| again.look(|other| one == other)));
    let id = serde_json::from_slice::<Value>(&created.body).unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        ask(&again, Method::GET, &format!("Patient/{id}"), None)
            .await
            .body,
        created.body
    );
    assert_eq!(
        ask(&again, Method::GET, "Patient/b", None).await.status,
        410
    );
}

#[tokio::test]
async fn every_interaction_is_an_event_and_the_chain_holds() {
    let house = House::new().await;
    let service = open(&house).await;
    put(&service, "a").await;
    ask(&service, Method::GET, "Patient/a", None).await;
    ask(&service, Method::GET, "Patient?gender=male", None).await;
    ask(&service, Method::GET, "Patient/zzz", None).await;
    put(&service, "b").await;
    let events = house.final_events().await;
    let kinds: Vec<&str> = events.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds, [WRITE_EVENT, READ_EVENT, WRITE_EVENT]);
    let lines: Vec<Value> = events[1]
        .payload
        .split(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["shown"], json!(["Patient/a/_history/1"]));
    assert_eq!(
        lines[0]["response"],
        Value::Null,
        "the version is in the journal already"
    );
    assert_eq!(lines[1]["request"]["query"], "gender=male");
    assert_eq!(lines[2]["status"], 404);
    let written: Value = serde_json::from_slice(&events[0].payload).unwrap();
    insta::assert_snapshot!(format!("{written:#}"));
    house.store.journal().verify(WORLD).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_events_of_a_world_are_shown_with_both_bodies() {
    let house = House::new().await;
    let service = open(&house).await;
    put(&service, "a").await;
    let mut sent = Vec::new();
    for path in ["Patient/a", "Patient?gender=male", "Patient/zzz"] {
        sent.push(ask(&service, Method::GET, path, None).await.body);
    }
    ask(&service, Method::DELETE, "Patient/a", None).await;
    let events = house.final_events().await;
    // Shown by a node that has just come to know of the world.
    let other = open(&house).await;
    let mut shown = Vec::new();
    for event in events {
        shown.extend(other.interactions(&event).await.unwrap());
    }
    let bodies: Vec<_> = shown[1..4]
        .iter()
        .map(|shown| shown.response_body.clone())
        .collect();
    assert_eq!(bodies, sent);
    let shown: Value = shown.iter().map(Interaction::to_json).collect();
    insta::assert_snapshot!(format!("{shown:#}"));
}

#[tokio::test]
async fn what_does_not_reach_the_store_is_an_event_without_secrets() {
    let house = House::new().await;
    let smart = Smart::new("agent", "s3cret", [1; 32], Duration::from_secs(300));
    let mounted = Mounted::guarded(open(&house).await, smart);
    let send = |method: &str, path: &'static str, body: &'static str| {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("/{path}"));
        let request = request.body(axum::body::Body::from(body)).unwrap();
        let mounted = mounted.clone();
        let path = path.split('?').next().unwrap();
        async move { mounted.respond(path, request).await.status().as_u16() }
    };
    assert_eq!(send("GET", "Patient?gender=male", "").await, 401);
    let form = "grant_type=client_credentials&client_id=agent&client_secret=s3cret";
    assert_eq!(send("POST", "token?client_secret=s3cret", form).await, 200);
    let events = house.final_events().await;
    let text = String::from_utf8(events[0].payload.clone()).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    let shown = mounted.service().interactions(&events[0]).await.unwrap();
    let told: Vec<_> = shown
        .iter()
        .map(|shown| (shown.method.as_str(), shown.path.as_str(), shown.status))
        .collect();
    assert_eq!(
        told,
        [
            ("GET", "/Patient?gender=male", 401),
            ("POST", "/token", 200)
        ]
    );
    assert!(shown[0].response_body.starts_with(b"{"));
}

#[tokio::test]
async fn a_node_that_lags_behind_shows_what_another_wrote() {
    let house = House::new().await;
    let (one, other) = (open(&house).await, open(&house).await);
    put(&one, "a").await;
    let events = house.events().await;
    let shown = other.interactions(&events[0]).await.unwrap();
    assert_eq!(shown[0].status, 201);
    assert!(
        shown[0]
            .response_body
            .starts_with(b"{\"resourceType\":\"Patient\"")
    );
}

#[tokio::test]
async fn a_large_event_is_compressed_and_read_back() {
    let house = House::new().await;
    let service = open(&house).await;
    let entry = |number: usize| {
        json!({
            "request": {"method": "POST", "url": "Patient"},
            "resource": {"resourceType": "Patient", "name": [{"family": format!("Family {number}")}]},
        })
    };
    let entries: Vec<Value> = (0..200).map(entry).collect();
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": entries});
    assert_eq!(
        ask(&service, Method::POST, "", Some(bundle)).await.status,
        200
    );
    let events = house.events().await;
    let json = proctor_playground::payload::unpack(&events[0].payload).unwrap();
    assert!(json.len() > 10 * events[0].payload.len());
    let again = open(&house).await;
    assert!(service.look(|one| again.look(|other| one == other)));
}

#[tokio::test]
async fn two_services_on_one_world_both_get_through() {
    let house = House::new().await;
    let (one, other) = (open(&house).await, open(&house).await);
    for round in 0..5 {
        assert_eq!(put(&one, &format!("one-{round}")).await.status, 201);
        assert_eq!(put(&other, &format!("other-{round}")).await.status, 201);
    }
    let third = open(&house).await;
    assert_eq!(
        third.look(proctor_playground::fhir::State::resource_count),
        10
    );
    assert_eq!(
        ask(&other, Method::GET, "Patient/one-4", None).await.status,
        200
    );
}

#[tokio::test]
async fn a_reader_learns_of_what_another_node_wrote_and_its_notes_are_kept() {
    let house = House::new().await;
    let (one, other) = (open(&house).await, open(&house).await);
    put(&one, "a").await;
    // The note of this read cannot be written where the reader thinks it can.
    assert_eq!(
        ask(&other, Method::GET, "Patient/a", None).await.status,
        404
    );
    let found = async {
        while ask(&other, Method::GET, "Patient/a", None).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found)
        .await
        .unwrap();
    let events = house.final_events().await;
    let notes: String = events
        .iter()
        .filter(|event| &*event.kind == READ_EVENT)
        .map(|event| String::from_utf8_lossy(&event.payload).into_owned())
        .collect();
    assert!(notes.contains("\"status\":404"), "{notes}");
    assert!(notes.contains("\"status\":200"), "{notes}");
    house.store.journal().verify(WORLD).await.unwrap().unwrap();
}

#[tokio::test]
async fn many_writers_at_once_lose_nothing_and_share_commits() {
    let house = House::new().await;
    let service = open(&house).await;
    let before = house.store.journal().stats().commits;
    let writers = TaskTracker::new();
    for number in 0..200 {
        let service = service.clone();
        writers.spawn(async move {
            assert_eq!(put(&service, &format!("p{number}")).await.status, 201);
        });
    }
    writers.close();
    writers.wait().await;
    let commits = house.store.journal().stats().commits - before;
    assert!(commits < 200, "{commits} commits for 200 writes");
    let again = open(&house).await;
    assert_eq!(
        again.look(proctor_playground::fhir::State::resource_count),
        200
    );
}

#[tokio::test]
async fn of_two_updates_of_one_version_one_is_refused() {
    let house = House::new().await;
    let service = open(&house).await;
    put(&service, "a").await;
    let racers = TaskTracker::new();
    let handles: Vec<_> = (0..8)
        .map(|_| {
            let service = service.clone();
            racers.spawn(async move {
                let body = json!({"resourceType": "Patient", "id": "a"});
                let mut request = Request::new(Method::PUT, "Patient/a", Timestamp::from_millis(0))
                    .with_body(body.to_string());
                request.headers.if_match = Some("W/\"1\"".to_owned());
                service.handle(request).await.status.as_u16()
            })
        })
        .collect();
    let mut statuses = Vec::new();
    for handle in handles {
        statuses.push(handle.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
}

#[tokio::test]
async fn a_frozen_world_is_read_and_not_written() {
    let house = House::new().await;
    let service = open(&house).await;
    put(&service, "a").await;
    let head = house.store.journal().head(WORLD).await.unwrap();
    let now = Timestamp::from_millis(2_000_000);
    house
        .store
        .journal()
        .seal(WORLD, head.next, now)
        .await
        .unwrap();
    assert_eq!(put(&service, "b").await.status, 409);
    assert_eq!(
        ask(&service, Method::GET, "Patient/a", None).await.status,
        200
    );
    assert_eq!(
        ask(&service, Method::GET, "Patient/b", None).await.status,
        404
    );
    assert_eq!(put(&service, "c").await.status, 409);
}

#[tokio::test]
async fn what_was_read_is_on_disk_before_the_world_is_frozen() {
    let house = House::new().await;
    let service = open(&house).await;
    put(&service, "a").await;
    for _ in 0..3 {
        ask(&service, Method::GET, "Patient/a", None).await;
    }
    // The writer had no turn since: nothing but the seal makes it write.
    let head = service.freeze().await.unwrap().unwrap();
    let events = house.events().await;
    let kinds: Vec<&str> = events.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds, [WRITE_EVENT, READ_EVENT, SEAL]);
    assert_eq!(head.next, 3);
    assert_eq!(service.interactions(&events[1]).await.unwrap().len(), 3);
    assert!(matches!(
        service.freeze().await,
        Err(FreezeError::NotRecorded(NotRecorded::Frozen))
    ));
    assert_eq!(put(&service, "b").await.status, 409);
}

#[tokio::test]
async fn a_world_that_another_node_wrote_to_is_frozen_with_what_was_read_here() {
    let house = House::new().await;
    let (one, other) = (open(&house).await, open(&house).await);
    ask(&other, Method::GET, "Patient/a", None).await;
    put(&one, "a").await;
    other.freeze().await.unwrap();
    let events = house.events().await;
    let mut kinds: Vec<&str> = events.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds.pop(), Some(SEAL));
    // Which of the two came first is a matter of time.
    kinds.sort_unstable();
    assert_eq!(kinds, [WRITE_EVENT, READ_EVENT]);
    assert_eq!(put(&one, "b").await.status, 409);
}

#[tokio::test]
async fn a_frozen_world_can_be_read_for_ever() {
    let house = House::new().await;
    let service = open(&house).await;
    put(&service, "a").await;
    service.freeze().await.unwrap();
    let reads = async {
        // More than the recorder would hold.
        for _ in 0..70_000 {
            let answer = ask(&service, Method::GET, "Patient/a", None).await;
            assert_eq!(answer.status, 200);
        }
    };
    tokio::time::timeout(Duration::from_secs(300), reads)
        .await
        .unwrap();
}

#[tokio::test]
async fn readers_do_not_wait_for_notes() {
    let house = House::new().await;
    let service = open(&house).await;
    put(&service, "a").await;
    let reads = async {
        for _ in 0..100 {
            assert_eq!(
                ask(&service, Method::GET, "Patient/a", None).await.status,
                200
            );
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reads)
        .await
        .unwrap();
}
