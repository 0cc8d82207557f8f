//! What the context of each hook must hold.

use serde_json::{Map, Value};

/// A member of a hook's context, and whether it is a list or bundle (an object) instead of a text.
struct Member {
    name: &'static str,
    shape: Shape,
}

enum Shape {
    Text,
    Object,
    List,
}

const fn member(name: &'static str, shape: Shape) -> Member {
    Member { name, shape }
}

const PATIENT_VIEW: &[Member] = &[
    member("userId", Shape::Text),
    member("patientId", Shape::Text),
];
const ENCOUNTER: &[Member] = &[
    member("userId", Shape::Text),
    member("patientId", Shape::Text),
    member("encounterId", Shape::Text),
];
const ORDER_SIGN: &[Member] = &[
    member("userId", Shape::Text),
    member("patientId", Shape::Text),
    member("draftOrders", Shape::Object),
];
const ORDER_SELECT: &[Member] = &[
    member("userId", Shape::Text),
    member("patientId", Shape::Text),
    member("selections", Shape::List),
    member("draftOrders", Shape::Object),
];
const APPOINTMENT_BOOK: &[Member] = &[
    member("userId", Shape::Text),
    member("patientId", Shape::Text),
    member("appointments", Shape::Object),
];

/// What is wrong with the context of a hook, by field. Of hooks that the standard does not define,
/// nothing is known.
pub(super) fn problems(hook: &str, context: &Map<String, Value>) -> Vec<(String, &'static str)> {
    let members = match hook {
        "patient-view" => PATIENT_VIEW,
        "encounter-start" | "encounter-discharge" => ENCOUNTER,
        "order-sign" => ORDER_SIGN,
        "order-select" => ORDER_SELECT,
        "appointment-book" => APPOINTMENT_BOOK,
        _ => &[],
    };
    let wrong = members.iter().filter_map(|member| {
        let message = match (&member.shape, context.get(member.name)) {
            (_, None | Some(Value::Null)) => "is required",
            (Shape::Text, Some(Value::String(text))) if !text.trim().is_empty() => return None,
            (Shape::Text, _) => "must be a text",
            (Shape::Object, Some(Value::Object(_))) => return None,
            (Shape::Object, _) => "must be a Bundle",
            (Shape::List, Some(Value::Array(_))) => return None,
            (Shape::List, _) => "must be a list",
        };
        Some((format!("context.{}", member.name), message))
    });
    wrong.collect()
}
