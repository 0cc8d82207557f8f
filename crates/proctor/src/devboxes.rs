//! Opening the devboxes of a server.

use std::path::Path;

use anyhow::Context as _;
use proctor_api::ApiState;
use proctor_devbox::{Registry, Settings};
use proctor_fleet::{
    Fleet, FleetOptions, GitOptions, Repositories,
    blueprints::{BlueprintOptions, Blueprints},
    mounts::Mounter,
};
use tokio_util::sync::CancellationToken;

use crate::storage::Storage;

/// The backend that makes boxes.
const BACKEND: &str = "local";

/// Devboxes, and the blueprints they can be made from.
pub(crate) struct Devboxes {
    pub(crate) fleet: Fleet,
    pub(crate) blueprints: Option<Blueprints>,
}

impl Devboxes {
    /// Opens the devboxes below `data` and takes up what an earlier server left. A machine that cannot have boxes still has
    /// a server: it says so when a devbox is asked for.
    pub(crate) async fn open(data: &Path, storage: &Storage) -> anyhow::Result<Self> {
        let directory = data.join("devboxes");
        let (store, clock) = (storage.store.clone(), storage.clock.clone());
        let repositories = Repositories::new(GitOptions::new(directory.join("repositories")));
        let mounter = Mounter::new(store.clone(), repositories);
        let mut options = FleetOptions::new(&directory);
        options.mounter = Some(mounter.clone());
        let registry = Registry::builtin();
        let factory = registry
            .get(BACKEND)
            .context("the backend of devboxes is not part of this program")?;
        let settings = Settings {
            data: directory.clone(),
        };
        let devboxes = match (factory.open)(&settings) {
            Ok(backend) => {
                let spool = BlueprintOptions::new(directory.join("builds"));
                Self {
                    blueprints: Some(Blueprints::new(
                        store.clone(),
                        backend.clone(),
                        mounter,
                        spool,
                    )),
                    fleet: Fleet::open(options, store, backend, clock).await?,
                }
            }
            Err(error) => {
                let why = told(&error);
                tracing::warn!(%why, "this machine cannot have devboxes");
                Self {
                    blueprints: None,
                    fleet: Fleet::without_boxes(options, store, why, clock).await?,
                }
            }
        };
        devboxes
            .fleet
            .recover()
            .await
            .context("the devboxes of an earlier server cannot be taken up")?;
        if let Some(blueprints) = &devboxes.blueprints {
            blueprints.recover().await?;
        }
        Ok(devboxes)
    }

    /// Lets a server offer them.
    pub(crate) fn offer(&self, state: ApiState) -> ApiState {
        if let Some(blueprints) = &self.blueprints {
            state.offer_blueprints(blueprints.clone());
        }
        state.with_fleet(self.fleet.clone())
    }

    /// Lets go of the boxes, which stay as they are.
    pub(crate) async fn close(&self) {
        if let Some(blueprints) = &self.blueprints {
            blueprints.close().await;
        }
        self.fleet.close().await;
    }
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
