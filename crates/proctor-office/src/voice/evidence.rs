//! What checks see of a telephone line.

use proctor_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A telephone call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its name.
    pub id: String,
    /// What was said, in order.
    pub turns: Vec<Turn>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended, if it did.
    pub ended_at: Option<Timestamp>,
}

/// One thing said in a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Who said it.
    pub speaker: Speaker,
    /// The words; for keys that were pressed, the keys.
    pub text: String,
    /// Whether keys were pressed instead of words said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_dtmf: bool,
    /// When.
    pub at: Timestamp,
}

/// Who speaks in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The agent that is examined.
    Agent,
    /// The other end of the line: a menu or a person.
    Caller,
}
