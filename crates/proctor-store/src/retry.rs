//! Changes that are decided on what was read, outside of runs and jobs: read, decide, write, and all of it again if somebody else wrote in between.

use crate::StoreError;

/// How often a change is decided again because somebody else was first.
const TRIES: usize = 32;

/// Carries out `attempt` until nobody else was first; [`StoreError::Stale`] if somebody always is. It reads and decides, which may fail for good, and
/// answers what came of writing.
pub async fn retry_stale<T, E, F>(mut attempt: impl FnMut() -> F) -> Result<T, E>
where
    E: From<StoreError>,
    F: Future<Output = Result<Result<T, StoreError>, E>>,
{
    for _ in 0..TRIES {
        match attempt().await? {
            Ok(written) => return Ok(written),
            Err(StoreError::Stale) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Stale.into())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    async fn written_after(refusals: usize) -> (Result<usize, StoreError>, usize) {
        let attempts = Cell::new(0);
        let attempt = || async {
            attempts.set(attempts.get() + 1);
            Ok::<_, StoreError>(match attempts.get() > refusals {
                true => Ok(attempts.get()),
                false => Err(StoreError::Stale),
            })
        };
        let written = retry_stale(attempt).await;
        (written, attempts.get())
    }

    #[tokio::test]
    async fn a_change_is_decided_again_until_nobody_else_was_first() {
        assert!(matches!(written_after(0).await, (Ok(1), 1)));
        assert!(matches!(written_after(3).await, (Ok(4), 4)));
        let never = written_after(usize::MAX).await;
        assert!(
            matches!(never, (Err(StoreError::Stale), TRIES)),
            "{never:?}"
        );
    }

    #[tokio::test]
    async fn what_fails_for_good_is_not_tried_again() {
        let attempts = Cell::new(0);
        let failed = retry_stale(|| async {
            attempts.set(attempts.get() + 1);
            Err::<Result<(), _>, _>(StoreError::Corrupt("a row".to_owned()))
        });
        assert!(matches!(failed.await, Err(StoreError::Corrupt(_))));
        let failed = retry_stale(|| async {
            attempts.set(attempts.get() + 1);
            Ok::<Result<(), _>, StoreError>(Err(StoreError::Corrupt("a row".to_owned())))
        });
        assert!(matches!(failed.await, Err(StoreError::Corrupt(_))));
        assert_eq!(attempts.get(), 2);
    }
}
