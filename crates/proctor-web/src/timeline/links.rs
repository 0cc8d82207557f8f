//! Which events a piece of evidence rests on. Computed when it is read, never stored: evidence stays what the check said, to the byte.

use std::collections::BTreeSet;

use proctor_core::id::kinds::EventId;
use proctor_playground::world::WorldEvent;
use serde_json::Value;

use super::{
    Lane,
    describe::{self, line},
};

/// How many events are named where none did it.
const NEAREST: usize = 3;

/// The events behind a piece of evidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    /// The events that made it so, oldest first.
    pub events: Vec<EventId>,
    /// Where nothing in the journal did: the last events of the same protocol that changed something.
    pub nearest: Vec<EventId>,
    /// The protocol that the evidence is about, if one can be told.
    pub lane: Option<Lane>,
}

/// The events behind a piece of evidence.
pub fn links(evidence: &Value, events: &[WorldEvent]) -> Links {
    let lane = lane(evidence);
    let mut found = named(evidence);
    match lane {
        Some(Lane::Fhir) => {
            let resource = evidence["resource"].as_str();
            found.extend(ids(events, |event| {
                resource.is_some_and(|resource| wrote_resource(event, resource))
            }));
        }
        Some(Lane::Hl7) => {
            let control = evidence["message_control_id"].as_str();
            found.extend(ids(events, |event| {
                Lane::of_kind(&event.kind) == Lane::Hl7
                    && control.is_some_and(|id| event.payload["message_control_id"] == id)
            }));
        }
        Some(Lane::X12) => {
            let control = evidence["control_number"].as_str();
            found.extend(ids(events, |event| {
                control.is_some_and(|number| has_control_number(event, number))
            }));
        }
        Some(Lane::Portal) => {
            if let Some(key) = key_text(&evidence["row_key"]) {
                let touched: Vec<EventId> = ids(events, |event| touched_row(event, &key)).collect();
                let resource = evidence["resource"].as_str().unwrap_or_default();
                let sent: Vec<EventId> = ids(events, |event| may_make(event, resource)).collect();
                match (touched.is_empty(), sent.as_slice()) {
                    // An interchange does not name the row that it makes: it is known only where a single one can have made it.
                    (true, [only]) => drop(found.insert(*only)),
                    _ => found.extend(touched),
                }
            }
        }
        Some(Lane::Files) => {
            let paths: Vec<&str> = list(&evidence["matchedPaths"])
                .filter_map(Value::as_str)
                .collect();
            found.extend(ids(events, |event| {
                written_path(event).is_some_and(|path| paths.contains(&path))
            }));
        }
        Some(Lane::Voice) => {
            let turns: Vec<u64> = list(&evidence["phraseResults"])
                .filter_map(|phrase| phrase["turn"].as_u64())
                .collect();
            found.extend(turns.iter().filter_map(|turn| event_of_turn(events, *turn)));
        }
        _ => {}
    }
    let known: BTreeSet<EventId> = events.iter().map(|event| event.id).collect();
    let wanted: BTreeSet<EventId> = found.into_iter().filter(|id| known.contains(id)).collect();
    let events_found: Vec<EventId> = ids(events, |event| wanted.contains(&event.id)).collect();
    let nearest = match (events_found.is_empty(), lane) {
        (true, Some(lane)) => nearest(events, lane),
        _ => Vec::new(),
    };
    Links {
        events: events_found,
        nearest,
        lane,
    }
}

/// The event with this turn of the telephone calls, counted from 0 over all of them.
pub fn event_of_turn(events: &[WorldEvent], turn: u64) -> Option<EventId> {
    let mut number = 0;
    for event in events {
        let first = u64::from(event.payload["turn"].is_object());
        let more = event.payload["turns"]
            .as_array()
            .map_or(0, |turns| turns.len() as u64);
        if Lane::of_kind(&event.kind) == Lane::Voice {
            number += first + more;
        }
        if number > turn {
            return Some(event.id);
        }
    }
    None
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

fn ids<'e>(
    events: &'e [WorldEvent],
    wanted: impl Fn(&WorldEvent) -> bool + 'e,
) -> impl Iterator<Item = EventId> + 'e {
    let events = events.iter().filter(move |event| wanted(event));
    events.map(|event| event.id)
}

fn nearest(events: &[WorldEvent], lane: Lane) -> Vec<EventId> {
    // What is in the payer's records also comes by interchanges.
    let of_lane = |event: &&WorldEvent| {
        let own = Lane::of_kind(&event.kind);
        own == lane || (lane == Lane::Portal && own == Lane::X12)
    };
    let told = |event: &WorldEvent| {
        let line = line(event);
        line.is_write || line.is_error
    };
    let mut last: Vec<EventId> = events
        .iter()
        .rev()
        .filter(of_lane)
        .filter(|event| told(event))
        .take(NEAREST)
        .map(|event| event.id)
        .collect();
    last.reverse();
    last
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
        assert_eq!(found.events, expected);
    }

    #[test]
    fn where_nothing_did_it_the_last_of_the_protocol_are_named() {
        let nothing = json!({"fieldResults": [], "resource": null, "total": 0});
        let found = links(&nothing, &world());
        assert!(found.events.is_empty());
        assert_eq!(found.nearest, [id(3), id(10), id(11)]);
        let silent = json!({"phraseResults": [{"phrase": "x", "found": false, "turn": null}]});
        assert_eq!(links(&silent, &world()).nearest, [id(8), id(9)]);
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
        assert_eq!(found.nearest, [id(5), id(6), id(12)]);
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
