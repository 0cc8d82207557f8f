//! A store on a real journal.

use std::{sync::Arc, time::Duration};

use crate::house::{House, WORLD};
use http::{HeaderValue, Method, header};
use proctor_core::time::{Clock, ManualClock, Timestamp};
use proctor_fhir_server::serve::lone_origin;
use proctor_fhir_store::{Base, Seed, Settings, State, smart::Smart};
use proctor_playground::world::{CHANGE, FrozenWorld, LOOK, OPENING, Origin, Rehearsal, World};
use proctor_simulation::exchange::{Request, Response};
use proctor_store::journal::SEAL;
use proctor_testkit::eventually;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

async fn open(house: &House) -> World {
    open_for(house, None).await
}

/// Opens the world, or begins it.
async fn open_for(house: &House, smart: Option<Smart>) -> World {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(NOW));
    let settings = Arc::new(Settings::at("http://x"));
    let origin = Origin {
        id: WORLD,
        ..lone_origin(Base::empty(), settings, Seed::from_number(1), smart)
    };
    let rehearsal = Rehearsal::of(origin, NOW).unwrap();
    World::begin(rehearsal, &house.around(clock)).await.unwrap()
}

async fn ask(world: &World, method: Method, path: &str, body: Option<Value>) -> Response {
    let mut request = Request::new(method, &format!("fhir/{path}"), NOW);
    if let Some(body) = body {
        request = request.with_body(body.to_string());
    }
    world.handle(0, request).await
}

async fn put(world: &World, id: &str) -> Response {
    let body = json!({"resourceType": "Patient", "id": id, "gender": "male"});
    ask(world, Method::PUT, &format!("Patient/{id}"), Some(body)).await
}

/// What a world's state is.
async fn digest(world: &World) -> [u8; 32] {
    let digest = world.look(|exhibits| State::digest(exhibits.evidence::<State>().unwrap()[0]));
    digest.await.unwrap()
}

/// Whether the state in memory is the one that the journal leads to, indexes included.
async fn is_as_recorded(world: &World, house: &House) -> bool {
    let origin = world.origin().clone();
    let frozen = FrozenWorld::read(origin, house.store.journal()).await;
    let contents = frozen.unwrap().contents;
    let is_same = world.look(|exhibits| {
        *exhibits.evidence::<State>().unwrap()[0]
            == *contents.exhibits(NOW).evidence::<State>().unwrap()[0]
    });
    is_same.await.unwrap()
}

async fn resource_count(world: &World) -> usize {
    let count = world.look(|exhibits| exhibits.evidence::<State>().unwrap()[0].resource_count());
    count.await.unwrap()
}

