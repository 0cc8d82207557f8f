//! What each request to the services does.

use http::{Method, StatusCode};
use proctor_core::time::Timestamp;
use proctor_simulation::{
    exchange::{Request, Response},
    fields::Fields,
    rows::Row,
    simulator::{Decision, Recorded},
};
use serde_json::{Map, Value, json};

use super::{CdsHooks, Change, blueprint::Service, hook};

/// The most bytes that a body may have.
const LARGEST_BODY: usize = 1024 * 1024;
/// The most characters of a text in a request.
const LONGEST_TEXT: usize = 1_000;
/// The most entries of one piece of feedback.
const MOST_FEEDBACK: usize = 100;

impl CdsHooks {
    pub(super) fn serve(&self, request: &Request, now: Timestamp) -> Decision<Change> {
        let segments = request.segments().unwrap_or_default();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let look = |response| Decision::answer("cds_request", request, response);
        match (&request.method, segments.as_slice()) {
            (&Method::GET, ["cds-services"]) => look(request.listing(&[], || self.discovery())),
            (_, ["cds-services"]) => look(Response::wrong_method(request, "GET")),
            (method, ["cds-services", id, rest @ ..]) => {
                let service = self.blueprint.services.iter().find(|one| one.id == *id);
                let Some(service) = service else {
                    return look(Response::not_found(format!("there is no service '{id}'")));
                };
                match (method, rest) {
                    (&Method::POST, []) => self.call(service, request, now),
                    (&Method::POST, ["feedback"]) => self.feedback(service, request, now),
                    (_, [] | ["feedback"]) => look(Response::wrong_method(request, "POST")),
                    _ => look(nothing_at(request)),
                }
            }
            _ => look(nothing_at(request)),
        }
    }

    fn discovery(&self) -> Response {
        let services: Vec<Value> = self.blueprint.services.iter().map(Service::told).collect();
        Response::json(StatusCode::OK, &json!({"services": services}))
    }

    fn call(&self, service: &Service, request: &Request, now: Timestamp) -> Decision<Change> {
        let room = self.calls.check_room();
        let asked = match room.and_then(|()| read_call(service, request)) {
            Ok(asked) => Value::Object(asked),
            Err(refusal) => return Decision::answer("cds_call", request, *refusal),
        };
        let number = self.calls.count();
        let id = format!("cds_{}", self.seed.short_id("cds call", number));
        let cards: Vec<Value> = service
            .rules
            .iter()
            .filter(|rule| rule.when.iter().all(|condition| condition.holds(&asked)))
            .enumerate()
            .map(|(place, rule)| rule.card.shown(&self.seed, number, place))
            .collect();
        let response = Response::json(StatusCode::OK, &json!({"cards": cards}));
        let event = Recorded::request("cds_call", request, &response)
            .with("id", id.as_str())
            .with("service_id", service.id.as_str())
            .with("cards", cards.clone());
        let fields = json!({
            "id": id,
            "service_id": service.id,
            "hook": asked["hook"],
            "hook_instance": asked["hookInstance"],
            "context": asked["context"],
            "prefetch": asked["prefetch"],
            "cards": cards,
            "created_at": now,
        });
        Decision {
            response,
            event,
            changes: vec![Change::Call(Row {
                id,
                fields,
                at: now,
            })],
        }
    }

    fn feedback(&self, service: &Service, request: &Request, now: Timestamp) -> Decision<Change> {
        let room = self.feedback.check_room();
        let entries = match room.and_then(|()| self.read_feedback(service, request)) {
            Ok(entries) => entries,
            Err(refusal) => return Decision::answer("cds_feedback", request, *refusal),
        };
        let rows: Vec<Row> = entries
            .into_iter()
            .zip(self.feedback.count()..)
            .map(|(mut fields, number)| {
                let id = format!("cdsf_{}", self.seed.short_id("cds feedback", number));
                fields["id"] = id.as_str().into();
                fields["service_id"] = service.id.as_str().into();
                fields["created_at"] = json!(now);
                Row {
                    id,
                    fields,
                    at: now,
                }
            })
            .collect();
        let response = Response::empty(StatusCode::OK);
        let told: Vec<&Value> = rows.iter().map(|row| &row.fields).collect();
        let event =
            Recorded::request("cds_feedback", request, &response).with("feedback", json!(told));
        Decision {
            response,
            event,
            changes: rows.into_iter().map(Change::Feedback).collect(),
        }
    }

