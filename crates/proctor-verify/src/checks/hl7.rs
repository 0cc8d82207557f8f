//! `hl7-structural` and `hl7-inbound`: the messages that the agent sent or received, and what is expected in one of them.

use std::{borrow::Cow, marker::PhantomData};

use proctor_core::time::Timestamp;
use proctor_hl7::{Message, Path, Value as Hl7Value};
use proctor_office::hl7::{Received, SentMessage};
use proctor_simulation::{
    exhibits::Exhibits,
    record::Actor,
    schema::{about, flag},
};
use serde_json::{Value, json};

use crate::{
    compare::Manner,
    expectation::Expectation,
    fields::{Field, FieldResult, bind, read_correlation, read_fields, to_list},
    found::Found,
    matching::{Quantity, Question, correlated, counted, near_misses},
    outcome::Outcome,
    reader::{Object, left_out_or},
    record::record,
    registry::Check,
    schema::{assertion, correlation, expectation, fields, with_quantity},
    template::{Failed, Scope},
};

/// Which way the messages of an assertion went.
pub(crate) trait Way: std::fmt::Debug + Send + Sync + 'static {
    /// What `assert` says.
    const NAME: &'static str;
    /// What was done with them, in the past tense.
    const DONE: &'static str;
    /// Whether the assertion may ask what the agent did with them.
    const READS_RECORD: bool;

    /// Those of a world, oldest first; none without an HL7 simulator.
    fn messages<'w>(exhibits: &'w Exhibits<'w>) -> Option<Vec<Carried<'w>>>;
}

/// What the agent sent.
#[derive(Debug)]
pub(crate) struct Outbound;

/// What arrived for the agent.
#[derive(Debug)]
pub(crate) struct Inbound;

/// A message that was sent or received.
pub(crate) struct Carried<'w> {
    payload: &'w str,
    message_control_id: &'w str,
    /// How it was acknowledged; empty for what arrived.
    ack_code: &'w str,
    /// Whether the agent fetched it; for what it sent itself, always.
    is_seen: bool,
}

impl Way for Outbound {
    const NAME: &'static str = "hl7-structural";
    const DONE: &'static str = "sent";
    const READS_RECORD: bool = false;

    fn messages<'w>(exhibits: &'w Exhibits<'w>) -> Option<Vec<Carried<'w>>> {
        let sent: Vec<&SentMessage> = exhibits.evidence()?;
        let carried = |sent: &'w SentMessage| Carried {
            payload: &sent.payload,
            message_control_id: &sent.message_control_id,
            ack_code: &sent.ack_code,
            is_seen: true,
        };
        Some(sent.into_iter().map(carried).collect())
    }
}

impl Way for Inbound {
    const NAME: &'static str = "hl7-inbound";
    const DONE: &'static str = "received";
    const READS_RECORD: bool = true;

    fn messages<'w>(exhibits: &'w Exhibits<'w>) -> Option<Vec<Carried<'w>>> {
        let received: Vec<&Received> = exhibits.evidence()?;
        let events = record(exhibits)
            .into_iter()
            .flat_map(|record| &record.events);
        let last_look = events
            .filter(|event| {
                let request = event.payload.get("request");
                let asked = |name| request.and_then(|request| request.get(name)?.as_str());
                event.actor == Actor::Agent
                    && asked("method") == Some("GET")
                    && asked("path").is_some_and(|path| path.starts_with("hl7/inbox"))
                    && event.payload["status"] == 200
            })
            .map(|event| event.at)
            .max();
        let is_seen = |at: Timestamp| last_look.is_some_and(|look| at <= look);
        let carried = |one: &'w Received| Carried {
            payload: &one.payload,
            message_control_id: &one.message_control_id,
            ack_code: "",
            is_seen: is_seen(one.received_at),
        };
        Some(received.into_iter().map(carried).collect())
    }
}

/// `hl7-structural`.
pub(crate) type Structural = MessageMatch<Outbound>;
/// `hl7-inbound`: what arrived, with the same paths, and whether the agent fetched it.
pub(crate) type InboundMatch = MessageMatch<Inbound>;

/// The assertion.
#[derive(Debug)]
pub(crate) struct MessageMatch<W> {
    correlation: Vec<Field<Place>>,
    fields: Vec<Field<Place>>,
    quantity: Quantity,
    way: PhantomData<W>,
}

/// A place in a message, or beside it.
#[derive(Debug)]
enum Place {
    /// In the message.
    Inside(Path),
    /// How the message was acknowledged.
    AckCode,
    /// Whether the agent fetched it.
    Seen,
}

/// The messages of a world.
pub(crate) struct Messages<'w> {
    /// How many there are.
    sent: usize,
    /// Those that can be read, oldest first.
    readable: Vec<ReadMessage<'w>>,
}

/// A message that can be read.
pub(crate) struct ReadMessage<'w> {
    sent: Carried<'w>,
    message: Message<'w>,
}

impl<W: Way> Check for MessageMatch<W> {
    const NAME: &'static str = W::NAME;
    const READS_RECORD: bool = W::READS_RECORD;

