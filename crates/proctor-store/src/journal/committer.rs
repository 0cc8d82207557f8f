//! The one writer of the journal on this node: takes what has queued up and commits it together.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
};

use proctor_core::causes::with_causes;
use proctor_core::id::kinds::WorldId;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    AppendError, Counters,
    event::{Head, NewEvent},
    log::{Entries, Places, Tip},
};
use crate::{
    StoreError,
    database::{Database, WriteConnection},
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
/// Worlds whose ends are remembered; beyond that the memory starts anew.
const TIPS: usize = 50_000;
/// How often a batch is tried when other nodes keep writing to the same worlds.
const TRIES: usize = 5;

pub(super) struct Committer {
    database: Database,
    /// Where journals stood when this node last looked. Only a guess where other nodes write too:
    /// the primary key finds out.
    tips: HashMap<WorldId, Tip>,
    places: Places,
    /// Kept from commit to commit until somebody else wants it.
    connection: Option<WriteConnection>,
    stats: Arc<Counters>,
}

impl Committer {
    pub(super) fn new(database: Database, stats: Arc<Counters>) -> Self {
        Self {
            database,
            tips: HashMap::new(),
            places: Places::NONE,
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
            let taken = tokio::select! {
                biased;
                taken = queue.recv_many(&mut batch, BATCH) => taken,
                () = self.database.wants_back_a_connection(), if self.connection.is_some() => {
                    self.connection = None;
                    continue;
                }
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
                    error = %with_causes(&error),
                    appends = batch.len(),
                    "journal commit failed"
                );
                let error = Arc::new(error);
                count(&self.stats.failures, batch.len());
                for append in batch {
                    self.tips.remove(&append.world);
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
            match self.write(plan.entries).await {
                Ok(()) => {
                    if self.tips.len() + plan.tips.len() > TIPS {
                        self.tips.clear();
                    }
                    self.tips.extend(plan.tips);
                    return Ok(answers);
                }
                // Another node took a place that seemed free: look where the journals really
                // stand. Whoever is late now is told so by the next plan.
                Err(error) if error.is_unique_violation() && tries < TRIES => {
                    tries += 1;
                    for append in batch {
                        self.tips.remove(&append.world);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Decides which appends can be made, one after the other, and what is to be written for them.
    async fn plan(
        &mut self,
        batch: &[Append],
    ) -> Result<(Plan, Vec<Result<Head, AppendError>>), StoreError> {
        self.reserve_places(batch).await?;
        let mut plan = Plan::default();
        let mut answers = Vec::with_capacity(batch.len());
        for append in batch {
            let world = append.world;
            let tip = match (plan.tips.get(&world), self.tips.get(&world)) {
                (Some(planned), _) => *planned,
                (None, Some(known)) if known.head.next == append.expected && !known.head.sealed => {
                    *known
                }
                // Unknown, or the caller knows more than this node does.
                (None, _) => Tip::load(&self.database, world).await?,
            };
            let Head { next, sealed, .. } = tip.head;
            let (tip, answer) = if sealed {
                (tip, Err(AppendError::Sealed { world, at: next }))
            } else if next != append.expected {
                let conflict = AppendError::Conflict {
                    world,
                    expected: append.expected,
                    actual: next,
                };
                (tip, Err(conflict))
            } else {
                let add = |tip, event| plan.entries.add(&mut self.places, world, tip, event);
                let tip = append.events.iter().fold(tip, add);
                (tip, Ok(tip.head))
            };
            plan.tips.insert(world, tip);
            answers.push(answer);
        }
        Ok((plan, answers))
    }

    async fn reserve_places(&mut self, batch: &[Append]) -> Result<(), StoreError> {
        let events = batch.iter().map(|append| append.events.len()).sum();
        if !self.places.suffice_for(events) {
            // There may be no second connection to take them with.
            self.connection = None;
            self.places.reserve(&self.database, events).await?;
        }
        Ok(())
    }

    async fn write(&mut self, entries: Entries) -> Result<(), StoreError> {
        let statements = entries.statements();
        if statements.is_empty() {
            if self.database.others_wait_to_write() {
                self.connection = None;
            }
            return Ok(());
        }
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.database.write_connection().await?),
        };
        let written = connection.execute_all(statements).await;
        if written.is_err() || self.database.others_wait_to_write() {
            self.connection = None;
        }
        written
    }
}

/// What is to be written, and where the journals stand then.
#[derive(Default)]
struct Plan {
    entries: Entries,
    tips: HashMap<WorldId, Tip>,
}
