//! A world read by position, as pages read it.

use http::Method;
use proctor_playground::world::{WorldEvent, WorldReader};
use serde_json::json;

use crate::clinic::{ask, begin, bench, origin};

#[tokio::test]
async fn a_world_is_read_from_any_position_as_it_is_read_from_the_beginning() {
    let bench = bench().await;
    let world = begin(&bench, 1, &[]).await;
    for number in 0..90 {
        ask(
            &world,
            Method::POST,
            "fhir/Patient",
            Some(json!({"resourceType": "Patient", "active": number % 2 == 0})),
        )
        .await;
        ask(&world, Method::GET, "fhir/Patient?_count=1", None).await;
    }
    let mut reader = WorldReader::new(origin(1), bench.store.journal().clone());
    let mut seen: Vec<WorldEvent> = Vec::new();
    while reader.read_on(|event| seen.push(event)).await.unwrap() {}
    assert!(!reader.is_complete());
    // What comes later is read on from where reading stopped.
    ask(&world, Method::DELETE, "fhir/Patient/none", None).await;
    world
        .freeze(proctor_core::time::Clock::now(&*bench.clock))
        .await
        .unwrap();
    while reader.read_on(|event| seen.push(event)).await.unwrap() {}
    assert!(reader.is_complete());
    let all = world.events(None).await.unwrap();
    assert_eq!(seen, all);
    let total = reader.total();
    assert_eq!(total, all.len() as u64);
    for from in [0, 1, 63, 64, 65, 100, total - 1] {
        let begin = usize::try_from(from).unwrap();
        let expected = &all[begin..(begin + 70).min(all.len())];
        assert_eq!(reader.from(from, 70).await.unwrap(), expected, "{from}");
    }
    let places = [0, 2, 64, 130, 177, total - 1, total, total + 9];
    let found = reader.at(&places).await.unwrap();
    let found: Vec<u64> = found.iter().map(|event| event.seq).collect();
    assert_eq!(found, places[..6]);
    assert!(reader.from(total, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_world_that_has_not_begun_has_nothing_to_read() {
    let bench = bench().await;
    let mut reader = WorldReader::new(origin(9), bench.store.journal().clone());
    assert!(
        !reader
            .read_on(|_| panic!("nothing happened"))
            .await
            .unwrap()
    );
    assert_eq!(reader.total(), 0);
    assert!(reader.from(0, 10).await.unwrap().is_empty());
}
