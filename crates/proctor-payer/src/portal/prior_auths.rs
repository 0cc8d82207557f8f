//! Requests for prior authorization over REST.

use http::StatusCode;
use proctor_core::{problem::Problem, time::Timestamp};
use proctor_simulation::{
    exchange::{Request, Response},
    simulator::Around,
};
use serde_json::{Map, Value, json};

use super::{KIND, follow_up, listed, shown};
use crate::{
    desk::{Change, PayerDesk},
    handled::{Handled, Handling},
    intake,
    prior_auth::{Channel, PriorAuth, Status},
    records::fold,
    rules::ActionKind,
    x12::DeterminationStatus,
};

/// `GET portal/prior-auths`, newest first.
pub(super) fn list(desk: &PayerDesk, request: &Request, now: Timestamp) -> Handling {
    request.check_parameters(&[
        "status",
        "patient_member_id",
        "member_id",
        "provider_npi",
        "procedure_code",
    ])?;
    let stands = request
        .parameter("status")
        .map(|word| Standing::read(&word));
    let stands = stands.transpose()?;
    let member = request
        .parameter("patient_member_id")
        .or_else(|| request.parameter("member_id"));
    let npi = request.parameter("provider_npi");
    let code = request.parameter("procedure_code");
    let same = |wanted: Option<&String>, value: Option<&String>| {
        wanted.is_none_or(|wanted| value.is_some_and(|value| fold(value) == fold(wanted)))
    };
    let rows: Vec<Value> = desk
        .requests
        .iter()
        .rev()
        .filter(|one| stands.as_ref().is_none_or(|stands| stands.holds(one, now)))
        .filter(|one| same(member.as_ref(), one.patient_member_id.as_ref()))
        .filter(|one| same(npi.as_ref(), one.provider_npi.as_ref()))
        .filter(|one| same(code.as_ref(), one.procedure_code.as_ref()))
        .map(|one| one.view(now))
        .collect();
    Ok(listed(&rows))
}

/// What `status=` may ask for: where a request stands with its sender, or with the payer.
enum Standing {
    Sender(Status),
    Payer(DeterminationStatus),
}

impl Standing {
    fn read(word: &str) -> Result<Self, Box<Response>> {
        let value = || Value::String(word.to_owned());
        let sender = serde_json::from_value(value()).map(Self::Sender);
        let read = sender.or_else(|_| serde_json::from_value(value()).map(Self::Payer));
        read.map_err(|_| {
            let known = "draft, submitted, pending, approved, denied, need_more_info";
            let message = format!("'{word}' is none of {known}");
            invalid(&[Problem::error("status", message)])
        })
    }

    fn holds(&self, request: &PriorAuth, now: Timestamp) -> bool {
        match self {
            Self::Sender(status) => request.status == *status,
            Self::Payer(status) => request.standing(now) == Some(*status),
        }
    }
}

/// `POST portal/prior-auths`.
pub(super) fn create(desk: &PayerDesk, request: &Request, around: &Around<'_>) -> Handling {
    let now = around.now;
    let mut body = request.json()?;
    let mut problems = Vec::new();
    let status = match body.remove("status") {
        None | Some(Value::Null) => Status::Submitted,
        Some(value) => serde_json::from_value(value).unwrap_or_else(|_| {
            problems.push(Problem::error("status", "must be draft or submitted"));
            Status::Draft
        }),
    };
    let mut row = PriorAuth::draft(desk.new_request_id(0), Channel::Rest, now);
    fill_all(&mut row, &body, desk, &mut problems);
    if status == Status::Submitted {
        for missing in intake::missing(&row, desk) {
            // A field that is there but wrong was named already.
            if problems.iter().all(|named| named.path != missing.path) {
                problems.push(missing);
            }
        }
    }
    if !problems.is_empty() {
        return Err(invalid(&problems));
    }
    if status == Status::Submitted {
        desk.submit(&mut row, around.shared(), now);
    }
    Ok(stored(StatusCode::CREATED, None, row, now))
}

/// `GET portal/prior-auths/{id}`.
pub(super) fn show(desk: &PayerDesk, id: &str, now: Timestamp) -> Handling {
    let row = find(desk, id)?.view(now);
    Ok(shown(&row).telling("row", row))
}

/// `PATCH portal/prior-auths/{id}`: changes a draft.
pub(super) fn edit(desk: &PayerDesk, request: &Request, id: &str, now: Timestamp) -> Handling {
    let before = find_draft(desk, id)?;
    let mut row = before.clone();
    let mut problems = Vec::new();
    fill_all(&mut row, &request.json()?, desk, &mut problems);
    if !problems.is_empty() {
        return Err(invalid(&problems));
    }
    row.updated_at = now;
    Ok(stored(StatusCode::OK, Some(before), row, now))
}

