//! What handlers ask for, parsed: bodies, path parameters, queries and pages.
//!
//! A handler receives types that cannot be wrong. Every refusal is an [`ApiError`] that names the
//! field, the parameter or the form that was expected.
//!
//! [`ApiError`]: crate::error::ApiError

mod body;
mod checks;
mod json;
mod path;
mod query;
mod tree;

pub(crate) use body::{announced_length, drain, read as read_body};
pub(crate) use checks::{Checks, present, texts};
pub use json::Json;
pub(crate) use path::shortened;
pub use path::{Path, PathParameter};
pub use query::Query;
