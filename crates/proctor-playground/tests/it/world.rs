//! A playground at work: what it answers, records, and makes of its journal again.

use crate::clinic::{Bench, ask, bench, origin, patients, registry, with_steps};
use http::Method;
use proctor_core::{
    environment::{Dataset, DatasetType},
    id::kinds::DatasetId,
    time::Clock,
};
use proctor_fhir_store::State;
use proctor_playground::world::{FrozenWorld, NotOpened, Rehearsal, World};
use proctor_simulation::{exchange::Request, scenario::Step};
use serde_json::json;
use uuid::Uuid;

fn steps() -> Vec<Step> {
    let step = json!({"type": "fhir_upsert", "resource": {"resourceType": "Patient", "id": "bob"}});
    vec![registry().read_step(&step).unwrap()]
}

async fn begin(bench: &Bench, steps: &[Step]) -> World {
    crate::clinic::begin(bench, 1, steps).await
}

#[tokio::test]
async fn a_world_begins_once_and_is_the_same_when_opened_again() {
    let bench = bench().await;
    let world = begin(&bench, &steps()).await;
    assert_eq!(patients(&world).await, 2);
    let new = json!({"resourceType": "Patient"});
    assert_eq!(
        ask(&world, Method::POST, "fhir/Patient", Some(new)).await.0,
        201
    );
    let again = begin(&bench, &steps()).await;
    assert_eq!(
        patients(&again).await,
        3,
        "the scenario does not happen twice"
    );
    let opened = World::open(origin(1), &bench.around).await.unwrap();
    assert_eq!(patients(&opened).await, 3);
    assert!(
        bench
            .store
            .journal()
            .verify(origin(1).id)
            .await
            .unwrap()
            .is_ok()
    );
}

#[tokio::test]
async fn a_scenario_happens_as_a_whole_or_not_at_all() {
    let bench = bench().await;
    let mut steps = steps();
    let bad = json!({"type": "fhir_upsert", "resource": {"resourceType": "Patiént", "id": "x"}});
    steps.push(registry().read_step(&bad).unwrap());
    let refused = Rehearsal::of(with_steps(1, &steps), bench.clock.now());
    assert!(matches!(refused, Err(NotOpened::Step { number: 2, .. })));
    let voice = registry()
        .read_step(&json!({"type": "voicemail", "text": "Hello"}))
        .unwrap();
    let refused = Rehearsal::of(with_steps(1, &[voice]), bench.clock.now())
        .err()
        .unwrap();
    assert_eq!(
        refused.to_string(),
        "step 1 of the scenario (voicemail): the environment has no simulator of type Voice"
    );
    assert_eq!(
        bench.store.journal().head(origin(1).id).await.unwrap().next,
        0
    );
}

#[tokio::test]
async fn a_frozen_world_can_be_read_and_never_changes() {
    let bench = bench().await;
    let world = begin(&bench, &[]).await;
    assert_eq!(
        ask(&world, Method::GET, "fhir/Patient/ada", None).await.0,
        200
    );
    let at = world.freeze(bench.clock.now()).await.unwrap();
    assert_eq!(world.freeze(bench.clock.now()).await.unwrap(), at);
    let new = json!({"resourceType": "Patient"});
    assert_eq!(
        ask(&world, Method::POST, "fhir/Patient", Some(new)).await.0,
        409
    );
    assert_eq!(
        ask(&world, Method::GET, "fhir/Patient/ada", None).await.0,
        200
    );
    assert_eq!(patients(&world).await, 1);
    let frozen = FrozenWorld::read(origin(1), bench.store.journal()).await;
    let (contents, frozen_at) = frozen.map(|it| (it.contents, it.frozen_at)).unwrap();
    assert_eq!(frozen_at, Some(at));
    assert_eq!(
        contents.exhibits(at).evidence::<State>().unwrap()[0].resource_count(),
        1
    );
}

#[tokio::test]
async fn two_handles_on_one_world_never_lose_each_others_changes() {
    let bench = bench().await;
    let one = begin(&bench, &[]).await;
    let two = World::open(origin(1), &bench.around).await.unwrap();
    let create = async |world: &World| {
        let new = json!({"resourceType": "Patient"});
        ask(world, Method::POST, "fhir/Patient", Some(new)).await.0
    };
    for _ in 0..5 {
        let (a, b) = tokio::join!(create(&one), create(&two));
        assert_eq!((a, b), (201, 201));
    }
    let opened = World::open(origin(1), &bench.around).await.unwrap();
    assert_eq!(patients(&opened).await, 11);
}

#[tokio::test]
async fn the_events_of_a_world_tell_everything_in_order() {
    let bench = bench().await;
    let world = begin(&bench, &steps()).await;
    ask(&world, Method::GET, "fhir/Patient/bob", None).await;
    let new = json!({"resourceType": "Patient", "id": "bob", "active": true});
    ask(&world, Method::PUT, "fhir/Patient/bob", Some(new)).await;
    world.freeze(bench.clock.now()).await.unwrap();
    let events = world.events(Some(0)).await.unwrap();
    let told: Vec<String> = events
        .iter()
        .map(|event| {
            format!(
                "{} {} {} {} {}",
                event.seq,
                event.kind,
                event.direction,
                event.payload["method"],
                event.payload["status"]
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "0 fhir_provision inbound \"PUT\" 201",
            "1 fhir_request outbound \"GET\" 200",
            "2 fhir_request outbound \"PUT\" 200",
        ]
    );
    let mut ids: Vec<_> = events.iter().map(|event| event.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids, events.iter().map(|event| event.id).collect::<Vec<_>>());
    assert!(world.events(Some(1)).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_request_at_the_wrong_door_is_an_event_like_any_other() {
    let bench = bench().await;
    let world = begin(&bench, &[]).await;
    for path in ["hl7/inbox", "nowhere", "fhir/Patient/ada"] {
        let request = Request::new(Method::GET, path, bench.clock.now());
        let status = world.handle(0, request).await.status;
        assert_eq!(status == 200, path == "fhir/Patient/ada", "{path}");
    }
    world.freeze(bench.clock.now()).await.unwrap();
    let events = world.events(Some(0)).await.unwrap();
    let told: Vec<String> = events
        .iter()
        .map(|event| format!("{} {}", event.kind, event.payload["path"]))
        .collect();
    assert_eq!(
        told,
        [
            "request \"hl7/inbox\"",
            "request \"nowhere\"",
            "fhir_request \"/Patient/ada\"",
        ]
    );
}

#[tokio::test]
async fn data_can_be_put_in_and_taken_out_while_the_world_lives() {
    let bench = bench().await;
    let world = begin(&bench, &[]).await;
    let dataset = Dataset {
        id: DatasetId::from_uuid(Uuid::from_u128(9)),
        name: "more".to_owned(),
        kind: DatasetType::Fhir,
        data: json!({"resourceType": "Bundle", "type": "collection", "entry": [
            {"resource": {"resourceType": "Patient", "id": "cleo"}},
            {"resource": {"resourceType": "Observation", "id": "o1", "status": "final", "code": {"text": "BP"}, "subject": {"reference": "Patient/cleo"}}},
        ]}),
    };
    world.load(0, &dataset).await.unwrap();
    assert_eq!(patients(&world).await, 3);
    world.unload(0, &dataset).await.unwrap();
    assert_eq!(patients(&world).await, 1);
    let files = Dataset {
        kind: DatasetType::Files,
        ..dataset
    };
    assert!(world.load(0, &files).await.is_err());
    assert!(world.load(7, &files).await.is_err());
}
