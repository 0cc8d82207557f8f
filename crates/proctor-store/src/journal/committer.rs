//! The one writer of the journal on this node: takes what has queued up and commits it together.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, atomic::Ordering},
    time::Duration,
};

use proctor_core::id::kinds::WorldId;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    AppendError, Counters,
    event::{Head, NewEvent},
};
use crate::{
    StoreError,
    database::{Database, Param, Query, WriteConnection},
};

/// One caller's append.
pub(super) struct Append {
    pub(super) world: WorldId,
    pub(super) expected: u64,
    pub(super) events: Vec<NewEvent>,
    pub(super) reply: oneshot::Sender<Result<Head, AppendError>>,
}

/// Appends that are committed together at the most.
const BATCH: usize = 1024;
/// Worlds whose heads are remembered; beyond that the memory starts anew.
const HEADS: usize = 50_000;
/// How often a batch is tried when other nodes keep writing to the same worlds.
const TRIES: usize = 5;
/// How long the connection is kept for appends that may come.
const LINGER: Duration = Duration::from_millis(2);

pub(super) struct Committer {
    database: Database,
    /// Where journals stood when this node last looked. Only a guess where other nodes write too:
    /// the primary key finds out.
    heads: HashMap<WorldId, Head>,
    /// Kept from commit to commit while there is much to do and nobody else waits for it.
    connection: Option<WriteConnection>,
    stats: Arc<Counters>,
}

impl Committer {
    pub(super) fn new(database: Database, stats: Arc<Counters>) -> Self {
        Self {
            database,
            heads: HashMap::new(),
            connection: None,
            stats,
        }
    }

