//! One server at a time on a database.

use proctor_store::{ServerLock, StoreError, StoreOptions};
use rstest::rstest;

use crate::fixture::{Fixture, On};

#[rstest]
#[tokio::test]
async fn a_second_server_is_told_who_the_first_is_and_may_start_when_it_has_gone(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let (options, _directory) = Fixture::options_for(on);
    let first = ServerLock::take(&options).await.unwrap();
    let refused = ServerLock::take(&options).await.unwrap_err();
    let StoreError::Configuration(why) = &refused else {
        panic!("{refused:?}");
    };
    let own = format!("process {}", std::process::id());
    assert!(why.contains(&own) && why.contains("wrong results"), "{why}");
    assert!(!first.lost().is_cancelled());
    drop(first);
    ServerLock::take(&options).await.unwrap();
}

#[tokio::test]
async fn a_server_whose_connection_the_database_dropped_takes_its_lock_again() {
    let (options, _directory) = Fixture::options_for(On::Postgres);
    let first = ServerLock::take(&options).await.unwrap();
    let url = options.database_url.clone().unwrap();
    let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(&url)
        .await
        .unwrap();
    let dropped = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = current_database() AND application_name LIKE 'proctor server%'";
    sqlx::query(dropped)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let held = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
                WHERE l.locktype = 'advisory' AND a.datname = current_database()";
    for _ in 0..600 {
        let (count,): (i64,) = sqlx::query_as(held)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        if count == 1 {
            assert!(!first.lost().is_cancelled());
            assert!(ServerLock::take(&options).await.is_err());
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the lock was not taken again");
}

/// Why a second server may not start beside one with other options.
async fn refusal(first: &StoreOptions, second: &StoreOptions) -> String {
    let _first = ServerLock::take(first).await.unwrap();
    match ServerLock::take(second).await {
        Err(StoreError::Configuration(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_link_to_the_database_or_the_same_data_directory_does_not_let_a_second_server_in() {
    let (first, directory) = Fixture::options_for(On::Sqlite);
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.db");
    std::os::unix::fs::symlink(directory.path().join("proctor.db"), &link).unwrap();
    let by_link = StoreOptions {
        database_url: Some(format!("sqlite:{}", link.display())),
        ..StoreOptions::embedded(elsewhere.path())
    };
    // Before the file is there, and with it.
    refusal(&first, &by_link).await;
    refusal(&by_link, &first).await;
    fs_err::write(directory.path().join("proctor.db"), "").unwrap();
    refusal(&first, &by_link).await;

    let other_database = StoreOptions {
        database_url: Some(format!(
            "sqlite:{}",
            elsewhere.path().join("other.db").display()
        )),
        ..first.clone()
    };
    let why = refusal(&first, &other_database).await;
    assert!(why.contains("data directory"), "{why}");
}
