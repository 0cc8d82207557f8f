//! OpenSSH's own clients against the server, in real boxes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod files;
mod keys;
mod ports;
mod programs;
mod support;
