use std::time::Duration;

use proctor_core::{
    canonical::Digest,
    id::kinds::{TaskId, TaskKind},
};
use proctor_store::{
    Store,
    idempotency::{Answer, Begun, Claim, KEPT, Unanswered},
    repeatable::{Made, was_begun_before},
};
use rstest::rstest;
use tokio::task::JoinSet;

use crate::fixture::{Fixture, On};

const SCOPE: &str = "key POST /v1/scenarios";
const LONGEST: Option<Duration> = Some(Duration::from_secs(120));

fn body(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

fn answer(text: &str) -> Answer {
    Answer {
        status: 200,
        content_type: Some("application/json".to_owned()),
        body: text.as_bytes().to_vec(),
    }
}

async fn fresh(store: &Store, id: &str) -> Claim {
    match store
        .begin_request(SCOPE, id, body("a"), LONGEST)
        .await
        .unwrap()
    {
        Begun::Fresh(claim) => claim,
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[tokio::test]
async fn a_request_is_done_once_and_answered_the_same(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let claim = fresh(store, "1").await;
    store.finish_request(claim, &answer("made")).await.unwrap();
    let again = store
        .begin_request(SCOPE, "1", body("a"), LONGEST)
        .await
        .unwrap();
    assert!(
        matches!(again, Begun::Done(ref stored) if *stored == answer("made")),
        "{again:?}"
    );
    let second_node = fixture.second_node().await;
    assert!(matches!(
        second_node
            .begin_request(SCOPE, "1", body("a"), LONGEST)
            .await
            .unwrap(),
        Begun::Done(_)
    ));
    let other = store
        .begin_request(SCOPE, "1", body("b"), LONGEST)
        .await
        .unwrap();
    assert!(matches!(other, Begun::OtherBody), "{other:?}");
    fresh(store, "2").await;

    fixture.clock.advance(KEPT);
    store.forget_old_requests().await.unwrap();
    fresh(store, "1").await;
}

#[rstest]
#[tokio::test]
async fn duplicates_wait_for_the_first_and_get_its_answer(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let claim = fresh(&fixture.store, "1").await;
    let mut waiting = JoinSet::new();
    for _ in 0..5 {
        let store = fixture.store.clone();
        waiting.spawn(async move {
            store
                .begin_request(SCOPE, "1", body("a"), LONGEST)
                .await
                .unwrap()
        });
    }
    assert!(
        tokio::time::timeout(Duration::from_millis(200), waiting.join_next())
            .await
            .is_err(),
        "they wait"
    );
    fixture
        .store
        .finish_request(claim, &answer("made"))
        .await
        .unwrap();
    while let Some(begun) = waiting.join_next().await {
        assert!(matches!(begun.unwrap(), Begun::Done(ref stored) if *stored == answer("made")));
    }
}

#[rstest]
#[tokio::test]
async fn what_was_given_up_is_done_by_the_next(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let claim = fresh(&fixture.store, "1").await;
    let (next, given_up) = tokio::join!(
        fresh(&fixture.store, "1"),
        fixture.store.abandon_request(claim, Unanswered::NotDone)
    );
    given_up.unwrap();
    drop(next);
}

#[rstest]
#[tokio::test]
async fn the_claim_of_a_process_that_died_does_not_block_for_ever(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    // Dropped without a word, as a killed process leaves it.
    drop(fresh(&fixture.store, "1").await);
    if let On::Postgres = on {
        // Another node might still be at it, until its claim is void.
        let second = fixture.second_node().await;
        for passed in [0, 120] {
            fixture.clock.advance(Duration::from_secs(passed));
            let waits = tokio::time::timeout(
                Duration::from_millis(300),
                second.begin_request(SCOPE, "1", body("a"), LONGEST),
            )
            .await;
            assert!(waits.is_err(), "a request may take as long as that");
        }
        fixture.clock.advance(Duration::from_secs(31));
    }
    fresh(&fixture.store, "1").await;
}

/// The id of what a request makes, and whether it was begun before.
async fn makes(store: &Store, claim: &Claim) -> (TaskId, bool) {
    let made = async { (store.repeatable_id(), was_begun_before()) };
    claim.request().carry_out(made).await
}

#[rstest]
#[tokio::test]
async fn a_request_that_was_not_answered_makes_the_same_again(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let claim = fresh(store, "1").await;
    let first = makes(store, &claim).await;
    assert!(!first.1);
    // The process is gone, and its claim is void.
    drop(claim);
    fixture.clock.advance(Duration::from_secs(200));
    let claim = fresh(store, "1").await;
    assert_eq!(makes(store, &claim).await, (first.0, true));
    // A fault, then a refusal: still nobody knows whether the first one did it.
    store
        .abandon_request(claim, Unanswered::PerhapsDone)
        .await
        .unwrap();
    let claim = fresh(store, "1").await;
    store
        .abandon_request(claim, Unanswered::NotDone)
        .await
        .unwrap();
    store.forget_old_requests().await.unwrap();
    let claim = fresh(store, "1").await;
    assert_eq!(makes(store, &claim).await, (first.0, true));
    let (found, searched) = (Ok::<_, ()>(Some("there")), std::cell::Cell::new(0));
    let look = |id: TaskId| {
        assert_eq!(id, first.0);
        searched.set(searched.get() + 1);
        std::future::ready(found)
    };
    let made = claim.request().carry_out(store.make_once(look)).await;
    assert!(matches!(made, Ok(Made::Before("there"))));
    assert_eq!(searched.get(), 1);
    drop(claim);

    // After a day it is another request.
    fixture.clock.advance(KEPT);
    let claim = fresh(store, "1").await;
    let (id, begun_before) = makes(store, &claim).await;
    assert!(id > first.0 && !begun_before);
}

#[rstest]
#[tokio::test]
async fn other_requests_make_other_things(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let one = fresh(store, "1").await;
    let (first, _) = makes(store, &one).await;
    let (second, _) = makes(store, &fresh(store, "2").await).await;
    assert_ne!(first, second);
    // What was refused did nothing: the next begins anew.
    store
        .abandon_request(one, Unanswered::NotDone)
        .await
        .unwrap();
    fixture.clock.advance(Duration::from_millis(1));
    let again = fresh(store, "1").await;
    let (id, begun_before) = makes(store, &again).await;
    assert!(id != first && !begun_before);
    store
        .abandon_request(again, Unanswered::PerhapsDone)
        .await
        .unwrap();
    let other = store.begin_request(SCOPE, "1", body("other"), LONGEST);
    let Begun::Fresh(other) = other.await.unwrap() else {
        panic!("the first one has no answer");
    };
    let (other, begun_before) = makes(store, &other).await;
    assert!(other != id && !begun_before);
    // Outside of requests, and in tasks that go on after them, ids are fresh.
    let outside: TaskId = store.repeatable_id();
    assert_ne!(outside, store.repeatable_id::<TaskKind>());
}
