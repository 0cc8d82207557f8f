//! A journal in SQLite, and what is served from this process.

use std::{net::SocketAddr, sync::Arc};

use axum::Router;
use bytes::Bytes;
use proctor_core::time::Clock;
use proctor_fhir_server::serve::lone_origin;
use proctor_fhir_store::{Base, Seed, Settings, rest::FHIR_JSON};
use proctor_playground::world::{Rehearsal, Surroundings, World};
use proctor_simulation::exchange::Response;
use proctor_store::{
    Store, StoreOptions,
    ambient::{RandomIds, SystemClock},
};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A journal in SQLite, and what is served from this process.
pub(crate) struct House {
    store: Store,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl House {
    pub(crate) async fn open(directory: &std::path::Path) -> Self {
        let options = StoreOptions::embedded(directory);
        let store = Store::open(
            &options,
            Arc::new(SystemClock),
            Arc::new(RandomIds::default()),
        )
        .await
        .expect("a store");
        Self {
            store,
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        }
    }

    /// A world of one store, as `proctor fhir` has it and every run with an EHR.
    pub(crate) async fn world(&self, base: &Arc<Base>, settings: &Arc<Settings>) -> World {
        let (base, settings) = (Arc::clone(base), Arc::clone(settings));
        let origin = lone_origin(base, settings, Seed::from_number(1), None);
        let around = Surroundings {
            journal: self.store.journal().clone(),
            clock: Arc::new(SystemClock),
            tasks: self.tasks.clone(),
            closing: self.closing.clone(),
        };
        let rehearsal = Rehearsal::of(origin, SystemClock.now()).expect("an empty scenario");
        World::begin(rehearsal, &around).await.expect("a world")
    }

    pub(crate) async fn listen(&self, router: Router) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
            stream.set_nodelay(true).expect("a TCP connection");
        });
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            axum::serve(listener, router)
                .with_graceful_shutdown(closing.cancelled_owned())
                .await
                .expect("served");
        });
        address
    }

    pub(crate) async fn close(self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }
}

/// A handler that returns the bytes and headers of `response`, and does nothing else.
pub(crate) fn bare(response: &Response) -> Router {
    let (body, headers): (Bytes, _) = (response.body.clone(), response.headers.clone());
    assert_eq!(headers["content-type"], FHIR_JSON);
    Router::new().fallback(move || {
        let (body, headers) = (body.clone(), headers.clone());
        async move { (headers, body) }
    })
}
