//! `hl7-structural`: the messages that the agent sent, and what is expected in one of them.

use proctor_hl7::{Message, Path, Value as Hl7Value};
use proctor_office::hl7::SentMessage;
use proctor_simulation::exhibits::Exhibits;
use serde_json::{Value, json};

use crate::{
    compare::Manner,
    expectation::Expectation,
    fields::{Field, FieldResult, bind, read_correlation, read_fields, to_list},
    found::Found,
    matching::{Quantity, Question, correlated, counted, near_misses},
    outcome::Outcome,
    reader::{Object, left_out_or},
    registry::Check,
    template::{Failed, Scope},
};

/// The assertion.
#[derive(Debug)]
pub(crate) struct Structural {
    correlation: Vec<Field<Place>>,
    fields: Vec<Field<Place>>,
    quantity: Quantity,
}

/// A place in a message, or beside it.
#[derive(Debug)]
enum Place {
    /// In the message.
    Inside(Path),
    /// How the message was acknowledged.
    AckCode,
}

/// The messages of a world.
pub(crate) struct Messages<'w> {
    /// How many were sent.
    sent: usize,
    /// Those that can be read, oldest first.
    readable: Vec<ReadMessage<'w>>,
}

/// A message that can be read.
pub(crate) struct ReadMessage<'w> {
    sent: &'w SentMessage,
    message: Message<'w>,
}

impl Check for Structural {
    const NAME: &'static str = "hl7-structural";

    /// None without an HL7 simulator.
    type View<'w> = Option<Messages<'w>>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        let sent: Vec<&SentMessage> = exhibits.evidence()?;
        let readable = sent.iter().filter_map(|sent| {
            let message = Message::parse(sent.payload.as_bytes()).ok()?;
            Some(ReadMessage { sent, message })
        });
        Some(Messages {
            readable: readable.collect(),
            sent: sent.len(),
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
        let ack_code = left_out_or(assertion.optional("ack_code"), |node| {
            let expected = Expectation::read(node)?;
            Some(Field::new("ack_code".to_owned(), Place::AckCode, expected))
        });
        let fields = read_fields(assertion.optional("fields"), parse);
        let quantity = Quantity::read(assertion);
        let mut correlation = correlation?;
        correlation.extend(ack_code?);
        Some(Self {
            correlation,
            fields: fields?,
            quantity: quantity?,
        })
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
                (0, _) => "no message was sent".to_owned(),
                (_, true) => "no message that can be read was sent".to_owned(),
                (_, false) => near_misses("message", &others, &wanted, Manner::AsText, &read),
            };
            if unreadable > 0 {
                let unreadable = counted(unreadable, "message");
                said.push_str(&format!("; {unreadable} sent cannot be read as HL7"));
            }
            said
        });
        let control_id = settled.chosen.map(|chosen| &chosen.sent.message_control_id);
        let evidence = evidence(&settled.results, control_id, matches.len());
        Ok(settled.outcome(evidence))
    }

    fn blank(&self) -> Value {
        evidence(&[], None, 0)
    }
}

fn evidence(results: &[FieldResult], control_id: Option<&String>, candidates: usize) -> Value {
    json!({
        "field_results": to_list(results),
        "message_control_id": control_id,
        "candidates": candidates,
    })
}

fn read<'c>(candidate: &'c &ReadMessage<'_>, place: &Place) -> Found<'c> {
    match place {
        Place::AckCode => Found::text(Some(candidate.sent.ack_code.as_str())),
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
