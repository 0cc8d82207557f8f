//! Harbor jobs over HTTP, in real boxes.

mod bad_input;
mod cheats;
mod separate;
mod steps;
mod suite;
mod support;
mod trials;
