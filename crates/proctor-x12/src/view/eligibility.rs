//! A 271 as JSON.

use serde_json::{Value, json};

use super::{days, errors, number, person, text};
use crate::segment::{Element, Segment};

/// `{active, plan, member, dependent, benefits, errors}` of a 271. `active` is null when the
/// question was rejected.
pub fn eligibility(segments: &[Segment]) -> Value {
    let named = |entity: &str| {
        let index = segments
            .iter()
            .position(|one| one.tag == "NM1" && one.text(1) == entity)?;
        Some(person(&segments[index], &segments[index + 1..]))
    };
    let lines = || segments.iter().filter(|one| one.tag == "EB");
    let status = lines().find(|one| matches!(one.text(1), "1" | "6"));
    let active = status.map(|one| one.text(1) == "1");
    json!({
        "active": active,
        "plan": status.map(|one| plan(one, segments)),
        "member": named("IL"),
        "dependent": named("03"),
        "benefits": lines().map(benefit).collect::<Vec<_>>(),
        "errors": errors(segments),
    })
}

fn plan(status: &Segment, segments: &[Segment]) -> Value {
    let date = |qualifier: &str| {
        let found = segments
            .iter()
            .find(|one| one.tag == "DTP" && one.text(1) == qualifier);
        found.map(days)
    };
    let (start, end) = date("291")
        .or_else(|| date("346"))
        .unwrap_or((Value::Null, Value::Null));
    let group = segments
        .iter()
        .find(|one| one.tag == "REF" && one.text(1) == "6P");
    json!({
        "name": text(status.text(5)),
        "insurance_type": text(status.text(4)),
        "group_number": group.map(|one| one.text(2)),
        "start": start,
        "end": end,
    })
}

fn benefit(line: &Segment) -> Value {
    let kind = match line.text(1) {
        "1" => "active",
        "6" => "inactive",
        "A" => "coinsurance",
        "B" => "copay",
        "C" => "deductible",
        "F" => "limit",
        "G" => "out_of_pocket",
        "I" => "not_covered",
        _ => "other",
    };
    let service_types: Vec<_> = line
        .element(3)
        .map_or(&[][..], |Element(repetitions)| repetitions)
        .iter()
        .map(|one| one.component(1))
        .collect();
    let flag = |number: usize| match line.text(number) {
        "Y" => Some(true),
        "N" => Some(false),
        _ => None,
    };
    json!({
        "code": line.text(1),
        "kind": kind,
        "level": text(line.text(2)),
        "service_types": service_types,
        "period": period(line.text(6)),
        "amount": number(line.text(7)),
        "fraction": number(line.text(8)),
        "quantity": number(line.text(10)),
        "quantity_unit": text(line.text(9)),
        "authorization_required": flag(11),
        "in_network": flag(12),
    })
}

/// The word for a period; a code that has none here stays as it is.
fn period(code: &str) -> Value {
    match code {
        "7" => "day".into(),
        "22" => "service_year".into(),
        "23" => "calendar_year".into(),
        "27" => "visit".into(),
        "29" => "remaining".into(),
        "32" => "lifetime".into(),
        other => text(other),
    }
}
