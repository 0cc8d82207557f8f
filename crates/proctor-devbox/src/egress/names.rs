//! Where names lead.

use std::{fmt, io, net::SocketAddr};

use async_trait::async_trait;

/// Finds the addresses of names.
#[async_trait]
pub trait Names: fmt::Debug + Send + Sync {
    /// The addresses of `name` now, with `port`.
    async fn addresses(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// As this machine finds them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNames;

#[async_trait]
impl Names for SystemNames {
    async fn addresses(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((name, port)).await?.collect())
    }
}
