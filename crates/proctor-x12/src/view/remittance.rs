//! An 835 as JSON.

use serde_json::{Value, json};

use super::{day, number, text};
use crate::segment::Segment;

/// `{paid, method, date, trace_number, payer, payee, claims}` of an 835; each claim with its services, each with its adjustments.
pub fn remittance(segments: &[Segment]) -> Value {
    let payment = segments.iter().find(|one| one.tag == "BPR");
    let trace = segments.iter().find(|one| one.tag == "TRN");
    let party = |entity: &str| {
        let name = segments
            .iter()
            .find(|one| one.tag == "N1" && one.text(1) == entity)?;
        Some(json!({"name": text(name.text(2)), "id": text(name.text(4))}))
    };
    let claims = segments.chunk_by(|_, next| !matches!(next.tag.as_str(), "CLP" | "PLB" | "SE"));
    json!({
        "paid": payment.map_or(Value::Null, |one| number(one.text(2))),
        "method": payment.map(|one| one.text(4)),
        "date": payment.map_or(Value::Null, |one| day(one.text(16))),
        "trace_number": trace.map(|one| one.text(2)),
        "payer": party("PR"),
        "payee": party("PE"),
        "claims": claims.filter(|chunk| chunk[0].tag == "CLP").map(claim).collect::<Vec<_>>(),
    })
}

fn claim(segments: &[Segment]) -> Value {
    let services = segments.iter().position(|one| one.tag == "SVC");
    let (whole, services) = segments.split_at(services.unwrap_or(segments.len()));
    let header = &whole[0];
    let patient = whole
        .iter()
        .find(|one| one.tag == "NM1" && one.text(1) == "QC");
    let of_patient = |number: usize| patient.map_or(Value::Null, |one| text(one.text(number)));
    json!({
        "patient_account": header.text(1),
        "status_code": header.text(2),
        "status": match header.text(2) {
            "1" => "paid",
            "4" => "denied",
            "22" => "reversed",
            _ => "processed",
        },
        "charge": number(header.text(3)),
        "paid": number(header.text(4)),
        "patient_responsibility": number(header.text(5)),
        "claim_id": text(header.text(7)),
        "member_id": of_patient(9),
        "last_name": of_patient(3),
        "first_name": of_patient(4),
        "adjustments": adjustments(whole),
        "services": services.chunk_by(|_, next| next.tag != "SVC").map(service).collect::<Vec<_>>(),
    })
}

fn service(segments: &[Segment]) -> Value {
    let header = &segments[0];
    let modifiers = (3..=6).map(|at| header.component(1, at));
    let date = segments.iter().find(|one| one.tag == "DTM");
    let allowed = segments
        .iter()
        .find(|one| one.tag == "AMT" && one.text(1) == "B6");
    let remarks = segments.iter().filter(|one| one.tag == "LQ");
    json!({
        "procedure_code": header.component(1, 2),
        "modifiers": modifiers.filter(|one| !one.is_empty()).collect::<Vec<_>>(),
        "charge": number(header.text(2)),
        "paid": number(header.text(3)),
        "units": number(header.text(5)),
        "service_date": date.map_or(Value::Null, |one| day(one.text(2))),
        "allowed": allowed.map_or(Value::Null, |one| number(one.text(2))),
        "adjustments": adjustments(segments),
        "remarks": remarks.map(|one| one.text(2)).collect::<Vec<_>>(),
    })
}

/// Every reason of the CAS segments: each has room for six.
fn adjustments(segments: &[Segment]) -> Vec<Value> {
    let adjusted = segments.iter().filter(|one| one.tag == "CAS");
    let reasons = adjusted.flat_map(|one| (2..=17).step_by(3).map(move |at| (one, at)));
    reasons
        .filter(|(one, at)| !one.text(*at).is_empty())
        .map(|(one, at)| {
            json!({
                "group": one.text(1),
                "reason": one.text(at),
                "amount": number(one.text(at + 1)),
            })
        })
        .collect()
}
