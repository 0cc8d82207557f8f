//! Which events a piece of evidence rests on. Computed when it is read, never stored: evidence stays what the check said, to the byte.

use std::collections::{BTreeSet, VecDeque};

use proctor_core::id::kinds::EventId;
use proctor_playground::world::WorldEvent;
use serde_json::Value;

use super::{
    Lane,
    describe::{self, Line, line},
};

/// How many events are named where none did it.
const NEAREST: usize = 3;

/// The events behind a piece of evidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    /// The events that made it so, oldest first.
    pub events: Vec<Linked>,
    /// Where nothing in the journal did: the last events of the same protocol that changed something.
    pub nearest: Vec<Linked>,
    /// The protocol that the evidence is about, if one can be told.
    pub lane: Option<Lane>,
}

/// An event, by name and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// Its name.
    pub id: EventId,
    /// Its place in the world.
    pub seq: u64,
}

impl Links {
    /// Whether an event is one of those that made it so.
    pub fn has(&self, event: EventId) -> bool {
        self.events.iter().any(|linked| linked.id == event)
    }
}

/// The events behind a piece of evidence.
pub fn links(evidence: &Value, events: &[WorldEvent]) -> Links {
    let mut seeker = Seeker::new(evidence);
    for event in events {
        seeker.see(event, &line(event));
    }
    seeker.links()
}

/// Looks for the events behind a piece of evidence while the events go by, so that nobody has to hold all of them.
pub struct Seeker {
    evidence: Value,
    lane: Option<Lane>,
    /// Events that the evidence names itself.
    named: BTreeSet<EventId>,
    /// The row of the payer's records.
    row: Option<String>,
    /// The turns of the telephone, and how many were said so far.
    turns: BTreeSet<u64>,
    said: u64,
    found: Vec<Linked>,
    /// Interchanges that may have made the row.
    sent: Vec<Linked>,
    is_row_touched: bool,
    nearest: VecDeque<Linked>,
}

impl Seeker {
    /// Begins to look.
    pub fn new(evidence: &Value) -> Self {
        Self {
            lane: lane(evidence),
            named: named(evidence),
            row: key_text(&evidence["row_key"]),
            turns: list(&evidence["phraseResults"])
                .filter_map(|phrase| phrase["turn"].as_u64())
                .collect(),
            evidence: evidence.clone(),
            said: 0,
            found: Vec::new(),
            sent: Vec::new(),
            is_row_touched: false,
            nearest: VecDeque::new(),
        }
    }

    /// Looks at the next event; `line` is the same event as one line.
    pub fn see(&mut self, event: &WorldEvent, line: &Line) {
        let evidence = &self.evidence;
        let linked = Linked {
            id: event.id,
            seq: event.seq,
        };
        let did = match self.lane {
            Some(Lane::Fhir) => evidence["resource"]
                .as_str()
                .is_some_and(|resource| wrote_resource(event, resource)),
            Some(Lane::Hl7) => {
                let control = evidence["message_control_id"].as_str();
                line.lane == Lane::Hl7
                    && control.is_some_and(|id| event.payload["message_control_id"] == id)
            }
            Some(Lane::X12) => evidence["control_number"]
                .as_str()
                .is_some_and(|number| has_control_number(event, number)),
            Some(Lane::Portal) => self.did_to_row(event, linked),
            Some(Lane::Files) => written_path(event)
                .is_some_and(|path| list(&evidence["matchedPaths"]).any(|one| one == path)),
            Some(Lane::Voice) => {
                let before = self.said;
                self.said += turns_in(event);
                self.turns.range(before..self.said).next().is_some()
            }
            _ => false,
        };
        if did || self.named.contains(&event.id) {
            self.found.push(linked);
        }
        // What is in the payer's records also comes by interchanges.
        let is_near = Some(line.lane) == self.lane
            || (self.lane == Some(Lane::Portal) && line.lane == Lane::X12);
        if is_near && (line.is_write || line.is_error) {
            self.nearest.push_back(linked);
            if self.nearest.len() > NEAREST {
                self.nearest.pop_front();
            }
        }
    }

