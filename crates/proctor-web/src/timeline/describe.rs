//! An event as one line.

use proctor_core::{id::kinds::EventId, time::Timestamp};
use proctor_playground::world::WorldEvent;
use serde_json::Value;

use super::Lane;

/// How much of a text stands in a line.
const LONGEST: usize = 160;

/// An event as one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name.
    pub id: EventId,
    /// Its stable position in the world, counted from 0.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The protocol.
    pub lane: Lane,
    /// What happened.
    pub title: String,
    /// What else is worth a line.
    pub more: Option<String>,
    /// How it was answered: a status, an acknowledgement, a size.
    pub answer: String,
    /// Whether it changed or sent something.
    pub is_write: bool,
    /// Whether it was refused or went wrong.
    pub is_error: bool,
}

/// An event as one line.
pub fn line(event: &WorldEvent) -> Line {
    let payload = &event.payload;
    let status = payload["status"].as_u64();
    let method = method(payload);
    let said = match event.kind.as_str() {
        "fhir_request" => fhir(payload),
        "fhir_provision" => provision(payload),
        "hl7_outbound" => hl7_sent(payload),
        "hl7_inbound" => Said::new(format!("{} arrived", kind_of_message(payload)))
            .more(text(&payload["message_control_id"]).map(|id| format!("control id {id}"))),
        "x12_exchange" => x12(payload),
        "voice_call" => Said::new(format!(
            "calls {}",
            text(&payload["request"]["body"]["to"]).unwrap_or_default()
        ))
        .more(spoken(&payload["turn"])),
        "voice_turn" => turns(payload),
        "voice_hangup" => Said::new("hangs up"),
        "voicemail" => Said::new("voicemail").more(text(&payload["text"])),
        "file_read" => file("read", payload),
        "file_write" => file("write", payload),
        "file_delete" => file("delete", payload),
        "file_inbound" => file("arrives:", payload),
        "fax_outbound" => Said::new(format!(
            "faxes {}",
            text(&payload["fax"]["to_number"]).unwrap_or_default()
        ))
        .more(text(&payload["fax"]["text"]).or_else(|| text(&payload["fax"]["content_reference"]))),
        "fax_inbound" => Said::new(format!(
            "fax from {}",
            text(&payload["from_number"]).unwrap_or_default()
        ))
        .more(text(&payload["text"])),
        "message_outbound" => Said::new(format!(
            "writes to {}",
            text(&payload["message"]["patient_id"]).unwrap_or_default()
        ))
        .more(text(&payload["message"]["body"])),
        "message_inbound" => Said::new("message arrives").more(text(&payload["body"])),
        "cds_call" => Said::new(format!(
            "calls hook {}",
            text(&payload["service_id"]).unwrap_or_default()
        ))
        .more(text(&payload["cards"][0]["summary"])),
        kind if kind.starts_with("portal_") => portal(payload),
        kind => Said::new(request(payload).unwrap_or_else(|| kind.replace('_', " "))),
    };
    let answer = said
        .answer
        .or_else(|| status.map(|status| status.to_string()));
    let changes = matches!(method.as_deref(), Some("POST" | "PUT" | "PATCH" | "DELETE"));
    let is_error =
        said.is_bad || status.is_some_and(|status| status >= 400) || payload["error"].is_object();
    Line {
        id: event.id,
        seq: event.seq,
        at: event.at,
        lane: Lane::of_kind(&event.kind),
        title: cut(&said.title),
        more: said
            .more
            .map(|more| cut(&more))
            .filter(|more| !more.is_empty()),
        answer: answer.unwrap_or_default(),
        is_write: changes
            && event.direction == "outbound"
            && !is_error
            && !payload_is_search(payload),
        is_error,
    }
}

struct Said {
    title: String,
    more: Option<String>,
    answer: Option<String>,
    is_bad: bool,
}

impl Said {
    fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            more: None,
            answer: None,
            is_bad: false,
        }
    }

    fn more(self, more: Option<String>) -> Self {
        Self { more, ..self }
    }

    fn answer(self, answer: impl Into<String>) -> Self {
        Self {
            answer: Some(answer.into()),
            ..self
        }
    }
}

/// The method of the request behind an event, wherever its simulator puts it.
pub fn method(payload: &Value) -> Option<String> {
    text(&payload["method"]).or_else(|| text(&payload["request"]["method"]))
}

/// The path of the request behind an event.
pub fn path(payload: &Value) -> Option<String> {
    text(&payload["path"]).or_else(|| text(&payload["request"]["path"]))
}

fn payload_is_search(payload: &Value) -> bool {
    path(payload).is_some_and(|path| path.ends_with("/_search") || path.ends_with("/$validate"))
}

