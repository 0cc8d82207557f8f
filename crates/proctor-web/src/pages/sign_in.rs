//! Signing in with a key or a one-time link, signing out, one-time links for whoever has a key, and the theme.

use askama::Template;
use axum::{
    Form, Json, Router,
    extract::{FromRequest as _, Query, Request, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use proctor_store::credentials::{Authentication, Who};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::page;
use crate::{
    error::PageError,
    guard, html,
    session::{self, Visitor, Way},
    shell::{Section, Shell, Theme},
    state::WebState,
};

/// Where people arrive who came for nothing in particular.
const HOME: &str = "/ui/";

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/login", get(form).post(sign_in))
        .route("/ui/logout", post(sign_out))
        .route("/ui/tickets", post(issue_ticket))
        .route("/ui/theme", post(choose_theme))
}

#[derive(Deserialize)]
struct LoginQuery {
    next: Option<String>,
    ticket: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    shell: Shell,
    next: String,
    ticket: Option<String>,
    problem: Option<String>,
}

impl SignInPage {
    fn new(headers: &HeaderMap, next: Option<&str>) -> Self {
        Self {
            shell: Shell {
                title: "Sign in".to_owned(),
                section: Section::None,
                account: None,
                theme: session::theme(headers),
                live: None,
            },
            next: local(next),
            ticket: None,
            problem: None,
        }
    }
}

/// Only addresses of our own pages are led back to.
fn local(next: Option<&str>) -> String {
    let is_ours = |next: &&str| {
        next.starts_with(HOME) && !next.contains(['\\', '\n', '\r']) && !next.starts_with("/ui/log")
    };
    next.filter(is_ours).unwrap_or(HOME).to_owned()
}

async fn form(Query(query): Query<LoginQuery>, headers: HeaderMap) -> Result<Response, PageError> {
    page(&SignInPage {
        ticket: query.ticket,
        ..SignInPage::new(&headers, query.next.as_deref())
    })
}

#[derive(Deserialize)]
struct LoginForm {
    key: Option<String>,
    ticket: Option<String>,
    next: Option<String>,
}

async fn sign_in(State(state): State<WebState>, request: Request) -> Result<Response, PageError> {
    let host = guard::host(&request).unwrap_or_default();
    let headers = request.headers().clone();
    let form = Form::<LoginForm>::from_request(request, &state).await;
    let Form(form) = form.map_err(|_| PageError::bad_request("The form could not be read."))?;
    let way = Way::of(&host, state.options());
    let refuse = |status: StatusCode, problem: String| {
        let shown = page(&SignInPage {
            problem: Some(problem),
            ..SignInPage::new(&headers, form.next.as_deref())
        })?;
        Ok((status, shown).into_response())
    };
    if way == Way::Plain {
        let problem = "This server was reached over a network without TLS, where a session could be stolen. Use https, or reach it \
                       through an SSH tunnel as localhost.";
        return refuse(StatusCode::FORBIDDEN, problem.to_owned());
    }
    let opened = match (&form.ticket, &form.key) {
        (Some(ticket), _) => by_ticket(&state, ticket).await?,
        (None, Some(key)) => by_key(&state, key.trim()).await?,
        (None, None) => Err("Neither a key nor a one-time link was sent.".to_owned()),
    };
    let cookie = match &opened {
        Ok(session) => way.set_cookie(session.expose_secret()),
        Err(problem) => return refuse(StatusCode::UNAUTHORIZED, problem.clone()),
    };
    let mut response = Redirect::to(&local(form.next.as_deref())).into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

type Opened = Result<Result<SecretString, String>, PageError>;

async fn by_ticket(state: &WebState, ticket: &str) -> Opened {
    let spent = state.store().spend_web_ticket(ticket).await?;
    Ok(spent.ok_or_else(|| {
        "This one-time link was used before, is older than ten minutes, or its key was revoked. `proctor open` makes a new one."
            .to_owned()
    }))
}

async fn by_key(state: &WebState, key: &str) -> Opened {
    let refused = match state.store().authenticate(key).await? {
        Authentication::Known(principal) => match principal.who {
            Who::Organization | Who::Solver(_) => {
                let session = state.store().open_web_session(principal.credential).await?;
                return Ok(Ok(session));
            }
            Who::Run(_) | Who::Attempt { .. } => {
                "This is the token of one run. Sign in with a key of the organization (vk_…) or of a Solver (vrl_slv_…)."
            }
        },
        Authentication::Operator(_) => {
            "This is an operator key, which opens /organizations of the API and no pages. Sign in with a key of an organization (vk_…)."
        }
        Authentication::Expired => "This key has expired.",
        Authentication::Revoked => "This key was revoked.",
        Authentication::Unknown => {
            "This server knows no such key. Was it copied completely? `proctor keys create` makes a new one."
        }
    };
    Ok(Err(refused.to_owned()))
}

#[derive(Deserialize)]
struct TokenForm {
    token: String,
}

async fn sign_out(
    State(state): State<WebState>,
    visitor: Visitor,
    headers: HeaderMap,
    Form(form): Form<TokenForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    if let Some(cookie) = session::session_cookie(&headers) {
        state.store().close_web_session(cookie).await?;
    }
    let mut response = Redirect::to("/ui/login").into_response();
    for way in [Way::Secure, Way::Loopback] {
        response
            .headers_mut()
            .append(header::SET_COOKIE, way.clear_cookie());
    }
    Ok(response)
}

#[derive(Deserialize)]
struct TicketQuery {
    next: Option<String>,
}

/// For whoever shows a key in the `Authorization` header: a one-time link that signs a browser in with it.
async fn issue_ticket(
    State(state): State<WebState>,
    Query(query): Query<TicketQuery>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let shown = headers.get(header::AUTHORIZATION);
    let shown = shown.and_then(|value| value.to_str().ok());
    let key = shown.and_then(|value| value.strip_prefix("Bearer "));
    let key = key.unwrap_or_default().trim();
    let principal = match state.store().authenticate(key).await? {
        Authentication::Known(principal) if !matches!(principal.who, Who::Run(_)) => principal,
        _ => {
            let problem = "a one-time link needs a key of the organization or of a Solver in the Authorization header";
            return Ok(
                (StatusCode::UNAUTHORIZED, Json(json!({ "error": problem }))).into_response(),
            );
        }
    };
    let ticket = state.store().issue_web_ticket(principal.credential).await?;
    let path = ticket_path(&ticket, query.next.as_deref());
    Ok((StatusCode::CREATED, Json(json!({ "path": path }))).into_response())
}

/// The path of a one-time link that leads on to `next`.
pub fn ticket_path(ticket: &SecretString, next: Option<&str>) -> String {
    let mut path = format!("/ui/login?ticket={}", ticket.expose_secret());
    let next = local(next);
    if next != HOME {
        path += &format!("&next={}", html::encode(next));
    }
    path
}

#[derive(Deserialize)]
struct ThemeForm {
    theme: String,
    token: String,
}

async fn choose_theme(
    visitor: Visitor,
    headers: HeaderMap,
    Form(form): Form<ThemeForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    let theme = Theme::from_word(&form.theme).word();
    let line = format!(
        "{}={theme}; Path=/ui; SameSite=Lax; Max-Age=31536000",
        Theme::COOKIE
    );
    let back = headers
        .get(header::REFERER)
        .and_then(|from| from.to_str().ok());
    let back = back.and_then(|from| from.find(HOME).map(|begin| &from[begin..]));
    let mut response = Redirect::to(&local(back)).into_response();
    if let Ok(line) = HeaderValue::from_str(&line) {
        response.headers_mut().insert(header::SET_COOKIE, line);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_to_another_site() {
        assert_eq!(local(Some("/ui/runs?x=1#y")), "/ui/runs?x=1#y");
        for away in [
            "https://evil.example/ui/",
            "//evil.example",
            "/\\evil.example",
            "/ui/\\..",
            "/benchmark-runs",
            "/ui/logout",
            "",
        ] {
            assert_eq!(local(Some(away)), HOME, "{away}");
        }
        assert_eq!(local(None), HOME);
    }
}
