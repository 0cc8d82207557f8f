//! From the form of a step to the fields of a request.

use proctor_core::problem::Problem;
use serde_json::{Value, json};

use super::{
    form::{Form, Shortcomings},
    site::Site,
    words::Step,
};
use crate::{intake, prior_auth::PriorAuth};

/// Takes over what a step's form says, and tells what is wrong with it.
pub(super) fn fill(site: &Site<'_>, row: &mut PriorAuth, step: Step, form: &Form) -> Shortcomings {
    let mut problems = Shortcomings::default();
    let mut set = |row: &mut PriorAuth, field: &str, value: Value| {
        fill_one(site, row, field, &value, &mut problems);
    };
    match step {
        Step::Patient => {
            if !form.get("patient_member_id").is_empty() {
                set(row, "patient_member_id", form.value("patient_member_id"));
            }
        }
        Step::Prescriber => {
            let entered = ["npi", "provider_npi"].into_iter();
            let mut entered = entered.filter(|field| !form.get(field).is_empty());
            if let Some(field) = entered.next() {
                set(row, "provider_npi", form.value(field));
            }
        }
        Step::Medication => {
            set(row, "procedure_code", form.value("procedure_code"));
            let answers = answered(
                row,
                form,
                [("quantity", "quantity"), ("days_supply", "days_supply")],
            );
            set(row, "clinical_answers", answers);
        }
        Step::Clinical => {
            if !site.words.has_formulary {
                set(row, "procedure_code", form.value("procedure_code"));
            }
            let codes = form.get("diagnosis_codes").split([',', ';', ' ']);
            let codes: Vec<&str> = codes
                .map(str::trim)
                .filter(|code| !code.is_empty())
                .collect();
            set(row, "diagnosis_codes", json!(codes));
            let notes = form.lines("clinical_notes");
            let notes = Some(notes).filter(|notes| !notes.is_empty());
            set(row, "clinical_notes", json!(notes));
            let names: Vec<(String, &str)> = site
                .desk
                .questions()
                .iter()
                .map(|one| (field_of(&one.id), one.id.as_str()))
                .collect();
            let pairs = names.iter().map(|(field, id)| (field.as_str(), *id));
            let answers = answered(row, form, pairs);
            set(row, "clinical_answers", answers);
        }
        Step::Summary => {
            for Problem { path, message, .. } in intake::missing(row, site.desk) {
                problems.add(&path, &label_of(site, &path), message);
            }
            return problems;
        }
    }
    require(site, row, step, &mut problems);
    problems
}

/// What a step cannot do without. Everything else may wait until the request is sent.
fn require(site: &Site<'_>, row: &PriorAuth, step: Step, problems: &mut Shortcomings) {
    let (field, is_there) = match step {
        Step::Patient => ("patient_member_id", row.patient_member_id.is_some()),
        Step::Prescriber => ("provider_npi", row.provider_npi.is_some()),
        Step::Medication => ("procedure_code", row.procedure_code.is_some()),
        Step::Clinical | Step::Summary => return,
    };
    if !is_there && problems.of(field).is_empty() {
        problems.add(field, &label_of(site, field), "is required");
    }
}

pub(super) fn fill_one(
    site: &Site<'_>,
    row: &mut PriorAuth,
    field: &str,
    value: &Value,
    problems: &mut Shortcomings,
) {
    if let Err(problem) = intake::fill(row, field, value, site.desk) {
        problems.add(field, &label_of(site, field), problem);
    }
}

/// The request's answers with those of a form; an answer that was emptied is none.
fn answered<'f>(
    row: &PriorAuth,
    form: &Form,
    fields: impl IntoIterator<Item = (&'f str, &'f str)>,
) -> Value {
    let mut answers = row.clinical_answers.clone();
    for (field, id) in fields {
        match form.get(field) {
            "" => answers.remove(id),
            text => answers.insert(id.to_owned(), text.to_owned()),
        };
    }
    json!(answers)
}

/// The name of a question's field in forms.
pub(super) fn field_of(id: &str) -> String {
    format!("answer_{id}")
}

fn label_of(site: &Site<'_>, field: &str) -> String {
    let label = match field {
        "patient_member_id" => "Patient",
        "provider_npi" => site.words.provider,
        "procedure_code" => site.words.service,
        "diagnosis_codes" => "Diagnosis codes",
        "clinical_notes" => "Clinical notes",
        "clinical_answers" => "Answers",
        other => {
            let id = other.trim_start_matches("clinical_answers.");
            let mut questions = site.desk.questions().iter();
            let question = questions.find(|one| one.id == id);
            question.map_or(other, |one| &one.text)
        }
    };
    label.to_owned()
}
