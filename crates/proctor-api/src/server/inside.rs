//! Requests that come from inside: from devboxes whose agents may ask the server for their own attempts.
//!
//! They come through the proxy of their box, in this process, and never over an address of the host.

use std::io;

use async_trait::async_trait;
use axum::Router;
use http::Request;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use proctor_core::causes::with_causes;
use proctor_devbox::{Duplex, egress::ServerApi};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::unread;

/// How many bytes are on their way at once, each way.
const BUFFER: usize = 64 << 10;

/// Answers requests from inside as the port answers those from outside.
pub struct InsideServer {
    router: Router,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl InsideServer {
    /// Serves `router` until `stop` is cancelled.
    pub fn new(router: Router, stop: CancellationToken) -> Self {
        Self {
            router,
            tasks: TaskTracker::new(),
            stop,
        }
    }
}

#[async_trait]
impl ServerApi for InsideServer {
    async fn connect(&self) -> io::Result<Box<dyn Duplex>> {
        let (client, server) = tokio::io::duplex(BUFFER);
        let (router, stop) = (self.router.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            let service =
                service_fn(|request: Request<Incoming>| unread::answer(router.clone(), request));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(server), service);
            if let Some(Err(error)) = stop.run_until_cancelled(connection).await {
                tracing::debug!(error = %with_causes(&error), "a connection from inside broke");
            }
        });
        Ok(Box::new(client))
    }
}
