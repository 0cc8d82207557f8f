//! Claims as the payer shows them. They come in through the clearinghouse; portal and clearinghouse show the same rows.

use proctor_core::time::Timestamp;
use proctor_simulation::exchange::{Request, Response};
use serde_json::Value;

use super::{listed, shown};
use crate::{desk::PayerDesk, handled::Handling, records::fold};

/// The most rows that one list shows.
const MOST_SHOWN: usize = 100;

/// `GET portal/claims?patient_account=&member_id=&status=`, newest first.
pub(super) fn list(desk: &PayerDesk, request: &Request, now: Timestamp) -> Handling {
    request.check_parameters(&["patient_account", "member_id", "status"])?;
    Ok(listed(&claim_rows(desk, request, now)))
}

/// `GET portal/claims/{claim_id or patient_account}`.
pub(super) fn show(desk: &PayerDesk, request: &Request, id: &str, now: Timestamp) -> Handling {
    request.check_parameters(&[])?;
    let row = claim_row(desk, id, now)?;
    Ok(shown(&row).telling("row", row))
}

/// The rows that a request's parameters ask for, newest first.
pub(crate) fn claim_rows(desk: &PayerDesk, request: &Request, now: Timestamp) -> Vec<Value> {
    let wanted = ["patient_account", "member_id", "status"].map(|name| {
        let given = request.parameter(name).filter(|text| !text.is_empty());
        (name, given.map(|text| fold(&text)))
    });
    let rows = desk.claim_rows(now).into_iter().rev().map(|(_, row)| row);
    let fits = |row: &Value| {
        wanted.iter().all(|(name, wanted)| {
            let given = row.get(*name).and_then(Value::as_str).unwrap_or_default();
            wanted.as_ref().is_none_or(|wanted| fold(given) == *wanted)
        })
    };
    rows.filter(fits).take(MOST_SHOWN).collect()
}

/// The newest row that goes by a number, the payer's or the provider's.
pub(crate) fn claim_row(
    desk: &PayerDesk,
    id: &str,
    now: Timestamp,
) -> Result<Value, Box<Response>> {
    let wanted = fold(id);
    let mut rows = desk.claim_rows(now).into_iter().rev();
    let found = rows.find(|(key, row)| {
        let account = row.get("patient_account").and_then(Value::as_str);
        fold(key) == wanted || account.is_some_and(|account| fold(account) == wanted)
    });
    match found {
        Some((_, row)) => Ok(row),
        None => Err(Box::new(Response::not_found(format!(
            "no claim has the number '{id}'"
        )))),
    }
}