/// The request behind an event, as a client would write it.
fn request(payload: &Value) -> Option<String> {
    let (method, path) = (method(payload)?, path(payload)?);
    let query = text(&payload["query"]).or_else(|| text(&payload["request"]["query"]));
    let query = query.filter(|query| !query.is_empty());
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{method} {}{query}", path.trim_start_matches('/')))
}

fn fhir(payload: &Value) -> Said {
    let sent = &payload["request_body"];
    let got = &payload["response_body"];
    let title = request(payload).unwrap_or_else(|| "request".to_owned());
    let outcome = got["issue"][0]["diagnostics"].as_str();
    let outcome = outcome.or_else(|| got["issue"][0]["details"]["text"].as_str());
    let more = match (
        outcome,
        sent["resourceType"].as_str(),
        got["total"].as_u64(),
    ) {
        (Some(problem), ..) => Some(problem.to_owned()),
        (_, Some("Bundle"), _) => {
            let entries = sent["entry"].as_array().map_or(0, Vec::len);
            Some(format!("bundle of {entries}"))
        }
        (_, Some(kind), _) => Some(match (got["id"].as_str(), summary_of(sent)) {
            (Some(id), summary) => join(&format!("{kind}/{id}"), summary),
            (None, summary) => join(kind, summary),
        }),
        (_, None, Some(total)) => Some(format!("{total} found")),
        _ => None,
    };
    Said::new(title).more(more)
}

fn join(first: &str, second: Option<String>) -> String {
    match second {
        Some(second) => format!("{first} · {second}"),
        None => first.to_owned(),
    }
}

/// What a resource is about, as far as one member tells.
fn summary_of(resource: &Value) -> Option<String> {
    let concept = |value: &Value| {
        text(&value["text"])
            .or_else(|| text(&value["coding"][0]["display"]))
            .or_else(|| text(&value["coding"][0]["code"]))
    };
    text(&resource["payload"][0]["contentString"])
        .or_else(|| concept(&resource["code"]))
        .or_else(|| concept(&resource["medicationCodeableConcept"]))
        .or_else(|| text(&resource["description"]))
        .or_else(|| text(&resource["status"]))
}

fn provision(payload: &Value) -> Said {
    let what = payload["request_body"]["entry"].as_array().map(Vec::len);
    match what {
        Some(entries) => Said::new(format!("world begins with {entries} resources")),
        None => Said::new(request(payload).map_or_else(
            || "world begins".to_owned(),
            |request| format!("provided: {request}"),
        )),
    }
}

fn kind_of_message(payload: &Value) -> String {
    text(&payload["message_type"]).unwrap_or_else(|| "unreadable message".to_owned())
}

fn hl7_sent(payload: &Value) -> Said {
    let code = text(&payload["ack_code"]).unwrap_or_default();
    let problem = text(&payload["problems"][0]["text"]);
    let is_bad = !code.starts_with("AA") && !code.starts_with("CA") && !code.is_empty();
    Said {
        is_bad,
        ..Said::new(format!("{} sent", kind_of_message(payload)))
            .more(problem.or_else(|| {
                text(&payload["message_control_id"]).map(|id| format!("control id {id}"))
            }))
            .answer(code)
    }
}

/// The numbers of transaction sets in an interchange.
fn transactions(raw: &str) -> Vec<&str> {
    let Some(separator) = raw.as_bytes().get(3).map(|&byte| char::from(byte)) else {
        return Vec::new();
    };
    let segments = raw.split(['~', '\n', '\r']);
    segments
        .filter_map(|segment| {
            let mut parts = segment.trim().split(separator);
            match parts.next()? {
                "ST" => parts.next(),
                "TA1" => Some("TA1"),
                _ => None,
            }
        })
        .collect()
}

