//! Threads that may wait.

use std::{panic::AssertUnwindSafe, sync::mpsc};

use tokio::sync::oneshot;

use crate::{StoreError, error::DatabaseError};

/// Where there is time to wait.
pub(crate) enum Elsewhere {
    WritingThread(WritingThread),
    /// One of those that everybody has work for.
    AnyThread,
}

impl Elsewhere {
    pub(super) async fn carry_out<T: Send + 'static>(
        self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::WritingThread(thread) => thread.carry_out(work).await,
            Self::AnyThread => {
                let done = tokio::task::spawn_blocking(work).await;
                // It did not run because the runtime ends, or it panicked.
                done.map_err(|_| DatabaseError::Closed)?
            }
        }
    }
}

/// The thread of whoever has the connection that writes: everybody waits for them, so they wait for nobody's work but their own. It ends when nobody has
/// work for it any more.
#[derive(Clone)]
pub(crate) struct WritingThread(mpsc::Sender<Work>);

type Work = Box<dyn FnOnce() + Send>;

impl WritingThread {
    pub(super) fn start() -> Result<Self, StoreError> {
        let (sender, queue) = mpsc::channel::<Work>();
        let thread = std::thread::Builder::new().name("proctor-sqlite".to_owned());
        let live = move || {
            for work in queue {
                // Whoever asked for it sees that no answer comes.
                let _ = std::panic::catch_unwind(AssertUnwindSafe(work));
            }
        };
        thread.spawn(live).map_err(|error| {
            StoreError::Configuration(format!(
                "no thread can be started for the database: {error}"
            ))
        })?;
        Ok(Self(sender))
    }

    pub(super) async fn carry_out<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let work: Work = Box::new(move || {
            let _ = reply.send(work());
        });
        self.0.send(work).map_err(|_| DatabaseError::Closed)?;
        answer.await.map_err(|_| DatabaseError::Closed)?
    }
}
