use std::time::Duration;

use proctor_core::canonical::Digest;
use proctor_store::{
    Store,
    idempotency::{Answer, Begun, Claim, KEPT},
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
        fixture.store.abandon_request(claim)
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
