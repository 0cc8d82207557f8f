//! A 277CA as JSON.

use serde_json::{Value, json};

use super::{days, number, text};
use crate::segment::Segment;

/// `{reference, accepted, rejected, claims}` of a 277CA; each claim with `patient_account, accepted, category, status_code, …`.
pub fn claim_acknowledgment(segments: &[Segment]) -> Value {
    let header = segments.iter().find(|one| one.tag == "BHT");
    let levels = segments.chunk_by(|_, next| !matches!(next.tag.as_str(), "HL" | "SE"));
    let patients = levels.filter(|level| level[0].tag == "HL" && level[0].text(3) == "PT");
    let claims: Vec<Value> = patients.flat_map(claims).collect();
    let accepted = claims.iter().filter(|one| one["accepted"] == true).count();
    json!({
        "reference": header.map(|one| one.text(3)),
        "accepted": accepted,
        "rejected": claims.len() - accepted,
        "claims": claims,
    })
}

/// The claims of one patient.
fn claims(level: &[Segment]) -> Vec<Value> {
    let name = level.iter().find(|one| one.tag == "NM1");
    let of_name = |number: usize| name.map_or(Value::Null, |name| text(name.text(number)));
    let traced = level.chunk_by(|_, next| next.tag != "TRN");
    let traced = traced.filter(|chunk| chunk[0].tag == "TRN");
    traced
        .map(|claim| {
            let status = claim.iter().find(|one| one.tag == "STC");
            let code = |at: usize| status.map_or("", |one| one.component(1, at));
            let (from, to) = claim
                .iter()
                .find(|one| one.tag == "DTP")
                .map_or((Value::Null, Value::Null), days);
            let number_of_payer = claim
                .iter()
                .find(|one| one.tag == "REF" && one.text(1) == "1K");
            json!({
                "patient_account": claim[0].text(2),
                "accepted": status.is_some_and(|one| one.text(3) == "WQ"),
                "category": text(code(1)),
                "status_code": text(code(2)),
                "entity": text(code(3)),
                "message": message(code(1), code(2)),
                "charge": status.map_or(Value::Null, |one| number(one.text(4))),
                "claim_id": number_of_payer.map(|one| one.text(2)),
                "member_id": of_name(9),
                "last_name": of_name(3),
                "first_name": of_name(4),
                "service_from": from,
                "service_to": to,
            })
        })
        .collect()
}

/// What a status says in words.
fn message(category: &str, code: &str) -> &'static str {
    match (category, code) {
        ("A2", _) => "the claim was accepted into adjudication",
        (_, "0") => "the payer cannot answer at the moment",
        (_, "26") => "the billing provider is not on file",
        (_, "33") => "the subscriber is not on file",
        (_, "40") => "the claim that is to be replaced is not decided yet",
        (_, "54") => "the claim that is to be replaced was paid or replaced already",
        (_, "97") => "the patient is not on file",
        (_, "116") => "the claim is for another payer",
        (_, "125") => "the name is not the one on file",
        (_, "158") => "the day of birth is missing or not the one on file",
        (_, "178") => "the charges of the services are not the charge of the claim",
        (_, "464") => "the claim that is to be replaced is not on file",
        (_, "535") => "the frequency code is none that is taken",
        (_, "562") => "the NPI of the billing provider is missing or not valid",
        _ => "the claim was rejected",
    }
}
