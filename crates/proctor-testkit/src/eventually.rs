//! Waiting for what happens by itself, with a bound: a test that waits in vain says what for, and what it saw instead.

use std::{
    fmt,
    time::{Duration, Instant},
};

/// How long something may take that happens by itself. Only ever reached by what is broken.
const PATIENCE: Duration = Duration::from_secs(120);

/// Looks again and again until `holds` does.
///
/// # Panics
/// When it does not come to hold: `what` says what was waited for.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let look = async || holds().await.then_some(()).ok_or("it does not hold");
    eventually_seen(what, look).await;
}

/// Looks again and again until `look` finds what is wanted; until then it says what it saw.
///
/// # Panics
/// When it is not found: `what` says what was waited for.
pub async fn eventually_seen<T, S: fmt::Display>(
    what: &str,
    mut look: impl AsyncFnMut() -> Result<T, S>,
) -> T {
    let began = Instant::now();
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) if began.elapsed() > PATIENCE => panic!("waited in vain: {what}; {seen:#}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
}