    fn did_to_row(&mut self, event: &WorldEvent, linked: Linked) -> bool {
        let Some(key) = &self.row else {
            return false;
        };
        let resource = self.evidence["resource"].as_str().unwrap_or_default();
        if may_make(event, resource) {
            self.sent.push(linked);
        }
        let is_touched = touched_row(event, key);
        self.is_row_touched |= is_touched;
        is_touched
    }

    /// What was found.
    pub fn links(mut self) -> Links {
        // An interchange does not name the row that it makes: it is known only where a single one can have made it.
        if let (false, [only]) = (self.is_row_touched, self.sent.as_slice())
            && !self.found.contains(only)
        {
            self.found.push(*only);
            self.found.sort_by_key(|linked| linked.seq);
        }
        let is_silent = self.found.is_empty() && self.lane.is_some();
        Links {
            events: self.found,
            nearest: match is_silent {
                true => self.nearest.into(),
                false => Vec::new(),
            },
            lane: self.lane,
        }
    }
}

/// How many turns of a telephone call an event has.
pub fn turns_in(event: &WorldEvent) -> u64 {
    if Lane::of_kind(&event.kind) != Lane::Voice {
        return 0;
    }
    let more = event.payload["turns"].as_array();
    u64::from(event.payload["turn"].is_object()) + more.map_or(0, |turns| turns.len() as u64)
}

/// The protocol that evidence is about, by the members that its check gives it.
fn lane(evidence: &Value) -> Option<Lane> {
    let has = |name: &str| evidence.get(name).is_some();
    if has("message_control_id") || has("field_results") {
        Some(Lane::Hl7)
    } else if has("control_number") || has("transaction") {
        Some(Lane::X12)
    } else if has("assertionResults") || has("row_key") {
        Some(Lane::Portal)
    } else if has("matchedPaths") {
        Some(Lane::Files)
    } else if has("phraseResults") {
        Some(Lane::Voice)
    } else if has("fieldResults") && has("resource") {
        Some(Lane::Fhir)
    } else {
        None
    }
}

