//! Who is signed in.
//!
//! The cookie counts below `/ui/` only; the API takes bearer keys and nothing else.

use std::{convert::Infallible, net::IpAddr};

use axum::{
    extract::{FromRequestParts, OptionalFromRequestParts},
    response::{IntoResponse as _, Redirect, Response},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use proctor_core::{
    id::kinds::{CredentialId, OrganizationId, SolverId},
    run::Run,
};
use proctor_store::credentials::{Authentication, Principal, Who};
use sha2::{Digest as _, Sha256};

use crate::{
    error::PageError,
    html,
    shell::{Account, Section, Shell, Theme},
    state::{WebOptions, WebState},
};

/// The cookie under TLS: the prefix keeps other hosts and plain HTTP from setting it.
const SECURE_COOKIE: &str = "__Host-proctor";
/// The cookie on this machine without TLS.
const LOOPBACK_COOKIE: &str = "proctor";

/// Somebody who is signed in.
#[derive(Clone, Debug)]
pub struct Visitor {
    principal: Principal,
    form_token: String,
    theme: Theme,
}

impl Visitor {
    /// Whoever shows a key of an organization or of a Solver in the header; none if no key is shown.
    pub(crate) async fn of_key(parts: &Parts, state: &WebState) -> Result<Option<Self>, PageError> {
        let shown = parts.headers.get(header::AUTHORIZATION);
        let Some(shown) = shown.and_then(|value| value.to_str().ok()) else {
            return Ok(None);
        };
        let key = shown.strip_prefix("Bearer ").unwrap_or_default().trim();
        match state.store().authenticate(key).await? {
            Authentication::Known(principal)
                if matches!(principal.who, Who::Organization | Who::Solver(_)) =>
            {
                Ok(Some(Self {
                    principal: (*principal).clone(),
                    form_token: String::new(),
                    theme: Theme::System,
                }))
            }
            _ => Err(PageError::new(
                StatusCode::UNAUTHORIZED,
                "This needs a key of the organization or of a Solver.",
            )),
        }
    }

    /// The key that the session was opened with.
    pub fn credential(&self) -> CredentialId {
        self.principal.credential
    }

    /// The organization whose things are shown.
    pub fn organization(&self) -> OrganizationId {
        self.principal.organization.id
    }

    /// The Solver whose key it was; none for a key of the organization.
    pub fn solver(&self) -> Option<SolverId> {
        match self.principal.who {
            Who::Solver(solver) => Some(solver),
            Who::Organization | Who::Run(_) | Who::Attempt { .. } => None,
        }
    }

    /// Whether the visitor may know of a run.
    pub fn sees(&self, run: &Run) -> bool {
        run.organization == self.organization()
            && self
                .solver()
                .is_none_or(|solver| run.solver == Some(solver))
    }

    /// Refuses what a Solver may not see.
    pub fn require_organization(&self) -> Result<(), PageError> {
        match self.solver() {
            None => Ok(()),
            Some(_) => Err(PageError::forbidden(
                "This page is for keys of the organization; a Solver key was used to sign in.",
            )),
        }
    }

    /// Refuses a form whose token is not this session's.
    pub fn check_token(&self, shown: &str) -> Result<(), PageError> {
        // Both are of this session: what a comparison in its time could tell is known to whoever has the cookie.
        match shown == self.form_token {
            true => Ok(()),
            false => Err(PageError::forbidden(
                "This form was made for another session. Go back, load the page again, and send it once more.",
            )),
        }
    }

    /// What is around a page of this visitor.
    pub fn shell(&self, title: impl Into<String>, section: Section) -> Shell {
        Shell {
            title: title.into(),
            section,
            account: Some(Account {
                organization: self.principal.organization.name.clone(),
                kind: match self.principal.who {
                    Who::Organization => "organization key",
                    Who::Solver(_) => "Solver key",
                    Who::Run(_) => "run token",
                    Who::Attempt { .. } => "attempt token",
                },
                form_token: self.form_token.clone(),
            }),
            theme: self.theme,
            live: None,
        }
    }
}

impl FromRequestParts<WebState> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &WebState) -> Result<Self, Response> {
        match find(parts, state).await.map_err(PageError::into_response)? {
            Some(visitor) => Ok(visitor),
            None => Err(to_sign_in(parts)),
        }
    }
}

impl OptionalFromRequestParts<WebState> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &WebState,
    ) -> Result<Option<Self>, Infallible> {
        Ok(find(parts, state).await.unwrap_or_default())
    }
}

async fn find(parts: &Parts, state: &WebState) -> Result<Option<Visitor>, PageError> {
    let Some(cookie) = session_cookie(&parts.headers) else {
        return Ok(None);
    };
    let found = state.store().web_session(cookie).await?;
    Ok(found.map(|principal| Visitor {
        principal,
        form_token: form_token(cookie),
        theme: theme(&parts.headers),
    }))
}

/// Leads to the sign-in page, and from there back.
fn to_sign_in(parts: &Parts) -> Response {
    let target = parts
        .uri
        .path_and_query()
        .map_or("/ui/", |path| path.as_str());
    Redirect::to(&format!("/ui/login?next={}", html::encode(target))).into_response()
}

