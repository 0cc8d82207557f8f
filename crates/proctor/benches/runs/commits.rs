//! The limit of this machine: one row in one durable SQLite transaction after another.

use std::time::{Duration, Instant};

use sqlx::{
    ConnectOptions as _,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

const SPAN: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn per_second() -> f64 {
    let directory = tempfile::tempdir().unwrap();
    let mut database = SqliteConnectOptions::new()
        .filename(directory.path().join("bare.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .connect()
        .await
        .unwrap();
    sqlx::query("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)")
        .execute(&mut database)
        .await
        .unwrap();
    let (began, mut count) = (Instant::now(), 0u32);
    while began.elapsed() < SPAN {
        sqlx::query("INSERT INTO rows (body) VALUES ($1)")
            .bind("a".repeat(300))
            .execute(&mut database)
            .await
            .unwrap();
        count += 1;
    }
    f64::from(count) / began.elapsed().as_secs_f64()
}
