//! Who may use a store: SMART backend services with a client id and secret.
//!
//! Tokens are signed, not stored: a token says when it ends, and nobody else can make one.

use std::time::Duration;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use proctor_core::time::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{
    outcome::{Answer, Issue, IssueCode, Refusal},
    query,
};
use proctor_simulation::{exchange::Response, seed::Seed};

/// The one client of a store, and the tokens that it gets.
#[derive(Clone)]
pub struct Smart {
    client_id: String,
    client_secret: String,
    signing_key: [u8; 32],
    lifetime: Duration,
}

/// How long the tokens of a playground's store are good.
const LIFETIME: Duration = Duration::from_secs(3600);
/// What every token allows.
const SCOPE: &str = "system/*.*";

impl Smart {
    /// The client and tokens of the store with this number in the playground with this seed.
    pub(crate) fn of_store(seed: Seed, number: usize) -> Self {
        let number = number as u64;
        Self {
            client_id: format!("client-{}", seed.short_id("smart client", number)),
            client_secret: URL_SAFE_NO_PAD.encode(seed.derive("smart secret", number)),
            signing_key: seed.derive("smart signing key", number),
            lifetime: LIFETIME,
        }
    }

    /// The client's name.
    pub(super) fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The client's secret.
    pub(super) fn client_secret(&self) -> &str {
        &self.client_secret
    }

    /// Tokens for the client that knows `client_secret`, signed with `signing_key`.
    pub fn new(
        client_id: impl Into<String>,
        client_secret: impl Into<String>,
        signing_key: [u8; 32],
        lifetime: Duration,
    ) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret: client_secret.into(),
            signing_key,
            lifetime,
        }
    }

    /// A token that ends `lifetime` after `now`.
    pub fn issue(&self, now: Timestamp) -> String {
        let ends = now.plus(self.lifetime).as_millis().to_be_bytes();
        let mut token = ends.to_vec();
        token.extend_from_slice(&self.sign(&ends));
        URL_SAFE_NO_PAD.encode(token)
    }

    /// Refuses a request without a token that is valid now.
    pub(super) fn admit(&self, headers: &HeaderMap, now: Timestamp) -> Answer<()> {
        let refuse = |code, said: &str| {
            Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                Issue::error(code, said).at("http.Authorization"),
            ))
        };
        let Some(token) = bearer(headers) else {
            return refuse(
                IssueCode::Login,
                "a token is needed: get one as .well-known/smart-configuration says, and send 'Authorization: Bearer …'",
            );
        };
        match self.end_of(token) {
            None => refuse(
                IssueCode::Login,
                "the token was not given out by this store",
            ),
            Some(ends) if ends <= now => {
                refuse(IssueCode::Expired, "the token has ended: get a new one")
            }
            Some(_) => Ok(()),
        }
    }

    /// `GET .well-known/smart-configuration`.
    pub(super) fn configuration(&self, base_url: &str) -> Response {
        json_response(
            StatusCode::OK,
            &json!({
                "token_endpoint": format!("{base_url}/token"),
                "grant_types_supported": ["client_credentials"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
                "scopes_supported": [SCOPE],
                "capabilities": ["client-confidential-symmetric", "permission-v1"],
            }),
        )
    }

    /// `POST token`.
    pub(super) fn token(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Response {
        let oauth_error = |status, error: &str, said: &str| {
            json_response(status, &json!({"error": error, "error_description": said}))
        };
        let form = std::str::from_utf8(body)
            .ok()
            .and_then(|text| query::parse(text).ok());
        let Some(form) = form else {
            return oauth_error(
                StatusCode::BAD_REQUEST,
                "invalid_request",
                "the form cannot be read",
            );
        };
        let field = |wanted: &str| {
            let found = form.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.clone())
        };
        match field("grant_type").as_deref() {
            Some("client_credentials") => {}
            Some(_) => {
                return oauth_error(
                    StatusCode::BAD_REQUEST,
                    "unsupported_grant_type",
                    "grant_type must be client_credentials",
                );
            }
            None => {
                return oauth_error(
                    StatusCode::BAD_REQUEST,
                    "invalid_request",
                    "grant_type is missing",
                );
            }
        }
        let given = basic(headers).or_else(|| Some((field("client_id")?, field("client_secret")?)));
        if !given.is_some_and(|(id, secret)| self.knows(&id, &secret)) {
            return oauth_error(
                StatusCode::UNAUTHORIZED,
                "invalid_client",
                "client_id and client_secret are missing or wrong",
            );
        }
        json_response(
            StatusCode::OK,
            &json!({
                "access_token": self.issue(now),
                "token_type": "bearer",
                "expires_in": self.lifetime.as_secs(),
                "scope": SCOPE,
            }),
        )
    }

    fn knows(&self, id: &str, secret: &str) -> bool {
        let id_fits = self.client_id.as_bytes().ct_eq(id.as_bytes());
        let secret_fits = self.client_secret.as_bytes().ct_eq(secret.as_bytes());
        (id_fits & secret_fits).into()
    }

    fn end_of(&self, token: &str) -> Option<Timestamp> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (ends, signature) = bytes.split_first_chunk::<8>()?;
        let fits: bool = self.sign(ends).ct_eq(signature).into();
        fits.then(|| Timestamp::from_millis(i64::from_be_bytes(*ends)))
    }

    fn sign(&self, bytes: &[u8]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.signing_key)
            .expect("HMAC takes keys of every length");
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    Some((id.to_owned(), secret.to_owned()))
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    Response::json(status, value)
        .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smart() -> Smart {
        Smart::new("agent", "secret", [7; 32], Duration::from_secs(300))
    }

    fn with_token(token: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        headers
    }

    #[test]
    fn a_token_is_valid_until_it_ends_and_only_here() {
        let now = Timestamp::from_millis(1_000_000);
        let token = smart().issue(now);
        assert!(smart().admit(&with_token(&token), now).is_ok());
        let late = now.plus(Duration::from_secs(300));
        assert_eq!(
            smart().admit(&with_token(&token), late).unwrap_err().status,
            401
        );
        let other = Smart::new("agent", "secret", [8; 32], Duration::from_secs(300));
        assert_eq!(
            other.admit(&with_token(&token), now).unwrap_err().status,
            401
        );
        for bad in ["", "x", "AAAA", &token[1..]] {
            assert!(smart().admit(&with_token(bad), now).is_err());
        }
        assert!(smart().admit(&HeaderMap::new(), now).is_err());
    }

    #[test]
    fn tokens_are_given_for_the_right_secret_in_either_place() {
        let now = Timestamp::from_millis(0);
        let form = |text: &str| {
            smart()
                .token(&HeaderMap::new(), text.as_bytes(), now)
                .status
        };
        let good = "grant_type=client_credentials&client_id=agent&client_secret=secret";
        assert_eq!(form(good), 200);
        assert_eq!(form(&good.replace("=secret", "=wrong")), 401);
        assert_eq!(form("grant_type=password"), 400);
        assert_eq!(form(""), 400);
        let mut headers = HeaderMap::new();
        let encoded = STANDARD.encode("agent:secret");
        headers.insert("authorization", format!("Basic {encoded}").parse().unwrap());
        let response = smart().token(&headers, b"grant_type=client_credentials", now);
        assert_eq!(response.status, 200);
    }
}
