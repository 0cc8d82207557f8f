//! A request, step by step. Every step is saved as it is sent: the request is a draft until its
//! summary is confirmed.

use http::StatusCode;
use serde_json::Value;

use super::{
    filling::{field_of, fill, fill_one},
    form::{Form, Shortcomings},
    lists,
    session::Session,
    site::{Site, segment},
    templates::{
        Asked, Choice, ClinicalPage, MedicationPage, PatientPage, PrescriberPage, SummaryPage,
    },
    words::Step,
};
use crate::{
    handled::Handled,
    portal,
    prior_auth::{Channel, PriorAuth, Status},
};

/// What a page of a step shows: what was entered, or what the request has.
struct View<'v> {
    row: Option<&'v PriorAuth>,
    form: Option<&'v Form>,
    problems: Shortcomings,
}

impl View<'_> {
    fn entered(&self, field: &str, kept: Option<&String>) -> String {
        match self.form {
            Some(form) => form.get(field).to_owned(),
            None => kept.cloned().unwrap_or_default(),
        }
    }

    fn answer(&self, field: &str, id: &str) -> String {
        let kept = self.row.and_then(|row| row.clinical_answers.get(id));
        self.entered(field, kept)
    }

    fn status(&self) -> StatusCode {
        match self.problems.is_empty() {
            true => StatusCode::OK,
            false => StatusCode::BAD_REQUEST,
        }
    }
}