/// What a form of this session must send back: it follows from the cookie, which no other site can read.
fn form_token(cookie: &str) -> String {
    let digest = Sha256::new()
        .chain_update(b"proctor form\0")
        .chain_update(cookie.as_bytes())
        .finalize();
    BASE64_URL_SAFE_NO_PAD.encode(digest)
}

/// The text of the session's cookie.
pub(crate) fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, SECURE_COOKIE).or_else(|| cookie(headers, LOOPBACK_COOKIE))
}

/// The theme that the reader chose.
pub(crate) fn theme(headers: &HeaderMap) -> Theme {
    cookie(headers, Theme::COOKIE).map_or(Theme::System, Theme::from_word)
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines.filter_map(|line| line.to_str().ok());
    let mut pairs = pairs.flat_map(|line| line.split(';'));
    pairs.find_map(|pair| {
        let (found, value) = pair.trim().split_once('=')?;
        (found == name).then_some(value)
    })
}

/// How a browser reaches this server: decides whether it may hold a session at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Over TLS, here or at a proxy in front.
    Secure,
    /// Without TLS, from this machine.
    Loopback,
    /// Without TLS, over a network: no cookie is set.
    Plain,
}

impl Way {
    /// The way of a request that names this host.
    pub(crate) fn of(host: &str, options: &WebOptions) -> Self {
        let name = host_name(host);
        let public = options.public_url.as_deref();
        let is_public_tls = public.is_some_and(|url| {
            url.starts_with("https://")
                && url_host(url).is_some_and(|public| public.eq_ignore_ascii_case(name))
        });
        if options.is_tls || is_public_tls {
            Self::Secure
        } else if is_loopback(name) {
            Self::Loopback
        } else {
            Self::Plain
        }
    }

    /// The header that gives a browser its session.
    pub(crate) fn set_cookie(self, text: &str) -> Option<HeaderValue> {
        let line = match self {
            Self::Secure => {
                format!("{SECURE_COOKIE}={text}; Path=/; Secure; HttpOnly; SameSite=Lax")
            }
            Self::Loopback => format!("{LOOPBACK_COOKIE}={text}; Path=/; HttpOnly; SameSite=Lax"),
            Self::Plain => return None,
        };
        HeaderValue::from_str(&line).ok()
    }

    /// The header that takes it away.
    pub(crate) fn clear_cookie(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Secure => "__Host-proctor=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0",
            Self::Loopback | Self::Plain => "proctor=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0",
        })
    }
}

/// Whether the server is meant by this host: its configured name, this machine's names, or an address. A name that somebody else made
/// point here (DNS rebinding) is not.
pub(crate) fn is_known_host(host: &str, options: &WebOptions) -> bool {
    let name = host_name(host);
    let is_public = options
        .public_url
        .as_deref()
        .and_then(url_host)
        .is_some_and(|public| public.eq_ignore_ascii_case(name));
    is_public
        || is_loopback(name)
        || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
        || machine_name().is_some_and(|own| own.eq_ignore_ascii_case(name))
}

fn is_loopback(name: &str) -> bool {
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    let lower = name.to_ascii_lowercase();
    lower == "localhost"
        || lower.ends_with(".localhost")
        || address.is_ok_and(|address| address.is_loopback())
}

/// A host without its port.
fn host_name(host: &str) -> &str {
    match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split_once(':').map_or(host, |(name, _)| name),
    }
}

fn url_host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    Some(host_name(authority))
}

fn machine_name() -> Option<&'static str> {
    static NAME: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| {
        let name = fs_err::read_to_string("/proc/sys/kernel/hostname").ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    });
    NAME.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(public_url: Option<&str>) -> WebOptions {
        WebOptions {
            public_url: public_url.map(str::to_owned),
            ..WebOptions::default()
        }
    }

    #[test]
    fn names_that_others_made_point_here_are_not_ours() {
        let options = options(Some("https://proctor.example:8443/x"));
        for known in [
            "proctor.example",
            "PROCTOR.example:8443",
            "localhost:7070",
            "a.localhost",
            "127.0.0.1:7070",
            "[::1]:80",
            "192.0.2.1",
        ] {
            assert!(is_known_host(known, &options), "{known}");
        }
        for unknown in [
            "evil.example",
            "evil.example:7070",
            "proctor.example.evil.example",
            "localhost.evil.example",
            "",
        ] {
            assert!(!is_known_host(unknown, &options), "{unknown}");
        }
    }

    #[test]
    fn a_session_needs_tls_or_this_machine() {
        let plain = options(None);
        assert_eq!(Way::of("127.0.0.1:7070", &plain), Way::Loopback);
        assert_eq!(Way::of("192.0.2.1:7070", &plain), Way::Plain);
        let public = options(Some("https://proctor.example"));
        assert_eq!(Way::of("proctor.example", &public), Way::Secure);
        assert_eq!(Way::of("localhost:7070", &public), Way::Loopback);
        let tls = WebOptions {
            is_tls: true,
            ..plain
        };
        assert_eq!(Way::of("192.0.2.1", &tls), Way::Secure);
        assert_eq!(Way::Plain.set_cookie("x"), None);
        let cookie = Way::Secure.set_cookie("x").unwrap();
        assert_eq!(
            cookie,
            "__Host-proctor=x; Path=/; Secure; HttpOnly; SameSite=Lax"
        );
    }
}
