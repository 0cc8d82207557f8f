//! What checks see of an HL7 interface.

use proctor_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// An HL7 message as the agent sent it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentMessage {
    /// Its name.
    pub id: String,
    /// The whole message.
    pub payload: String,
    /// MSH-10.
    pub message_control_id: String,
    /// How it was acknowledged: AA, AE or AR (CA, CE, CR in enhanced mode).
    pub ack_code: String,
    /// When it came.
    pub at: Timestamp,
}
