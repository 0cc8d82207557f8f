//! A 278 response as JSON.

use serde_json::{Value, json};

use super::{errors, person, text};
use crate::segment::Segment;

/// `{action, status, auth_number, reason_code, reason, trace_number, member, procedure_codes,
/// errors}` of a 278 response. `action` and `status` are null when the request was rejected.
pub fn prior_auth(segments: &[Segment]) -> Value {
    let first = |tag: &str| segments.iter().find(|one| one.tag == tag);
    let decision = first("HCR");
    let element = |number: usize| decision.map_or(Value::Null, |one| text(one.text(number)));
    let member = segments
        .iter()
        .position(|one| one.tag == "NM1" && one.text(1) == "IL")
        .map(|index| person(&segments[index], &segments[index + 1..]));
    let services = segments.iter().filter_map(|one| match one.tag.as_str() {
        "SV1" | "SV3" => Some(one.component(1, 2)),
        "SV2" => Some(one.component(2, 2)),
        _ => None,
    });
    json!({
        "action": element(1),
        "status": decision.map(|one| status(one.text(1))),
        "auth_number": element(2),
        "reason_code": element(3),
        "reason": first("MSG").map(|one| one.text(1)),
        "trace_number": first("TRN").map(|one| one.text(2)),
        "member": member,
        "procedure_codes": services.collect::<Vec<_>>(),
        "errors": errors(segments),
    })
}

/// The word of the payer's rules for an action. A4 does not say whether more information is needed:
/// that stands in the reason.
fn status(action: &str) -> &'static str {
    match action {
        "A1" => "approved",
        "A2" => "partially_approved",
        "A3" => "denied",
        "A4" => "pending",
        "A6" => "modified",
        "C" => "cancelled",
        _ => "other",
    }
}
