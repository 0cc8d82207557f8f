//! What checks see of a tree of files: each file under its path (`outbound/claims/1.json`, no leading
//! slash).

use bytes::Bytes;
use proctor_core::time::Timestamp;

/// A file in a playground.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFile {
    /// Its content.
    pub content: Bytes,
    /// When it was written.
    pub at: Timestamp,
    /// Whether it was there before the agent came: seeded, or put there by a scenario.
    pub is_given: bool,
}
