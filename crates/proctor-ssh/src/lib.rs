//! An SSH server whose keys lead into devboxes.
//!
//! This crate owns the protocol: the listening socket, who may come in, and what the channels of a connection carry. Where a key leads
//! and what happens in a devbox is `proctor-fleet`'s. A key leads into exactly one devbox, whatever its holder asks for;
//! nothing here ever runs outside of one.
//!
//! ```text
//! SshServer ── connection: authentication by key, one devbox
//!                ├ session channels: shells, commands, SFTP
//!                └ direct-tcpip channels: ports of the devbox's loopback interface
//! ```

mod connection;
mod identity;
mod program;
mod server;
mod sessions;

pub use identity::SshIdentity;
pub use server::{BindError, SshOptions, SshServer};
