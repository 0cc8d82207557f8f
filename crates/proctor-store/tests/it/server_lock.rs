//! One server at a time on a database.

use proctor_store::{ServerLock, StoreError};
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