fn json_of(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

#[tokio::test]
async fn what_was_answered_is_there_after_reopening() {
    let house = House::new().await;
    let world = open(&house).await;
    for id in ["a", "b"] {
        assert_eq!(put(&world, id).await.status, 201);
    }
    let created = ask(
        &world,
        Method::POST,
        "Patient",
        Some(json!({"resourceType": "Patient"})),
    )
    .await;
    assert_eq!(
        ask(&world, Method::DELETE, "Patient/b", None).await.status,
        204
    );
    let again = open(&house).await;
    assert_eq!(digest(&world).await, digest(&again).await);
    assert!(is_as_recorded(&world, &house).await);
    assert!(is_as_recorded(&again, &house).await);
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
    let world = open(&house).await;
    put(&world, "a").await;
    ask(&world, Method::GET, "Patient/a", None).await;
    ask(&world, Method::GET, "Patient?gender=male", None).await;
    ask(&world, Method::GET, "Patient/zzz", None).await;
    put(&world, "b").await;
    let events = house.final_events().await;
    let kinds: Vec<&str> = events.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds, [OPENING, CHANGE, LOOK, CHANGE]);
    let lines: Vec<Value> = events[2]
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
    let written: Value = serde_json::from_slice(&events[1].payload).unwrap();
    insta::assert_snapshot!(format!("{written:#}"));
    house.store.journal().verify(WORLD).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_events_of_a_world_are_shown_with_both_bodies() {
    let house = House::new().await;
    let world = open(&house).await;
    put(&world, "a").await;
    let mut sent = Vec::new();
    for path in ["Patient/a", "Patient?gender=male", "Patient/zzz"] {
        sent.push(json_of(&ask(&world, Method::GET, path, None).await));
    }
    ask(&world, Method::DELETE, "Patient/a", None).await;
    house.final_events().await;
    // Shown by a node that has just come to know of the world.
    let other = open(&house).await;
    let told = other.events(None).await.unwrap();
    let shown: Vec<Value> = told.into_iter().map(|event| event.payload).collect();
    let bodies: Vec<Value> = shown[1..4]
        .iter()
        .map(|shown| shown["response_body"].clone())
        .collect();
    assert_eq!(bodies, sent);
    insta::assert_snapshot!(format!("{:#}", Value::from(shown)));
}

#[tokio::test]
async fn an_answer_that_was_laid_out_for_people_is_shown_too() {
    let house = House::new().await;
    let world = open(&house).await;
    put(&world, "a").await;
    let pretty = ask(&world, Method::GET, "Patient/a?_pretty=true", None).await;
    assert!(pretty.body.contains(&b'\n'));
    ask(&world, Method::GET, "Patient/a", None).await;
    world.freeze(NOW).await.unwrap();
    let told = world.events(None).await.unwrap();
    let paths: Vec<&Value> = told.iter().map(|event| &event.payload["path"]).collect();
    assert_eq!(
        paths,
        ["/Patient/a", "/Patient/a?_pretty=true", "/Patient/a"]
    );
    assert_eq!(told[1].payload["response_body"], json_of(&pretty));
}

#[tokio::test]
async fn what_does_not_reach_the_store_is_an_event_without_secrets() {
    let house = House::new().await;
    let smart = Smart::new("agent", "s3cret", [1; 32], Duration::from_secs(300));
    let world = open_for(&house, Some(smart)).await;
    let send = async |method: Method, path: &str, body: &'static str| {
        let request = Request::new(method, &format!("fhir/{path}"), NOW).with_body(body);
        world.handle(0, request).await.status.as_u16()
    };
    assert_eq!(send(Method::GET, "Patient?gender=male", "").await, 401);
    let patient = r#"{"resourceType":"Patient","gender":"male"}"#;
    assert_eq!(send(Method::POST, "Patient", patient).await, 401);
    let form = "grant_type=client_credentials&client_id=agent&client_secret=s3cret";
    let with_query = "token?client_secret=s3cret";
    assert_eq!(send(Method::POST, with_query, form).await, 200);
    let events = house.final_events().await;
    let text = String::from_utf8(events[1].payload.clone()).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    let told = world.events(None).await.unwrap();
    let told: Vec<_> = told
        .iter()
        .map(|event| {
            let payload = &event.payload;
            let is_said = payload["response_body"].is_object();
            (
                &payload["method"],
                &payload["path"],
                &payload["status"],
                is_said,
            )
        })
        .map(|(method, path, status, is_said)| format!("{method} {path} {status} {is_said}"))
        .collect();
    assert_eq!(
        told,
        [
            r#""GET" "/Patient?gender=male" 401 true"#,
            r#""POST" "/Patient" 401 true"#,
            r#""POST" "/token" 200 false"#,
        ]
    );
    assert_eq!(resource_count(&world).await, 0);
}

#[tokio::test]
async fn a_node_that_lags_behind_shows_what_another_wrote() {
    let house = House::new().await;
    let (one, other) = (open(&house).await, open(&house).await);
    put(&one, "a").await;
    let told = other.events(None).await.unwrap();
    assert_eq!(told[0].payload["status"], 201);
    assert_eq!(told[0].payload["response_body"]["resourceType"], "Patient");
}

#[tokio::test]
async fn a_large_event_is_compressed_and_read_back() {
    let house = House::new().await;
    let world = open(&house).await;
    let entry = |number: usize| {
        json!({
            "request": {"method": "POST", "url": "Patient"},
            "resource": {"resourceType": "Patient", "name": [{"family": format!("Family {number}")}]},
        })
    };
    let entries: Vec<Value> = (0..200).map(entry).collect();
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": entries});
    assert_eq!(
        ask(&world, Method::POST, "", Some(bundle)).await.status,
        200
    );
    let events = house.events().await;
    let json = proctor_simulation::payload::unpack(&events[1].payload).unwrap();
    assert!(json.len() > 10 * events[1].payload.len());
    let again = open(&house).await;
    assert_eq!(digest(&world).await, digest(&again).await);
    assert!(is_as_recorded(&world, &house).await);
    assert!(is_as_recorded(&again, &house).await);
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
    assert_eq!(resource_count(&third).await, 10);
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
    eventually("the reader learns of what was written", async || {
        ask(&other, Method::GET, "Patient/a", None).await.status == 200
    })
    .await;
    let events = house.final_events().await;
    let notes: String = events
        .iter()
        .filter(|event| &*event.kind == LOOK)
        .map(|event| String::from_utf8_lossy(&event.payload).into_owned())
        .collect();
    assert!(notes.contains("\"status\":404"), "{notes}");
    assert!(notes.contains("\"status\":200"), "{notes}");
    house.store.journal().verify(WORLD).await.unwrap().unwrap();
}

