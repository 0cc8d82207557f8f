//! Pages for people, drawn by the server, in the same binary as the API.
//!
//! * [`state`]: what handlers share.
//! * [`session`]: who is signed in; a handler that asks for a [`session::Visitor`] cannot run without one.
//! * `guard`: what happens around every page: host and origin checks, headers, error pages, compression.
//! * [`html`]: text of strangers as HTML, marks, numbers, times. Everything that agents or authors wrote goes through it.
//! * [`shell`]: what all pages have around their content.
//! * `assets`: the style sheet and the scripts, below an address that names their content.
//! * [`pages`]: one module a page, each with its `routes()`.
//!
//! Pages call the engine and the store as the API's dialects do, never the API's routes. They work without JavaScript, except live
//! updates, hovering over the heat map and following a log. They load nothing from elsewhere.

mod aliases;
mod assets;
pub mod error;
pub mod evidence;
mod guard;
pub mod html;
mod log_view;
mod memo;
pub mod pages;
mod plots;
pub mod query;
pub mod run_model;
pub mod session;
pub mod shell;
mod spreadsheet;
pub mod state;
pub mod timeline;

pub use pages::router;
pub use state::{WebOptions, WebState};
