//! What checks may look at: the part of a world's state that counts.
//!
//! Every simulator adds what it has. `None` means that the playground has no such simulator, which a
//! check reports differently from one that was never used.

use std::{borrow::Cow, collections::BTreeMap};

use bytes::Bytes;
use proctor_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fhir;

/// Everything in a world that checks may look at.
pub struct Exhibits<'w> {
    /// When the world is looked at: the moment it was frozen, if it was.
    pub now: Timestamp,
    /// The FHIR stores, in the order of the environment.
    pub fhir: Vec<&'w fhir::State>,
    /// HL7 messages that the agent sent, oldest first.
    pub hl7_sent: Option<Vec<&'w SentMessage>>,
    /// Rows by the name of their resource (`prior_auth_requests`, `faxes`, `messages`, …), oldest first.
    pub rows: BTreeMap<&'w str, Vec<StateRow<'w>>>,
    /// Files by path (`outbound/claims/1.json`, no leading slash).
    pub files: Option<BTreeMap<&'w str, &'w StoredFile>>,
    /// Telephone calls, oldest first.
    pub calls: Option<Vec<&'w Call>>,
    /// X12 transactions that were answered, oldest first.
    pub x12: Option<Vec<&'w X12Response>>,
}

impl Exhibits<'_> {
    /// Nothing yet, looked at at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now,
            fhir: Vec::new(),
            hl7_sent: None,
            rows: BTreeMap::new(),
            files: None,
            calls: None,
            x12: None,
        }
    }
}

/// Tests that do not care about the time; everything else says when it looks.
#[cfg(test)]
impl Default for Exhibits<'_> {
    fn default() -> Self {
        Self::at(Timestamp::from_millis(0))
    }
}

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

/// One row of a simulator's state.
#[derive(Clone, Debug)]
pub struct StateRow<'w> {
    /// What names it.
    pub key: Cow<'w, str>,
    /// Its fields.
    pub fields: Cow<'w, Value>,
    /// When it last changed.
    pub at: Timestamp,
}

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

/// An X12 transaction that a clearinghouse answered with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct X12Response {
    /// The transaction set: `271`, `277`, `278`, `999`, or `TA1`.
    pub transaction: String,
    /// The control number of the interchange (ISA13).
    pub control_number: String,
    /// The whole interchange that holds it.
    pub raw: String,
    /// When it was made.
    pub at: Timestamp,
}
