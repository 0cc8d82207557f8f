//! What providers do after a request was sent: more information, a talk between physicians, an appeal, a withdrawal.

use http::StatusCode;
use proctor_core::{problem::Problem, time::Timestamp};
use proctor_simulation::{
    exchange::{Request, Response},
    simulator::Around,
};
use serde_json::{Map, Value};

use super::prior_auths::{attached, fill_all, find, invalid, stored};
use crate::{
    desk::PayerDesk,
    handled::Handling,
    prior_auth::{Action, PriorAuth, Status},
    rules::ActionKind,
    x12::DeterminationStatus,
};

/// The most that may be done about one request.
const MOST_ACTIONS: usize = 50;
/// The most characters that a provider writes at once.
const LONGEST_TEXT: usize = 20_000;

/// `POST portal/prior-auths/{id}/information`: what the payer asked for, while it has not decided.
pub(super) fn information(
    desk: &PayerDesk,
    request: &Request,
    id: &str,
    around: &Around<'_>,
) -> Handling {
    let now = around.now;
    let before = find_sent(desk, id)?;
    let wanted = [
        DeterminationStatus::NeedMoreInfo,
        DeterminationStatus::Pending,
    ];
    must_stand(before, &wanted, "information can be sent", now)?;
    let mut body = request.json()?;
    let mut row = before.clone();
    let more = take_attachments(&mut body)?;
    let text = take_text(&mut body, "clinical_notes")?;
    let mut problems = Vec::new();
    let answers = body.remove("clinical_answers");
    refuse_rest(&body, &mut problems);
    if let Some(answers) = answers {
        let earlier = row.clinical_answers.clone();
        let given = Map::from_iter([("clinical_answers".to_owned(), answers)]);
        fill_all(&mut row, &given, desk, &mut problems);
        for (question, answer) in earlier {
            row.clinical_answers.entry(question).or_insert(answer);
        }
    }
    if !problems.is_empty() {
        return Err(invalid(&problems));
    }
    if text.is_none() && more.is_empty() && row.clinical_answers == before.clinical_answers {
        let message = "clinical_answers, clinical_notes or attachments are required";
        return Err(invalid(&[Problem::error("clinical_answers", message)]));
    }
    act(
        desk,
        before,
        &row,
        ActionKind::Information,
        text,
        more,
        around,
    )
}

/// `POST portal/prior-auths/{id}/peer-to-peer`: the physicians talk; what was said counts as a note.
pub(super) fn peer_to_peer(
    desk: &PayerDesk,
    request: &Request,
    id: &str,
    around: &Around<'_>,
) -> Handling {
    let before = find_sent(desk, id)?;
    let wanted = [
        DeterminationStatus::Denied,
        DeterminationStatus::NeedMoreInfo,
        DeterminationStatus::Pending,
    ];
    must_stand(before, &wanted, "a peer-to-peer can be held", around.now)?;
    let (text, more) = said(request, "notes")?;
    act(
        desk,
        before,
        before,
        ActionKind::PeerToPeer,
        Some(text),
        more,
        around,
    )
}

/// `POST portal/prior-auths/{id}/appeals`: a denial is disputed.
pub(super) fn appeal(
    desk: &PayerDesk,
    request: &Request,
    id: &str,
    around: &Around<'_>,
) -> Handling {
    let before = find_sent(desk, id)?;
    must_stand(
        before,
        &[DeterminationStatus::Denied],
        "an appeal can be made",
        around.now,
    )?;
    let (text, more) = said(request, "reason")?;
    act(
        desk,
        before,
        before,
        ActionKind::Appeal,
        Some(text),
        more,
        around,
    )
}

/// `POST portal/prior-auths/{id}/withdraw`: the provider no longer asks.
pub(super) fn withdraw(desk: &PayerDesk, request: &Request, id: &str, now: Timestamp) -> Handling {
    let before = find_sent(desk, id)?;
    let mut body = request.json()?;
    let reason = take_text(&mut body, "reason")?;
    let mut problems = Vec::new();
    refuse_rest(&body, &mut problems);
    if !problems.is_empty() {
        return Err(invalid(&problems));
    }
    let mut row = before.clone();
    row.withdrawn_at = Some(now);
    row.updated_at = now;
    if let Some(reason) = reason {
        row.extra
            .insert("withdrawal_reason".to_owned(), reason.into());
    }
    Ok(stored(StatusCode::OK, Some(before), row, now))
}

