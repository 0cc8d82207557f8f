//! A server of this process, from opening its store to closing it: `proctor serve`, and the commands that need a server for a while.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use proctor_api::{
    Api, ApiOptions, ApiState, OfferedDevboxes,
    metrics::Metrics,
    server::{BoundServer, Drained, InsideServer, Server, ServerOptions},
};
use proctor_benchmarks::{Admitter, Replayer};
use proctor_core::{agent::AgentManifest, causes::with_causes, usage::PriceTable};
use proctor_engine::{Engine, Extensions, text_judge::TextJudge};
use proctor_fleet::{Fleet, SshService};
use proctor_ssh::{SshOptions, SshServer};
use proctor_store::{ServerLock, Store};
use proctor_web::{WebOptions, WebState};
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    devboxes::{Devboxes, Supplies},
    settings::Settings,
    storage::{self, Storage},
};

/// How often what is too old to be asked for is forgotten.
const SWEEP: Duration = Duration::from_secs(3600);

/// A server that has its store and its port, and does not answer yet.
///
/// A key that is shown once is made in this state: a port that is taken must not cost it.
pub(crate) struct Opened {
    lock: ServerLock,
    storage: Storage,
    metrics: Metrics,
    server: BoundServer,
}

/// What a server is told before it answers.
pub(crate) struct Terms {
    /// Where clients reach it, unless that is the address it listens on.
    pub(crate) public_url: Option<String>,
    /// Whether it speaks TLS.
    pub(crate) is_tls: bool,
    /// How it answers.
    pub(crate) api: ApiOptions,
    /// What models cost.
    pub(crate) prices: PriceTable,
    /// What it has for its devboxes.
    pub(crate) supplies: Supplies,
    /// How agents of jobs are started that are known by their names alone.
    pub(crate) agents: BTreeMap<String, AgentManifest>,
    /// Who answers questions about free text, if anybody does.
    pub(crate) judge: Option<Arc<dyn TextJudge>>,
    /// Where it speaks SSH, if it does.
    pub(crate) ssh: Option<SshOptions>,
}

/// A server at work.
pub(crate) struct Running {
    /// Where it listens.
    pub(crate) url: String,
    /// Where people reach it.
    pub(crate) public_url: String,
    /// Where it speaks SSH, if it does.
    pub(crate) ssh: Option<SocketAddr>,
    speaking_ssh: Option<JoinHandle<()>>,
    store: Store,
    engine: Engine,
    devboxes: Devboxes,
    state: ApiState,
    stop: CancellationToken,
    /// Nobody else serves from this database as long as this is here.
    _lock: ServerLock,
    serving: JoinHandle<Drained>,
}

impl Opened {
    /// Opens the store and binds the port.
    pub(crate) async fn open(settings: &Settings, options: ServerOptions) -> anyhow::Result<Self> {
        let lock = storage::lock(settings).await?;
        let storage = storage::open(settings).await?;
        let metrics = Metrics::new();
        let server = Server::bind(options, metrics.clone()).await?;
        Ok(Self {
            lock,
            storage,
            metrics,
            server,
        })
    }

    pub(crate) fn store(&self) -> &Store {
        &self.storage.store
    }

