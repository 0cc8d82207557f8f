//! The one way in which runs, task runs and jobs change: read, decide, write over what was read, and read again if somebody
//! else was first. Nothing else in the engine tries again because of [`StoreError::Stale`].

use proctor_core::time::Timestamp;
use proctor_store::{StoreError, progress::Progress};

use crate::{engine::Engine, error::EngineError};

/// How often a decision is made again because somebody else was first.
const TRIES: usize = 32;

/// What was decided.
pub(crate) enum Decision<T> {
    /// It stays as it is.
    Unchanged(T),
    /// This is to be written.
    Write(Box<Progress>, T),
}

/// What a change came to.
pub(crate) struct Changed<S, T> {
    /// What the decision was made on.
    pub(crate) read: S,
    /// What was written, if anything was.
    pub(crate) written: Option<Box<Progress>>,
    /// What was decided.
    pub(crate) answer: T,
}

impl Engine {
    /// Decides about what `read` finds and writes what follows. `known` is what was read already: it is read again only if it
    /// has changed since.
    pub(crate) async fn change<S, T, R>(
        &self,
        mut known: Option<S>,
        read: impl Fn() -> R,
        decide: impl Fn(&S, Timestamp) -> Result<Decision<T>, EngineError>,
    ) -> Result<Changed<S, T>, EngineError>
    where
        R: Future<Output = Result<S, EngineError>>,
    {
        for _ in 0..TRIES {
            let read = match known.take() {
                Some(known) => known,
                None => Box::pin(read()).await?,
            };
            let (progress, answer) = match decide(&read, self.now())? {
                Decision::Unchanged(answer) => {
                    return Ok(Changed {
                        read,
                        written: None,
                        answer,
                    });
                }
                Decision::Write(progress, answer) => (progress, answer),
            };
            // Apart, because everything that changes something would be as large as this.
            match Box::pin(self.store().record(&progress)).await {
                Ok(()) => {
                    return Ok(Changed {
                        read,
                        written: Some(progress),
                        answer,
                    });
                }
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Stale.into())
    }
}
