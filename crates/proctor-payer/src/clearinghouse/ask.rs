//! Questions as JSON. Each becomes the X12 that a provider's system would send, and its answer is
//! read back from the X12 that the payer answers.

use http::StatusCode;
use proctor_core::{problem::Problem, time::Timestamp};
use proctor_simulation::{
    exchange::{Request, Response},
    simulator::Around,
};
use proctor_x12::{
    build::{Envelope, Party},
    segment::Segment,
    transaction_set::TransactionSet,
};
use serde_json::{Value, json};

use super::{billing, chart, exchange, fields::Fields, parsed, recorded, shown};
use crate::{
    X12Response,
    desk::PayerDesk,
    handled::Handling,
    intake,
    prior_auth::{Channel, PriorAuth, Status},
    records,
    x12::{
        ClaimStatusQuestion, EligibilityQuestion, Person, ReviewQuestion,
        claims::{Bill, bills},
    },
};

/// `POST clearinghouse/eligibility`.
pub(super) fn eligibility(desk: &PayerDesk, request: &Request, around: &Around<'_>) -> Handling {
    let mut fields = Fields::of(request.json()?);
    let subscriber = subject(desk, &mut fields, around)?;
    let dependent = fields.read(&["dependent"], records::read);
    let question = EligibilityQuestion {
        reference: reference(desk),
        provider_npi: npi(desk, &mut fields),
        subscriber,
        dependent,
        service_types: fields.texts(&["service_types", "service_type", "service_type_code"]),
    };
    fields.finish()?;
    let body = question.body(desk.payer(), around.now);
    let input = written(desk, TransactionSet::EligibilityInquiry, body, around.now);
    answered(desk, input, None, around, |_| {})
}

/// `POST clearinghouse/claim-status`.
pub(super) fn claim_status(desk: &PayerDesk, request: &Request, around: &Around<'_>) -> Handling {
    let mut fields = Fields::of(request.json()?);
    let mut subscriber = subject(desk, &mut fields, around)?;
    // A 276 always names the subscriber; who is not on file has no name that could be known here.
    if subscriber.last_name.is_empty() {
        let member = desk.members.get(&records::fold(&subscriber.member_id));
        let name = member.map_or("UNKNOWN", |member| &member.last_name);
        subscriber.last_name = name.to_owned();
    }
    let provider_npi = npi(desk, &mut fields);
    let claim_id = fields.text(&["claim_id"]);
    let first = fields.day(&["service_from", "service_date"]);
    let last = fields.day(&["service_to"]);
    let service_days = first.map(|first| (first, last.unwrap_or(first)));
    if let (Some(first), Some(last)) = (first, last)
        && last < first
    {
        let problem = "is before service_from".to_owned();
        fields.problems.push(Problem::error("service_to", problem));
    }
    fields.require("service_from", last.is_none() || first.is_some());
    fields.finish()?;
    let question = ClaimStatusQuestion {
        reference: reference(desk),
        provider_npi,
        subscriber,
        claim_id,
        service_days,
    };
    let body = question.body(desk.payer(), around.now);
    let input = written(desk, TransactionSet::ClaimStatusRequest, body, around.now);
    answered(desk, input, None, around, |_| {})
}

/// `POST clearinghouse/prior-auth`: a new request, or with `request_id` or `auth_number` a question
/// about one that was sent.
pub(super) fn prior_auth(desk: &PayerDesk, request: &Request, around: &Around<'_>) -> Handling {
    let mut fields = Fields::of(request.json()?);
    if let Some(name) = fields.text(&["request_id", "auth_number"]) {
        fields.finish()?;
        return ask_again(desk, &name, around);
    }
    let subscriber = subject(desk, &mut fields, around)?;
    let provider_npi = fields.text(&["provider_npi", "npi"]).unwrap_or_default();
    fields.require("provider_npi", !provider_npi.is_empty());
    let code = fields.read(&["procedure_code"], |value| {
        intake::procedure(intake::text(value)?)
    });
    fields.require("procedure_code", code.is_some());
    // Read by the same rules as at the portal; the row keeps what X12 would cut.
    let mut said = PriorAuth::draft(String::new(), Channel::X12, around.now);
    for name in ["diagnosis_codes", "clinical_notes", "attachments"] {
        if let Some(value) = fields.value(name)
            && let Err(problem) = intake::fill(&mut said, name, &value, desk)
        {
            fields.problems.push(Problem::error(name, problem));
        }
    }
    fields.require("diagnosis_codes", !said.diagnosis_codes.is_empty());
    fields.finish()?;
    let question = ReviewQuestion {
        reference: reference(desk),
        provider_npi,
        subscriber,
        diagnosis_codes: said.diagnosis_codes.clone(),
        procedure_code: code.unwrap_or_default(),
        clinical_notes: said
            .clinical_notes
            .clone()
            .filter(|text| !text.trim().is_empty()),
    };
    let body = question.body(desk.payer(), around.now);
    let input = written(desk, TransactionSet::ReviewRequest, body, around.now);
    answered(desk, input, None, around, |row| {
        row.clinical_notes.clone_from(&said.clinical_notes);
        row.attachments.clone_from(&said.attachments);
    })
}

/// `POST clearinghouse/claims`: a claim, which is sent as an 837P.
pub(super) fn claim(desk: &PayerDesk, request: &Request, around: &Around<'_>) -> Handling {
    let bill = billing::read(desk, request.json()?, around).map_err(|wrong| {
        Box::new(match wrong {
            billing::NotABill::Fields(problems) => Response::invalid(&problems),
            billing::NotABill::Nobody(message) => Response::not_found(message),
        })
    })?;
    let input = written_claims(desk, &[bill], around.now);
    answered(desk, input, None, around, |_| {})
}

