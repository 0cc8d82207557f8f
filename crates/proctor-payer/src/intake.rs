//! What providers fill in: one field at a time, whoever asks for it and however it comes.

use std::collections::BTreeMap;

use proctor_core::problem::Problem;
use serde_json::Value;

use super::{
    desk::PayerDesk,
    prior_auth::{Channel, PriorAuth},
};
use crate::x12::is_npi;

/// The fields that a provider may fill in.
pub(super) const FIELDS: [&str; 7] = [
    "patient_member_id",
    "provider_npi",
    "procedure_code",
    "diagnosis_codes",
    "clinical_notes",
    "clinical_answers",
    "attachments",
];

const LONGEST_ID: usize = 80;
const LONGEST_NOTES: usize = 20_000;
const MOST_DIAGNOSES: usize = 12;
const MOST_ANSWERS: usize = 50;
const MOST_ATTACHMENTS: usize = 20;
const LARGEST_ATTACHMENTS: usize = 2 * 1024 * 1024;

/// Fills one field in. Null empties it.
pub(super) fn fill(
    row: &mut PriorAuth,
    field: &str,
    value: &Value,
    desk: &PayerDesk,
) -> Result<(), String> {
    match field {
        "patient_member_id" => {
            row.patient_member_id = or_null(value, |value| desk.known_member(text(value)?))?;
        }
        "provider_npi" => {
            row.provider_npi = or_null(value, |value| desk.admitted_npi(text(value)?))?;
        }
        "procedure_code" => row.procedure_code = or_null(value, |value| procedure(text(value)?))?,
        "diagnosis_codes" => {
            row.diagnosis_codes = or_null(value, diagnoses)?.unwrap_or_default();
        }
        "clinical_notes" => row.clinical_notes = or_null(value, notes)?,
        "clinical_answers" => {
            row.clinical_answers = or_null(value, answers)?.unwrap_or_default();
        }
        "attachments" => row.attachments = or_null(value, attachment_list)?.unwrap_or_default(),
        _ => {
            return Err(format!(
                "is no field of a request; the fields are {}",
                FIELDS.join(", ")
            ));
        }
    }
    Ok(())
}

/// What a request still lacks before it can be sent.
pub(super) fn missing(row: &PriorAuth, desk: &PayerDesk) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut need = |field: &str, is_there: bool| {
        if !is_there {
            problems.push(Problem::error(field, "is required"));
        }
    };
    need("patient_member_id", row.patient_member_id.is_some());
    need("provider_npi", row.provider_npi.is_some());
    need("procedure_code", row.procedure_code.is_some());
    need("diagnosis_codes", !row.diagnosis_codes.is_empty());
    // Only the pages ask these questions; other channels answer them if they like.
    if row.channel == Channel::Web {
        for question in desk.questions().iter().filter(|one| one.required) {
            let answered = row.clinical_answers.contains_key(&question.id);
            need(&format!("clinical_answers.{}", question.id), answered);
        }
    }
    problems
}

fn or_null<T>(
    value: &Value,
    read: impl FnOnce(&Value) -> Result<T, String>,
) -> Result<Option<T>, String> {
    match value {
        Value::Null => Ok(None),
        value => read(value).map(Some),
    }
}

/// A short text without control characters.
pub(super) fn text(value: &Value) -> Result<&str, String> {
    let Value::String(text) = value else {
        return Err("must be a text".to_owned());
    };
    let text = text.trim();
    if text.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if text.chars().count() > LONGEST_ID {
        return Err(format!("is longer than {LONGEST_ID} characters"));
    }
    if text.chars().any(char::is_control) {
        return Err("must not hold control characters".to_owned());
    }
    Ok(text)
}

impl PayerDesk {
    /// The member id as it is on file. Where the payer has no members at all, any id will do.
    fn known_member(&self, id: &str) -> Result<String, String> {
        if !self.has_members() {
            return Ok(id.to_owned());
        }
        self.member_id_on_file(id)
            .ok_or_else(|| format!("no member has the id '{id}'"))
    }

    fn admitted_npi(&self, npi: &str) -> Result<String, String> {
        if !is_npi(npi) {
            return Err(format!(
                "'{npi}' is not an NPI: ten digits, the last of which checks the others"
            ));
        }
        let listed = &self.payer().providers;
        if listed.is_empty() || listed.iter().any(|one| one == npi) {
            Ok(npi.to_owned())
        } else {
            Err(format!("the provider {npi} is not on file"))
        }
    }
}

/// A CPT or HCPCS code, or the NDC of a medication.
pub(super) fn procedure(text: &str) -> Result<String, String> {
    let code = text.to_ascii_uppercase();
    let is_procedure = match code.as_bytes() {
        [first, middle @ .., last] if middle.len() == 3 => {
            let digits = middle.iter().all(u8::is_ascii_digit);
            let ends = (first.is_ascii_digit() && last.is_ascii_alphanumeric())
                || (first.is_ascii_uppercase() && last.is_ascii_digit());
            digits && ends
        }
        _ => false,
    };
    let is_drug = {
        let digits = code.bytes().filter(u8::is_ascii_digit).count();
        let only = code
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
        only && (10..=11).contains(&digits) && code.len() <= 13
    };
    if is_procedure || is_drug {
        Ok(code)
    } else {
        Err(format!(
            "'{text}' is neither a CPT or HCPCS code (72148, J0135) nor an NDC (00074-4339-02)"
        ))
    }
}

