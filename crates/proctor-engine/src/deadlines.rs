//! Clocks that run out: of task runs, and of runs whose token has ended.
//!
//! A timer wakes for each deadline this node knows of. The database is the truth and a slow look
//! at it the safety net: for deadlines that another node set, and for clocks that jumped.

use std::time::Duration;

use futures::StreamExt as _;
use proctor_core::causes::with_causes;
use proctor_core::{id::kinds::TaskRunId, time::Timestamp};
use tokio::sync::{Mutex, mpsc};
use tokio_util::{sync::CancellationToken, time::DelayQueue};

use crate::{engine::Engine, error::EngineError};
use proctor_macros::boxed_futures;

/// How often the database is asked what is due.
const LOOK: Duration = Duration::from_secs(10);
/// How many overdue things are ended at once.
const BATCH: u32 = 200;

/// Deadlines on their way to the timer.
pub(crate) struct Deadlines {
    sender: mpsc::UnboundedSender<(TaskRunId, Timestamp)>,
    receiver: Mutex<mpsc::UnboundedReceiver<(TaskRunId, Timestamp)>>,
}

impl Default for Deadlines {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            sender,
            receiver: Mutex::new(receiver),
        }
    }
}

impl Deadlines {
    /// Keeps a deadline in mind.
    pub(crate) fn keep(&self, task_run: TaskRunId, deadline: Timestamp) {
        // The receiver lives as long as this does.
        let _ = self.sender.send((task_run, deadline));
    }
}

/// Ends what is due until `closing`.
pub(crate) async fn watch(engine: Engine, closing: CancellationToken) {
    let mut arriving = engine.inner.deadlines.receiver.lock().await;
    let mut due: DelayQueue<TaskRunId> = DelayQueue::new();
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            () = closing.cancelled() => return,
            Some((task_run, deadline)) = arriving.recv() => {
                due.insert(task_run, deadline.since(engine.now()));
            }
            Some(expired) = due.next(), if !due.is_empty() => {
                let outcome = engine.expire(expired.into_inner()).await;
                report(outcome, "a deadline could not be kept; it will be tried again");
            }
            _ = look.tick() => {
                let outcome = engine.sweep().await;
                report(outcome, "what is overdue could not be ended; it will be tried again");
            }
        }
    }
}

#[boxed_futures]
impl Engine {
    /// Ends everything that is overdue, by the database's account.
    pub async fn sweep(&self) -> Result<(), EngineError> {
        let now = self.now();
        for task_run in self.store().due_task_runs(now, BATCH).await? {
            self.expire(task_run.value.id).await?;
        }
        for run in self.store().expired_runs(now, BATCH).await? {
            self.sweep_run(run).await?;
        }
        Ok(())
    }
}

fn report(outcome: Result<(), EngineError>, message: &'static str) {
    if let Err(error) = outcome {
        tracing::warn!(error = %with_causes(&error), "{message}");
    }
}