/// One 837P with all the claims.
pub(super) fn written_claims(desk: &PayerDesk, all: &[Bill], now: Timestamp) -> String {
    let body = bills(all, desk.payer(), now);
    written(desk, TransactionSet::ProfessionalClaim, body, now)
}

fn ask_again(desk: &PayerDesk, name: &str, around: &Around<'_>) -> Handling {
    let now = around.now;
    let row = desk.request(name).ok_or_else(|| {
        Response::not_found(format!(
            "no request has the id or authorization number '{name}'"
        ))
    })?;
    if row.status == Status::Draft {
        let refusal = Response::conflict(format!("{} was not sent yet", row.request_id));
        return Err(Box::new(refusal));
    }
    let question = ReviewQuestion {
        reference: row.trace_number.clone().unwrap_or_else(|| reference(desk)),
        provider_npi: row.provider_npi.clone().unwrap_or_default(),
        subscriber: chart::by_id(row.patient_member_id.as_deref().unwrap_or_default()),
        diagnosis_codes: row.diagnosis_codes.clone(),
        procedure_code: row.procedure_code.clone().unwrap_or_default(),
        clinical_notes: None,
    };
    let body = question.body(desk.payer(), now);
    let input = written(desk, TransactionSet::ReviewRequest, body, now);
    answered(desk, input, Some(&row.request_id), around, |_| {})
}

/// Whom a question is about.
pub(super) fn subject(
    desk: &PayerDesk,
    fields: &mut Fields,
    around: &Around<'_>,
) -> Result<Person, Box<Response>> {
    let member_id = fields.text(&["member_id", "patient_member_id"]);
    let patient_id = fields.text(&["patient_id"]);
    let told = Person {
        member_id: member_id.unwrap_or_default(),
        last_name: fields.text(&["last_name"]).unwrap_or_default(),
        first_name: fields.text(&["first_name"]).unwrap_or_default(),
        birth_date: fields.day(&["birth_date", "dob"]),
        birth_date_unreadable: false,
    };
    let is_named = !told.last_name.is_empty() && told.birth_date.is_some();
    if !told.member_id.is_empty() || (patient_id.is_none() && is_named) {
        return Ok(told);
    }
    let Some(id) = patient_id else {
        fields.require("member_id", false);
        return Ok(told);
    };
    chart::person(desk, &id, around).ok_or_else(|| {
        Box::new(Response::not_found(format!(
            "neither the payer nor a chart of this playground knows the patient '{id}'"
        )))
    })
}

pub(super) fn npi(desk: &PayerDesk, fields: &mut Fields) -> String {
    let given = fields.text(&["provider_npi", "npi"]);
    given.unwrap_or_else(|| desk.blueprint.asking_npi.clone())
}

/// What the sender's system calls its next question.
pub(super) fn reference(desk: &PayerDesk) -> String {
    let number = u64::try_from(desk.answered.len()).unwrap_or(u64::MAX);
    let id = desk.seed.short_id("clearinghouse reference", number);
    format!("Q{}", id.to_ascii_uppercase())
}

/// The interchange that the clearinghouse sends for the provider. Its control numbers are the
/// sender's, and have nothing to do with those of the answers.
fn written(desk: &PayerDesk, set: TransactionSet, body: Vec<Segment>, now: Timestamp) -> String {
    let (sender, receiver) = (Party::agreed("PROVIDER"), Party::agreed(&desk.payer().id));
    let mut numbers = desk.sender_numbers();
    Envelope::between(sender, receiver, now).write(&mut numbers, set, &[body])
}

/// The answer to a question, read for those who do not read X12; `complete` says what the rows that
/// it makes hold besides.
fn answered(
    desk: &PayerDesk,
    input: String,
    asked_for: Option<&str>,
    around: &Around<'_>,
    complete: impl Fn(&mut PriorAuth),
) -> Handling {
    let now = around.now;
    let mut exchanged = exchange::exchange(desk, input.as_bytes(), asked_for, around)
        .map_err(|error| Box::new(Response::bad_request(error.to_string())))?;
    exchanged.requests.iter_mut().for_each(complete);
    let answer = exchanged
        .sent(now)
        .find_map(|one| Some((one, parsed(one).into_iter().next()?)));
    let response = match answer {
        Some((one, Value::Object(mut said))) => {
            said.insert("transaction".to_owned(), json!(one.transaction));
            said.insert("control_number".to_owned(), json!(one.control_number));
            said.insert("raw".to_owned(), json!(one.raw));
            said.insert("request_raw".to_owned(), json!(input));
            if let Some(claim) = exchanged.claims.last() {
                said.insert("claim".to_owned(), claim.view(now));
            }
            if let Some(id) = exchanged.about.first() {
                let mut all = exchanged.requests.iter().chain(&desk.requests);
                let row = all.find(|one| one.request_id == *id);
                said.insert("request_id".to_owned(), json!(id));
                said.insert("request".to_owned(), json!(row.map(|row| row.view(now))));
            }
            Response::json(StatusCode::OK, &Value::Object(said))
        }
        _ => refused(&exchanged.responses, &input),
    };
    Ok(recorded(desk, exchanged, response, input, now))
}

/// 400 for a question that X12 cannot carry: what is wrong stands in the acknowledgment.
fn refused(responses: &[X12Response], input: &str) -> Response {
    let responses: Vec<Value> = responses.iter().map(shown).collect();
    Response::json(
        StatusCode::BAD_REQUEST,
        &json!({
            "error": {
                "code": "VALIDATION_ERROR",
                "message": "the question was not accepted as X12: see the acknowledgment in responses",
                "details": {},
            },
            "responses": responses,
            "request_raw": input,
        }),
    )
}
