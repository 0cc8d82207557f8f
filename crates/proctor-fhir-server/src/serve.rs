//! A store by itself, for tests and for people who want to try it.

use std::{future::IntoFuture, net::SocketAddr, path::PathBuf, sync::Arc};

use axum::{Router, serve::ListenerExt};
use proctor_core::causes::with_causes;
use proctor_core::{
    canonical::Digest,
    id::{IdSource, kinds::WorldId},
    time::Clock,
};
use proctor_fhir_store::{Base, FhirPlugin, LoneStore, Seed, Settings, Validation, smart::Smart};
use proctor_playground::{
    environment::Blueprint,
    world::{OpenError, Origin, Scenario, Surroundings, World},
};
use proctor_simulation::registry::MachineContext;
use proctor_store::{Store, StoreError, StoreOptions};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    beginning::{BeginError, begin, load},
    http::router_at,
};

/// How a store is served by itself.
#[derive(Clone)]
pub struct ServeOptions {
    /// The address to listen at; port 0 for any free one.
    pub listen: SocketAddr,
    /// Files with resources or bundles (JSON, or one resource to a line in `.ndjson`) to begin with.
    pub load: Vec<PathBuf>,
    /// Where the journal is kept; nothing to forget everything at the end.
    pub data: Option<PathBuf>,
    /// The address that clients see, when it is not the one listened at.
    pub base_url: Option<String>,
    /// What server-chosen ids follow from.
    pub seed: Seed,
    /// What happens to invalid resources.
    pub validation: Validation,
    /// Who may use the store; nothing for everybody.
    pub smart: Option<Smart>,
}

impl ServeOptions {
    /// An empty store for everybody, which forgets.
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            load: Vec::new(),
            data: None,
            base_url: None,
            seed: Seed::from_number(0),
            validation: Validation::default(),
            smart: None,
        }
    }
}

/// Why a store cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened at.
    #[error("cannot listen at {at}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// Serving failed.
    #[error("serving failed")]
    Io(#[from] std::io::Error),
    /// The store cannot begin.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The data directory cannot be used.
    #[error("the data directory cannot be used")]
    Store(#[from] StoreError),
    /// The store cannot be rebuilt from its journal.
    #[error("the store cannot be rebuilt")]
    Open(#[from] OpenError),
}

/// A store that listens, but does not answer yet.
pub struct Bound {
    listener: TcpListener,
    router: Router,
    world: World,
    base_url: String,
    store: Option<Store>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl Bound {
    /// Loads, rebuilds and listens.
    pub async fn bind(
        options: ServeOptions,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Result<Self, ServeError> {
        let listener =
            TcpListener::bind(options.listen)
                .await
                .map_err(|source| ServeError::Listen {
                    at: options.listen,
                    source,
                })?;
        let base_url = match options.base_url {
            Some(base_url) => base_url,
            None => format!("http://{}/fhir", listener.local_addr()?),
        };
        let settings = Arc::new(Settings {
            validation: options.validation,
            ..Settings::at(base_url)
        });
        let base_url = settings.base_url.clone();
        let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
        let (seed, smart) = (options.seed, options.smart);
        let origin = |base| lone_origin(base, settings, seed, smart);
        let (store, world) = match &options.data {
            None => {
                let base = load(&options.load, seed, clock.now())?;
                (None, World::in_memory(origin(base), clock))
            }
            Some(data) => {
                let store =
                    Store::open(&StoreOptions::embedded(data), Arc::clone(&clock), ids).await?;
                let around = Surroundings {
                    journal: store.journal().clone(),
                    clock: Arc::clone(&clock),
                    tasks: tasks.clone(),
                    closing: closing.clone(),
                };
                let (journal, now) = (&around.journal, clock.now());
                let base = begin(journal, LONE_WORLD, &options.load, seed, now).await?;
                (Some(store), World::open(origin(base), &around).await?)
            }
        };
        Ok(Self {
            listener,
            router: router_at("/fhir", world.clone()),
            world,
            base_url,
            store,
            tasks,
            closing,
        })
    }

    /// The address of the store, as clients see it.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Where it listens.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The world that answers.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Answers until `shutdown`, then finishes what is under way.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), ServeError> {
        let listener = self.listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(error = %with_causes(&error), "a connection keeps Nagle's delay");
            }
        });
        let served = axum::serve(listener, self.router)
            .with_graceful_shutdown(shutdown.cancelled_owned())
            .into_future()
            .await;
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        if let Some(store) = self.store {
            store.close().await;
        }
        Ok(served?)
    }
}

/// Serves a store until `shutdown`.
pub async fn serve(
    options: ServeOptions,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let bound = Bound::bind(options, clock, ids).await?;
    tracing::info!(base_url = bound.base_url(), "the FHIR store answers");
    bound.run(shutdown).await
}

/// What the world of a store by itself is made from.
pub fn lone_origin(
    base: Arc<Base>,
    settings: Arc<Settings>,
    seed: Seed,
    smart: Option<Smart>,
) -> Origin {
    let (digest, base_url) = (Digest::from_raw(base.digest()), settings.base_url.clone());
    let store = LoneStore {
        base,
        settings,
        seed,
        smart,
    };
    let machine = Box::new(move |_: &MachineContext<'_>| store.machine());
    let blueprint = Blueprint::of_one(digest, Arc::new(FhirPlugin), "FHIR", machine);
    Origin {
        id: LONE_WORLD,
        base_url,
        blueprint: Arc::new(blueprint),
        seed,
        scenario: Scenario::default(),
    }
}

/// The one world of a store by itself.
const LONE_WORLD: WorldId = WorldId::from_uuid(Uuid::from_u128(1));
