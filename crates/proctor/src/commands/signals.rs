//! What makes a server stop.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::exit::Exit;

/// The first signal lets requests finish; the second does not.
pub(crate) async fn stop(shutdown: CancellationToken) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        tracing::error!("signals cannot be received");
        return;
    };
    let mut next = async || {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    };
    let name = next().await;
    tracing::info!(signal = name, "stopping; a second signal stops at once");
    shutdown.cancel();
    next().await;
    std::process::exit(Exit::PlatformFailed.code().into());
}
