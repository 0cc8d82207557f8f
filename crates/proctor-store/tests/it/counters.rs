//! What is asked of the database is counted.

use proctor_core::id::kinds::WorldId;
use proctor_store::{DatabaseCounts, journal::NewEvent};
use rstest::rstest;
use uuid::Uuid;

use crate::fixture::{Fixture, On, START};

#[rstest]
#[tokio::test]
async fn statements_commits_and_rows_are_counted(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let since = |before| store.counters() - before;

    let before = store.counters();
    store.ping().await.unwrap();
    let nothing_found = DatabaseCounts {
        statements: 1,
        commits: 0,
        rows_read: 0,
    };
    assert_eq!(since(before), nothing_found);

    let before = store.counters();
    fixture.organization("first").await;
    let written = since(before);
    assert_eq!((written.commits, written.rows_read), (1, 0));

    let before = store.counters();
    store.ping().await.unwrap();
    assert_eq!(since(before).rows_read, 1);

    let event = || NewEvent {
        at: START,
        kind: "note".into(),
        payload: b"x".to_vec(),
    };
    let world = WorldId::from_uuid(Uuid::from_u128(1));
    // The first takes places in the log for all that come after it.
    store
        .journal()
        .append(world, 0, vec![event()])
        .await
        .unwrap();
    let before = store.counters();
    let events = vec![event(), event(), event()];
    store.journal().append(world, 1, events).await.unwrap();
    assert_eq!(
        since(before).commits,
        1,
        "events that come together are committed together"
    );
}
