//! The page that shows the OpenAPI document to people.
//!
//! Drawn once at start, on the server, from the document itself: no scripts, nothing fetched from
//! elsewhere. The page's words are the document's words; this module only lays them out.

use askama::Template;
use serde_json::Value;

mod model;

/// The page, as HTML.
pub(crate) fn page(document: &Value) -> Result<String, askama::Error> {
    model::Page::of(document).render()
}
