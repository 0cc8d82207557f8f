//! Connections that are had, given back, waited for and closed.

use std::sync::atomic::AtomicU32;

use tokio::task::JoinSet;

use super::*;

async fn open(directory: &Path, patience: Duration) -> Sqlite {
    let path = directory.join("some.db");
    let maker = Connection::open(&path).unwrap();
    maker
        .execute_batch(
            "PRAGMA journal_mode = wal;
             CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT UNIQUE, bytes BLOB)",
        )
        .unwrap();
    let options = DatabaseOptions {
        url: super::super::DatabaseUrl::Sqlite(path.clone()),
        patience,
        sqlite_max_bytes: None,
    };
    Sqlite::open(&path, &options).await.unwrap()
}

fn insert(id: i64, name: &str) -> Query {
    Query::new("INSERT INTO things (name, id) VALUES ($2, $1)")
        .bind(id)
        .bind(name)
}

async fn count(sqlite: &Sqlite) -> i64 {
    let rows = sqlite.read(Query::new("SELECT count(*) AS n FROM things"), 1);
    rows.await.unwrap()[0].int("n").unwrap()
}

#[tokio::test]
async fn values_go_where_their_numbers_say() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = open(directory.path(), Duration::from_secs(5)).await;
    assert_eq!(
        sqlite
            .execute(insert(7, "seven"), OnDisk::AtOnce)
            .await
            .unwrap(),
        1
    );
    let query = Query::new("SELECT id, name, bytes FROM things WHERE name = $1 AND id = $2")
        .bind("seven")
        .bind(7i64);
    let rows = sqlite.read(query.clone(), 1).await.unwrap();
    assert_eq!(rows[0].int("id").unwrap(), 7);
    assert_eq!(rows[0].text("name").unwrap(), "seven");
    assert_eq!(rows[0].opt_bytes("bytes").unwrap(), None);
    assert!(matches!(rows[0].int("name"), Err(StoreError::Corrupt(_))));
    assert!(matches!(rows[0].int("other"), Err(StoreError::Corrupt(_))));
    let one_too_few = Query::new("SELECT id FROM things WHERE id = $2").bind(7i64);
    assert!(matches!(
        sqlite.read(one_too_few, 1).await,
        Err(StoreError::Internal(_))
    ));
}

#[tokio::test]
async fn who_does_not_wait_for_the_disk_leaves_the_others_waiting_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = open(directory.path(), Duration::from_secs(5)).await;
    let written = sqlite.execute(insert(7, "seven"), OnDisk::WithTheNext);
    assert_eq!(written.await.unwrap(), 1);
    assert_eq!(count(&sqlite).await, 1, "everybody sees it at once");
    let taken = sqlite.execute(insert(7, "again"), OnDisk::WithTheNext);
    assert!(taken.await.unwrap_err().is_unique_violation());
    let writer = sqlite.writer(OnDisk::AtOnce).await.unwrap();
    let level = writer.connection().unwrap();
    let level: i64 = level
        .pragma_query_value(None, SYNCHRONOUS, |row| row.get(0))
        .unwrap();
    assert_eq!(level, 2, "full");
}

#[tokio::test]
async fn what_is_dropped_before_it_is_committed_was_never_there() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = open(directory.path(), Duration::from_secs(5)).await;
    let mut dropped = sqlite.begin(OnDisk::AtOnce).await.unwrap();
    dropped.execute(insert(1, "one")).await.unwrap();
    drop(dropped);
    let mut committed = sqlite.begin(OnDisk::AtOnce).await.unwrap();
    committed.execute(insert(2, "two")).await.unwrap();
    let taken = committed.execute(insert(3, "two")).await.unwrap_err();
    assert!(taken.is_unique_violation(), "{taken:?}");
    let large = "x".repeat(LARGE + 1);
    committed.execute(insert(8, &large)).await.unwrap();
    let query = Query::new("DELETE FROM things WHERE id = $1 RETURNING name").bind(8i64);
    let rows = committed.read(query, 1).await.unwrap();
    assert_eq!(rows[0].text("name").unwrap(), large);
    committed.commit().await.unwrap();
    assert_eq!(count(&sqlite).await, 1);

    let writer = sqlite.writer(OnDisk::AtOnce).await.unwrap();
    let (writer, written) = writer
        .execute_all(vec![insert(4, "four"), insert(5, "two")])
        .await;
    assert!(written.unwrap_err().is_unique_violation());
    let (_, written) = writer.unwrap().execute_all(vec![insert(6, "six")]).await;
    written.unwrap();
    assert_eq!(
        count(&sqlite).await,
        2,
        "four went with what failed after it"
    );
}

