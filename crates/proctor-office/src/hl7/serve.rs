//! What each request to the interface does.

use std::borrow::Cow;

use http::{Method, StatusCode, header};
use proctor_core::{problem::Problem, time::Timestamp};
use proctor_hl7::{Acknowledgement, Charset, Message, MessageError, acknowledge_with};
use proctor_simulation::{
    exchange::{Request, Response},
    fields::Fields,
    simulator::{Decision, Recorded},
};
use serde_json::{Value, json};

use crate::hl7::SentMessage;

use super::{Change, Hl7, LARGEST_MESSAGE, MOST_BYTES, MessageKind, control_id};

/// A JSON body holds the message in a text, where every character may take two.
const LARGEST_JSON: usize = 2 * LARGEST_MESSAGE + 1024;

impl Hl7 {
    pub(super) fn serve(&self, request: &Request, now: Timestamp) -> Decision<Change> {
        let segments = request.segments().unwrap_or_default();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let look = |response| Decision::answer("hl7_request", request, response);
        match (&request.method, segments.as_slice()) {
            (&Method::GET, ["hl7", "inbox"]) => look(self.inbox_list(request)),
            (&Method::GET, ["hl7", "inbox", id]) => look(self.inbox_message(id)),
            (_, ["hl7", "inbox", ..]) if segments.len() <= 3 => {
                look(Response::wrong_method(request, "GET"))
            }
            (&Method::GET, ["hl7", "outbound"]) => look(self.outbound_list(request)),
            (&Method::GET, ["hl7", "outbound", id]) => look(self.outbound_message(id)),
            (&Method::POST, ["hl7", "outbound"]) => self.send(request, now),
            (_, ["hl7", "outbound"]) => look(Response::wrong_method(request, "GET, POST")),
            (_, ["hl7", "outbound", _]) => look(Response::wrong_method(request, "GET")),
            _ => look(Response::not_found(format!(
                "there is nothing at /{}; there are /hl7/inbox and /hl7/outbound",
                request.path
            ))),
        }
    }

    fn inbox_list(&self, request: &Request) -> Response {
        list(request, &self.inbox, |message| {
            MessageKind::read(&message.message_type)
        })
    }

    fn inbox_message(&self, id: &str) -> Response {
        match self.inbox.iter().find(|message| message.id == id) {
            Some(message) => Response::json(StatusCode::OK, message),
            None => Response::not_found(format!("there is no message '{id}' in the inbox")),
        }
    }

    fn outbound_list(&self, request: &Request) -> Response {
        let rows: Vec<Value> = self.sent.iter().map(sent_row).collect();
        list(request, &rows, |row| {
            MessageKind::read(row["message_type"].as_str()?)
        })
    }

    fn outbound_message(&self, id: &str) -> Response {
        match self.sent.iter().find(|message| message.id == id) {
            Some(message) => Response::json(StatusCode::OK, &sent_row(message)),
            None => Response::not_found(format!("no message '{id}' was sent")),
        }
    }

    fn send(&self, request: &Request, now: Timestamp) -> Decision<Change> {
        let raw = match message_of(request) {
            Ok(raw) => raw,
            Err(refusal) => return Decision::answer("hl7_outbound", request, *refusal),
        };
        if self.bytes + raw.len() > MOST_BYTES {
            let refusal = Response::too_large(format!(
                "all messages together have at most {MOST_BYTES} bytes"
            ));
            return Decision::answer("hl7_outbound", request, refusal);
        }
        let number = self.sent.len() as u64;
        let id = format!("hl7_{}", self.seed.short_id("hl7 sent", number));
        let acknowledgement = self.acknowledge(&raw, now, number);
        let message_control_id = Message::parse(&raw).map(|it| control_id(&it)).ok();
        let answer = answer(&id, message_control_id.as_deref(), acknowledgement.as_ref());
        let response = Response::json(StatusCode::OK, &answer);
        let sent = SentMessage {
            id,
            // Latin-1 gives every byte a character, so nothing is lost.
            payload: Charset::of(&raw).decode(&raw).into_owned(),
            message_control_id: message_control_id.unwrap_or_default(),
            ack_code: acknowledgement
                .as_ref()
                .map(|it| it.code.as_str().to_owned())
                .unwrap_or_default(),
            at: now,
        };
        let problems: Vec<Value> = acknowledgement
            .iter()
            .flat_map(|it| it.problems.iter().map(problem))
            .collect();
        let event = Recorded::request("hl7_outbound", &request.without_body(), &response)
            .with("id", sent.id.as_str())
            .with("payload", sent.payload.as_str())
            .with("message_type", kind_of(&raw))
            .with("message_control_id", sent.message_control_id.as_str())
            .with("ack_code", answer["ack_code"].clone())
            .with("ack", answer["ack"].clone())
            .with("problems", problems);
        Decision {
            response,
            event,
            changes: vec![Change::Sent(sent)],
        }
    }