    pub(super) async fn run(
        mut self,
        mut queue: mpsc::Receiver<Append>,
        closing: CancellationToken,
    ) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            if self.connection.is_some() {
                match tokio::time::timeout(LINGER, queue.recv_many(&mut batch, BATCH)).await {
                    Ok(0) => return,
                    Ok(_) => {
                        self.commit_batch(&mut batch).await;
                        continue;
                    }
                    Err(_) => self.connection = None,
                }
            }
            let taken = tokio::select! {
                biased;
                taken = queue.recv_many(&mut batch, BATCH) => taken,
                () = closing.cancelled() => {
                    // What is in the queue is still committed; the next append is told.
                    queue.close();
                    queue.recv_many(&mut batch, BATCH).await
                }
            };
            if taken == 0 {
                return;
            }
            self.commit_batch(&mut batch).await;
        }
    }

    async fn commit_batch(&mut self, batch: &mut Vec<Append>) {
        let crowded = batch.len() > 1;
        self.commit(std::mem::take(batch)).await;
        if crowded {
            // Those who were just answered have a next append at hand: let them queue it, so that
            // the next commit is not made for the fastest of them alone.
            tokio::task::yield_now().await;
        }
    }

    async fn commit(&mut self, batch: Vec<Append>) {
        let outcome = self.commit_or_fail(&batch).await;
        let count = |counter: &std::sync::atomic::AtomicU64, by: usize| {
            counter.fetch_add(by as u64, Ordering::Relaxed)
        };
        match outcome {
            Ok(answers) => {
                for (append, answer) in batch.into_iter().zip(answers) {
                    match &answer {
                        Ok(_) => count(&self.stats.events, append.events.len()),
                        Err(_) => count(&self.stats.conflicts, 1),
                    };
                    // A caller that has gone away does not change what is written.
                    let _ = append.reply.send(answer);
                }
                count(&self.stats.commits, 1);
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    appends = batch.len(),
                    "journal commit failed"
                );
                let error = Arc::new(error);
                count(&self.stats.failures, batch.len());
                for append in batch {
                    self.heads.remove(&append.world);
                    let _ = append
                        .reply
                        .send(Err(AppendError::Store(Arc::clone(&error))));
                }
            }
        }
    }

    async fn commit_or_fail(
        &mut self,
        batch: &[Append],
    ) -> Result<Vec<Result<Head, AppendError>>, StoreError> {
        let mut tries = 1;
        loop {
            let (plan, answers) = self.plan(batch).await?;
            match self.write(plan.rows).await {
                Ok(()) => {
                    if self.heads.len() + plan.heads.len() > HEADS {
                        self.heads.clear();
                    }
                    self.heads.extend(plan.heads);
                    return Ok(answers);
                }
                // Another node took a place that seemed free: look where the journals really
                // stand. Whoever is late now is told so by the next plan.
                Err(error) if error.is_unique_violation() && tries < TRIES => {
                    tries += 1;
                    for append in batch {
                        self.heads.remove(&append.world);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Decides which appends can be made, one after the other, and what is to be written for them.
    async fn plan(
        &self,
        batch: &[Append],
    ) -> Result<(Plan, Vec<Result<Head, AppendError>>), StoreError> {
        let mut plan = Plan::default();
        let mut answers = Vec::with_capacity(batch.len());
        for append in batch {
            let world = append.world;
            let head = match (plan.heads.get(&world), self.heads.get(&world)) {
                (Some(planned), _) => *planned,
                (None, Some(known)) if known.next == append.expected && !known.sealed => *known,
                // Unknown, or the caller knows more than this node does.
                (None, _) => Head::load(&self.database, world).await?,
            };
            let answer = if head.sealed {
                Err(AppendError::Sealed {
                    world,
                    at: head.next,
                })
            } else if head.next != append.expected {
                Err(AppendError::Conflict {
                    world,
                    expected: append.expected,
                    actual: head.next,
                })
            } else {
                Ok(plan.add(world, head, &append.events))
            };
            if answer.is_err() {
                plan.heads.entry(world).or_insert(head);
            }
            answers.push(answer);
        }
        Ok((plan, answers))
    }

    async fn write(&mut self, rows: Vec<Row>) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.database.write_connection().await?),
        };
        let written = connection.execute_all(statements(rows)).await;
        if written.is_err() || self.database.others_wait_to_write() {
            self.connection = None;
        }
        written
    }
}

/// What is to be written, and where the journals stand then.
#[derive(Default)]
struct Plan {
    rows: Vec<Row>,
    heads: HashMap<WorldId, Head>,
}

type Row = [Param; COLUMNS];

impl Plan {
    fn add(&mut self, world: WorldId, mut head: Head, events: &[NewEvent]) -> Head {
        for event in events {
            let seq = i64::try_from(head.next).unwrap_or(i64::MAX);
            head = head.after(world, event);
            self.rows.push([
                world.into(),
                seq.into(),
                event.at.into(),
                (&*event.kind).into(),
                event.payload.clone().into(),
                head.hash.to_vec().into(),
            ]);
        }
        self.heads.insert(world, head);
        head
    }
}

const COLUMNS: usize = 6;
/// The most rows in one statement. Statements come in powers of two, so that a few prepared ones
/// serve batches of every size. SQLite looks named parameters up one by one, so a statement's cost
/// grows with the square of its width; wider than this costs more than it saves.
const WIDEST: usize = 32;

/// The rows in as few statements as their number has binary digits.
fn statements(mut rows: Vec<Row>) -> Vec<Query> {
    let mut statements = Vec::new();
    while !rows.is_empty() {
        let rest = rows.split_off(WIDEST.min(1 << rows.len().ilog2()));
        statements.push(insert(rows));
        rows = rest;
    }
    statements
}

fn insert(rows: Vec<Row>) -> Query {
    static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        (0..=WIDEST.ilog2())
            .map(|log| insert_text(1 << log))
            .collect()
    });
    let text = TEXTS[rows.len().ilog2() as usize].clone();
    Query::assembled(text, rows.into_iter().flatten().collect())
}

fn insert_text(rows: usize) -> String {
    let places: Vec<String> = (0..rows)
        .map(|row| {
            let places: Vec<String> = (1..=COLUMNS)
                .map(|column| format!("${}", row * COLUMNS + column))
                .collect();
            format!("({})", places.join(", "))
        })
        .collect();
    format!(
        "INSERT INTO journal_events (world, seq, at, kind, payload, hash) VALUES {}",
        places.join(", ")
    )
}
