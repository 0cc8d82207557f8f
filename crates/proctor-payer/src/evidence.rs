//! What checks see of a clearinghouse.

use proctor_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// An X12 transaction that a clearinghouse answered with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct X12Response {
    /// The transaction set: `271`, `277`, `277CA`, `278`, `835`, `999`, or `TA1`.
    pub transaction: String,
    /// The control number of the interchange (ISA13).
    pub control_number: String,
    /// The whole interchange that holds it.
    pub raw: String,
    /// When it was sent, or will be.
    pub at: Timestamp,
}
