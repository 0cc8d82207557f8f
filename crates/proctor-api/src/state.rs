//! What handlers share.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use proctor_core::{id::IdSource, usage::PriceTable};
use proctor_engine::Engine;
use proctor_fleet::{Fleet, SshService, blueprints::Blueprints};
use proctor_store::Store;
use tokio_util::task::TaskTracker;

use crate::{
    error::{ApiError, ApiErrorKind},
    metrics::Metrics,
    rate_limit::{Limiter, OrganizationLimiter, RateLimit},
};

/// How the API treats its clients.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// The largest body that is read, in bytes.
    pub body_limit: usize,
    /// How long a request may take until its answer begins.
    pub request_time_out: Duration,
    /// How often one credential may ask; no limit without.
    pub rate_limit: Option<RateLimit>,
    /// The largest object that may be uploaded, in bytes.
    pub object_limit: u64,
    /// The server's address as clients see it, without a slash at the end. Without one, links lead to where their request
    /// went, over plain HTTP.
    pub public_url: Option<String>,
    /// Where the server listens: where links lead when a request names another host than this machine.
    pub listen: Option<SocketAddr>,
    /// The domain whose names lead to ports of devboxes. Without one, tunnels are below a path.
    pub tunnel_domain: Option<String>,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self {
            body_limit: 16 << 20,
            request_time_out: Duration::from_secs(60),
            rate_limit: None,
            object_limit: proctor_fleet::objects::LARGEST,
            public_url: None,
            listen: None,
            tunnel_domain: None,
        }
    }
}

/// The devboxes that a server offers.
#[derive(Clone)]
pub struct OfferedDevboxes {
    /// The devboxes.
    pub fleet: Fleet,
    /// What builds blueprints for them, if this machine can.
    pub blueprints: Option<Blueprints>,
    /// What speaks SSH, if something does.
    pub ssh: Option<Arc<dyn SshService>>,
}

/// What every handler can reach. Cheap to clone.
#[derive(Clone)]
pub struct ApiState(Arc<Shared>);

struct Shared {
    options: ApiOptions,
    engine: Engine,
    devboxes: Option<OfferedDevboxes>,
    tasks: TaskTracker,
    ids: Arc<dyn IdSource>,
    metrics: Metrics,
    limiter: Option<Limiter>,
    organization_limiter: OrganizationLimiter,
}

impl ApiState {
    /// The state of a server that has not answered anything yet, and that may have devboxes.
    pub fn new(
        options: ApiOptions,
        engine: Engine,
        devboxes: Option<OfferedDevboxes>,
        ids: Arc<dyn IdSource>,
        metrics: Metrics,
    ) -> Self {
        Self(Arc::new(Shared {
            limiter: options.rate_limit.map(Limiter::new),
            organization_limiter: OrganizationLimiter::default(),
            options,
            engine,
            devboxes,
            tasks: TaskTracker::new(),
            ids,
            metrics,
        }))
    }

    /// What builds blueprints, if this server does.
    pub(crate) fn blueprints(&self) -> Option<&Blueprints> {
        self.0.devboxes.as_ref()?.blueprints.as_ref()
    }

    /// The store behind all routes.
    pub fn store(&self) -> &Store {
        self.0.engine.store()
    }

    /// What makes things happen.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The devboxes, or the answer of a server that has none.
    pub(crate) fn fleet(&self) -> Result<&Fleet, ApiError> {
        let devboxes = self.0.devboxes.as_ref();
        devboxes.map(|devboxes| &devboxes.fleet).ok_or_else(|| {
            ApiError::new(ApiErrorKind::NotImplemented, "this server has no devboxes")
        })
    }

    /// What speaks SSH, or the answer of a server where nothing does.
    pub(crate) fn ssh(&self) -> Result<&dyn SshService, ApiError> {
        let ssh = self
            .0
            .devboxes
            .as_ref()
            .and_then(|offered| offered.ssh.as_deref());
        ssh.ok_or_else(|| {
            let message = "this server does not speak SSH: it runs without --ssh-listen";
            ApiError::new(ApiErrorKind::NotImplemented, message)
        })
    }

    /// The domain of tunnels.
    pub(crate) fn tunnel_domain(&self) -> Option<&str> {
        self.0.options.tunnel_domain.as_deref()
    }

    /// Waits for what was begun for clients that did not wait for it. To be called when the
    /// server has ended.
    pub async fn finish_tasks(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    pub(crate) fn limiter(&self) -> Option<&Limiter> {
        self.0.limiter.as_ref()
    }

    pub(crate) fn organization_limiter(&self) -> &OrganizationLimiter {
        &self.0.organization_limiter
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn ids(&self) -> &dyn IdSource {
        &*self.0.ids
    }

    pub(crate) fn request_time_out(&self) -> Duration {
        self.0.options.request_time_out
    }

    pub(crate) fn object_limit(&self) -> u64 {
        self.0.options.object_limit
    }

    pub(crate) fn prices(&self) -> &PriceTable {
        &self.engine().extensions().prices
    }

    pub(crate) fn listen(&self) -> Option<SocketAddr> {
        self.0.options.listen
    }

    pub(crate) fn public_url(&self) -> Option<&str> {
        self.0.options.public_url.as_deref()
    }

    pub(crate) fn body_limit(&self) -> usize {
        self.0.options.body_limit
    }
}