#[tokio::test]
async fn a_moment_stays_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = open(directory.path(), Duration::from_secs(5)).await;
    let mut moment = sqlite.snapshot().await.unwrap();
    let all = Query::new("SELECT id FROM things");
    assert_eq!(moment.read(all.clone(), 9).await.unwrap().len(), 0);
    sqlite
        .execute(insert(1, "one"), OnDisk::AtOnce)
        .await
        .unwrap();
    assert_eq!(moment.read(all.clone(), 9).await.unwrap().len(), 0);
    moment.commit().await.unwrap();
    assert_eq!(sqlite.read(all, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_long_search_lets_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = open(directory.path(), Duration::from_secs(5)).await;
    let turns = Arc::new(AtomicU32::new(0));
    let mut others = JoinSet::new();
    others.spawn({
        let turns = Arc::clone(&turns);
        async move {
            loop {
                turns.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let long = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) \
                 SELECT sum(i) AS total FROM n";
    let mut moment = sqlite.snapshot().await.unwrap();
    let mut writing = sqlite.begin(OnDisk::AtOnce).await.unwrap();
    writing.execute(insert(1, "one")).await.unwrap();
    for way in 0..3 {
        let before = turns.load(Ordering::Relaxed);
        let query = Query::new(long);
        let rows = match way {
            0 => sqlite.read(query, 1).await,
            1 => moment.read(query, 1).await,
            _ => writing.read(query, 1).await,
        };
        assert_eq!(rows.unwrap()[0].int("total").unwrap(), 500_000_500_000);
        assert!(turns.load(Ordering::Relaxed) > before + 1);
    }
    writing.commit().await.unwrap();
    assert_eq!(
        count(&sqlite).await,
        1,
        "the search that was broken off undid nothing"
    );
}

#[tokio::test]
async fn nothing_is_written_by_halves_when_sqlite_undoes_it_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = open(directory.path(), Duration::from_secs(5)).await;
    let mut statements = sqlite.begin(OnDisk::AtOnce).await.unwrap();
    statements.execute(insert(1, "one")).await.unwrap();
    let or_rollback = Query::new("INSERT OR ROLLBACK INTO things (id) VALUES ($1)").bind(1i64);
    assert!(statements.execute(or_rollback).await.is_err());
    assert!(statements.execute(insert(2, "two")).await.is_err());
    assert!(statements.commit().await.is_err());
    assert_eq!(count(&sqlite).await, 0);
    sqlite
        .execute(insert(3, "three"), OnDisk::AtOnce)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_connection_that_nobody_gives_back_is_not_waited_for_forever() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = open(directory.path(), Duration::from_millis(20)).await;
    let held = sqlite.begin(OnDisk::AtOnce).await.unwrap();
    let refused = sqlite
        .execute(insert(1, "one"), OnDisk::AtOnce)
        .await
        .unwrap_err();
    assert!(matches!(
        refused,
        StoreError::Unavailable {
            source: DatabaseError::Crowded,
            ..
        }
    ));
    drop(held);
    sqlite
        .execute(insert(1, "one"), OnDisk::AtOnce)
        .await
        .unwrap();
    sqlite.close().await;
    for refused in [
        sqlite
            .execute(insert(2, "two"), OnDisk::AtOnce)
            .await
            .map(drop),
        sqlite.read(Query::new("SELECT 1"), 1).await.map(drop),
    ] {
        assert!(matches!(
            refused,
            Err(StoreError::Unavailable {
                source: DatabaseError::Closed,
                ..
            })
        ));
    }
}