/// Lets the payer look at a request again; whether it decides anew.
pub(super) fn look_again(
    desk: &PayerDesk,
    row: &mut PriorAuth,
    kind: ActionKind,
    around: &Around<'_>,
) -> bool {
    if !desk.blueprint.rules.look_again() {
        return false;
    }
    let (chart, now) = (around.shared(), around.now);
    let outcome = desk.reconsidered(kind, row, chart, now).or_else(|| {
        // What the payer asked for may let another rule decide.
        let again = || desk.decided(row, chart, now);
        (kind == ActionKind::Information).then(again)
    });
    let known = row.decision.as_ref().map(|decision| &decision.outcome);
    match outcome.filter(|outcome| known != Some(outcome)) {
        Some(outcome) => {
            row.decide_anew(outcome, now);
            true
        }
        None => false,
    }
}

fn act(
    desk: &PayerDesk,
    before: &PriorAuth,
    row: &PriorAuth,
    kind: ActionKind,
    text: Option<String>,
    more: Vec<Value>,
    around: &Around<'_>,
) -> Handling {
    let now = around.now;
    if row.actions.len() >= MOST_ACTIONS {
        return Err(Box::new(Response::conflict(format!(
            "at most {MOST_ACTIONS} things can be done about a request"
        ))));
    }
    let mut row = attached(row, &more, now)
        .map_err(|problem| invalid(&[Problem::error("attachments", problem)]))?;
    row.actions.push(Action {
        kind,
        text,
        attachments: more,
        is_decided_anew: false,
        at: now,
    });
    let is_decided_anew = look_again(desk, &mut row, kind, around);
    if let Some(last) = row.actions.last_mut() {
        last.is_decided_anew = is_decided_anew;
    }
    Ok(stored(StatusCode::CREATED, Some(before), row, now))
}

/// A request that was sent and not withdrawn.
fn find_sent<'d>(desk: &'d PayerDesk, id: &str) -> Result<&'d PriorAuth, Box<Response>> {
    let row = find(desk, id)?;
    let why = match (row.status, row.withdrawn_at) {
        (Status::Draft, _) => "is a draft; submit it first",
        (Status::Submitted, Some(_)) => "was withdrawn",
        (Status::Submitted, None) => return Ok(row),
    };
    let message = format!("{} {why}", row.request_id);
    Err(Box::new(Response::conflict(message)))
}

fn must_stand(
    row: &PriorAuth,
    wanted: &[DeterminationStatus],
    what: &str,
    now: Timestamp,
) -> Result<(), Box<Response>> {
    let standing = row.standing(now);
    if standing.is_some_and(|standing| wanted.contains(&standing)) {
        return Ok(());
    }
    let words: Vec<&str> = wanted.iter().map(|one| word(*one)).collect();
    let message = format!(
        "{what} only while a request is {}; {} is {}",
        words.join(" or "),
        row.request_id,
        standing.map_or("not decided", word)
    );
    Err(Box::new(Response::conflict(message)))
}

/// The word for a decision on the wire.
fn word(status: DeterminationStatus) -> &'static str {
    match status {
        DeterminationStatus::Approved => "approved",
        DeterminationStatus::PartiallyApproved => "partially_approved",
        DeterminationStatus::Denied => "denied",
        DeterminationStatus::Pending => "pending",
        DeterminationStatus::NeedMoreInfo => "need_more_info",
        DeterminationStatus::Modified => "modified",
    }
}

/// A text that must be there, and what is attached to it.
fn said(request: &Request, field: &'static str) -> Result<(String, Vec<Value>), Box<Response>> {
    let mut body = request.json()?;
    let more = take_attachments(&mut body)?;
    let text = take_text(&mut body, field)?;
    let mut problems = Vec::new();
    refuse_rest(&body, &mut problems);
    if text.is_none() {
        problems.push(Problem::error(field, "is required"));
    }
    match (text, problems.is_empty()) {
        (Some(text), true) => Ok((text, more)),
        _ => Err(invalid(&problems)),
    }
}

fn take_text(body: &mut Map<String, Value>, field: &str) -> Result<Option<String>, Box<Response>> {
    let refuse = |message: String| invalid(&[Problem::error(field, message)]);
    match body.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => {
            Err(refuse("must not be empty".to_owned()))
        }
        Some(Value::String(text)) if text.chars().count() > LONGEST_TEXT => {
            Err(refuse(format!("is longer than {LONGEST_TEXT} characters")))
        }
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(refuse("must be a text".to_owned())),
    }
}

fn take_attachments(body: &mut Map<String, Value>) -> Result<Vec<Value>, Box<Response>> {
    match body.remove("attachments") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(all)) => Ok(all),
        Some(_) => Err(invalid(&[Problem::error("attachments", "must be a list")])),
    }
}

fn refuse_rest(body: &Map<String, Value>, problems: &mut Vec<Problem>) {
    let unknown = body.keys();
    problems.extend(unknown.map(|name| Problem::error(name, "is not known here")));
}
