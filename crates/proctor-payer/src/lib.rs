//! A payer's desk: its portal (REST and web pages) and the clearinghouse in front of it.
//!
//! All payer and clearinghouse simulators of a playground are one desk, because a payer decides the
//! same whichever way a request comes: every channel ends in one row, and one set of rules decides
//! about it.
//!
//! * [`blueprint`], [`skin`]: configuration and seed data, shared by many desks.
//! * [`desk`]: the state, and the only ways to change it; `provision`: what owners put in.
//! * [`records`], [`prior_auth`], [`rules`]: members and providers, requests, decisions.
//! * [`claims`], `adjudication`: claims that were sent in, and what is paid for them.
//! * `intake`: what providers fill in, field by field.
//! * `portal`: the portal's REST interface; `web`: its pages; `clearinghouse`: X12 over HTTP.
//! * [`x12`]: members, coverages and claims, and what a payer answers from them in X12.
//! * `plugin`: how both register themselves.
//!
//! A delayed decision needs no timer: what will be decided is known when a request is submitted, and
//! shows from its time on.

mod adjudication;
pub mod blueprint;
pub mod claims;
mod clearinghouse;
pub mod desk;
mod evidence;
mod handled;
mod intake;
mod plugin;
mod portal;
pub mod prior_auth;
mod provision;
pub mod records;
pub mod rules;
mod shelf;
pub mod skin;
#[cfg(test)]
mod tests;
mod web;
mod writes;
pub mod x12;

pub use blueprint::Blueprint;
pub use desk::{Change, PayerDesk};
pub use evidence::X12Response;
pub use plugin::{ClearinghousePlugin, PayerPlugin};

use std::borrow::Cow;

use http::Method;
use proctor_simulation::{
    exchange::{Request, Response},
    exhibits::{Exhibits, StateRow},
    record::Write,
    simulator::{Around, Decision, Machine, NotProvided, Provided, Provision},
};
use serde_json::{Value, json};

use handled::{Handled, Handling};

/// The largest body that any route takes.
const LARGEST_BODY: usize = 2 * 1024 * 1024;

/// The most requests, and the most X12 answers, that a desk keeps.
const MOST_KEPT: usize = 10_000;

/// Whether `path` is for sure one of the portal's pages, which have a login of their own, unlike the REST interface
/// beside them. A path that could be read in two ways (with escapes, dots or empty segments) is not.
pub fn is_page(path: &str) -> bool {
    let is_plain = |segment: &str| {
        let mut bytes = segment.bytes();
        bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let mut segments: Vec<&str> = path.split('/').collect();
    segments.pop_if(|last| last.is_empty());
    match segments.as_slice() {
        ["portal", rest @ ..] => {
            rest.iter().all(|one| !one.is_empty() && is_plain(one))
                && !rest.first().is_some_and(|word| is_rest(word))
        }
        _ => false,
    }
}

/// Whether what is below this word of the portal is its REST interface.
fn is_rest(word: &str) -> bool {
    matches!(word, "prior-auths" | "patients" | "providers" | "claims")
}

/// Answers requests below a word: the desk, the request, the rest of its path, and the world around.
type Handle = fn(&PayerDesk, &Request, &[&str], &Around<'_>) -> Handling;

impl Machine for PayerDesk {
    type Change = Change;

    fn decide(&self, request: &Request, around: &Around<'_>) -> Decision<Change> {
        let segments = request.segments().unwrap_or_default();
        let path: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (kind, handle, rest): (_, Handle, _) = match path.as_slice() {
            ["portal", rest @ ..] if self.blueprint.has_portal => match rest {
                [word, ..] if is_rest(word) => (portal::KIND, portal::handle, rest),
                _ => (web::KIND, web::handle, rest),
            },
            ["clearinghouse", rest @ ..] if self.blueprint.has_clearinghouse => {
                (clearinghouse::KIND, clearinghouse::handle, rest)
            }
            _ => (
                portal::KIND,
                |_, request, _, _| Err(nothing_here(request)),
                &[][..],
            ),
        };
        let handling = if request.body.len() > LARGEST_BODY {
            let words = format!("a body may have {LARGEST_BODY} bytes");
            Err(Box::new(Response::too_large(words)))
        } else if request.method == Method::POST && self.is_full() {
            let words =
                format!("no more is kept: there are {MOST_KEPT} requests or answers already");
            Err(Box::new(Response::too_large(words)))
        } else {
            handle(self, request, rest, around)
        };
        handling
            .unwrap_or_else(|refusal| Handled::look(kind, *refusal))
            .decide(request)
    }

    fn provide(
        &self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Provided<Change>, NotProvided> {
        self.put_in(provision, around)
    }

    fn evolve(&mut self, change: Change) {
        self.apply(change);
    }

    fn writes(&self, change: &Change) -> Vec<Write> {
        writes::of(self, change)
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        let now = exhibits.now;
        let requests = self.requests.iter().map(|one| StateRow {
            key: Cow::Borrowed(one.request_id.as_str()),
            fields: Cow::Owned(one.view(now)),
            at: one.changed_at(now),
        });
        let shown = exhibits.rows.entry(provision::REQUESTS).or_default();
        shown.extend(requests);
        for (resource, rows) in &self.rows {
            let rows = rows.iter().map(|one| StateRow {
                key: Cow::Borrowed(one.key.as_str()),
                fields: Cow::Borrowed(&one.fields),
                at: one.at,
            });
            exhibits.rows.entry(resource).or_default().extend(rows);
        }
        let claims = exhibits.rows.entry(claims::CLAIMS).or_default();
        claims.extend(self.received.iter().map(|one| StateRow {
            key: Cow::Borrowed(one.decided.claim_id.as_str()),
            fields: Cow::Owned(one.view(now)),
            at: one.changed_at(now),
        }));
        if self.blueprint.has_clearinghouse {
            exhibits.show(self.sent(now));
        }
        exhibits.show(self.members.iter());
    }

    /// `portal_url`, `username`, `password` and `api_url` are for a payer's sandbox,
    /// `clearinghouse_url` is for a clearinghouse's; what the desk has not is not there.
    fn credentials(&self, prefix: &str) -> Value {
        let mut all = serde_json::Map::new();
        if self.blueprint.has_portal {
            all.insert("portal_url".to_owned(), json!(format!("{prefix}/portal")));
            all.insert("api_url".to_owned(), json!(format!("{prefix}/portal")));
            all.insert("username".to_owned(), json!(self.username()));
            all.insert("password".to_owned(), json!(self.password()));
        }
        if self.blueprint.has_clearinghouse {
            let url = format!("{prefix}/clearinghouse");
            all.insert(plugin::CLEARINGHOUSE_URL.to_owned(), json!(url));
        }
        Value::Object(all)
    }
}

impl PayerDesk {
    fn is_full(&self) -> bool {
        let kept = [
            self.requests.len(),
            self.received.len(),
            self.answered.len(),
        ];
        kept.iter().any(|count| *count >= MOST_KEPT)
    }
}

/// 404 for a path that leads nowhere.
fn nothing_here(request: &Request) -> Box<Response> {
    Box::new(Response::not_found(format!(
        "there is nothing at /{}",
        request.path
    )))
}
