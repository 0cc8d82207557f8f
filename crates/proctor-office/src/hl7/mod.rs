//! An HL7 v2 interface behind HTTP: `hl7/inbox`, `hl7/outbound`.
//!
//! What arrives waits in the inbox; what the agent sends is judged and acknowledged by the rules of
//! the standard, and kept whatever the answer was. How messages are read and judged is
//! [`proctor_hl7`]'s; this module keeps them and owns no rule of its own beyond its configuration.

mod blueprint;
mod evidence;
mod kind;
mod plugin;
mod serve;
mod tools;

use std::sync::Arc;

use proctor_core::time::Timestamp;
use proctor_hl7::Message;
use proctor_simulation::{
    exchange::Request,
    exhibits::Exhibits,
    record::Write,
    seed::Seed,
    simulator::{Around, Decision, Machine, NotProvided, Provided, Provision, Recorded},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use blueprint::Blueprint;
pub use evidence::SentMessage;
use kind::MessageKind;
use plugin::Hl7Inbound;
pub use plugin::Hl7Plugin;

/// The most bytes that a message may have.
const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;
/// The most bytes that are kept of all messages together.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The interface of one playground.
#[derive(Clone, Debug, PartialEq)]
pub struct Hl7 {
    blueprint: Arc<Blueprint>,
    seed: Seed,
    inbox: Vec<Received>,
    sent: Vec<SentMessage>,
    bytes: usize,
}

/// A message that arrived for the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Received {
    /// Its name.
    pub id: String,
    /// The whole message.
    pub payload: String,
    /// MSH-9: type and event.
    pub message_type: String,
    /// MSH-10.
    pub message_control_id: String,
    /// When it arrived.
    pub received_at: Timestamp,
}

/// What can happen to the interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A message arrived.
    Received(Received),
    /// The agent sent a message.
    Sent(SentMessage),
}

impl Hl7 {
    /// An interface that nothing went through yet.
    pub fn branch(blueprint: Arc<Blueprint>, seed: Seed) -> Self {
        Self {
            blueprint,
            seed,
            inbox: Vec::new(),
            sent: Vec::new(),
            bytes: 0,
        }
    }

    fn receive(&self, payload: &str, now: Timestamp) -> Result<Received, NotProvided> {
        let wrong = |problem: String| NotProvided(format!("payload: {problem}"));
        let message = Message::parse_at_most(payload.as_bytes(), LARGEST_MESSAGE)
            .map_err(|error| wrong(error.to_string()))?;
        let kind = MessageKind::of(&message)
            .ok_or_else(|| wrong("MSH-9 must say what kind of message it is".to_owned()))?;
        if self.bytes + payload.len() > MOST_BYTES {
            return Err(wrong(format!(
                "all messages together have at most {MOST_BYTES} bytes"
            )));
        }
        let number = self.inbox.len() as u64;
        Ok(Received {
            id: format!("hl7_{}", self.seed.short_id("hl7 received", number)),
            payload: payload.to_owned(),
            message_type: kind.to_string(),
            message_control_id: control_id(&message),
            received_at: now,
        })
    }
}

impl Machine for Hl7 {
    type Change = Change;

    fn decide(&self, request: &Request, around: &Around<'_>) -> Decision<Change> {
        self.serve(request, around.now)
    }

    fn provide(
        &self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Provided<Change>, NotProvided> {
        let Some(Hl7Inbound { payload }) = provision.action() else {
            return Err(NotProvided::not_mine(provision, "Hl7"));
        };
        let received = self.receive(payload, around.now)?;
        Ok(Provided {
            event: Recorded::arrival("hl7_inbound", json!(received)),
            changes: vec![Change::Received(received)],
        })
    }

    fn evolve(&mut self, change: Change) {
        match change {
            Change::Received(message) => {
                self.bytes += message.payload.len();
                self.inbox.push(message);
            }
            Change::Sent(message) => {
                self.bytes += message.payload.len();
                self.sent.push(message);
            }
        }
    }

    fn writes(&self, change: &Change) -> Vec<Write> {
        match change {
            Change::Received(_) => Vec::new(),
            Change::Sent(sent) => {
                let kind = Message::parse(sent.payload.as_bytes()).ok();
                let kind = kind.and_then(|message| Some(MessageKind::of(&message)?.to_string()));
                vec![Write::sent(
                    "hl7",
                    kind.unwrap_or_default(),
                    &sent.id,
                    json!(sent),
                )]
            }
        }
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        exhibits.show(&self.sent);
        exhibits.show(&self.inbox);
    }

    fn credentials(&self, prefix: &str) -> Value {
        json!({
            "inbox_url": format!("{prefix}/hl7/inbox"),
            "outbound_url": format!("{prefix}/hl7/outbound"),
        })
    }
}

/// MSH-10, empty when there is none.
fn control_id(message: &Message<'_>) -> String {
    message.control_id().text().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
