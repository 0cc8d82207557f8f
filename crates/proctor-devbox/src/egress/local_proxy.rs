//! The proxy for programs and clients of this server that fetch what a client named: it asks a [`Gate`] before it connects.

use std::{io, sync::Arc};

use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Gate, serve};

/// A proxy of this process on a loopback port, which ends with this value.
#[derive(Debug)]
pub struct LocalProxy {
    url: String,
    gate: Arc<Gate>,
    ended: CancellationToken,
}

impl LocalProxy {
    /// Starts a proxy that leads where `gate` lets through.
    pub async fn start(gate: Arc<Gate>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (ended, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(accept(
            listener,
            Arc::clone(&gate),
            tasks.clone(),
            ended.clone(),
        ));
        Ok(Self { url, gate, ended })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it asks.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }
}

impl Drop for LocalProxy {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

async fn accept(
    listener: TcpListener,
    gate: Arc<Gate>,
    tasks: TaskTracker,
    ended: CancellationToken,
) {
    loop {
        let accepted = ended.run_until_cancelled(listener.accept()).await;
        let Some(accepted) = accepted else { return };
        let Ok((stream, _)) = accepted else { continue };
        let (gate, own, ended) = (Arc::clone(&gate), tasks.clone(), ended.clone());
        tasks.spawn(async move { serve(stream, gate, &own, &ended).await });
    }
}