    /// None without an HL7 simulator.
    type View<'w> = Option<Messages<'w>>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        let all = W::messages(exhibits)?;
        let sent = all.len();
        let readable = all.into_iter().filter_map(|sent| {
            let message = Message::parse(sent.payload.as_bytes()).ok()?;
            Some(ReadMessage { sent, message })
        });
        Some(Messages {
            readable: readable.collect(),
            sent,
        })
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let parse = |text: &str| text.parse::<Path>().map(Place::Inside);
        let correlation = match assertion.optional("correlate_by") {
            None => Some(Vec::new()),
            Some(node) => node
                .object()
                .and_then(|object| read_correlation(&object, parse)),
        };
        // What arrived is not acknowledged by the agent, but it may be fetched or not.
        let beside = match W::READS_RECORD {
            false => left_out_or(assertion.optional("ack_code"), |node| {
                let expected = Expectation::read(node)?;
                Some(Field::new("ack_code".to_owned(), Place::AckCode, expected))
            }),
            true => left_out_or(assertion.optional("seen"), |node| {
                node.flag()?;
                let expected = Expectation::read(node)?;
                Some(Field::new("seen".to_owned(), Place::Seen, expected))
            }),
        };
        let fields = read_fields(assertion.optional("fields"), parse);
        let quantity = Quantity::read(assertion);
        let (mut correlation, mut fields) = (correlation?, fields?);
        match W::READS_RECORD {
            false => correlation.extend(beside?),
            true => fields.extend(beside?),
        }
        Some(Self {
            correlation,
            fields,
            quantity: quantity?,
            way: PhantomData,
        })
    }

    fn schema() -> Value {
        let mut members = with_quantity(json!({
            "correlate_by": correlation("Which message: what it holds, by paths such as MSH.9.1."),
            "fields": fields("What it must hold, by paths such as PID.5.1, OBX[2].5 or ORC-2."),
        }));
        match W::READS_RECORD {
            false => members["ack_code"] = expectation(),
            true => members["seen"] = about("Whether the agent fetched it.", flag()),
        }
        let example = json!({
            "correlate_by": {"MSH.9.1": "ORM", "MSH.9.2": "O01"},
            "fields": [{"path": "PID.3.1", "expected": "12345"}],
        });
        let about = "An HL7 message that was sent, or arrived.";
        assertion(Self::NAME, about, &[], members, example)
    }

    fn run(&self, messages: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let wanted = bind(&self.correlation, scope)?;
        let fields = bind(&self.fields, scope)?;
        let Some(Messages { sent, readable }) = messages else {
            return Err(Failed("the playground has no HL7 simulator".to_owned()));
        };
        // The latest first, so that it is chosen among equals.
        let readable: Vec<&ReadMessage<'_>> = readable.iter().rev().collect();
        let unreadable = sent - readable.len();
        let (matches, others) = correlated(readable, &wanted, Manner::AsText, &read);
        let question = Question {
            noun: "message",
            fields: &fields,
            quantity: self.quantity,
            manner: Manner::AsText,
            read: &read,
            name: &|candidate: &&ReadMessage<'_>| {
                format!("the message {}", candidate.sent.message_control_id)
            },
        };
        let settled = question.best(&matches, || {
            let mut said = match (sent, wanted.is_empty()) {
                (0, _) => format!("no message was {}", W::DONE),
                (_, true) => format!("no message that can be read was {}", W::DONE),
                (_, false) => near_misses("message", &others, &wanted, Manner::AsText, &read),
            };
            if unreadable > 0 {
                let unreadable = counted(unreadable, "message");
                said.push_str(&format!("; {unreadable} {} cannot be read as HL7", W::DONE));
            }
            said
        });
        let control_id = settled.chosen.map(|chosen| chosen.sent.message_control_id);
        let evidence = evidence(&settled.results, control_id, matches.len());
        Ok(settled.outcome(evidence))
    }

    fn blank(&self) -> Value {
        evidence(&[], None, 0)
    }
}

fn evidence(results: &[FieldResult], control_id: Option<&str>, candidates: usize) -> Value {
    json!({
        "field_results": to_list(results),
        "message_control_id": control_id,
        "candidates": candidates,
    })
}

fn read<'c>(candidate: &'c &ReadMessage<'_>, place: &Place) -> Found<'c> {
    match place {
        Place::AckCode => Found::text(Some(candidate.sent.ack_code)),
        Place::Seen => Found::One(Some(Cow::Owned(candidate.sent.is_seen.into()))),
        Place::Inside(path) => find(path, &candidate.message),
    }
}

/// What stands at a place in a message.
pub(crate) fn find(path: &Path, message: &Message<'_>) -> Found<'static> {
    if path.is_any() {
        Found::many(path.values(message).iter().map(text))
    } else {
        Found::text(text(&path.value(message)))
    }
}

/// The text of a value. An explicit null is shown as it is written, because it is not nothing.
fn text(value: &Hl7Value<'_>) -> Option<String> {
    match value {
        Hl7Value::Absent => None,
        Hl7Value::Null => Some("\"\"".to_owned()),
        Hl7Value::Text(text) => Some(text.to_string()),
    }
}
