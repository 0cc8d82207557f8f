//! The way out of a box: a proxy that asks a policy before it connects.
//!
//! A backend gives every box with [`Network::Allow`](crate::Network::Allow) a listener that only the box can reach, accepts on it outside, and hands each
//! connection to [`serve`]. Whether and where to connect is decided by the [`Gate`]: by name first, then by the address that the
//! name has at that moment, and the address that was checked is the one that is dialled. A request that names no host is meant for the server itself, and goes to
//! its API if the policy lists its path ([`OwnServer`]). Nothing here ever runs in a box.

mod addresses;
mod gate;
mod local_proxy;
mod names;
mod own_server;
mod proxy;
mod upstream;

pub use addresses::is_own;
pub use gate::{Gate, Refused};
pub use local_proxy::LocalProxy;
pub use names::{Names, SystemNames};
pub use own_server::{OwnServer, ServerApi};
pub use proxy::serve;
pub use upstream::{EnvironmentProxies, UpstreamProxy};