/// An ICD-10 code with its dot: M54.16.
pub(super) fn diagnosis(text: &str) -> Result<String, String> {
    let code: String = text.replace('.', "").to_ascii_uppercase();
    let bytes = code.as_bytes();
    let shaped = (3..=7).contains(&bytes.len())
        && bytes[0].is_ascii_uppercase()
        && bytes[1].is_ascii_digit()
        && bytes.iter().all(u8::is_ascii_alphanumeric)
        && text.find('.').is_none_or(|dot| dot == 3 && text.len() > 4)
        && text.matches('.').count() <= 1;
    if !shaped {
        return Err(format!("'{text}' is not an ICD-10 code (M54.16)"));
    }
    let (category, rest) = code.split_at(3);
    Ok(match rest {
        "" => category.to_owned(),
        rest => format!("{category}.{rest}"),
    })
}

fn diagnoses(value: &Value) -> Result<Vec<String>, String> {
    let Value::Array(all) = value else {
        return Err("must be a list of ICD-10 codes".to_owned());
    };
    if all.len() > MOST_DIAGNOSES {
        return Err(format!("has more than {MOST_DIAGNOSES} codes"));
    }
    let mut codes: Vec<String> = Vec::with_capacity(all.len());
    for one in all {
        let code = diagnosis(text(one)?)?;
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    Ok(codes)
}

fn notes(value: &Value) -> Result<String, String> {
    let Value::String(text) = value else {
        return Err("must be a text".to_owned());
    };
    if text.chars().count() > LONGEST_NOTES {
        return Err(format!("is longer than {LONGEST_NOTES} characters"));
    }
    Ok(text.clone())
}

fn answers(value: &Value) -> Result<BTreeMap<String, String>, String> {
    let Value::Object(all) = value else {
        return Err("must be an object of questions and answers".to_owned());
    };
    if all.len() > MOST_ANSWERS {
        return Err(format!("has more than {MOST_ANSWERS} answers"));
    }
    all.iter()
        .map(|(question, answer)| {
            let answer = match answer {
                Value::Bool(true) => "Yes".to_owned(),
                Value::Bool(false) => "No".to_owned(),
                other => notes(other).map_err(|problem| format!("'{question}' {problem}"))?,
            };
            Ok((question.clone(), answer))
        })
        .collect()
}

fn attachment_list(value: &Value) -> Result<Vec<Value>, String> {
    let Value::Array(all) = value else {
        return Err("must be a list".to_owned());
    };
    attachments(&all.iter().collect::<Vec<_>>())
}

/// Attachments, each the name of a document or an object that says more. They are kept as they were
/// sent, so they are bounded together.
pub(super) fn attachments(all: &[&Value]) -> Result<Vec<Value>, String> {
    if all.len() > MOST_ATTACHMENTS {
        return Err(format!(
            "a request has at most {MOST_ATTACHMENTS} attachments"
        ));
    }
    let length: usize = all.iter().map(|one| one.to_string().len()).sum();
    if length > LARGEST_ATTACHMENTS {
        return Err(format!(
            "the attachments of a request have at most {LARGEST_ATTACHMENTS} bytes together"
        ));
    }
    all.iter().map(|one| attachment(one)).collect()
}

fn attachment(value: &Value) -> Result<Value, String> {
    match value {
        Value::String(name) if !name.trim().is_empty() => Ok(value.clone()),
        Value::Object(map) if !map.is_empty() => Ok(value.clone()),
        _ => Err("an attachment is a text or an object, and not empty".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn codes_are_told_from_other_texts() {
        for good in [
            "72148",
            "0042T",
            "3074F",
            "J0135",
            "j0135",
            "00074433902",
            "00074-4339-02",
        ] {
            assert!(procedure(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "7214",
            "721488",
            "JJ135",
            "MRI",
            "72-148",
            "-----------",
        ] {
            assert!(procedure(bad).is_err(), "{bad}");
        }
        for (given, kept) in [
            ("M54.16", "M54.16"),
            ("m5416", "M54.16"),
            ("I10", "I10"),
            ("S72.001A", "S72.001A"),
        ] {
            assert_eq!(diagnosis(given).as_deref(), Ok(kept));
        }
        for bad in [
            "", "M5", "54.16", "M.5416", "M54.", "M54.1.6", "M54 16", "Ä10",
        ] {
            assert!(diagnosis(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_code_that_was_taken_is_taken_again_unchanged(text in ".{0,14}") {
            if let Ok(code) = procedure(&text) {
                prop_assert_eq!(procedure(&code), Ok(code));
            }
            if let Ok(code) = diagnosis(&text) {
                prop_assert_eq!(diagnosis(&code), Ok(code));
            }
        }
    }
}
