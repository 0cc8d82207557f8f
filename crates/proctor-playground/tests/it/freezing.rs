//! A world that is frozen while it is written to: it shows its journal, and nothing else.

use crate::clinic::{Bench, ask, begin, bench, origin, patients};
use http::Method;
use proctor_core::time::{Clock, Timestamp};
use proctor_fhir_store::State;
use proctor_playground::world::{FrozenWorld, World, WorldError};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

async fn create(world: &World) -> u16 {
    let new = json!({"resourceType": "Patient"});
    ask(world, Method::POST, "fhir/Patient", Some(new)).await.0
}

async fn digest(world: &World) -> [u8; 32] {
    let digest = world.look(|exhibits| State::digest(exhibits.evidence::<State>().unwrap()[0]));
    digest.await.unwrap()
}

/// The digest and the number of resources that the journal of a world alone leads to.
async fn replayed(bench: &Bench, number: u128) -> ([u8; 32], usize) {
    let frozen = FrozenWorld::read(origin(number), bench.store.journal()).await;
    let (contents, frozen_at) = frozen.map(|it| (it.contents, it.frozen_at)).unwrap();
    let exhibits = contents.exhibits(frozen_at.unwrap());
    (
        exhibits.evidence::<State>().unwrap()[0].digest(),
        exhibits.evidence::<State>().unwrap()[0].resource_count(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_at_the_moment_of_freezing_is_in_the_journal_or_nowhere() {
    let bench = bench().await;
    for number in 1..=200 {
        let world = begin(&bench, number, &[]).await;
        let mut writes = JoinSet::new();
        for _ in 0..4 {
            let world = world.clone();
            writes.spawn(async move { create(&world).await });
        }
        let freezing = {
            let (world, now) = (world.clone(), bench.clock.now());
            TaskTracker::new().spawn(async move { world.freeze(now).await.unwrap() })
        };
        let statuses = writes.join_all().await;
        freezing.await.unwrap();
        let made = statuses.iter().filter(|status| **status == 201).count();
        let refused = statuses.iter().filter(|status| **status == 409).count();
        assert_eq!(made + refused, 4, "{statuses:?}");
        let (expected, count) = replayed(&bench, number).await;
        assert_eq!(count, 1 + made, "{statuses:?}");
        assert_eq!(patients(&world).await, count, "{statuses:?}");
        assert_eq!(digest(&world).await, expected);
    }
}

#[tokio::test]
async fn a_write_that_comes_while_the_seal_is_being_written_changes_nothing() {
    let bench = bench().await;
    let world = begin(&bench, 1, &[]).await;
    let freezing = world.freeze(bench.clock.now());
    let writing = async {
        // By now freezing has begun, and waits for the disk.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        create(&world).await
    };
    let (frozen, status) = tokio::join!(freezing, writing);
    frozen.unwrap();
    assert_eq!(status, 409);
    assert_eq!(digest(&world).await, replayed(&bench, 1).await.0);
}

#[tokio::test]
async fn what_another_node_froze_shows_nothing_that_was_refused_here() {
    let bench = bench().await;
    for number in 1..=50 {
        let here = begin(&bench, number, &[]).await;
        let there = World::open(origin(number), &bench.around).await.unwrap();
        there.freeze(bench.clock.now()).await.unwrap();
        // The journal is sealed, but this node learns of it only when it writes.
        let read = async {
            tokio::task::yield_now().await;
            let (status, bundle) = ask(&here, Method::GET, "fhir/Patient", None).await;
            (status, bundle["total"].as_u64())
        };
        let (written, read, seen) = tokio::join!(create(&here), read, patients(&here));
        assert_eq!(written, 409);
        assert_eq!(read, (200, Some(1)), "a refused write is not shown");
        assert_eq!(seen, 1, "and not judged");
        assert_eq!(digest(&here).await, replayed(&bench, number).await.0);
    }
}

#[tokio::test]
async fn a_state_that_the_journal_did_not_take_is_not_shown() {
    let bench = bench().await;
    let world = begin(&bench, 1, &[]).await;
    bench.store.close().await;
    assert_eq!(create(&world).await, 503);
    let seen = world.look(|exhibits| exhibits.evidence::<State>().unwrap()[0].resource_count());
    assert!(matches!(seen.await, Err(WorldError::Journal(_))));
    assert!(world.freeze(bench.clock.now()).await.is_err());
    assert_eq!(world.frozen_at(), None);
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_leave_a_world_half_frozen() {
    let bench = bench().await;
    for number in 1..=20 {
        let world = begin(&bench, number, &[]).await;
        let written = TaskTracker::new().spawn({
            let world = world.clone();
            async move { create(&world).await }
        });
        tokio::task::yield_now().await;
        let going = TaskTracker::new().spawn({
            let (world, now) = (world.clone(), bench.clock.now());
            async move { world.freeze(now).await }
        });
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        going.abort();
        assert_eq!(create(&world).await, 409);
        assert_eq!(written.await.unwrap(), 201);
        let at = world.freeze(Timestamp::from_millis(0)).await.unwrap();
        assert_eq!(
            at,
            bench.clock.now(),
            "it was frozen when it was first asked for"
        );
        let (expected, count) = replayed(&bench, number).await;
        assert_eq!((digest(&world).await, count), (expected, 2));
    }
}

#[tokio::test]
async fn what_changes_nothing_is_answered_by_a_frozen_world_whatever_its_method() {
    let bench = bench().await;
    let world = begin(&bench, 1, &[]).await;
    world.freeze(bench.clock.now()).await.unwrap();
    let (status, bundle) = ask(&world, Method::POST, "fhir/Patient/_search", None).await;
    assert_eq!((status, &bundle["total"]), (200, &json!(1)));
}