#[tokio::test]
async fn many_writers_at_once_lose_nothing_and_share_commits() {
    let house = House::new().await;
    let world = open(&house).await;
    let before = house.store.journal().stats().commits;
    let writers = TaskTracker::new();
    for number in 0..200 {
        let world = world.clone();
        writers.spawn(async move {
            assert_eq!(put(&world, &format!("p{number}")).await.status, 201);
        });
    }
    writers.close();
    writers.wait().await;
    let commits = house.store.journal().stats().commits - before;
    assert!(commits < 200, "{commits} commits for 200 writes");
    let again = open(&house).await;
    assert_eq!(resource_count(&again).await, 200);
}

#[tokio::test]
async fn of_two_updates_of_one_version_one_is_refused() {
    let house = House::new().await;
    let world = open(&house).await;
    put(&world, "a").await;
    let racers = TaskTracker::new();
    let handles: Vec<_> = (0..8)
        .map(|_| {
            let world = world.clone();
            racers.spawn(async move {
                let body = json!({"resourceType": "Patient", "id": "a"});
                let mut request =
                    Request::new(Method::PUT, "fhir/Patient/a", NOW).with_body(body.to_string());
                let tag = HeaderValue::from_static("W/\"1\"");
                request.headers.insert(header::IF_MATCH, tag);
                world.handle(0, request).await.status.as_u16()
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
    let world = open(&house).await;
    put(&world, "a").await;
    let head = house.store.journal().head(WORLD).await.unwrap();
    let now = Timestamp::from_millis(2_000_000);
    house
        .store
        .journal()
        .seal(WORLD, head.next, now)
        .await
        .unwrap();
    assert_eq!(put(&world, "b").await.status, 409);
    assert_eq!(
        ask(&world, Method::GET, "Patient/a", None).await.status,
        200
    );
    assert_eq!(
        ask(&world, Method::GET, "Patient/b", None).await.status,
        404
    );
    assert_eq!(put(&world, "c").await.status, 409);
}

#[tokio::test]
async fn what_was_read_is_on_disk_before_the_world_is_frozen() {
    let house = House::new().await;
    let world = open(&house).await;
    put(&world, "a").await;
    for _ in 0..3 {
        ask(&world, Method::GET, "Patient/a", None).await;
    }
    // The writer had no turn since: nothing but the seal makes it write.
    let at = world.freeze(NOW).await.unwrap();
    let events = house.events().await;
    let kinds: Vec<&str> = events.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds, [OPENING, CHANGE, LOOK, SEAL]);
    assert_eq!(world.events(None).await.unwrap().len(), 4);
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(world.freeze(later).await.unwrap(), at);
    assert_eq!(house.events().await.len(), 4);
    assert_eq!(put(&world, "b").await.status, 409);
}

#[tokio::test]
async fn a_world_that_another_node_wrote_to_is_frozen_with_what_was_read_here() {
    let house = House::new().await;
    let (one, other) = (open(&house).await, open(&house).await);
    ask(&other, Method::GET, "Patient/a", None).await;
    put(&one, "a").await;
    other.freeze(NOW).await.unwrap();
    let events = house.events().await;
    let mut kinds: Vec<&str> = events.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds.pop(), Some(SEAL));
    // Which of the two came first is a matter of time.
    kinds.sort_unstable();
    assert_eq!(kinds, [CHANGE, LOOK, OPENING]);
    assert_eq!(put(&one, "b").await.status, 409);
}

#[tokio::test]
async fn a_frozen_world_can_be_read_for_ever() {
    let house = House::new().await;
    let world = open(&house).await;
    put(&world, "a").await;
    world.freeze(NOW).await.unwrap();
    let reads = async {
        // More than the recorder would hold.
        for _ in 0..70_000 {
            let answer = ask(&world, Method::GET, "Patient/a", None).await;
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
    let world = open(&house).await;
    put(&world, "a").await;
    let reads = async {
        for _ in 0..100 {
            assert_eq!(
                ask(&world, Method::GET, "Patient/a", None).await.status,
                200
            );
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reads)
        .await
        .unwrap();
}
