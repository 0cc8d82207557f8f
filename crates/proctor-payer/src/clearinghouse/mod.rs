//! The clearinghouse: X12 as it is sent, and the same questions as JSON for those who do not write
//! X12. Every question, however it came, goes through one exchange with the payer.

mod ask;
pub(super) mod chart;
mod exchange;
mod fields;
mod tools;

use http::{Method, StatusCode, header};
use proctor_core::{problem::Problem, time::Timestamp};
use proctor_simulation::{
    exchange::{Request, Response},
    simulator::Around,
};
use proctor_x12::{interchange::Document, segment::Segment, view};
use serde_json::{Map, Value, json};

use super::{
    desk::{Change, PayerDesk},
    handled::{Handled, Handling},
    nothing_here,
    portal::wrong_method,
};
use crate::X12Response;
use exchange::Exchanged;
pub(super) use tools::TOOLS;

/// What events of the clearinghouse are called where no X12 was exchanged.
pub(super) const KIND: &str = "clearinghouse_request";
const EXCHANGED: &str = "x12_exchange";
const X12: &str = "application/edi-x12";
/// The largest input: some hundred questions at once.
const LARGEST_INPUT: usize = 256 * 1024;

/// Answers a request below `clearinghouse/`.
pub(super) fn handle(
    desk: &PayerDesk,
    request: &Request,
    path: &[&str],
    around: &Around<'_>,
) -> Handling {
    let route = match path {
        ["eligibility"] => ask::eligibility,
        ["claim-status"] => ask::claim_status,
        ["prior-auth"] => ask::prior_auth,
        ["x12"] => return interchange(desk, request, around),
        _ => return Err(nothing_here(request)),
    };
    if request.method != Method::POST {
        return wrong_method(request, "POST");
    }
    limit(request.body.len())?;
    route(desk, request, around)
}

fn limit(length: usize) -> Result<(), Box<Response>> {
    if length > LARGEST_INPUT {
        return Err(Box::new(Response::too_large(format!(
            "{length} bytes are more than the {LARGEST_INPUT} that are taken at once"
        ))));
    }
    Ok(())
}

/// `clearinghouse/x12`: what was answered so far, or an interchange to be answered.
fn interchange(desk: &PayerDesk, request: &Request, around: &Around<'_>) -> Handling {
    let now = around.now;
    match request.method {
        Method::GET | Method::HEAD => {
            request.check_parameters(&[])?;
            let sent: Vec<Value> = desk.answered.iter().map(shown).collect();
            let response = Response::json(StatusCode::OK, &json!({ "data": sent }));
            return Ok(Handled::look(KIND, response).telling("count", sent.len()));
        }
        Method::POST => {}
        _ => return wrong_method(request, "GET, HEAD, POST"),
    }
    limit(request.body.len())?;
    let input = input_of(request)?;
    let exchanged = exchange::exchange(desk, &input, None, around)
        .map_err(|error| Box::new(Response::bad_request(error.to_string())))?;
    let wants_x12 = request
        .header(header::ACCEPT)
        .is_some_and(|accept| accept.to_ascii_lowercase().contains(X12));
    let response = if wants_x12 {
        let all: Vec<&str> = exchanged
            .responses
            .iter()
            .map(|one| one.raw.as_str())
            .collect();
        Response::with_body(StatusCode::OK, X12, all.join("\n"))
    } else {
        let all: Vec<Value> = exchanged.responses.iter().map(shown).collect();
        Response::json(StatusCode::OK, &json!({ "responses": all }))
    };
    let raw = String::from_utf8_lossy(&input).into_owned();
    Ok(recorded(desk, exchanged, response, raw, now))
}

/// The interchange in a request: the body itself, or `payload` of a JSON object.
fn input_of(request: &Request) -> Result<Vec<u8>, Box<Response>> {
    let kind = request.header(header::CONTENT_TYPE).unwrap_or_default();
    let body = request.body.trim_ascii_start();
    if !kind.to_ascii_lowercase().contains("json") && !body.starts_with(b"{") {
        return Ok(request.body.to_vec());
    }
    match request.json()?.remove("payload") {
        Some(Value::String(text)) => Ok(text.into_bytes()),
        Some(_) => Err(invalid("payload", "must be a text")),
        None => Err(invalid(
            "payload",
            "is required: the interchange, from ISA to IEA",
        )),
    }
}

fn invalid(field: &str, problem: &str) -> Box<Response> {
    Box::new(Response::invalid(&[Problem::error(field, problem)]))
}

/// A response with what it says, for those who do not read X12.
fn shown(response: &X12Response) -> Value {
    let mut shown = Map::new();
    shown.insert("transaction".to_owned(), json!(response.transaction));
    shown.insert("control_number".to_owned(), json!(response.control_number));
    shown.insert("raw".to_owned(), json!(response.raw));
    shown.insert("at".to_owned(), json!(response.at));
    let mut parsed = parsed(response);
    match parsed.len() {
        0 => {}
        1 => {
            shown.insert("parsed".to_owned(), parsed.remove(0));
        }
        _ => {
            shown.insert("parsed".to_owned(), Value::Array(parsed));
        }
    }
    Value::Object(shown)
}

/// What each transaction of a response says; nothing for acknowledgments.
fn parsed(response: &X12Response) -> Vec<Value> {
    let read: fn(&[Segment]) -> Value = match response.transaction.as_str() {
        "271" => view::eligibility,
        "277" => view::claim_status,
        "278" => view::prior_auth,
        _ => return Vec::new(),
    };
    let Ok(document) = Document::read(response.raw.as_bytes()) else {
        return Vec::new();
    };
    document.transactions().map(read).collect()
}

/// An exchange with its event and its changes.
fn recorded(
    desk: &PayerDesk,
    exchanged: Exchanged,
    response: Response,
    request_raw: String,
    now: Timestamp,
) -> Handled {
    let rows: Vec<Value> = exchanged
        .requests
        .iter()
        .map(|after| {
            let before = desk.request(&after.request_id);
            json!({"before": before.map(|one| one.view(now)), "after": after.view(now)})
        })
        .collect();
    let responses: Vec<Value> = exchanged.responses.iter().map(|one| json!(one)).collect();
    let handled = Handled::look(EXCHANGED, response)
        .telling("request_raw", request_raw)
        .telling("responses", responses)
        .telling("rows", rows);
    let requests = exchanged.requests.into_iter();
    requests
        .fold(handled, |handled, row| {
            handled.with(Change::Request(Box::new(row)))
        })
        .with(Change::Answer {
            responses: exchanged.responses,
            numbers: exchanged.numbers,
        })
}
