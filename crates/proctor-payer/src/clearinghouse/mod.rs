//! The clearinghouse: X12 as it is sent, and the same questions as JSON for those who do not write
//! X12. Every question, however it came, goes through one exchange with the payer.

mod ask;
mod billing;
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
        ["claims"] if request.method == Method::POST => ask::claim,
        ["claims"] => return claims(desk, request, around.now),
        ["claims", id] => return claim(desk, request, id, around.now),
        ["remittances"] => return remittances(desk, request, around.now),
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
            request.check_parameters(&["transaction"])?;
            let wanted = request.parameter("transaction");
            let sent = desk.sent(now).into_iter();
            let sent = sent.filter(|one| {
                let wanted = wanted.as_deref().filter(|name| !name.is_empty());
                wanted.is_none_or(|name| one.transaction.eq_ignore_ascii_case(name))
            });
            let sent: Vec<Value> = sent.map(shown).collect();
            let response = Response::json(StatusCode::OK, &json!({ "data": sent }));
            return Ok(told(response, &sent));
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
        let all: Vec<&str> = exchanged.sent(now).map(|one| one.raw.as_str()).collect();
        Response::with_body(StatusCode::OK, X12, all.join("\n"))
    } else {
        let all: Vec<Value> = exchanged.sent(now).map(shown).collect();
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
        "277CA" => view::claim_acknowledgment,
        "835" => view::remittance,
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
    let claims = exchanged.claims.iter().map(|after| {
        let id = &after.decided.claim_id;
        let before = desk.received.iter().find(|one| one.decided.claim_id == *id);
        json!({"before": before.map(|one| one.view(now)), "after": after.view(now)})
    });
    let rows: Vec<Value> = rows.into_iter().chain(claims).collect();
    let responses: Vec<Value> = exchanged.sent(now).map(|one| json!(one)).collect();
    let handled = Handled::look(EXCHANGED, response)
        .telling("request_raw", request_raw)
        .telling("responses", responses)
        .telling("rows", rows);
    changes(exchanged).into_iter().fold(handled, Handled::with)
}

/// What an exchange changes at the desk.
fn changes(exchanged: Exchanged) -> Vec<Change> {
    let requests = exchanged.requests.into_iter();
    let requests = requests.map(|row| Change::Request(Box::new(row)));
    let claims = exchanged.claims.into_iter();
    let claims = claims.map(|row| Change::Claimed(Box::new(row)));
    let answer = Change::Answer {
        responses: exchanged.responses,
        numbers: exchanged.numbers,
    };
    requests.chain(claims).chain([answer]).collect()
}

/// `GET clearinghouse/claims`: claims as they stand.
fn claims(desk: &PayerDesk, request: &Request, now: Timestamp) -> Handling {
    look(request, "GET, HEAD, POST")?;
    request.check_parameters(&["patient_account", "member_id", "status"])?;
    let rows = crate::portal::claim_rows(desk, request, now);
    let response = Response::json(StatusCode::OK, &json!({ "data": rows }));
    Ok(told(response, &rows))
}

/// `GET clearinghouse/claims/{claim_id or patient_account}`.
fn claim(desk: &PayerDesk, request: &Request, id: &str, now: Timestamp) -> Handling {
    look(request, "GET, HEAD")?;
    request.check_parameters(&[])?;
    let row = crate::portal::claim_row(desk, id, now)?;
    let response = Response::json(StatusCode::OK, &row);
    Ok(told(response, std::slice::from_ref(&row)).telling("row", row))
}

/// `GET clearinghouse/remittances`: the 835s that came so far, oldest first.
fn remittances(desk: &PayerDesk, request: &Request, now: Timestamp) -> Handling {
    look(request, "GET, HEAD")?;
    request.check_parameters(&["patient_account"])?;
    let wanted = request.parameter("patient_account");
    let wanted = wanted.filter(|name| !name.is_empty());
    let sent = desk.sent(now).into_iter();
    let sent = sent.filter(|one| one.transaction == "835").map(shown);
    let is_wanted = |one: &Value| {
        let claims = one.pointer("/parsed/claims").and_then(Value::as_array);
        wanted.as_deref().is_none_or(|wanted| {
            let mut accounts = claims.into_iter().flatten();
            accounts.any(|claim| claim["patient_account"] == wanted)
        })
    };
    let sent: Vec<Value> = sent.filter(is_wanted).collect();
    let response = Response::json(StatusCode::OK, &json!({ "data": sent }));
    Ok(told(response, &sent))
}

/// A look at rows or responses. Its event tells how many there were, and how many claims among them are decided.
fn told(response: Response, shown: &[Value]) -> Handled {
    let decided = |one: &Value| match one.pointer("/parsed/claims") {
        Some(Value::Array(claims)) if one["transaction"] == "835" => claims.len(),
        _ => usize::from(one["decided_at"].is_string()),
    };
    let decided: usize = shown.iter().map(decided).sum();
    Handled::look(KIND, response)
        .telling("count", shown.len())
        .telling("decided", decided)
}

/// Refuses what is not a look.
fn look(request: &Request, allow: &'static str) -> Result<(), Box<Response>> {
    match request.method {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Box::new(Response::wrong_method(request, allow))),
    }
}

/// Has the payer take the claims of a scenario's step.
pub(super) fn submit(
    desk: &PayerDesk,
    claims: &[Map<String, Value>],
    around: &Around<'_>,
) -> Result<(Vec<Change>, Value), Vec<Problem>> {
    let mut bills = Vec::new();
    let mut problems = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        match billing::read(desk, claim.clone(), around) {
            Ok(bill) => bills.push(bill),
            Err(billing::NotABill::Fields(wrong)) => {
                let below = |problem: Problem| problem.below(&format!("claims.{index}"));
                problems.extend(wrong.into_iter().map(below));
            }
            Err(billing::NotABill::Nobody(message)) => {
                problems.push(Problem::error(format!("claims.{index}"), message));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let input = ask::written_claims(desk, &bills, around.now);
    let exchanged = exchange::exchange(desk, input.as_bytes(), None, around)
        .map_err(|error| vec![Problem::error("claims", error.to_string())])?;
    let refused = not_taken(&exchanged);
    if !refused.is_empty() {
        return Err(refused);
    }
    let payload = json!({
        "interchange": input,
        "responses": exchanged.sent(around.now).collect::<Vec<_>>(),
    });
    Ok((changes(exchanged), payload))
}

/// Why the payer does not take claims, one by one.
fn not_taken(exchanged: &Exchanged) -> Vec<Problem> {
    let answers = exchanged.responses.iter();
    let mut answers = answers.filter(|one| one.transaction == "277CA").peekable();
    if answers.peek().is_none() {
        let said: Vec<&str> = exchanged.responses.iter().map(|one| &*one.raw).collect();
        let message = format!("are not accepted as X12: {}", said.join(" "));
        return vec![Problem::error("claims", message)];
    }
    let claims = answers.flat_map(parsed).flat_map(|one| match one {
        Value::Object(mut said) => match said.remove("claims") {
            Some(Value::Array(claims)) => claims,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    });
    let refused = claims
        .enumerate()
        .filter(|(_, claim)| claim["accepted"] == false);
    refused
        .map(|(place, claim)| {
            let text = |name: &str| claim[name].as_str().unwrap_or_default();
            let message = format!(
                "the payer does not take it ({}:{}): {}",
                text("category"),
                text("status_code"),
                text("message")
            );
            Problem::error(format!("claims.{place}"), message)
        })
        .collect()
}
