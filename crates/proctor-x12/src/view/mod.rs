//! Answers as JSON, for callers that do not read X12.

mod claim_acknowledgment;
mod claim_status;
mod eligibility;
mod remittance;
mod review;

use serde_json::{Value, json};

pub use claim_acknowledgment::claim_acknowledgment;
pub use claim_status::claim_status;
pub use eligibility::eligibility;
pub use remittance::remittance;
pub use review::prior_auth;

use crate::{day::Day, segment::Segment};

/// The AAA segments of an answer.
fn errors(segments: &[Segment]) -> Vec<Value> {
    let rejections = segments.iter().filter(|one| one.tag == "AAA");
    rejections
        .map(|one| {
            json!({
                "code": one.text(3),
                "message": rejection_text(one.text(3)),
                "follow_up": one.text(4),
            })
        })
        .collect()
}

fn rejection_text(code: &str) -> &'static str {
    match code {
        "42" => "the payer cannot answer at the moment",
        "43" => "the provider's id is missing or not valid",
        "51" => "the provider is not on file",
        "58" => "the day of birth is missing or not valid",
        "65" => "the patient's name is missing or not valid",
        "67" => "the patient is not on file",
        "71" => "the day of birth is not the one on file",
        "72" => "the member id is missing or not on file",
        "73" => "the name is missing or not the one on file",
        "75" => "no member has this name and day of birth",
        _ => "the request was rejected",
    }
}

/// A text, or null where X12 has nothing.
fn text(value: &str) -> Value {
    match value {
        "" => Value::Null,
        _ => value.into(),
    }
}

/// A decimal with its digits, or null.
fn number(value: &str) -> Value {
    value
        .parse()
        .map_or(Value::Null, |number: serde_json::Number| number.into())
}

/// A day as `YYYY-MM-DD`, or null.
fn day(value: &str) -> Value {
    Day::from_x12(value).map_or(Value::Null, |day| day.to_string().into())
}

/// First and last day of a DTP segment; the last is null for a single day.
fn days(segment: &Segment) -> (Value, Value) {
    match Day::range_from_x12(segment.text(2), segment.text(3)) {
        Some((first, last)) if segment.text(2) == "RD8" => {
            (first.to_string().into(), last.to_string().into())
        }
        Some((first, _)) => (first.to_string().into(), Value::Null),
        None => (Value::Null, Value::Null),
    }
}

/// A person from the NM1 and DMG segments around `index`.
fn person(name: &Segment, after: &[Segment]) -> Value {
    let birth = after
        .iter()
        .take_while(|one| !matches!(one.tag.as_str(), "HL" | "NM1"))
        .find(|one| one.tag == "DMG");
    json!({
        "member_id": text(name.text(9)),
        "last_name": text(name.text(3)),
        "first_name": text(name.text(4)),
        "birth_date": birth.map_or(Value::Null, |birth| day(birth.text(2))),
    })
}
