//! Harbor jobs over HTTP, in real boxes.

mod bad_input;
mod cheats;
mod manifests;
mod rules;
mod separate;
mod sidecars;
mod steps;
mod suite;
mod support;
mod trials;
mod unverified;
