//! Searches code for a pattern on its syntax tree, in a process of its own.
//!
//! The grammars of all languages are 45 MB of tables and a lot of C, and what they read was written by agents. So they are neither in the server's
//! file nor in its process: this program is carried in a compressed form, is started for each search, gives up everything but its memory and its two pipes
//! (`limits`), and ends with its standard input. It is the one place that knows ast-grep.
//!
//! Without the feature `program` this crate is only what the two sides say to each other ([`wire`]).

#[cfg(feature = "program")]
mod code;
#[cfg(feature = "program")]
pub mod limits;
#[cfg(feature = "program")]
pub mod serve;
pub mod wire;