    /// Takes up what an earlier process left in `data`, and answers from now on.
    pub(crate) async fn start(self, data: &Path, terms: Terms) -> anyhow::Result<Running> {
        let Self {
            lock,
            storage,
            metrics,
            server,
        } = self;
        let scheme = if terms.is_tls { "https" } else { "http" };
        let url = format!("{scheme}://{}", server.local_addr());
        lock.announce(&url);
        // A server that listens everywhere does not know its name: links then lead to where the request went.
        let knows_its_name = terms.public_url.is_some() || terms.is_tls;
        let public_url = terms.public_url.unwrap_or_else(|| url.clone());
        let api = ApiOptions {
            public_url: knows_its_name.then(|| public_url.clone()),
            listen: Some(server.local_addr()),
            ..terms.api
        };
        let web = WebOptions {
            public_url: api.public_url.clone(),
            listen: api.listen,
            is_tls: terms.is_tls,
        };
        let devboxes = Devboxes::open(data, &storage, terms.supplies).await?;
        let workshop = Some(devboxes.workshop());
        let store = storage.store;
        let engine = Engine::new(
            store.clone(),
            storage.clock,
            &public_url,
            workshop,
            Extensions {
                agents: terms.agents,
                judge: terms.judge,
                admission: Some(Arc::new(Admitter)),
                oracle: Some(Arc::new(Replayer)),
                prices: terms.prices,
                ..Extensions::shipped()
            },
        );
        let ssh = match terms.ssh.filter(|_| devboxes.blueprints.is_some()) {
            Some(options) => Some(SshServer::bind(options, devboxes.fleet.clone()).await?),
            None => None,
        };
        let identity = ssh.as_ref().map(SshServer::identity);
        let ssh_address = identity.as_ref().map(|ssh| ssh.endpoint().listens);
        let offered = Some(OfferedDevboxes {
            ssh: identity.map(|ssh| ssh as Arc<dyn SshService>),
            ..devboxes.offered()
        });
        let state = ApiState::new(api, engine.clone(), offered, storage.ids, metrics);
        engine.run().await?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let pages = proctor_web::router(WebState::new(
            engine.clone(),
            Some(devboxes.fleet.clone()),
            web,
            stop.clone(),
        ));
        let router = Api::new().with_pages(pages).into_router(state.clone());
        let inside = InsideServer::new(router.clone(), stop.clone());
        devboxes.own_server.set(Arc::new(inside));
        tasks.spawn(sweep(store.clone(), stop.clone()));
        tasks.spawn(stop_waiting(devboxes.fleet.clone(), stop.clone()));
        tasks.spawn(stop_when_lost(lock.lost(), stop.clone()));
        let stopping = stop.clone();
        let speaking_ssh = ssh.map(|ssh| tasks.spawn(ssh.serve(stop.clone())));
        Ok(Running {
            url,
            public_url,
            ssh: ssh_address,
            speaking_ssh,
            store,
            engine,
            devboxes,
            state,
            stop,
            _lock: lock,
            serving: tasks.spawn(async move { server.serve(router, stopping).await }),
        })
    }
}

impl Running {
    /// What stops it when it is cancelled.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Its store.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Whether tasks can be done in boxes here: tried, not guessed.
    pub(crate) async fn has_devboxes(&self) -> bool {
        match self.devboxes.fleet.backend() {
            Ok(backend) => backend.doctor().await.usable(),
            Err(_) => false,
        }
    }

    /// Answers until it is stopped, then waits until all is on disk.
    pub(crate) async fn finish(self) -> anyhow::Result<Drained> {
        let drained = self.serving.await?;
        if let Some(ssh) = self.speaking_ssh {
            ssh.await?;
        }
        self.state.finish_tasks().await;
        self.engine.close().await;
        self.devboxes.close().await;
        self.store.close().await;
        Ok(drained)
    }
}

/// Ends long polls and streams when the server is told to stop, so that they do not hold it up.
async fn stop_waiting(fleet: Fleet, stop: CancellationToken) {
    stop.cancelled().await;
    fleet.stop_waiting();
}

/// Ends a server whose database another one has taken over.
async fn stop_when_lost(lost: CancellationToken, stop: CancellationToken) {
    tokio::select! {
        () = lost.cancelled() => stop.cancel(),
        () = stop.cancelled() => {}
    }
}

/// Forgets, now and then, what is too old to be asked for.
async fn sweep(store: Store, stop: CancellationToken) {
    while tokio::time::timeout(SWEEP, stop.cancelled()).await.is_err() {
        if let Err(error) = store.forget_old_requests().await {
            tracing::warn!(error = %with_causes(&error), "old answers could not be forgotten");
        }
        if let Err(error) = store.forget_old_web_sessions().await {
            tracing::warn!(error = %with_causes(&error), "sessions that are over stay for now");
        }
        if let Err(error) = proctor_fleet::objects::sweep(&store).await {
            tracing::warn!(error = %with_causes(&error), "objects whose time is over stay for now");
        }
    }
}
