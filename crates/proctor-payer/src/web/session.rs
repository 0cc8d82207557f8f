//! Who is signed in. Nothing is stored: a cookie says until when it holds, and is signed; so is the
//! token that every form carries, which holds only together with the cookie it was made for.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderValue, header};
use proctor_core::time::Timestamp;
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::desk::PayerDesk;
use proctor_simulation::exchange::Request;

const COOKIE: &str = "portal_session";
const LOGIN: &str = "login form";

/// What a browser that comes by is to the portal.
pub(super) enum Visitor {
    /// Somebody who signed in.
    SignedIn(Session),
    /// Somebody whose session has ended.
    Expired,
    /// Anybody else.
    Stranger,
}

/// A session that holds.
pub(super) struct Session {
    cookie: String,
    ends: Timestamp,
}

/// Signs what the portal hands out.
pub(super) struct Seal([u8; 32]);

impl Seal {
    pub(super) fn of(desk: &PayerDesk) -> Self {
        Self(desk.seed.derive("portal signing key", 0))
    }

    fn sign(&self, purpose: &str, ends: &[u8]) -> [u8; 32] {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(ends);
        mac.update(purpose.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// A text that proves `purpose` until `ends`.
    fn seal(&self, purpose: &str, ends: Timestamp) -> String {
        let ends = ends.as_millis().to_be_bytes();
        let mut token = ends.to_vec();
        token.extend_from_slice(&self.sign(purpose, &ends));
        URL_SAFE_NO_PAD.encode(token)
    }

    /// Until when a text proves `purpose`; nothing for one that was not made here.
    fn open(&self, purpose: &str, text: &str) -> Option<Timestamp> {
        let token = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (ends, signature) = token.split_first_chunk::<8>()?;
        let is_ours: bool = self.sign(purpose, ends).ct_eq(signature).into();
        is_ours.then(|| Timestamp::from_millis(i64::from_be_bytes(*ends)))
    }

    /// Who comes by with a request.
    pub(super) fn visitor(&self, request: &Request, now: Timestamp) -> Visitor {
        let cookies = request.headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|line| line.split(';'));
        let ours = pairs.filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == COOKIE).then_some(value)
        });
        let mut visitor = Visitor::Stranger;
        for cookie in ours {
            match self.open("session", cookie) {
                Some(ends) if now < ends => {
                    return Visitor::SignedIn(Session {
                        cookie: cookie.to_owned(),
                        ends,
                    });
                }
                Some(_) => visitor = Visitor::Expired,
                None => {}
            }
        }
        visitor
    }

    /// The `Set-Cookie` that begins a session. It names no path, so that it is for the portal
    /// wherever that is mounted.
    pub(super) fn begin(&self, ends: Timestamp) -> HeaderValue {
        let cookie = self.seal("session", ends);
        header_value(&format!("{COOKIE}={cookie}; HttpOnly; SameSite=Lax"))
    }

    /// The `Set-Cookie` that ends a session.
    pub(super) fn end(&self) -> HeaderValue {
        header_value(&format!("{COOKIE}=; Max-Age=0; HttpOnly; SameSite=Lax"))
    }

    /// The token of a form that a session was shown.
    pub(super) fn form_token(&self, session: &Session) -> String {
        self.seal(&session.form_purpose(), session.ends)
    }

    /// Whether a form is one that this session was shown.
    pub(super) fn is_form_of(&self, session: &Session, token: &str) -> bool {
        self.open(&session.form_purpose(), token).is_some()
    }

    /// The token of the login form.
    pub(super) fn login_token(&self, ends: Timestamp) -> String {
        self.seal(LOGIN, ends)
    }

    /// Whether a login form was shown here, not too long ago.
    pub(super) fn is_login_form(&self, token: &str, now: Timestamp) -> bool {
        self.open(LOGIN, token).is_some_and(|ends| now < ends)
    }
}

impl Session {
    fn form_purpose(&self) -> String {
        format!("form of {}", self.cookie)
    }
}

/// Whether a secret is the right one, without telling by time how much of it is.
pub(super) fn is_secret(given: &str, right: &str) -> bool {
    given.as_bytes().ct_eq(right.as_bytes()).into()
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("base64 and our own words are a header value")
}