/// `POST portal/prior-auths/{id}/submit`: sends a draft; fields may come along.
pub(super) fn submit(
    desk: &PayerDesk,
    request: &Request,
    id: &str,
    around: &Around<'_>,
) -> Handling {
    let now = around.now;
    let before = find_draft(desk, id)?;
    let mut row = before.clone();
    let mut problems = Vec::new();
    fill_all(&mut row, &request.json()?, desk, &mut problems);
    problems.extend(intake::missing(&row, desk));
    if !problems.is_empty() {
        return Err(invalid(&problems));
    }
    desk.submit(&mut row, around.shared(), now);
    Ok(stored(StatusCode::OK, Some(before), row, now))
}

/// `DELETE portal/prior-auths/{id}`: throws a draft away.
pub(super) fn discard(desk: &PayerDesk, id: &str, now: Timestamp) -> Handling {
    let before = find_draft(desk, id)?;
    Ok(Handled::look(KIND, Response::empty(StatusCode::NO_CONTENT))
        .telling("before", before.view(now))
        .telling("after", Value::Null)
        .with(Change::Discard {
            request_id: before.request_id.clone(),
        }))
}

/// `GET portal/prior-auths/{id}/attachments`.
pub(super) fn attachments(desk: &PayerDesk, id: &str) -> Handling {
    Ok(listed(&find(desk, id)?.attachments))
}

/// `POST portal/prior-auths/{id}/attachments`: one attachment, or `{attachments: […]}`; also after a
/// request was sent, when the payer wants to know more.
pub(super) fn attach(
    desk: &PayerDesk,
    request: &Request,
    id: &str,
    around: &Around<'_>,
) -> Handling {
    let now = around.now;
    let before = find(desk, id)?;
    let mut body = request.json()?;
    let more = match body.remove("attachments") {
        Some(Value::Array(all)) if body.is_empty() => all,
        Some(_) => {
            let problem = "must be a list, and the only field".to_owned();
            return Err(invalid(&[Problem::error("attachments", problem)]));
        }
        None => vec![Value::Object(body)],
    };
    let mut row = attached(before, &more, now)
        .map_err(|problem| invalid(&[Problem::error("attachments", problem)]))?;
    if row.standing(now) == Some(DeterminationStatus::NeedMoreInfo) {
        follow_up::look_again(desk, &mut row, ActionKind::Information, around);
    }
    Ok(stored(StatusCode::CREATED, Some(before), row, now))
}

/// The row with more attachments.
pub(crate) fn attached(
    before: &PriorAuth,
    more: &[Value],
    now: Timestamp,
) -> Result<PriorAuth, String> {
    let all: Vec<&Value> = before.attachments.iter().chain(more).collect();
    let mut row = before.clone();
    row.attachments = intake::attachments(&all)?;
    row.updated_at = now;
    Ok(row)
}

pub(super) fn find<'d>(desk: &'d PayerDesk, id: &str) -> Result<&'d PriorAuth, Box<Response>> {
    desk.request(id).ok_or_else(|| {
        Box::new(Response::not_found(format!(
            "no request has the id or authorization number '{id}'"
        )))
    })
}

fn find_draft<'d>(desk: &'d PayerDesk, id: &str) -> Result<&'d PriorAuth, Box<Response>> {
    let row = find(desk, id)?;
    match row.status {
        Status::Draft => Ok(row),
        Status::Submitted => Err(Box::new(Response::conflict(format!(
            "{} was submitted already; only a draft can be changed",
            row.request_id
        )))),
    }
}

pub(super) fn fill_all(
    row: &mut PriorAuth,
    body: &Map<String, Value>,
    desk: &PayerDesk,
    problems: &mut Vec<Problem>,
) {
    for (field, value) in body {
        if let Err(problem) = intake::fill(row, field, value, desk) {
            problems.push(Problem::error(field, problem));
        }
    }
}

pub(super) fn invalid(problems: &[Problem]) -> Box<Response> {
    Box::new(Response::invalid(problems))
}

/// The answer that shows a row as it is from now on.
pub(super) fn stored(
    status: StatusCode,
    before: Option<&PriorAuth>,
    row: PriorAuth,
    now: Timestamp,
) -> Handled {
    let view = row.view(now);
    Handled::look(KIND, Response::json(status, &view))
        .telling("before", json!(before.map(|one| one.view(now))))
        .telling("after", view)
        .with(Change::Request(Box::new(row)))
}
