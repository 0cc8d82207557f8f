//! The pages as a browser asks for them, without a browser: sessions, and what is refused.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod compare;
mod sessions;
mod settings;
mod site;
