//! The server's own API, for boxes that may ask it: a connection inside this process, so that no address of the host is opened to a
//! box.

use std::{
    fmt, io,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;

use crate::backend::Duplex;

/// What answers requests to the server itself.
#[async_trait]
pub trait ServerApi: Send + Sync {
    /// A connection on which HTTP/1.1 is spoken.
    async fn connect(&self) -> io::Result<Box<dyn Duplex>>;
}

/// The server that a backend belongs to. Boxes are taken up before it answers, so it is told later.
#[derive(Clone, Default)]
pub struct OwnServer(Arc<OnceLock<Arc<dyn ServerApi>>>);

impl OwnServer {
    /// Says who answers. Only the first word counts.
    pub fn set(&self, server: Arc<dyn ServerApi>) {
        let _ = self.0.set(server);
    }

    pub(super) async fn connect(&self) -> io::Result<Box<dyn Duplex>> {
        match self.0.get() {
            Some(server) => server.connect().await,
            None => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "the server does not answer yet",
            )),
        }
    }
}

impl fmt::Debug for OwnServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnServer")
            .field(&self.0.get().is_some())
            .finish()
    }
}
