//! The portal as web pages: server-rendered, without scripts, behind a login.
//!
//! * [`session`]: who is signed in; [`form`]: what a browser sends.
//! * [`words`]: what the two faces call things; [`templates`]: what each page shows.
//! * [`lists`]: requests, drafts and the formulary; [`wizard`] and [`filling`]: a request, step by
//!   step.
//!
//! All addresses are relative: a playground is mounted at several places. A form changes something
//! only with the token that its session was shown.

mod filling;
mod form;
mod lists;
mod session;
mod site;
mod templates;
mod wizard;
mod words;

use std::time::Duration;

use http::{Method, StatusCode};
use proctor_simulation::{exchange::Request, simulator::Around};

use super::{
    desk::PayerDesk,
    handled::{Handled, Handling},
    nothing_here,
    portal::wrong_method,
};
use form::Form;
use session::{Session, Visitor, is_secret};
use site::Site;
use templates::LoginPage;
use words::{Step, Words};

/// What events of the pages are called.
pub(super) const KIND: &str = "portal_page";
/// How long a login form can be left open.
const LOGIN_FORM: Duration = Duration::from_secs(60 * 60);

/// The pages, and what forms are sent to.
enum Route<'p> {
    Home,
    Login,
    Logout,
    Requests,
    Drafts,
    Formulary,
    New,
    NewPatient,
    Request(&'p str),
    Documents(&'p str),
    Discard(&'p str),
    Step(&'p str, Step),
}

impl<'p> Route<'p> {
    fn of(path: &[&'p str], words: &Words) -> Option<Self> {
        Some(match *path {
            [] => Self::Home,
            ["login"] => Self::Login,
            ["logout"] => Self::Logout,
            ["requests"] => Self::Requests,
            ["drafts"] => Self::Drafts,
            ["formulary"] if words.has_formulary => Self::Formulary,
            ["requests", "new"] => Self::New,
            ["requests", "new", "patient"] => Self::NewPatient,
            ["requests", id] => Self::Request(id),
            ["requests", id, "documents"] => Self::Documents(id),
            ["requests", id, "discard"] => Self::Discard(id),
            ["requests", id, slug] => Self::Step(id, words.step(slug)?),
            _ => return None,
        })
    }

    /// The methods it takes.
    fn allow(&self) -> &'static str {
        match self {
            Self::Home
            | Self::Requests
            | Self::Drafts
            | Self::Formulary
            | Self::New
            | Self::Request(_) => "GET, HEAD",
            Self::Logout | Self::Documents(_) | Self::Discard(_) => "POST",
            Self::Login | Self::NewPatient | Self::Step(..) => "GET, HEAD, POST",
        }
    }
}

/// Answers a request for a page.
pub(super) fn handle(
    desk: &PayerDesk,
    request: &Request,
    path: &[&str],
    around: &Around<'_>,
) -> Handling {
    let site = Site::new(desk, request, around);
    let Some(route) = Route::of(path, site.words) else {
        return Err(nothing_here(request));
    };
    let allow = route.allow();
    if !allow.split(", ").any(|one| one == request.method.as_str()) {
        return wrong_method(request, allow);
    }
    let form = (request.method == Method::POST).then(|| Form::read(&request.body));
    if let Route::Login = route {
        return Ok(match form {
            None => show_login(&site),
            Some(form) => sign_in(&site, &form),
        });
    }
    let session = match site.seal.visitor(request, around.now) {
        Visitor::SignedIn(session) => session,
        Visitor::Expired => return Ok(site.redirect("login?reason=expired")),
        Visitor::Stranger => return Ok(site.redirect("login")),
    };
    match form {
        None => Ok(show(&site, &session, &route)),
        Some(form) if site.seal.is_form_of(&session, form.get("csrf_token")) => {
            Ok(act(&site, &session, &route, &form))
        }
        Some(_) => Ok(site.message(
            StatusCode::FORBIDDEN,
            "Form not accepted",
            "The form did not come from this session. Open the page again and send it from there.",
            &session,
        )),
    }
}

fn show(site: &Site<'_>, session: &Session, route: &Route<'_>) -> Handled {
    match route {
        Route::Home => site.redirect("requests"),
        Route::Requests => lists::requests(site, session),
        Route::Drafts => lists::drafts(site, session),
        Route::Formulary => lists::formulary(site, session),
        Route::New => site.redirect("requests/new/patient"),
        Route::NewPatient => wizard::new_request(site, session),
        Route::Request(id) => lists::request(site, session, id),
        Route::Step(id, step) => wizard::show(site, session, id, *step),
        // These have no page of their own.
        Route::Login | Route::Logout | Route::Documents(_) | Route::Discard(_) => {
            site.redirect("requests")
        }
    }
}

fn act(site: &Site<'_>, session: &Session, route: &Route<'_>, form: &Form) -> Handled {
    match route {
        Route::Logout => {
            let mut handled = site.redirect("login?reason=signed-out");
            let response = handled.response;
            handled.response = response.with_header(http::header::SET_COOKIE, site.seal.end());
            handled
        }
        Route::NewPatient => wizard::begin(site, session, form),
        Route::Documents(id) => lists::add_document(site, session, id, form),
        Route::Discard(id) => lists::discard(site, session, id),
        Route::Step(id, step) => wizard::save(site, session, id, *step, form),
        // Nothing is sent to these.
        Route::Home
        | Route::Login
        | Route::Requests
        | Route::Drafts
        | Route::Formulary
        | Route::New
        | Route::Request(_) => site.redirect("requests"),
    }
}

fn show_login(site: &Site<'_>) -> Handled {
    let (notice, is_wrong) = match site.request.parameter("reason").as_deref() {
        Some("expired") => ("Your session has ended. Sign in again.", true),
        Some("signed-out") => ("You are signed out.", false),
        _ => ("", false),
    };
    login_page(site, StatusCode::OK, notice, is_wrong, "")
}

fn login_page(
    site: &Site<'_>,
    status: StatusCode,
    notice: &'static str,
    is_wrong: bool,
    username: &str,
) -> Handled {
    let mut frame = site.bare_frame("Sign in");
    frame.csrf = site.seal.login_token(site.now.plus(LOGIN_FORM));
    let page = LoginPage {
        frame,
        notice,
        is_wrong,
        username: username.to_owned(),
    };
    site.page(status, "Sign in", &page)
}

fn sign_in(site: &Site<'_>, form: &Form) -> Handled {
    let username = form.get("username");
    if !site.seal.is_login_form(form.get("csrf_token"), site.now) {
        let notice = "The form was too old or not ours. Try again.";
        return login_page(site, StatusCode::FORBIDDEN, notice, true, username);
    }
    let is_right = username == site.desk.username()
        && is_secret(form.get("password"), site.desk.password().trim());
    if !is_right {
        let notice = "User name or password is wrong.";
        return login_page(site, StatusCode::UNAUTHORIZED, notice, true, username);
    }
    let ends = site.now.plus(site.desk.blueprint.session);
    let mut handled = site.redirect("requests");
    let response = handled.response;
    handled.response = response.with_header(http::header::SET_COOKIE, site.seal.begin(ends));
    handled.telling("signed_in", username)
}

/// The cookie and the form token of somebody who signed in, for tests that have no browser.
#[cfg(test)]
pub(super) fn test_session(
    desk: &PayerDesk,
    now: proctor_core::time::Timestamp,
) -> (http::HeaderValue, String) {
    let seal = session::Seal::of(desk);
    let cookie = seal.begin(now.plus(Duration::from_secs(60 * 60 * 24)));
    let mut request = Request::new(Method::GET, "portal", now);
    request.headers.insert(http::header::COOKIE, cookie.clone());
    match seal.visitor(&request, now) {
        Visitor::SignedIn(session) => (cookie, seal.form_token(&session)),
        Visitor::Expired | Visitor::Stranger => panic!("the session just began"),
    }
}
