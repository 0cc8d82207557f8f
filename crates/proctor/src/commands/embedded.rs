//! A server inside this process, for commands that need one for a while.

use std::{net::SocketAddr, path::Path};

use proctor_api::{
    Api, ApiOptions, ApiState,
    metrics::Metrics,
    server::{Server, ServerOptions},
};
use proctor_engine::Engine;
use proctor_store::{
    Store,
    credentials::{KeyOwner, PlainKey},
};
use secrecy::SecretString;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    devboxes::{Devboxes, Supplies},
    exit::WrongUse,
    settings::Settings,
    storage,
};

/// A server at work.
pub(crate) struct Embedded {
    /// Where it answers.
    pub(crate) url: String,
    /// A key of its organization.
    pub(crate) key: SecretString,
    store: Store,
    engine: Engine,
    devboxes: Devboxes,
    state: ApiState,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Embedded {
    /// Starts a server that keeps everything in `data`.
    pub(crate) async fn start(data: &Path, listen: SocketAddr) -> anyhow::Result<Self> {
        let settings = Settings {
            data: Some(data.to_owned()),
            ..Settings::default()
        };
        let storage = storage::open(&settings).await?;
        let metrics = Metrics::new();
        let options = ServerOptions {
            listen,
            ..ServerOptions::default()
        };
        let server = Server::bind(options, metrics.clone()).await?;
        let key = organization_key(&storage.store).await?;
        let url = format!("http://{}", server.local_addr());
        let devboxes = Devboxes::open(data, &storage, Supplies::default()).await?;
        let workshop = Some(devboxes.workshop());
        let engine = Engine::new(storage.store.clone(), storage.clock, &url, workshop);
        let options = ApiOptions::default();
        let offered = Some(devboxes.offered());
        let state = ApiState::new(options, engine.clone(), offered, storage.ids, metrics);
        engine.run().await?;
        let router = Api::new().into_router(state.clone());
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let stopping = stop.clone();
        tasks.spawn(async move { server.serve(router, stopping).await });
        Ok(Self {
            url,
            key,
            store: storage.store,
            engine,
            devboxes,
            state,
            stop,
            tasks,
        })
    }

    /// Whether tasks can be done in boxes here: tried, not guessed.
    pub(crate) async fn has_devboxes(&self) -> bool {
        match self.devboxes.fleet.backend() {
            Ok(backend) => backend.doctor().await.usable(),
            Err(_) => false,
        }
    }

    /// What stops it.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Stops it, and waits until all is on disk.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.devboxes.fleet.stop_waiting();
        self.tasks.close();
        self.tasks.wait().await;
        self.state.finish_tasks().await;
        self.engine.close().await;
        self.devboxes.close().await;
        self.store.close().await;
    }
}

/// A new key of the only organization, which is made where there is none.
async fn organization_key(store: &Store) -> anyhow::Result<SecretString> {
    if let Some((_, issued)) = store.bootstrap("demo", PlainKey::Random).await? {
        return Ok(issued.secret);
    }
    let organizations = store.organizations().await?;
    let [only] = organizations.as_slice() else {
        let advice = "the store has several organizations; choose another directory";
        return Err(WrongUse(advice.to_owned()).into());
    };
    let name = Some("demo".to_owned());
    let issued = store
        .create_key(only.id, KeyOwner::Organization, name, PlainKey::Random)
        .await?;
    let issued = issued.ok_or_else(|| WrongUse("the organization takes no keys".to_owned()))?;
    Ok(issued.secret)
}
