//! Harbor jobs over HTTP, in real boxes.

mod bad_input;
mod cheats;
mod suite;
mod support;
mod trials;
