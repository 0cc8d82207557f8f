//! The one writer of the journal on this node: takes what has queued up and commits it together.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, atomic::Ordering},
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
    database::{Database, Param, Query},
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

pub(super) struct Committer {
    database: Database,
    /// Where journals stood when this node last looked. Only a guess where other nodes write too:
    /// the primary key finds out.
    heads: HashMap<WorldId, Head>,
    stats: Arc<Counters>,
}

impl Committer {
    pub(super) fn new(database: Database, stats: Arc<Counters>) -> Self {
        Self {
            database,
            heads: HashMap::new(),
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
            self.commit(std::mem::take(&mut batch)).await;
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

    async fn write(&self, mut rows: Vec<Row>) -> Result<(), StoreError> {
        match rows.len() {
            0 => Ok(()),
            // A single statement is a transaction of its own.
            count if count.is_power_of_two() && count <= WIDEST => {
                self.database.execute(insert(rows)).await.map(drop)
            }
            _ => {
                let mut transaction = self.database.begin().await?;
                while !rows.is_empty() {
                    let width = WIDEST.min(1 << rows.len().ilog2());
                    let rest = rows.split_off(width);
                    transaction.execute(insert(rows)).await?;
                    rows = rest;
                }
                transaction.commit().await
            }
        }
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
/// serve batches of every size.
const WIDEST: usize = 128;

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