    fn read_feedback(
        &self,
        service: &Service,
        request: &Request,
    ) -> Result<Vec<Value>, Box<Response>> {
        let fields = Fields::of(request, LARGEST_BODY)?;
        let entries = match fields.value("feedback") {
            Some(Value::Array(entries)) if (1..=MOST_FEEDBACK).contains(&entries.len()) => entries,
            _ => {
                let message = format!("must be a list of 1 to {MOST_FEEDBACK} entries");
                fields.wrong("feedback", message);
                Vec::new()
            }
        };
        let mut read = Vec::new();
        for (index, entry) in entries.into_iter().enumerate() {
            match self.read_entry(service, &entry) {
                Ok(entry) => read.push(entry),
                Err((field, message)) => {
                    fields.wrong(&format!("feedback.{index}.{field}"), message);
                }
            }
        }
        fields.finish()?;
        Ok(read)
    }

    /// One entry of feedback as a row, or the field that is wrong with it.
    fn read_entry(&self, service: &Service, entry: &Value) -> Result<Value, (&str, &str)> {
        let text = |name: &'static str| entry.get(name).and_then(Value::as_str);
        let card = text("card").ok_or(("card", "is required"))?;
        if !self.has_shown(service, card) {
            return Err(("card", "is no card that this service showed"));
        }
        let accepted = &entry["acceptedSuggestions"];
        match text("outcome") {
            Some("accepted") => {
                let is_fine = accepted.as_array().is_some_and(|list| {
                    list.iter()
                        .all(|one| one.get("id").is_some_and(Value::is_string))
                });
                if !is_fine {
                    return Err((
                        "acceptedSuggestions",
                        "must be a list of objects with an id",
                    ));
                }
            }
            Some("overridden") => {}
            _ => return Err(("outcome", "must be accepted or overridden")),
        }
        let at = text("outcomeTimestamp").ok_or(("outcomeTimestamp", "is required"))?;
        if at.parse::<jiff::Timestamp>().is_err() {
            return Err(("outcomeTimestamp", "must be an RFC 3339 time"));
        }
        Ok(json!({
            "card": card,
            "outcome": entry["outcome"],
            "outcome_timestamp": at,
            "accepted_suggestions": accepted,
            "override_reason": entry["overrideReason"],
        }))
    }

    fn has_shown(&self, service: &Service, card: &str) -> bool {
        self.calls.iter().any(|call| {
            let cards = call.fields["cards"].as_array();
            call.fields["service_id"] == service.id.as_str()
                && cards.is_some_and(|cards| cards.iter().any(|one| one["uuid"] == card))
        })
    }
}

/// Reads the call of a service: all of its body, if nothing is wrong with it.
fn read_call(service: &Service, request: &Request) -> Result<Map<String, Value>, Box<Response>> {
    let fields = Fields::of(request, LARGEST_BODY)?;
    let hook = fields.text("hook", LONGEST_TEXT);
    if !hook.is_empty() && hook != service.hook {
        fields.wrong("hook", format!("must be {}", service.hook));
    }
    fields.text("hookInstance", LONGEST_TEXT);
    fields.optional_text("fhirServer", LONGEST_TEXT);
    match fields.value("context") {
        Some(Value::Object(context)) => {
            for (field, message) in hook::problems(&service.hook, &context) {
                fields.wrong(&field, message);
            }
        }
        Some(_) => fields.wrong("context", "must be an object"),
        None => fields.wrong("context", "is required"),
    }
    let prefetched: Vec<String> = match fields.value("prefetch") {
        Some(Value::Object(prefetch)) => prefetch.keys().cloned().collect(),
        Some(_) => {
            fields.wrong("prefetch", "must be an object");
            Vec::new()
        }
        None => Vec::new(),
    };
    let map = fields.finish()?;
    // A service may fetch what is missing; this one does not, and says so as the standard wants.
    let missing: Vec<&str> = service
        .prefetch
        .keys()
        .filter(|key| !prefetched.contains(key))
        .map(String::as_str)
        .collect();
    if missing.is_empty() {
        return Ok(map);
    }
    Err(Box::new(Response::problem(
        StatusCode::PRECONDITION_FAILED,
        "PRECONDITION_FAILED",
        format!("the service needs prefetch: {}", missing.join(", ")),
    )))
}

fn nothing_at(request: &Request) -> Response {
    Response::not_found(format!(
        "there is nothing at /{}; GET /cds-services tells what there is",
        request.path
    ))
}
