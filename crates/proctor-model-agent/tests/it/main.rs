//! The agent against a model that plays a script and a task that counts, both over real HTTP.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on stops where it is"
)]

mod endings;
mod failures;
mod solving;
mod support;