fn x12(payload: &Value) -> Said {
    let sent = payload["request_raw"].as_str().unwrap_or_default();
    let sent = transactions(sent).join(", ");
    let answers = payload["responses"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let answered: Vec<String> = answers
        .iter()
        .flat_map(|answer| transactions(answer["raw"].as_str().unwrap_or_default()))
        .map(str::to_owned)
        .collect();
    let title = match sent.is_empty() {
        true => "unreadable interchange sent".to_owned(),
        false => format!("{sent} sent"),
    };
    let more = match answered.is_empty() {
        true => None,
        false => Some(format!("answered {}", answered.join(", "))),
    };
    Said::new(title).more(more)
}

fn portal(payload: &Value) -> Said {
    let title = request(payload).unwrap_or_else(|| "portal".to_owned());
    let row = &payload["after"];
    let id = text(&row["request_id"]).or_else(|| text(&row["id"]));
    let status = text(&row["determination"]["status"]).or_else(|| text(&row["status"]));
    let count = payload["count"]
        .as_u64()
        .map(|count| format!("{count} found"));
    let more = match (id, status) {
        (Some(id), Some(status)) => Some(format!("{id}, {status}")),
        (Some(id), None) => Some(id),
        (None, _) => text(&payload["error"]["message"]).or(count),
    };
    Said::new(title).more(more)
}

fn spoken(turn: &Value) -> Option<String> {
    let (speaker, words) = (text(&turn["speaker"])?, text(&turn["text"])?);
    Some(format!("{speaker}: “{words}”"))
}

fn turns(payload: &Value) -> Said {
    if let Some(problem) = text(&payload["error"]["message"]) {
        return Said::new("speaks").more(Some(problem));
    }
    let turns = payload["turns"].as_array().map_or(&[][..], Vec::as_slice);
    let mut said = turns.iter().filter_map(spoken);
    Said::new(said.next().unwrap_or_else(|| "says nothing".to_owned())).more(said.next())
}

fn file(what: &str, payload: &Value) -> Said {
    let path = text(&payload["file"]["path"])
        .or_else(|| text(&payload["path"]))
        .or_else(|| text(&payload["request"]["path"]));
    let size = payload["file"]["size"]
        .as_u64()
        .or_else(|| payload["size"].as_u64());
    let said = Said::new(format!("{what} {}", path.unwrap_or_default()))
        .more(text(&payload["error"]["message"]));
    match (size, payload["status"].as_u64()) {
        (Some(size), Some(status)) if status < 400 => said.answer(crate::html::bytes(size)),
        (Some(size), None) => said.answer(crate::html::bytes(size)),
        _ => said,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn event(number: u64, kind: &str, payload: Value) -> WorldEvent {
        let direction = match kind.ends_with("inbound") {
            true => "inbound",
            false => "outbound",
        };
        WorldEvent {
            id: id(number),
            door: Some(0),
            seq: number,
            kind: kind.to_owned(),
            direction: direction.to_owned(),
            payload,
            at: Timestamp::from_millis(1_000_000 + i64::try_from(number).unwrap() * 1000),
        }
    }

    pub(crate) fn id(number: u64) -> EventId {
        format!("evt_01J{number:023}").parse().unwrap()
    }

    #[test]
    fn every_protocol_has_its_line() {
        let told = |kind: &str, payload: Value| {
            let line = line(&event(1, kind, payload));
            let write = if line.is_write { " W" } else { "" };
            let bad = if line.is_error { " !" } else { "" };
            format!(
                "{} {} | {} | {}{write}{bad}",
                line.lane.label(),
                line.title,
                line.more.unwrap_or_default(),
                line.answer
            )
        };
        let lines = [
            told(
                "fhir_request",
                json!({"method": "GET", "path": "/Patient?x=1", "status": 200, "response_body": {"total": 2}}),
            ),
            told(
                "fhir_request",
                json!({"method": "DELETE", "path": "/Patient/a", "status": 204}),
            ),
            told(
                "fhir_request",
                json!({"method": "POST", "path": "/Observation", "status": 422, "request_body": {"resourceType": "Observation"},
                "response_body": {"issue": [{"diagnostics": "no code"}]}}),
            ),
            told(
                "hl7_outbound",
                json!({"message_type": "ORM^O01", "ack_code": "AA", "message_control_id": "M1", "status": 200, "request": {"method": "POST", "path": "hl7/outbound"}}),
            ),
            told(
                "hl7_outbound",
                json!({"message_type": null, "ack_code": "AR", "problems": [{"text": "no MSH"}], "status": 200, "request": {"method": "POST"}}),
            ),
            told(
                "x12_exchange",
                json!({"method": "POST", "request_raw": "ISA*00~ST*278*1~SE*1~", "responses": [{"raw": "ISA*00~TA1*1~"}], "status": 200}),
            ),
            told(
                "portal_request",
                json!({"method": "POST", "path": "portal/prior-auths", "status": 201, "after": {"request_id": "pa_1", "status": "submitted"}}),
            ),
            told(
                "voice_turn",
                json!({"status": 200, "request": {"method": "POST"}, "turns": [{"speaker": "agent", "text": "Hello"}, {"speaker": "caller", "text": "Hi"}]}),
            ),
            told(
                "file_write",
                json!({"file": {"path": "a.json", "size": 16}, "request": {"method": "PUT"}, "status": 201}),
            ),
            told("pager_beep", json!({"number": 7})),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        FHIR GET Patient?x=1 | 2 found | 200
        FHIR DELETE Patient/a |  | 204 W
        FHIR POST Observation | no code | 422 !
        HL7 ORM^O01 sent | control id M1 | AA W
        HL7 unreadable message sent | no MSH | AR !
        X12 278 sent | answered TA1 | 200 W
        PORTAL POST portal/prior-auths | pa_1, submitted | 201 W
        VOICE agent: “Hello” | caller: “Hi” | 200 W
        FILES write a.json |  | 16 B W
        OTHER pager beep |  | 
        ");
    }
}
