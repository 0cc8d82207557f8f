//! A FHIR store by itself, over its public surface.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on has failed"
)]

mod beginning;
mod conformance;
mod old_journal;