    /// Judges a message; nothing is said about one that acknowledges another.
    fn acknowledge(&self, raw: &[u8], now: Timestamp, number: u64) -> Option<Acknowledgement> {
        let judged = self.sent.iter().filter(|sent| !sent.ack_code.is_empty());
        let objections = self.blueprint.objections(raw, judged.count() as u64);
        let control_id = self.seed.short_id("hl7 acknowledgement", number);
        acknowledge_with(raw, now, &control_id, objections)
    }
}

/// The message in a body: the body itself, or the text `payload` of a JSON object.
fn message_of(request: &Request) -> Result<Cow<'_, [u8]>, Box<Response>> {
    let too_large = |size: usize| {
        Box::new(Response::too_large(format!(
            "the message has {size} bytes; at most {LARGEST_MESSAGE} are taken"
        )))
    };
    if !is_json(request) {
        return match request.body.len() {
            size if size > LARGEST_MESSAGE => Err(too_large(size)),
            _ => Ok(Cow::Borrowed(&request.body)),
        };
    }
    let fields = Fields::of(request, LARGEST_JSON)?;
    let payload = fields.text("payload", LARGEST_JSON);
    fields.finish()?;
    match payload.len() {
        size if size > LARGEST_MESSAGE => Err(too_large(size)),
        _ => Ok(Cow::Owned(payload.into_bytes())),
    }
}

/// The content type decides; where it says nothing, how the body begins.
fn is_json(request: &Request) -> bool {
    let content_type = request.header(header::CONTENT_TYPE).unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    match media_type.to_ascii_lowercase().as_str() {
        "application/hl7-v2" | "application/hl7-v2+er7" | "x-application/hl7-v2+er7" => false,
        other if other.starts_with("text/") => false,
        "" | "application/octet-stream" | "application/x-www-form-urlencoded" => {
            !request.body.trim_ascii_start().starts_with(b"MSH")
        }
        _ => true,
    }
}

/// What the sender is told. Whoever asks for enhanced mode gets what it is owed as `replies`; `ack`
/// is the application's judgement in either mode.
fn answer(
    id: &str,
    message_control_id: Option<&str>,
    acknowledgement: Option<&Acknowledgement>,
) -> Value {
    let mut answer = json!({
        "id": id,
        "ack": acknowledgement.map(|it| text(&it.message)),
        "ack_code": acknowledgement.map(|it| it.code.as_str()),
        "message_control_id": message_control_id,
    });
    let Some(acknowledgement) = acknowledgement else {
        return answer;
    };
    let is_original = matches!(
        acknowledgement.replies.as_slice(),
        [only] if only.message == acknowledgement.message
    );
    if !is_original {
        let replies = acknowledgement.replies.iter();
        answer["replies"] = replies
            .map(|reply| json!({"ack_code": reply.code.as_str(), "ack": text(&reply.message)}))
            .collect();
    }
    answer
}

fn text(message: &[u8]) -> Cow<'_, str> {
    Charset::of(message).decode(message)
}

fn problem(problem: &MessageError) -> Value {
    json!({
        "code": problem.code.number(),
        "place": problem.place.as_ref().map(ToString::to_string),
        "text": problem.text,
    })
}

fn kind_of(raw: &[u8]) -> Option<String> {
    let message = Message::parse(raw).ok()?;
    Some(MessageKind::of(&message)?.to_string())
}

fn sent_row(message: &SentMessage) -> Value {
    json!({
        "id": message.id,
        "payload": message.payload,
        "message_type": kind_of(message.payload.as_bytes()),
        "message_control_id": message.message_control_id,
        "ack_code": Some(message.ack_code.as_str()).filter(|code| !code.is_empty()),
        "sent_at": message.at,
    })
}

/// The messages, oldest first; with `message_type`, those of that kind.
fn list<T: serde::Serialize>(
    request: &Request,
    messages: &[T],
    kind: impl Fn(&T) -> Option<MessageKind>,
) -> Response {
    if let Err(refusal) = request.check_parameters(&["message_type"]) {
        return *refusal;
    }
    let wanted = match request.parameter("message_type") {
        None => None,
        Some(text) => match MessageKind::read(&text) {
            Some(wanted) => Some(wanted),
            None => {
                let message = "must be a message type like ORU or ORU^R01";
                return Response::invalid(&[Problem::error("message_type", message)]);
            }
        },
    };
    let matches = |message: &&T| {
        wanted
            .as_ref()
            .is_none_or(|wanted| kind(message).is_some_and(|kind| wanted.covers(&kind)))
    };
    let data: Vec<&T> = messages.iter().filter(matches).collect();
    Response::json(StatusCode::OK, &json!({"data": data}))
}
