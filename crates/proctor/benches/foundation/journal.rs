//! Journal appends beside bare SQLite inserts of the same rows with the same durability.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use proctor_core::{id::kinds::WorldId, time::Timestamp};
use proctor_store::{
    Store, StoreOptions,
    ambient::{RandomIds, SystemClock},
    journal::NewEvent,
};
use sqlx::{
    ConnectOptions as _,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::{runtime::Runtime, task::JoinSet};

use proctor_testkit::figures::{Report, median};

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(1500);
/// About what a recorded request is.
const PAYLOAD: usize = 400;

pub(crate) fn measure(report: &mut Report) {
    let runtime = Runtime::new().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (mut raw, mut outside) = (Vec::new(), Vec::new());
    let (mut one, mut some, mut many) = (Vec::new(), Vec::new(), Vec::new());
    // In turns, so that a disk that is slow for a while is slow for all.
    for round in 0..ROUNDS {
        let file = directory.path().join(format!("raw-{round}.db"));
        raw.push(runtime.block_on(as_task(bare_inserts(file))));
        let file = directory.path().join(format!("raw-outside-{round}.db"));
        outside.push(runtime.block_on(bare_inserts(file)));
        let data = directory.path().join(format!("journal-{round}"));
        let store = runtime.block_on(async {
            Store::open(
                &StoreOptions::embedded(data),
                Arc::new(SystemClock),
                Arc::new(RandomIds::default()),
            )
            .await
            .unwrap()
        });
        one.push(runtime.block_on(appends(&store, 1)));
        some.push(runtime.block_on(appends(&store, 16)));
        many.push(runtime.block_on(appends(&store, 256)));
        runtime.block_on(store.close());
    }
    let (raw, outside) = (median(raw), median(outside));
    let (one, some, many) = (median(one), median(some), median(many));
    report.at_least(
        "journal, 1 writer : bare SQLite inserts",
        &format!("{one:.0}/s : {raw:.0}/s"),
        one / raw,
        0.8,
    );
    report.note(
        "journal, 1 writer : the same outside of the runtime",
        format!("{:.2} × ({one:.0}/s : {outside:.0}/s)", one / outside),
    );
    report.note(
        "journal, 16 writers : 1 writer",
        format!("{:.1} × ({some:.0}/s)", some / one),
    );
    report.at_least(
        "journal, 256 writers : 1 writer",
        &format!("{many:.0}/s : {one:.0}/s"),
        many / one,
        10.0,
    );
}

/// Runs as the journal's writers do. A thread that waits for nothing else is woken faster than a
/// task of a runtime with many: that difference is tokio's, whatever the task does.
async fn as_task(work: impl Future<Output = f64> + Send + 'static) -> f64 {
    let mut task = JoinSet::new();
    task.spawn(work);
    task.join_next().await.unwrap().unwrap()
}

/// A plain table of events without the journal: one connection, one row a transaction.
async fn bare_inserts(file: PathBuf) -> f64 {
    let mut connection = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .connect()
        .await
        .unwrap();
    sqlx::query(
        "CREATE TABLE journal_events (world TEXT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL, \
         kind TEXT NOT NULL, payload BYTEA NOT NULL, hash BYTEA NOT NULL, PRIMARY KEY (world, seq))",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    let (began, mut count) = (Instant::now(), 0i64);
    while began.elapsed() < ROUND {
        sqlx::query("INSERT INTO journal_events (world, seq, at, kind, payload, hash) VALUES ($1, $2, $3, $4, $5, $6)")
            .bind("01J00000000000000000000000")
            .bind(count)
            .bind(0i64)
            .bind("note")
            .bind(vec![b'x'; PAYLOAD])
            .bind(vec![0u8; 32])
            .execute(&mut connection)
            .await
            .unwrap();
        count += 1;
    }
    count as f64 / began.elapsed().as_secs_f64()
}

async fn appends(store: &Store, writers: usize) -> f64 {
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..writers {
        let store = store.clone();
        tasks.spawn(async move {
            let world: WorldId = store.fresh_id();
            let mut seq = 0;
            while began.elapsed() < ROUND {
                let event = NewEvent {
                    at: Timestamp::from_millis(0),
                    kind: "note".into(),
                    payload: vec![b'x'; PAYLOAD],
                };
                seq = store
                    .journal()
                    .append(world, seq, vec![event])
                    .await
                    .unwrap()
                    .next;
            }
            seq
        });
    }
    let total: u64 = tasks.join_all().await.into_iter().sum();
    total as f64 / began.elapsed().as_secs_f64()
}