/// The place in addresses of the step that a draft is at.
pub(super) fn next_step(site: &Site<'_>, row: &PriorAuth) -> &'static str {
    site.words.named(lists::first_gap(site, row)).slug
}

/// `requests/new/patient`.
pub(super) fn new_request(site: &Site<'_>, session: &Session) -> Handled {
    let view = View {
        row: None,
        form: None,
        problems: Shortcomings::default(),
    };
    patient_page(site, session, view, "requests/new/patient".to_owned())
}

/// The first step is sent: the draft begins.
pub(super) fn begin(site: &Site<'_>, session: &Session, form: &Form) -> Handled {
    let mut row = PriorAuth::draft(site.desk.new_request_id(0), Channel::Web, site.now);
    let mut problems = fill(site, &mut row, Step::Patient, form);
    if !form.get("procedure_code").is_empty() {
        let code = form.value("procedure_code");
        fill_one(site, &mut row, "procedure_code", &code, &mut problems);
    }
    if problems.is_empty() {
        let next = site.words.after(Step::Patient).slug;
        let to = format!("requests/{}/{next}", segment(&row.request_id));
        return site.saved(None, row, &to);
    }
    let view = View {
        row: None,
        form: Some(form),
        problems,
    };
    patient_page(site, session, view, "requests/new/patient".to_owned())
}

/// A step of a draft.
pub(super) fn show(site: &Site<'_>, session: &Session, id: &str, step: Step) -> Handled {
    match site.desk.request(id) {
        None => lists::unknown(site, session, id),
        Some(row) if row.status == Status::Submitted => {
            site.redirect(&format!("requests/{}", segment(&row.request_id)))
        }
        Some(row) => {
            let view = View {
                row: Some(row),
                form: None,
                problems: Shortcomings::default(),
            };
            step_page(site, session, row, step, view)
        }
    }
}

/// A step of a draft is sent.
pub(super) fn save(
    site: &Site<'_>,
    session: &Session,
    id: &str,
    step: Step,
    form: &Form,
) -> Handled {
    let Some(before) = site.desk.request(id) else {
        return lists::unknown(site, session, id);
    };
    if before.status == Status::Submitted {
        return was_sent(site, session);
    }
    let mut row = before.clone();
    let problems = fill(site, &mut row, step, form);
    if !problems.is_empty() {
        let view = View {
            row: Some(before),
            form: Some(form),
            problems,
        };
        return step_page(site, session, before, step, view);
    }
    let id = segment(&row.request_id);
    let to = match step {
        Step::Summary => {
            site.desk.submit(&mut row, site.chart, site.now);
            format!("requests/{id}?done=sent")
        }
        _ => {
            row.updated_at = site.now;
            format!("requests/{id}/{}", site.words.after(step).slug)
        }
    };
    site.saved(Some(before), row, &to)
}

/// 409 for what can only be done to a draft.
pub(super) fn was_sent(site: &Site<'_>, session: &Session) -> Handled {
    site.message(
        StatusCode::CONFLICT,
        "Already submitted",
        "This request was submitted already; only a draft can be changed.",
        session,
    )
}

fn step_page(
    site: &Site<'_>,
    session: &Session,
    row: &PriorAuth,
    step: Step,
    view: View<'_>,
) -> Handled {
    let named = site.words.named(step);
    let here = format!("requests/{}/{}", segment(&row.request_id), named.slug);
    let frame = site.frame(named.name, session);
    let steps = site.marks(step);
    let status = view.status();
    let items = site.desk.blueprint.items.as_slice();
    let handled = match step {
        Step::Patient => return patient_page(site, session, view, here),
        Step::Prescriber => {
            let provider_name = site.request.parameter("provider_name").unwrap_or_default();
            let is_search = !provider_name.trim().is_empty();
            let found = match is_search {
                true => portal::find_providers(site.desk, None, Some(&provider_name)),
                false => Vec::new(),
            };
            let page = PrescriberPage {
                npi: view.entered("npi", None),
                current: lists::provider_name(site, row),
                frame,
                steps,
                here,
                is_search,
                found: choices(&found, "npi", &["name"], "specialty"),
                provider_name,
                problems: view.problems,
            };
            site.page(status, named.name, &page)
        }
        Step::Medication => {
            let page = MedicationPage {
                procedure_code: view.entered("procedure_code", row.procedure_code.as_ref()),
                quantity: view.answer("quantity", "quantity"),
                days_supply: view.answer("days_supply", "days_supply"),
                frame,
                steps,
                here,
                items,
                problems: view.problems,
            };
            site.page(status, named.name, &page)
        }
        Step::Clinical => {
            let questions = site.desk.questions().iter().map(|one| {
                let name = field_of(&one.id);
                Asked {
                    answer: view.answer(&name, &one.id),
                    name,
                    text: &one.text,
                    options: &one.options,
                }
            });
            let page = ClinicalPage {
                asks_for_item: !site.words.has_formulary,
                procedure_code: view.entered("procedure_code", row.procedure_code.as_ref()),
                diagnosis_codes: view
                    .entered("diagnosis_codes", Some(&row.diagnosis_codes.join(", "))),
                questions: questions.collect(),
                clinical_notes: view.entered("clinical_notes", row.clinical_notes.as_ref()),
                frame,
                steps,
                here,
                items,
                problems: view.problems,
            };
            site.page(status, named.name, &page)
        }
        Step::Summary => {
            let page = SummaryPage {
                frame,
                steps,
                here,
                id: segment(&row.request_id),
                facts: lists::facts(site, row),
                problems: view.problems,
            };
            site.page(status, named.name, &page)
        }
    };
    handled.telling("request_id", row.request_id.as_str())
}

fn patient_page(site: &Site<'_>, session: &Session, view: View<'_>, here: String) -> Handled {
    let wanted = |name| site.request.parameter(name).unwrap_or_default();
    let (member_id, last_name, dob) = (wanted("member_id"), wanted("last_name"), wanted("dob"));
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let criteria = (given(&member_id), given(&last_name), given(&dob));
    let is_search = criteria != (None, None, None);
    let found = match is_search {
        true => portal::find_patients(
            site.desk,
            criteria.0.as_deref(),
            criteria.1.as_deref(),
            criteria.2.as_deref(),
            site.now,
        ),
        false => Vec::new(),
    };
    let title = site.words.named(Step::Patient).name;
    let status = view.status();
    let page = PatientPage {
        frame: site.frame(title, session),
        steps: site.marks(Step::Patient),
        here,
        current: view
            .row
            .map_or_else(String::new, |row| lists::patient_name(site, row)),
        has_members: site.desk.has_members(),
        is_search,
        found: choices(&found, "member_id", &["first_name", "last_name"], "dob"),
        procedure_code: match view.form {
            Some(form) => form.get("procedure_code").to_owned(),
            None => wanted("procedure_code"),
        },
        problems: view.problems,
        member_id,
        last_name,
        dob,
    };
    site.page(status, title, &page)
}

/// Records to choose from; those without an id cannot be chosen.
fn choices(records: &[Value], id: &str, name: &[&str], detail: &str) -> Vec<Choice> {
    let text = |record: &Value, field: &str| {
        let value = record.get(field).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    records
        .iter()
        .map(|record| {
            let parts: Vec<String> = name.iter().map(|field| text(record, field)).collect();
            Choice {
                id: text(record, id),
                name: parts.join(" ").trim().to_owned(),
                detail: text(record, detail),
            }
        })
        .filter(|choice| !choice.id.is_empty())
        .collect()
}
