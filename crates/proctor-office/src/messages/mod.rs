//! Messages to and from patients behind HTTP: `messages`, `messages/{id}`.
//!
//! What one patient and the agent write by one channel is a thread. A patient answers where the
//! configuration says what to, and always the same.

mod blueprint;
mod plugin;
mod tools;

use std::sync::Arc;

use http::StatusCode;
use proctor_core::time::Timestamp;
use proctor_simulation::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    fields::Fields,
    record::Write,
    rows::{Collection, Row, Rows},
    seed::Seed,
    simulator::{Around, Decision, Direction, Machine, NotProvided, Provided, Provision, Recorded},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use blueprint::Blueprint;
use plugin::MessageInbound;
pub use plugin::MessagesPlugin;

/// How agents reach it.
const COLLECTION: Collection = Collection {
    path: "messages",
    noun: "message",
    look: "message_request",
    filters: &["channel", "patient_id", "direction", "thread_id"],
};
/// The most bytes that a body may have.
const LARGEST_BODY: usize = 256 * 1024;
/// The most characters in a message.
const LONGEST_TEXT: usize = 20_000;
/// The most characters in its other fields.
const LONGEST_FIELD: usize = 200;

/// The messages of one playground.
#[derive(Clone, Debug, PartialEq)]
pub struct Messages {
    blueprint: Arc<Blueprint>,
    seed: Seed,
    messages: Rows,
}

/// What can happen to the messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A message was sent or came in.
    Message(Row),
}

/// What a message says, to or from whom.
struct Letter {
    channel: String,
    patient_id: String,
    body: String,
}

impl Messages {
    /// An exchange in which nobody wrote yet.
    pub fn branch(blueprint: Arc<Blueprint>, seed: Seed) -> Self {
        Self {
            blueprint,
            seed,
            messages: Rows::default(),
        }
    }

    /// The row of a message; `number` is how many there were before it.
    fn row(&self, number: u64, direction: Direction, letter: &Letter, at: Timestamp) -> Row {
        let id = format!("msg_{}", self.seed.short_id("message", number));
        let thread = format!("thread {}\n{}", letter.channel, letter.patient_id);
        let status = match direction {
            Direction::Inbound => "received",
            Direction::Outbound => "sent",
        };
        let fields = json!({
            "id": id,
            "thread_id": format!("thr_{}", self.seed.short_id(&thread, 0)),
            "status": status,
            "direction": direction.as_str(),
            "channel": letter.channel,
            "patient_id": letter.patient_id,
            "body": letter.body,
            "created_at": at,
        });
        Row { id, fields, at }
    }

    fn send(&self, request: &Request, now: Timestamp) -> Decision<Change> {
        let room = self.messages.check_room();
        let letter = match room.and_then(|()| self.read(request)) {
            Ok(letter) => letter,
            Err(refusal) => return Decision::answer("message_outbound", request, *refusal),
        };
        let number = self.messages.count();
        let reply = self.blueprint.reply(&letter.body).map(|body| Letter {
            channel: letter.channel.clone(),
            patient_id: letter.patient_id.clone(),
            body: body.to_owned(),
        });
        let sent = self.row(number, Direction::Outbound, &letter, now);
        let reply = reply.map(|letter| {
            let mut reply = self.row(number + 1, Direction::Inbound, &letter, now);
            reply.fields["in_reply_to"] = sent.id.as_str().into();
            reply
        });
        let response = Response::json(StatusCode::CREATED, &sent.fields);
        let event = Recorded::request("message_outbound", request, &response)
            .with("message", sent.fields.clone())
            .with(
                "reply",
                reply.as_ref().map_or(Value::Null, |row| row.fields.clone()),
            );
        let changes = [Some(sent), reply].into_iter().flatten();
        Decision {
            response,
            event,
            changes: changes.map(Change::Message).collect(),
        }
    }

    fn read(&self, request: &Request) -> Result<Letter, Box<Response>> {
        let fields = Fields::of(request, LARGEST_BODY)?;
        let letter = Letter {
            channel: fields.text("channel", LONGEST_FIELD),
            patient_id: fields.text("patient_id", LONGEST_FIELD),
            body: fields.text("body", LONGEST_TEXT),
        };
        if !letter.channel.is_empty()
            && let Some(channels) = self.blueprint.missing_channel(&letter.channel)
        {
            fields.wrong("channel", format!("must be one of {channels}"));
        }
        fields.finish()?;
        Ok(letter)
    }
}

impl Machine for Messages {
    type Change = Change;

    fn decide(&self, request: &Request, around: &Around<'_>) -> Decision<Change> {
        COLLECTION.decide(&self.messages, request, || self.send(request, around.now))
    }

    fn provide(
        &self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Provided<Change>, NotProvided> {
        let Some(MessageInbound {
            patient_id,
            channel,
            body,
        }) = provision.action()
        else {
            return Err(NotProvided::not_mine(provision, "Message"));
        };
        for (name, text) in [
            ("patient_id", patient_id),
            ("channel", channel),
            ("body", body),
        ] {
            if text.trim().is_empty() {
                return Err(NotProvided(format!("{name}: must not be empty")));
            }
        }
        if let Some(channels) = self.blueprint.missing_channel(channel) {
            return Err(NotProvided(format!("channel: must be one of {channels}")));
        }
        let letter = Letter {
            channel: channel.clone(),
            patient_id: patient_id.clone(),
            body: body.clone(),
        };
        let row = self.row(
            self.messages.count(),
            Direction::Inbound,
            &letter,
            around.now,
        );
        Ok(Provided {
            event: Recorded::arrival("message_inbound", row.fields.clone()),
            changes: vec![Change::Message(row)],
        })
    }

    fn evolve(&mut self, change: Change) {
        match change {
            Change::Message(row) => self.messages.push(row),
        }
    }

    fn writes(&self, change: &Change) -> Vec<Write> {
        let Change::Message(row) = change;
        row.sent("message", "channel")
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        self.messages.exhibit("messages", exhibits);
    }

    fn credentials(&self, prefix: &str) -> Value {
        json!({"messages_url": format!("{prefix}/messages")})
    }
}

#[cfg(test)]
mod tests;
