//! Pages that show what there is: requests, drafts, one request, the formulary.

use http::StatusCode;
use proctor_core::time::Timestamp;
use serde_json::{Value, json};

use super::{
    form::{Form, Shortcomings},
    session::Session,
    site::{Site, segment},
    templates::{FormularyPage, Line, Medication, RequestPage, RequestsPage},
    wizard,
    words::{self, Step},
};
use crate::{
    desk::Change,
    handled::Handled,
    portal,
    prior_auth::{PriorAuth, Status},
    records::fold,
};

/// `requests`: what was sent.
pub(super) fn requests(site: &Site<'_>, session: &Session) -> Handled {
    list(site, session, Status::Submitted)
}

/// `drafts`: what was begun.
pub(super) fn drafts(site: &Site<'_>, session: &Session) -> Handled {
    list(site, session, Status::Draft)
}

fn list(site: &Site<'_>, session: &Session, status: Status) -> Handled {
    let wanted = |name| site.request.parameter(name).unwrap_or_default();
    let (member_id, decision) = (wanted("member_id"), wanted("status"));
    let decided = words::DECISIONS.iter().find(|(word, ..)| *word == decision);
    let fits = |one: &&PriorAuth| {
        let member = one.patient_member_id.as_deref().unwrap_or_default();
        one.status == status
            && (member_id.trim().is_empty() || fold(&member_id) == fold(member))
            && decided.is_none_or(|(_, wanted, _)| one.standing(site.now) == Some(*wanted))
    };
    let all = site.desk.requests.iter().rev().filter(fits);
    let rows: Vec<Line> = all.map(|one| line(site, one)).collect();
    let (title, here, is_drafts) = match status {
        Status::Submitted => ("Requests", "requests", false),
        Status::Draft => ("Drafts", "drafts", true),
    };
    let count = rows.len();
    let page = RequestsPage {
        frame: site.frame(title, session),
        notice: match site.request.parameter("done").as_deref() {
            Some("discarded") => "The draft is gone.",
            _ => "",
        },
        here,
        is_drafts,
        member_id,
        status: decision,
        decisions: words::DECISIONS
            .iter()
            .map(|(word, _, name)| (*word, *name))
            .collect(),
        rows,
    };
    site.page(StatusCode::OK, title, &page)
        .telling("count", count)
}

fn line(site: &Site<'_>, request: &PriorAuth) -> Line {
    Line {
        id: segment(&request.request_id),
        name: request
            .number_shown(site.now)
            .map_or_else(|| request.request_id.clone(), str::to_owned),
        patient: patient_name(site, request),
        service: service_name(site, request),
        status: match request.status {
            Status::Draft => "Draft",
            Status::Submitted => "Submitted",
        },
        decision: request.standing(site.now).map_or("", words::decision),
        changed: people_time(request.changed_at(site.now)),
        next: wizard::next_step(site, request),
    }
}

/// An instant for people: to the minute, in UTC.
fn people_time(at: Timestamp) -> String {
    let text = at.to_string();
    let minutes = text.get(..16).unwrap_or(&text);
    format!("{} UTC", minutes.replace('T', " "))
}

/// A patient by name and id.
pub(super) fn patient_name(site: &Site<'_>, request: &PriorAuth) -> String {
    let Some(id) = &request.patient_member_id else {
        return String::new();
    };
    let found = portal::find_patients(site.desk, Some(id), None, None, site.now);
    let text = |name: &str| {
        let value = found.first().and_then(|one| one.get(name));
        value.and_then(Value::as_str).unwrap_or_default()
    };
    match (text("first_name"), text("last_name")) {
        ("", "") => id.clone(),
        (first, last) => format!("{first} {last} ({id})"),
    }
}

fn service_name(site: &Site<'_>, request: &PriorAuth) -> String {
    let codes = request.procedure_codes();
    let names = codes.iter().map(|code| {
        let mut items = site.desk.blueprint.items.iter();
        match items.find(|one| fold(&one.code) == fold(code)) {
            Some(item) => format!("{code} – {}", item.name),
            None => (*code).to_owned(),
        }
    });
    names.collect::<Vec<_>>().join("; ")
}

/// A provider by name and NPI.
pub(super) fn provider_name(site: &Site<'_>, request: &PriorAuth) -> String {
    let Some(npi) = &request.provider_npi else {
        return String::new();
    };
    let found = portal::find_providers(site.desk, Some(npi), None);
    let name = found.first().and_then(|one| one.get("name"));
    match name.and_then(Value::as_str) {
        Some(name) => format!("{name} (NPI {npi})"),
        None => format!("NPI {npi}"),
    }
}

/// What a request says, for people.
pub(super) fn facts(site: &Site<'_>, request: &PriorAuth) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    add("Patient", patient_name(site, request));
    add(site.words.provider, provider_name(site, request));
    add(site.words.service, service_name(site, request));
    add("Diagnosis codes", request.diagnosis_codes.join(", "));
    for (id, answer) in &request.clinical_answers {
        let mut questions = site.desk.questions().iter();
        let question = questions.find(|one| one.id == *id);
        add(question.map_or(id, |one| &one.text), answer.clone());
    }
    add(
        "Clinical notes",
        request.clinical_notes.clone().unwrap_or_default(),
    );
    let documents = request.attachments.iter().map(|one| match one {
        Value::String(name) => name.clone(),
        other => match other.get("name").and_then(Value::as_str) {
            Some(name) => name.to_owned(),
            None => other.to_string(),
        },
    });
    add("Documents", documents.collect::<Vec<_>>().join("\n"));
    facts
}