/// Events that evidence names itself: what changed, what leaked, what was counted.
fn named(evidence: &Value) -> BTreeSet<EventId> {
    let of = |value: &Value| value["event"].as_str().and_then(|id| id.parse().ok());
    let rows = list(&evidence["violations"]).chain(list(&evidence["leaks"]));
    let matched = evidence["matches"].as_object().into_iter();
    let matched = matched.flat_map(|matches| matches.values());
    let matched = matched.flat_map(|one| list(&one["events"]));
    rows.chain(matched).filter_map(of).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Whether a FHIR request wrote this resource: by its address, by what was made, or as an entry of a bundle.
fn wrote_resource(event: &WorldEvent, resource: &str) -> bool {
    let payload = &event.payload;
    let is_write =
        describe::method(payload).is_some_and(|method| method != "GET" && method != "HEAD");
    let is_done = payload["status"].as_u64().is_none_or(|status| status < 400);
    if Lane::of_kind(&event.kind) != Lane::Fhir || !is_write || !is_done {
        return false;
    }
    let path = describe::path(payload).unwrap_or_default();
    let path = path.trim_start_matches('/');
    let path = path.split('?').next().unwrap_or(path);
    let is_address = |text: &str| {
        text == resource
            || text
                .strip_prefix(resource)
                .is_some_and(|rest| rest.starts_with('/'))
    };
    if is_address(path) {
        return true;
    }
    let (kind, id) = resource.split_once('/').unwrap_or((resource, ""));
    let is_it = |value: &Value| value["resourceType"] == kind && value["id"] == id;
    let got = &payload["response_body"];
    is_it(got)
        || list(&got["entry"]).any(|entry| {
            let location = entry["response"]["location"].as_str().unwrap_or_default();
            let at = location.find(resource);
            is_it(&entry["resource"]) && got["type"] != "searchset"
                || at.is_some_and(|at| is_address(&location[at..]))
        })
        || list(&payload["request_body"]["entry"]).any(|entry| {
            let url = entry["request"]["url"].as_str().unwrap_or_default();
            is_address(url.trim_start_matches('/'))
        })
}

fn has_control_number(event: &WorldEvent, number: &str) -> bool {
    if Lane::of_kind(&event.kind) != Lane::X12 {
        return false;
    }
    let answered =
        list(&event.payload["responses"]).any(|answer| answer["control_number"] == number);
    let raw = event.payload["request_raw"].as_str().unwrap_or_default();
    answered || interchange_control_number(raw) == Some(number)
}

/// ISA13, the number of an interchange.
fn interchange_control_number(raw: &str) -> Option<&str> {
    let separator = char::from(*raw.as_bytes().get(3)?);
    let isa = raw.split(separator).collect::<Vec<_>>();
    raw.starts_with("ISA")
        .then(|| isa.get(13).copied())
        .flatten()
}

fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Whether a request changed this row of the payer's records, or an interchange names it.
fn touched_row(event: &WorldEvent, key: &str) -> bool {
    let payload = &event.payload;
    let is_row = |row: &Value| {
        let members = row.as_object().into_iter();
        let mut members = members.flat_map(|members| members.values());
        members.any(|member| key_text(member).as_deref() == Some(key))
    };
    match Lane::of_kind(&event.kind) {
        Lane::Portal => {
            let path = describe::path(payload).unwrap_or_default();
            let changes = describe::method(payload).is_some_and(|method| method != "GET");
            let names = changes && path.split('/').any(|part| part == key);
            names || is_row(&payload["after"]) || is_row(&payload["before"])
        }
        Lane::X12 => payload.to_string().contains(key),
        _ => false,
    }
}

/// Whether an interchange may have made a row of this kind.
fn may_make(event: &WorldEvent, resource: &str) -> bool {
    let transaction = match resource {
        "prior_auth_requests" => "ST*278*",
        "claims" => "ST*837*",
        _ => return false,
    };
    let raw = event.payload["request_raw"].as_str();
    Lane::of_kind(&event.kind) == Lane::X12 && raw.is_some_and(|raw| raw.contains(transaction))
}

/// The path of a file that an event wrote, removed or brought.
fn written_path(event: &WorldEvent) -> Option<&str> {
    let payload = &event.payload;
    match event.kind.as_str() {
        "file_write" | "file_delete" | "file_inbound" => payload["file"]["path"]
            .as_str()
            .or_else(|| payload["path"].as_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::{
        super::describe::tests::{event, id},
        *,
    };

    fn world() -> Vec<WorldEvent> {
        let x12 = "ISA*00*          *00*          *ZZ*A              *ZZ*B              *300304*0900*^*00501*000000101*0*T*:~ST*278*0001~";
        vec![
            event(
                0,
                "fhir_request",
                json!({"method": "GET", "path": "/Patient/ada", "status": 200, "response_body": {"resourceType": "Patient", "id": "ada"}}),
            ),
            event(
                1,
                "fhir_request",
                json!({"method": "POST", "path": "/Observation", "status": 201, "request_body": {"resourceType": "Observation"},
                "response_body": {"resourceType": "Observation", "id": "o1"}}),
            ),
            event(
                2,
                "fhir_request",
                json!({"method": "PUT", "path": "/MedicationRequest/m1", "status": 200}),
            ),
            event(
                3,
                "fhir_request",
                json!({"method": "POST", "path": "/", "status": 200, "request_body": {"resourceType": "Bundle"},
                "response_body": {"resourceType": "Bundle", "type": "transaction-response", "entry": [{"response": {"location": "http://x/fhir/Task/t1/_history/1"}}]}}),
            ),
            event(
                4,
                "hl7_outbound",
                json!({"message_control_id": "M1", "ack_code": "AE", "message_type": "ORU^R01", "request": {"method": "POST"}}),
            ),
            event(
                5,
                "x12_exchange",
                json!({"method": "POST", "request_raw": x12, "responses": [{"control_number": "642624557", "raw": ""}], "status": 200}),
            ),
            event(
                6,
                "portal_request",
                json!({"method": "POST", "path": "portal/prior-auths", "status": 201, "after": {"request_id": "pa_1"}}),
            ),
            event(
                7,
                "file_write",
                json!({"file": {"path": "intake/a.json", "size": 2}, "request": {"method": "PUT"}, "status": 201}),
            ),
            event(
                8,
                "voice_call",
                json!({"call_id": "c", "turn": {"speaker": "caller", "text": "hello"}, "request": {"method": "POST"}}),
            ),
            event(
                9,
                "voice_turn",
                json!({"call_id": "c", "turns": [{"speaker": "agent", "text": "potassium"}, {"speaker": "caller", "text": "ok"}], "request": {"method": "POST"}}),
            ),
            event(
                10,
                "fhir_request",
                json!({"method": "DELETE", "path": "/Patient/bob", "status": 204}),
            ),
            event(
                11,
                "fhir_request",
                json!({"method": "POST", "path": "/Observation", "status": 422, "response_body": {}}),
            ),
        ]
    }

    #[rstest]
    #[case::fhir_made(json!({"fieldResults": [], "resource": "Observation/o1"}), &[1])]
    #[case::fhir_changed(json!({"fieldResults": [], "resource": "MedicationRequest/m1"}), &[2])]
    #[case::fhir_in_a_bundle(json!({"fieldResults": [], "resource": "Task/t1"}), &[3])]
    #[case::fhir_only_read(json!({"fieldResults": [], "resource": "Patient/ada"}), &[])]
    #[case::hl7(json!({"field_results": [], "message_control_id": "M1"}), &[4])]
    #[case::x12_answer(json!({"fieldResults": [], "transaction": "271", "control_number": "642624557"}), &[5])]
    #[case::x12_request(json!({"fieldResults": [], "transaction": "278", "control_number": "000000101"}), &[5])]
    #[case::portal(json!({"assertionResults": [], "resource": "appeals", "row_key": "pa_1"}), &[6])]
    #[case::portal_by_x12(json!({"assertionResults": [], "resource": "prior_auth_requests", "row_key": "pa_9"}), &[5])]
    #[case::sftp(json!({"fieldResults": [], "matchedPaths": ["intake/a.json"]}), &[7])]
    #[case::voice(json!({"phraseResults": [{"phrase": "potassium", "found": true, "turn": 1}]}), &[9])]
    #[case::voice_greeting(json!({"phraseResults": [{"phrase": "hello", "found": true, "turn": 0}]}), &[8])]
    #[case::unchanged(json!({"violations": [{"event": id(10), "target": "Patient/bob"}], "total": 1}), &[10])]
    #[case::leaks(json!({"leaks": [{"event": id(7)}]}), &[7])]
    #[case::events(json!({"matches": {"match": {"events": [{"event": id(0)}], "total": 1}}}), &[0])]
    #[case::scorer(json!({"output": "1.0\n", "state": "complete"}), &[])]
    fn evidence_leads_to_the_events_that_made_it(
        #[case] evidence: Value,
        #[case] expected: &[u64],
    ) {
        let found = links(&evidence, &world());
        let expected: Vec<EventId> = expected.iter().map(|number| id(*number)).collect();
        assert_eq!(ids(&found.events), expected);
    }

    fn ids(linked: &[Linked]) -> Vec<EventId> {
        linked.iter().map(|linked| linked.id).collect()
    }

    #[test]
    fn where_nothing_did_it_the_last_of_the_protocol_are_named() {
        let nothing = json!({"fieldResults": [], "resource": null, "total": 0});
        let found = links(&nothing, &world());
        assert!(found.events.is_empty());
        assert_eq!(ids(&found.nearest), [id(3), id(10), id(11)]);
        let silent = json!({"phraseResults": [{"phrase": "x", "found": false, "turn": null}]});
        assert_eq!(ids(&links(&silent, &world()).nearest), [id(8), id(9)]);
        assert_eq!(
            links(&silent, &[]),
            Links {
                lane: Some(Lane::Voice),
                ..Links::default()
            }
        );
        assert_eq!(links(&json!({"output": "x"}), &world()).lane, None);
    }

    #[test]
    fn which_of_two_interchanges_made_a_row_is_not_guessed() {
        let mut world = world();
        let x12 = world[5].payload.clone();
        world.push(event(12, "x12_exchange", x12));
        let evidence =
            json!({"assertionResults": [], "resource": "prior_auth_requests", "row_key": "pa_9"});
        let found = links(&evidence, &world);
        assert!(found.events.is_empty());
        assert_eq!(ids(&found.nearest), [id(5), id(6), id(12)]);
    }

    #[test]
    fn any_evidence_is_read_without_a_panic() {
        for evidence in [
            json!(null),
            json!([1]),
            json!("x"),
            json!({"fieldResults": 7, "resource": 1}),
            json!({"matches": [], "violations": {}}),
        ] {
            assert!(links(&evidence, &world()).events.is_empty());
        }
    }
}
