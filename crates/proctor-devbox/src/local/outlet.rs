//! The server's end of a box's way out: accepts where the box connects, and hands over to the proxy.
//!
//! The listener was made in the box's network and waits in its supervisor, so connections that come while no server is there are
//! answered by the next one.

use std::{io, sync::Arc, time::Duration};

use tokio::{io::AsyncWriteExt as _, net::TcpListener, sync::Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    devbox::LocalBox,
    link,
    plan::BoxPlaces,
    wire::{Request, frame},
};
use crate::{
    egress::{self, Gate, Names, OwnServer},
    error::{Error, Result},
    network::Network,
};

/// How many connections a box may have at once; more wait.
const MOST_PER_BOX: usize = 64;

/// What all ways out of this server share.
#[derive(Debug)]
pub(super) struct Outlets {
    names: Arc<dyn Names>,
    server: OwnServer,
    /// Connections of all boxes together: they must not take the server's descriptors away.
    room: Arc<Semaphore>,
}

impl Outlets {
    pub(super) fn new(names: Arc<dyn Names>, server: OwnServer) -> Self {
        let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile)
            .current
            .unwrap_or(u64::MAX);
        // Two descriptors each, and at most a quarter of what there is.
        let room = usize::try_from(descriptors / 8).unwrap_or(usize::MAX);
        Self {
            names,
            server,
            room: Arc::new(Semaphore::new(room.clamp(8, 16_384))),
        }
    }
}

impl LocalBox {
    /// Opens the box's way out, if it has one, in place of the one that was open; it closes when `until` is cancelled.
    pub(super) async fn open_outlet(&self, until: CancellationToken) -> Result<()> {
        let Network::Allow(policy) = self.plan().spec.network else {
            return Ok(());
        };
        let doing = |source| Error::platform("opening the devbox's way out", source);
        if let Some(previous) = self.replace_outlet(until.clone()) {
            previous.cancel();
        }
        let listener = fetch(&self.places).await.map_err(doing)?;
        let outlets = &self.shared.outlets;
        let gate = Gate::new(policy, Arc::clone(&outlets.names)).of_server(outlets.server.clone());
        let gate = Arc::new(gate);
        let (tasks, room) = (
            self.shared.links.clone(),
            Arc::clone(&self.shared.outlets.room),
        );
        self.shared.links.spawn(async move {
            let accepting = accept(&listener, &gate, &room, &tasks, &until);
            until.run_until_cancelled(accepting).await;
        });
        Ok(())
    }
}

/// Asks the supervisor for the listener.
async fn fetch(places: &BoxPlaces) -> io::Result<TcpListener> {
    let mut stream = link::connect(&places.directory).await?;
    stream.write_all(&frame(&Request::Outlet, &[])?).await?;
    let (_, mut fds) = link::receive(&stream, &mut [0; 8]).await?;
    let listener = fds.pop().ok_or(io::ErrorKind::NotConnected)?;
    TcpListener::from_std(std::net::TcpListener::from(listener))
}

async fn accept(
    listener: &TcpListener,
    gate: &Arc<Gate>,
    room: &Arc<Semaphore>,
    tasks: &TaskTracker,
    until: &CancellationToken,
) {
    let own = Arc::new(Semaphore::new(MOST_PER_BOX));
    while let Ok(own) = Arc::clone(&own).acquire_owned().await {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // No descriptors left, or the connection is gone already.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        // Waited for with one connection in hand and no more: the others stay where the kernel keeps them.
        let Ok(shared) = Arc::clone(room).acquire_owned().await else {
            return;
        };
        let (gate, serving, until) = (Arc::clone(gate), tasks.clone(), until.clone());
        tasks.spawn(async move {
            egress::serve(stream, gate, &serving, &until).await;
            drop((own, shared));
        });
    }
}
