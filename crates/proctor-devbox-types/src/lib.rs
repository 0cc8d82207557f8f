//! The vocabulary of boxes: what a caller asks of a backend ([`spec`], [`network`]), what the backend answers ([`record`]), what can go
//! wrong ([`error`]), and how everything is named ([`name`]).
//!
//! Every backend speaks it, and so does `proctor-supervisor`, a small program that must not carry the rest of `proctor-devbox`. So it is a
//! crate of its own: types and rules about them, no I/O but looking whether a directory to be shared exists.

mod check;
pub mod error;
pub mod name;
pub mod network;
pub mod record;
pub mod spec;

pub use check::MOST_SHARED;
