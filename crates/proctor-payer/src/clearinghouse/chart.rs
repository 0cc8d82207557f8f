//! Who a patient of the chart is to the payer.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use proctor_core::time::Timestamp;
use proctor_fhir_store::{self as fhir, kind::ResourceKind};
use proctor_simulation::simulator::Around;
use serde_json::Value;

use crate::{desk::PayerDesk, records::bare_patient_id, x12::Person};

/// The person that a patient's id stands for: the member that a data set links to it, else what the
/// chart knows (a coverage's subscriber id, an identifier, or name and day of birth).
pub(super) fn person(desk: &PayerDesk, patient_id: &str, around: &Around<'_>) -> Option<Person> {
    let id = bare_patient_id(patient_id);
    let linked = desk.links.iter().find(|link| link.patient_id == id);
    if let Some(link) = linked {
        return Some(by_id(&link.member_id));
    }
    let chart = around.shared::<fhir::State>()?;
    let patient = find(chart, "Patient", "_id", id, around.now).pop()?;
    let reference = format!("Patient/{id}");
    let coverages = find(chart, "Coverage", "beneficiary", &reference, around.now);
    let subscribed: Vec<&str> = coverages
        .iter()
        .filter_map(|one| one.get("subscriberId")?.as_str())
        .collect();
    let identifiers = patient.get("identifier").and_then(Value::as_array);
    let identified = identifiers
        .into_iter()
        .flatten()
        .filter_map(|one| one.get("value")?.as_str());
    let mut known = subscribed.iter().copied().chain(identified);
    let on_file = known.find_map(|id| desk.member_id_on_file(id));
    if let Some(id) = on_file.as_deref().or_else(|| subscribed.first().copied()) {
        return Some(by_id(id));
    }
    let named = described(&patient);
    // An id says more than a name, and a 276 or 278 cannot do without one.
    let mut fitting = desk.members.iter().filter(|member| {
        Some(member.birth_date) == named.birth_date
            && member.last_name.to_lowercase() == named.last_name.to_lowercase()
            && member.first_name.to_lowercase() == named.first_name.to_lowercase()
    });
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some(by_id(&only.member_id)),
        _ => Some(named),
    }
}

/// The text of the resources of a type in a patient's chart.
pub(crate) fn of_patient(
    chart: &fhir::State,
    kind: &str,
    patient: &str,
    now: Timestamp,
) -> Vec<String> {
    let reference = format!("Patient/{patient}");
    let found = find(chart, kind, "patient", &reference, now);
    found.iter().flat_map(texts).collect()
}

/// The texts of an attachment: what it says itself, and what the resource of the chart says that it names.
pub(crate) fn document_texts(
    attachment: &Value,
    chart: Option<&fhir::State>,
    now: Timestamp,
) -> Vec<String> {
    let mut all = texts(attachment);
    let named: Vec<String> = all.clone();
    let references = named.iter().filter_map(|text| text.split_once('/'));
    for (kind, id) in references {
        let found = chart.map(|chart| find(chart, kind, "_id", id, now));
        all.extend(found.iter().flatten().flat_map(texts));
    }
    all
}

/// Every text in a value; what is there in base64 is read too.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => {
            let mut all = vec![text.clone()];
            let decoded = BASE64.decode(text.as_bytes()).ok();
            all.extend(decoded.and_then(|bytes| String::from_utf8(bytes).ok()));
            all
        }
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        Value::Number(number) => vec![number.to_string()],
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

pub(super) fn by_id(member_id: &str) -> Person {
    Person {
        member_id: member_id.to_owned(),
        ..Person::default()
    }
}

/// The resources of a type that a search finds, newest first; none where the chart cannot be asked
/// so.
fn find(
    chart: &fhir::State,
    kind: &str,
    parameter: &str,
    value: &str,
    now: Timestamp,
) -> Vec<Value> {
    let is_id = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '/');
    let Some(kind) = ResourceKind::named(kind).filter(|_| value.chars().all(is_id)) else {
        return Vec::new();
    };
    let criteria = [(parameter.to_owned(), value.to_owned())];
    let Ok(found) = chart.search_strictly(kind, &criteria, now) else {
        return Vec::new();
    };
    let hits = found.hits.iter();
    hits.filter_map(|hit| serde_json::from_slice(&hit.body).ok())
        .collect()
}

fn described(patient: &Value) -> Person {
    let text = |pointer: &str| {
        let text = patient.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    Person {
        member_id: String::new(),
        last_name: text("/name/0/family"),
        first_name: text("/name/0/given/0"),
        birth_date: text("/birthDate").parse().ok(),
        birth_date_unreadable: false,
    }
}
