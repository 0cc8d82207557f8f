//! The portal's REST interface. Whoever reaches the playground may use it: the pages have a login,
//! these routes need none.

mod claims;
mod directory;
mod follow_up;
mod prior_auths;
mod tools;

use http::{Method, StatusCode};
use proctor_simulation::{
    exchange::{Request, Response},
    simulator::Around,
};
use serde_json::{Value, json};

use super::{desk::PayerDesk, handled::Handled, handled::Handling, nothing_here};

pub(super) use claims::{claim_row, claim_rows};
pub(super) use directory::{find_patients, find_providers};
pub(super) use prior_auths::attached;
pub(super) use tools::TOOLS;

/// What events of the REST interface are called.
pub(super) const KIND: &str = "portal_request";

/// Answers a request below `portal/`.
pub(super) fn handle(
    desk: &PayerDesk,
    request: &Request,
    path: &[&str],
    around: &Around<'_>,
) -> Handling {
    let now = around.now;
    let is_look = matches!(request.method, Method::GET | Method::HEAD);
    match (path, &request.method) {
        (["prior-auths"], _) if is_look => prior_auths::list(desk, request, now),
        (["prior-auths"], &Method::POST) => prior_auths::create(desk, request, around),
        (["prior-auths"], _) => wrong_method(request, "GET, HEAD, POST"),
        (["prior-auths", id], _) if is_look => prior_auths::show(desk, id, now),
        (["prior-auths", id], &Method::PATCH) => prior_auths::edit(desk, request, id, now),
        (["prior-auths", id], &Method::DELETE) => prior_auths::discard(desk, id, now),
        (["prior-auths", _], _) => wrong_method(request, "GET, HEAD, PATCH, DELETE"),
        (["prior-auths", id, "submit"], &Method::POST) => {
            prior_auths::submit(desk, request, id, around)
        }
        (["prior-auths", _, "submit"], _) => wrong_method(request, "POST"),
        (["prior-auths", id, "attachments"], _) if is_look => {
            request.check_parameters(&[])?;
            prior_auths::attachments(desk, id)
        }
        (["prior-auths", id, "attachments"], &Method::POST) => {
            prior_auths::attach(desk, request, id, around)
        }
        (["prior-auths", id, "information"], &Method::POST) => {
            follow_up::information(desk, request, id, around)
        }
        (["prior-auths", id, "peer-to-peer"], &Method::POST) => {
            follow_up::peer_to_peer(desk, request, id, around)
        }
        (["prior-auths", id, "appeals"], &Method::POST) => {
            follow_up::appeal(desk, request, id, around)
        }
        (["prior-auths", id, "withdraw"], &Method::POST) => {
            follow_up::withdraw(desk, request, id, now)
        }
        (
            [
                "prior-auths",
                _,
                "information" | "peer-to-peer" | "appeals" | "withdraw",
            ],
            _,
        ) => wrong_method(request, "POST"),
        (["prior-auths", _, "attachments"], _) => wrong_method(request, "GET, HEAD, POST"),
        (["patients"], _) if is_look => directory::patients(desk, request, now),
        (["patients", id], _) if is_look => directory::patient(desk, id, now),
        (["providers"], _) if is_look => directory::providers(desk, request),
        (["providers", npi], _) if is_look => directory::provider(desk, npi),
        (["claims"], _) if is_look => claims::list(desk, request, now),
        (["claims", id], _) if is_look => claims::show(desk, request, id, now),
        (["patients" | "providers" | "claims"] | ["patients" | "providers" | "claims", _], _) => {
            wrong_method(request, "GET, HEAD")
        }
        _ => Err(nothing_here(request)),
    }
}

/// 405.
pub(super) fn wrong_method(request: &Request, allow: &'static str) -> Handling {
    Err(Box::new(Response::wrong_method(request, allow)))
}

/// An answer that shows something.
fn shown(body: &Value) -> Handled {
    Handled::look(KIND, Response::json(StatusCode::OK, body))
}

/// An answer that shows a list.
fn listed(data: &[Value]) -> Handled {
    shown(&json!({ "data": data })).telling("count", data.len())
}
