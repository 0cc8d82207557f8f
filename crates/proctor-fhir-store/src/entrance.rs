//! Who is let in at a store's door with credentials of the store's own, and what is answered there.
//!
//! Decided from the head of a request alone, so that nobody unknown is listened to for long.

use http::{HeaderMap, Method};
use proctor_core::time::Timestamp;
use proctor_simulation::exchange::Response;

use super::{PATH, outcome::Refusal, smart::Smart};

/// What becomes of a request at the entrance of a store.
pub(crate) enum Admission<'s> {
    /// It may use the store.
    Admitted,
    /// It is about tokens, and the store has nothing to do with it.
    Tokens(TokenRequest<'s>),
    /// It shows none of the store's tokens.
    Unknown(Box<Refusal>),
}

/// A request about the tokens of a store.
pub(crate) struct TokenRequest<'s> {
    smart: &'s Smart,
    base_url: &'s str,
    question: Question,
}

#[derive(Clone, Copy)]
enum Question {
    /// `GET .well-known/smart-configuration`.
    Configuration,
    /// `POST token`.
    Token,
}

/// Decides about a request to `path`, which is below the playground of the store at `base_url`.
pub(crate) fn admit<'s>(
    smart: &'s Smart,
    base_url: &'s str,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    now: Timestamp,
) -> Admission<'s> {
    let question = match (method, below_store(path)) {
        (&Method::GET | &Method::HEAD, ".well-known/smart-configuration") => {
            Question::Configuration
        }
        (&Method::POST, "token") => Question::Token,
        (&Method::GET | &Method::HEAD, "metadata") => return Admission::Admitted,
        _ => {
            return match smart.admit(headers, now) {
                Ok(()) => Admission::Admitted,
                Err(refusal) => Admission::Unknown(refusal),
            };
        }
    };
    Admission::Tokens(TokenRequest {
        smart,
        base_url,
        question,
    })
}

impl TokenRequest<'_> {
    /// The answer to the request with these headers and this body.
    pub(crate) fn answer(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Response {
        match self.question {
            Question::Configuration => self.smart.configuration(self.base_url),
            Question::Token => self.smart.token(headers, body, now),
        }
    }
}

/// The path below the store, of one below its playground.
pub(super) fn below_store(path: &str) -> &str {
    let path = path.trim_start_matches('/');
    let path = path.strip_prefix(PATH);
    path.unwrap_or_default().trim_start_matches('/')
}
