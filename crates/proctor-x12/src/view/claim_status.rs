//! A 277 as JSON.

use serde_json::{Value, json};

use super::{day, days, number, person, text};
use crate::segment::Segment;

/// `{member, claims}` of a 277; each claim with `trace_number, category, status_code, …, lines`.
pub fn claim_status(segments: &[Segment]) -> Value {
    let member = segments
        .iter()
        .position(|one| one.tag == "NM1" && one.text(1) == "IL")
        .map(|index| person(&segments[index], &segments[index + 1..]));
    let claims: Vec<_> = segments
        .chunk_by(|_, next| !matches!(next.tag.as_str(), "TRN" | "HL" | "SE"))
        .filter(|chunk| chunk[0].tag == "TRN")
        .map(claim)
        .collect();
    json!({ "member": member, "claims": claims })
}

fn claim(segments: &[Segment]) -> Value {
    let lines = segments
        .iter()
        .position(|one| one.tag == "SVC")
        .unwrap_or(segments.len());
    let (whole, lines) = segments.split_at(lines);
    let status = whole.iter().find(|one| one.tag == "STC");
    let element = |number: usize| status.map_or("", |one| one.text(number));
    let reference = |qualifier: &str| {
        let found = whole
            .iter()
            .find(|one| one.tag == "REF" && one.text(1) == qualifier);
        found.map(|one| one.text(2))
    };
    let (from, to) = whole
        .iter()
        .find(|one| one.tag == "DTP")
        .map_or((Value::Null, Value::Null), days);
    json!({
        "trace_number": segments[0].text(2),
        "category": status.map(|one| one.component(1, 1)),
        "status_code": status.map(|one| one.component(1, 2)),
        "status_date": day(element(2)),
        "charge": number(element(4)),
        "paid": number(element(5)),
        "paid_date": day(element(8)),
        "check_number": text(element(9)),
        "claim_id": reference("1K"),
        "patient_account": reference("EJ"),
        "service_from": from,
        "service_to": to,
        "lines": lines.chunk_by(|_, next| next.tag != "SVC").map(line).collect::<Vec<_>>(),
    })
}

fn line(segments: &[Segment]) -> Value {
    let service = &segments[0];
    let status = segments.iter().find(|one| one.tag == "STC");
    json!({
        "procedure_code": service.component(1, 2),
        "charge": number(service.text(2)),
        "paid": number(service.text(3)),
        "units": number(service.text(7)),
        "category": status.map(|one| one.component(1, 1)),
        "status_code": status.map(|one| one.component(1, 2)),
    })
}
