//! Opening the devboxes of a server.

use std::path::Path;

use anyhow::Context as _;
use proctor_devbox::{Registry, Settings};
use proctor_fleet::{Fleet, FleetOptions};
use tokio_util::sync::CancellationToken;

use crate::storage::Storage;

/// The backend that makes boxes.
const BACKEND: &str = "local";

/// Opens the devboxes below `data` and takes up what an earlier server left. A machine that cannot have boxes still has
/// a server: it says so when a devbox is asked for.
pub(crate) async fn open(data: &Path, storage: &Storage) -> anyhow::Result<Fleet> {
    let directory = data.join("devboxes");
    let options = FleetOptions::new(&directory);
    let (store, clock) = (storage.store.clone(), storage.clock.clone());
    let registry = Registry::builtin();
    let factory = registry
        .get(BACKEND)
        .context("the backend of devboxes is not part of this program")?;
    let settings = Settings { data: directory };
    let fleet = match (factory.open)(&settings) {
        Ok(backend) => Fleet::open(options, store, backend, clock).await?,
        Err(error) => {
            let why = told(&error);
            tracing::warn!(%why, "this machine cannot have devboxes");
            Fleet::without_boxes(options, store, why, clock).await?
        }
    };
    fleet
        .recover()
        .await
        .context("the devboxes of an earlier server cannot be taken up")?;
    Ok(fleet)
}

/// Ends long polls and streams when the server is told to stop, so that they do not hold it up.
pub(crate) async fn stop_waiting(fleet: Fleet, shutdown: CancellationToken) {
    shutdown.cancelled().await;
    fleet.stop_waiting();
}

fn told(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