/// `requests/{id}`.
pub(super) fn request(site: &Site<'_>, session: &Session, id: &str) -> Handled {
    match site.desk.request(id) {
        Some(row) => {
            let notice = match site.request.parameter("done").as_deref() {
                Some("sent") => format!(
                    "The request was submitted. Authorization number: {}.",
                    row.number_shown(site.now).unwrap_or("none")
                ),
                Some("document") => "The document was added.".to_owned(),
                _ => String::new(),
            };
            request_page(
                site,
                session,
                row,
                StatusCode::OK,
                notice,
                Shortcomings::default(),
            )
        }
        None => unknown(site, session, id),
    }
}

/// 404 for a request that is not there.
pub(super) fn unknown(site: &Site<'_>, session: &Session, id: &str) -> Handled {
    site.message(
        StatusCode::NOT_FOUND,
        "Not found",
        format!("No request has the id or authorization number {id}."),
        session,
    )
}

fn request_page(
    site: &Site<'_>,
    session: &Session,
    row: &PriorAuth,
    status: StatusCode,
    notice: String,
    problems: Shortcomings,
) -> Handled {
    let now = site.now;
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| all.push((name.to_owned(), value));
    add("Request ID", row.request_id.clone());
    add(
        "Authorization number",
        row.number_shown(now).unwrap_or_default().to_owned(),
    );
    add(
        "Status",
        match row.status {
            Status::Draft => "Draft".to_owned(),
            Status::Submitted => "Submitted".to_owned(),
        },
    );
    let decision = row.standing(now).map_or("", words::decision);
    add("Decision", decision.to_owned());
    add("Reason", row.reason(now).unwrap_or_default().to_owned());
    add(
        "Submitted",
        row.submitted_at.map(people_time).unwrap_or_default(),
    );
    add("Last change", people_time(row.changed_at(now)));
    all.extend(facts(site, row));
    let title = "Prior authorization request";
    let page = RequestPage {
        frame: site.frame(title, session),
        notice,
        problems,
        id: segment(&row.request_id),
        is_draft: row.status == Status::Draft,
        next: wizard::next_step(site, row),
        facts: all,
    };
    site.page(status, title, &page)
        .telling("row", row.view(now))
}

/// `requests/{id}/documents`: adds a document, before or after a request was sent.
pub(super) fn add_document(site: &Site<'_>, session: &Session, id: &str, form: &Form) -> Handled {
    let Some(before) = site.desk.request(id) else {
        return unknown(site, session, id);
    };
    let name = form.get("name");
    let content = form.lines("content");
    let mut problems = Shortcomings::default();
    if name.is_empty() {
        problems.add("name", "Document name", "is required");
    }
    let document = json!({"name": name, "content": content});
    let row = portal::attached(before, &[document], site.now);
    let row = row.map_err(|problem| problems.add("content", "Document", problem));
    match row {
        Ok(row) if problems.is_empty() => {
            let to = format!("requests/{}?done=document", segment(&row.request_id));
            site.saved(Some(before), row, &to)
        }
        _ => {
            let status = StatusCode::BAD_REQUEST;
            request_page(site, session, before, status, String::new(), problems)
        }
    }
}

/// `requests/{id}/discard`: throws a draft away.
pub(super) fn discard(site: &Site<'_>, session: &Session, id: &str) -> Handled {
    match site.desk.request(id) {
        None => unknown(site, session, id),
        Some(row) if row.status == Status::Submitted => wizard::was_sent(site, session),
        Some(row) => site
            .redirect("drafts?done=discarded")
            .telling("before", row.view(site.now))
            .telling("after", Value::Null)
            .with(Change::Discard {
                request_id: row.request_id.clone(),
            }),
    }
}

/// `formulary`: what the plan covers.
pub(super) fn formulary(site: &Site<'_>, session: &Session) -> Handled {
    let q = site.request.parameter("q").unwrap_or_default();
    let wanted = q.trim().to_lowercase();
    let items = site.desk.blueprint.items.iter();
    let items = items
        .filter(|one| {
            one.name.to_lowercase().contains(&wanted) || one.code.to_lowercase().contains(&wanted)
        })
        .map(|one| Medication {
            code: &one.code,
            name: &one.name,
            note: one.note.as_deref().unwrap_or("Prior authorization"),
        });
    let page = FormularyPage {
        frame: site.frame("Formulary", session),
        items: items.collect(),
        q,
    };
    site.page(StatusCode::OK, "Formulary", &page)
}

/// The first step at which a draft lacks something.
pub(super) fn first_gap(site: &Site<'_>, row: &PriorAuth) -> Step {
    if row.patient_member_id.is_none() {
        Step::Patient
    } else if row.procedure_code.is_none() && site.words.has_formulary {
        Step::Medication
    } else if row.provider_npi.is_none() {
        Step::Prescriber
    } else if row.procedure_code.is_none() || row.diagnosis_codes.is_empty() {
        Step::Clinical
    } else {
        Step::Summary
    }
}
