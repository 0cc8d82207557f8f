//! A database that is locked, gone or full: a clear refusal, nothing half-written, and recovery
//! without opening the store again.

use std::{sync::Arc, time::Duration};

use proctor_core::id::kinds::WorldId;
use proctor_store::{
    Store, StoreError, StoreOptions, Unavailability,
    ambient::{RandomIds, SystemClock},
    journal::{AppendError, NewEvent},
};
use proctor_testkit::postgres::Postgres;
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use crate::{fixture::START, solvers::profile};

fn event(bytes: usize) -> NewEvent {
    NewEvent {
        at: START,
        kind: "note".into(),
        payload: vec![b'x'; bytes],
    }
}

async fn open(options: &StoreOptions) -> Store {
    Store::open(
        options,
        Arc::new(SystemClock),
        Arc::new(RandomIds::default()),
    )
    .await
    .unwrap()
}

#[track_caller]
fn assert_unavailable<T: std::fmt::Debug>(
    outcome: Result<T, StoreError>,
    expected: Unavailability,
) {
    match outcome {
        Err(StoreError::Unavailable { reason, .. }) => assert_eq!(reason, expected),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_append_unavailable<T: std::fmt::Debug>(
    outcome: Result<T, AppendError>,
    expected: Unavailability,
) {
    match outcome {
        Err(AppendError::Store(error)) => {
            assert!(
                matches!(*error, StoreError::Unavailable { reason, .. } if reason == expected),
                "{error:?}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_locked_database_is_busy_until_the_lock_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = StoreOptions::embedded(directory.path());
    options.patience = Duration::from_millis(100);
    let store = open(&options).await;
    let organization = store.create_organization("Clinic").await.unwrap().id;
    let world: WorldId = store.fresh_id();

    let url = format!("sqlite:{}", directory.path().join("proctor.db").display());
    let mut other = SqliteConnection::connect(&url).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    assert_unavailable(
        store.create_solver(organization, profile("ada")).await,
        Unavailability::Busy,
    );
    assert_append_unavailable(
        store.journal().append(world, 0, vec![event(1)]).await,
        Unavailability::Busy,
    );
    assert!(
        store.organization(organization).await.unwrap().is_some(),
        "reading goes on"
    );

    other.execute("ROLLBACK").await.unwrap();
    store
        .create_solver(organization, profile("ada"))
        .await
        .unwrap();
    assert_eq!(
        store
            .journal()
            .append(world, 0, vec![event(1)])
            .await
            .unwrap()
            .next,
        1
    );
}

#[tokio::test]
async fn a_full_database_takes_no_half_of_anything() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = StoreOptions::embedded(directory.path());
    options.sqlite_max_bytes = Some(1024 * 1024);
    let store = open(&options).await;
    let organization = store.create_organization("Clinic").await.unwrap().id;
    let ballast: WorldId = store.fresh_id();
    let pieces = vec![event(10_000), event(10_000), event(10_000), event(10_000)];
    store.journal().append(ballast, 0, pieces).await.unwrap();
    let filler: WorldId = store.fresh_id();
    let mut filled = 0;
    let full = loop {
        match store
            .journal()
            .append(filler, filled, vec![event(10_000), event(10_000)])
            .await
        {
            Ok(head) => filled = head.next,
            Err(error) => break error,
        }
    };
    assert_append_unavailable::<()>(Err(full), Unavailability::Full);
    assert_eq!(
        store.journal().head(filler).await.unwrap().next,
        filled,
        "pairs stay pairs"
    );
    assert!(store.journal().verify(filler).await.unwrap().is_ok());
    let secret = "x".repeat(60_000);
    assert_unavailable(
        store.create_secret(organization, "S", &secret.into()).await,
        Unavailability::Full,
    );
    assert!(store.secret(organization, "S").await.unwrap().is_none());

    let url = format!("sqlite:{}", directory.path().join("proctor.db").display());
    let mut other = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("DELETE FROM journal_events WHERE world = $1")
        .bind(ballast.bare())
        .execute(&mut other)
        .await
        .unwrap();
    let head = store
        .journal()
        .append(filler, filled, vec![event(10_000), event(10_000)])
        .await
        .unwrap();
    assert_eq!(head.next, filled + 2, "room was made, and it goes on");
}

#[tokio::test]
async fn a_database_server_that_went_away_is_found_again() {
    let server = Postgres::start();
    let directory = tempfile::tempdir().unwrap();
    let mut options = StoreOptions::embedded(directory.path());
    options.database_url = Some(server.fresh_database());
    options.patience = Duration::from_secs(1);
    let store = open(&options).await;
    let organization = store.create_organization("Clinic").await.unwrap().id;
    let world: WorldId = store.fresh_id();
    store
        .journal()
        .append(world, 0, vec![event(1)])
        .await
        .unwrap();

    server.crash();
    for _ in 0..3 {
        let outcome = store.create_solver(organization, profile("ada")).await;
        assert!(
            matches!(outcome, Err(StoreError::Unavailable { .. })),
            "{outcome:?}"
        );
    }
    let outcome = store.journal().append(world, 1, vec![event(1)]).await;
    assert!(matches!(outcome, Err(AppendError::Store(_))), "{outcome:?}");
    assert!(store.ping().await.is_err());

    server.start_again();
    store
        .create_solver(organization, profile("ada"))
        .await
        .unwrap();
    assert_eq!(
        store
            .journal()
            .append(world, 1, vec![event(1)])
            .await
            .unwrap()
            .next,
        2
    );
    assert!(store.journal().verify(world).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_says_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = StoreOptions::embedded(directory.path());
    options.patience = Duration::from_millis(200);
    let attempt = |options: StoreOptions| async move {
        Store::open(
            &options,
            Arc::new(SystemClock),
            Arc::new(RandomIds::default()),
        )
        .await
        .map(drop)
        .unwrap_err()
    };
    options.database_url = Some("mysql://localhost".to_owned());
    assert!(
        attempt(options.clone())
            .await
            .to_string()
            .contains("'postgres://' or 'sqlite:'")
    );
    options.database_url = Some("postgres://postgres@127.0.0.1:1/x".to_owned());
    assert!(matches!(
        attempt(options.clone()).await,
        StoreError::Unavailable { .. }
    ));

    options.database_url = None;
    fs_err::write(directory.path().join("proctor.db"), "this is no database").unwrap();
    assert!(matches!(
        attempt(options.clone()).await,
        StoreError::Unavailable {
            reason: Unavailability::Gone,
            ..
        }
    ));
    options.data = directory.path().join("proctor.db").join("below-a-file");
    assert!(attempt(options).await.to_string().contains("below-a-file"));
}
