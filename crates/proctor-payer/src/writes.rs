//! What the changes of a desk are to people: rows of the portal that are others now, and X12 that was sent.

use proctor_simulation::record::Write;
use serde_json::{Value, json};

use super::{
    claims::CLAIMS,
    desk::{Change, PayerDesk},
    evidence::X12Response,
    provision::REQUESTS,
};

/// The family of rows.
const PORTAL: &str = "portal";
/// The family of X12 transactions.
const X12: &str = "x12";

/// What a change is, on the desk as it was before.
pub(super) fn of(desk: &PayerDesk, change: &Change) -> Vec<Write> {
    match change {
        Change::Request(request) => {
            let before = desk.request(&request.request_id);
            let before = before.map(|before| json!(before));
            row(REQUESTS, &request.request_id, before, Some(json!(request)))
        }
        Change::Discard { request_id } => {
            let before = desk.request(request_id).map(|before| json!(before));
            row(REQUESTS, request_id, before, None)
        }
        Change::Row {
            resource,
            row: after,
        } => {
            let rows = desk.rows_of(resource);
            let before = rows.iter().find(|before| before.key == after.key);
            let before = before.map(|before| before.fields.clone());
            row(resource, &after.key, before, Some(after.fields.clone()))
        }
        Change::Answer { responses, .. } => questions(responses),
        Change::Enroll(enrolled) => row(
            "members",
            &enrolled.member.member_id,
            None,
            Some(json!(enrolled)),
        ),
        Change::Disenroll { member_id } => gone("members", member_id),
        Change::ListProvider(provider) => {
            row("providers", &provider.npi, None, Some(json!(provider)))
        }
        Change::UnlistProvider { npi } => gone("providers", npi),
        Change::ReceiveClaim(claim) => row(CLAIMS, &claim.claim_id, None, Some(json!(claim))),
        Change::Claimed(claim) => {
            let id = &claim.decided.claim_id;
            let before = desk.received.iter();
            let before = before.into_iter().find(|one| one.decided.claim_id == *id);
            let before = before.map(|one| json!(one.submitted));
            row(CLAIMS, id, before, Some(json!(claim.submitted)))
        }
        Change::DropClaim { claim_id } => gone(CLAIMS, claim_id),
    }
}

fn row(resource: &str, key: &str, before: Option<Value>, after: Option<Value>) -> Vec<Write> {
    let target = format!("{resource}/{key}");
    vec![Write::changed(PORTAL, resource, target, before, after)]
}

fn gone(resource: &str, key: &str) -> Vec<Write> {
    row(resource, key, Some(json!({"id": key})), None)
}

/// What the agent asked: one transaction for each answer; a remittance is none. Where the payer only acknowledged, that is all there is to name it
/// by.
fn questions(responses: &[X12Response]) -> Vec<Write> {
    let is_acknowledgment =
        |one: &&X12Response| matches!(one.transaction.as_str(), "TA1" | "999" | "835");
    let answers: Vec<&X12Response> = responses
        .iter()
        .filter(|one| !is_acknowledgment(one))
        .collect();
    let told = match answers.is_empty() {
        true => responses.first().into_iter().collect(),
        false => answers,
    };
    let sent = |one: &X12Response| {
        let asked = match one.transaction.as_str() {
            "271" => "270",
            "277" => "276",
            "277CA" => "837",
            other => other,
        };
        Write::sent(
            X12,
            asked,
            &one.control_number,
            json!({"transaction": asked, "answer": one}),
        )
    };
    told.into_iter().map(sent).collect()
}
