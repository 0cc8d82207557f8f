//! What every page needs: the desk, the request, and ways to answer in HTML.

use askama::Template;
use http::{HeaderValue, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use proctor_core::causes::with_causes;
use proctor_core::time::Timestamp;
use proctor_fhir_store::State;
use proctor_simulation::{
    exchange::{Request, Response},
    simulator::Around,
};
use serde_json::{Value, json};

use super::{
    KIND,
    session::{Seal, Session},
    templates::{Frame, MessagePage, StepMark},
    words::{Step, Words},
};
use crate::{
    desk::{Change, PayerDesk},
    handled::Handled,
    prior_auth::PriorAuth,
};

/// Nothing comes from elsewhere and nothing runs: a page is its own HTML and CSS.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// What stands for itself in a segment of an address.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The portal as one request meets it.
pub(super) struct Site<'d> {
    pub(super) desk: &'d PayerDesk,
    pub(super) request: &'d Request,
    pub(super) chart: Option<&'d State>,
    pub(super) now: Timestamp,
    pub(super) seal: Seal,
    pub(super) words: &'static Words,
}

impl<'d> Site<'d> {
    pub(super) fn new(desk: &'d PayerDesk, request: &'d Request, around: &Around<'d>) -> Self {
        Self {
            desk,
            request,
            chart: around.shared(),
            now: around.now,
            seal: Seal::of(desk),
            words: Words::of(desk.blueprint.skin),
        }
    }

    /// The way from this page to the portal.
    fn root(&self) -> String {
        match self.request.path.matches('/').count() {
            0 => "portal/".to_owned(),
            1 => "./".to_owned(),
            more => "../".repeat(more - 1),
        }
    }

    /// The frame of a page for somebody who is signed in.
    pub(super) fn frame(&self, title: &str, session: &Session) -> Frame {
        Frame {
            user: Some(self.desk.username()),
            csrf: self.seal.form_token(session),
            ..self.bare_frame(title)
        }
    }

    /// The frame of a page for anybody.
    pub(super) fn bare_frame(&self, title: &str) -> Frame {
        Frame {
            title: title.to_owned(),
            root: self.root(),
            user: None,
            csrf: String::new(),
            payer: self.desk.payer().name.clone(),
            words: self.words,
        }
    }

    /// The steps of a request, with the one that is asked now.
    pub(super) fn marks(&self, current: Step) -> Vec<StepMark> {
        let steps = self.words.steps.iter();
        steps
            .map(|one| StepMark {
                name: one.name,
                slug: one.slug,
                is_current: one.step == current,
            })
            .collect()
    }

    /// A page.
    pub(super) fn page(&self, status: StatusCode, title: &str, page: &impl Template) -> Handled {
        let response = match page.render() {
            Ok(html) => Response::with_body(status, "text/html; charset=utf-8", html),
            Err(error) => {
                tracing::error!(error = %with_causes(&error), "a page could not be written");
                Response::empty(StatusCode::INTERNAL_SERVER_ERROR)
            }
        };
        let response = response
            .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
            .with_header(header::CONTENT_SECURITY_POLICY, POLICY)
            .with_header(
                header::X_CONTENT_TYPE_OPTIONS,
                HeaderValue::from_static("nosniff"),
            );
        Handled::look(KIND, response).telling("title", title)
    }

    /// A page that says one thing.
    pub(super) fn message(
        &self,
        status: StatusCode,
        title: &str,
        message: impl Into<String>,
        session: &Session,
    ) -> Handled {
        let page = MessagePage {
            frame: self.frame(title, session),
            message: message.into(),
        };
        self.page(status, title, &page)
    }

    /// Sends the browser to another page of the portal.
    pub(super) fn redirect(&self, to: &str) -> Handled {
        let place = format!("{}{to}", self.root());
        let place = HeaderValue::from_str(&place)
            .expect("our own addresses are percent-encoded, so they are a header value");
        let response = Response::empty(StatusCode::SEE_OTHER).with_header(header::LOCATION, place);
        Handled::look(KIND, response).telling("location", to)
    }

    /// Sends the browser on after a row was changed.
    pub(super) fn saved(&self, before: Option<&PriorAuth>, row: PriorAuth, to: &str) -> Handled {
        let before: Value = json!(before.map(|one| one.view(self.now)));
        self.redirect(to)
            .telling("before", before)
            .telling("after", row.view(self.now))
            .with(Change::Request(Box::new(row)))
    }
}

/// A request's id as addresses write it.
pub(super) fn segment(id: &str) -> String {
    utf8_percent_encode(id, SEGMENT).to_string()
}
