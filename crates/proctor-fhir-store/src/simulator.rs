//! The store as a simulator of a world.
//!
//! A store is carried forward by [`State::apply`], which takes back what fails, instead of deciding
//! first and evolving after: a transaction of many entries sees its own writes.

use std::any::Any;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use proctor_core::time::Timestamp;
use proctor_simulation::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    machine::{Answered, AnyMachine, BadLine, Happened, NotTaken, Told},
    record::Write,
    simulator::{Around, Direction, NotProvided, Provision},
};
use serde_json::{Value, json};

use super::{
    PATH,
    addresses::Addresses,
    change::{BadEvent, Change, Event, replay, replay_after},
    entrance::{Admission, admit, below_store},
    interaction::{Interaction, Unreadable},
    outcome::{Issue, IssueCode, Refusal},
    provide::provide,
    rest::{self, Headers},
    smart::Smart,
    state::State,
    writes::writes_of,
};

/// A store, and who may use it.
pub(crate) struct FhirStore {
    pub(super) state: State,
    pub(super) access: Access,
}

/// Who may use a store.
pub(super) enum Access {
    /// Whoever reaches it.
    Open,
    /// Whoever shows one of its tokens.
    Tokens(Smart),
    /// Whoever the platform lets in; that asks the store's [entrance](super::entrance) before it
    /// passes a request on.
    Platform(Smart),
}

impl FhirStore {
    /// The addresses of the store, if a request asked another than its own.
    fn addresses(&self, request: &Request) -> Option<Addresses<'_>> {
        let asked = format!("{}/{PATH}", request.base.as_deref()?);
        Addresses::new(&self.state.settings().base_url, asked)
    }

    /// A request as the store reads it.
    fn read(&self, request: &Request, now: Timestamp) -> rest::Request {
        let mut asked = to_fhir(request, now);
        if let Some(addresses) = self.addresses(request) {
            asked.body = addresses.body_inside(&asked.body);
            asked.query = addresses.query_inside(&asked.query);
        }
        asked
    }

    /// An answer as whoever asked reads it.
    fn said(&self, request: &Request, mut answered: Answered) -> Answered {
        if let Some(addresses) = self.addresses(request) {
            let response = &mut answered.response;
            response.body = addresses.body_outside(&response.body);
            addresses.headers_outside(&mut response.headers);
        }
        answered
    }

    /// What the store answers to those who may not use it, and to those who ask for a token.
    fn at_entrance(&self, request: &Request, now: Timestamp) -> Option<Answered> {
        let Access::Tokens(smart) = &self.access else {
            return None;
        };
        let base_url = &self.state.settings().base_url;
        let (method, path, headers) = (&request.method, &request.path, &request.headers);
        match admit(smart, base_url, method, path, headers, now) {
            Admission::Admitted => None,
            // Neither query nor bodies are kept: they hold secrets.
            Admission::Tokens(about) => {
                let response = about.answer(headers, &request.body, now);
                let said = rest::Response::empty(response.status);
                let asked = rest::Request::new(method.clone(), below_store(path), now);
                Some(Answered {
                    response,
                    happened: happened(Event::new(asked, &said, Vec::new(), 0)),
                })
            }
            Admission::Unknown(refusal) => {
                let asked = rest::Request {
                    body: Bytes::new(),
                    ..to_fhir(request, now)
                };
                let mut refused = answered(asked, refusal.into());
                let headers = &mut refused.response.headers;
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                Some(refused)
            }
        }
    }
}

impl AnyMachine for FhirStore {
    fn is_read(&self, request: &Request) -> bool {
        rest::is_read_only(&request.method, &request.path)
    }

    fn look(&self, request: &Request, around: &Around<'_>) -> Option<Answered> {
        if let Some(answered) = self.at_entrance(request, around.now) {
            return Some(answered);
        }
        let asked = self.read(request, around.now);
        let response = self.state.answer(&asked)?;
        Some(self.said(request, answered(asked, response)))
    }

    fn act(&mut self, request: &Request, around: &Around<'_>) -> Answered {
        if let Some(answered) = self.at_entrance(request, around.now) {
            return answered;
        }
        let asked = self.read(request, around.now);
        let (response, event) = self.state.apply(asked);
        let answered = Answered {
            response: response.into(),
            happened: happened(event),
        };
        self.said(request, answered)
    }

    fn refuse(&self, why: NotTaken) -> Response {
        let (status, code) = match why {
            NotTaken::Frozen => (StatusCode::CONFLICT, IssueCode::BusinessRule),
            NotTaken::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, IssueCode::Transient),
        };
        let refusal = Refusal::new(status, Issue::error(code, why.message()));
        why.with_retry(rest::Response::from(refusal).into())
    }

    fn provide(
        &mut self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Happened, NotProvided> {
        provide(&mut self.state, provision, around.now).map(happened)
    }

    fn replay(&mut self, line: &[u8]) -> Result<(), BadLine> {
        Ok(replay(&mut self.state, line)?)
    }

    fn replay_noting(&mut self, line: &[u8], writes: &mut Vec<Write>) -> Result<(), BadLine> {
        let note = |state: &State, changes: &[Change]| writes.extend(writes_of(state, changes));
        Ok(replay_after(&mut self.state, line, note)?)
    }

    fn tell(&self, line: &[u8], is_provision: bool) -> Result<Told, BadLine> {
        let interaction = match Interaction::read(&self.state, line) {
            Ok(mut interactions) => interactions
                .pop()
                .ok_or_else(|| BadLine("the line is empty".to_owned()))?,
            // What came to the store's door with the path of another simulator.
            Err(Unreadable::Event(bad)) => return Told::read(line).map_err(|_| bad.into()),
            Err(unknown) => return Err(unknown.into()),
        };
        let (kind, direction) = if is_provision {
            ("fhir_provision", Direction::Inbound)
        } else {
            ("fhir_request", Direction::Outbound)
        };
        Ok(Told {
            kind: kind.to_owned(),
            direction: direction.as_str().to_owned(),
            payload: interaction.to_json(),
            at: interaction.at,
        })
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        exhibits.show([&self.state]);
    }

    fn credentials(&self, prefix: &str) -> Value {
        let url = format!("{prefix}/{PATH}");
        match &self.access {
            Access::Open => json!({"fhir_base_url": url}),
            Access::Tokens(smart) | Access::Platform(smart) => json!({
                "fhir_base_url": url,
                "token_url": format!("{url}/token"),
                "client_id": smart.client_id(),
                "client_secret": smart.client_secret(),
            }),
        }
    }

    fn shared(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(&self.state)
    }
}

impl From<BadEvent> for BadLine {
    fn from(error: BadEvent) -> Self {
        Self(error.to_string())
    }
}

impl From<Unreadable> for BadLine {
    fn from(error: Unreadable) -> Self {
        Self(error.to_string())
    }
}

/// A request that changed nothing, with its answer.
fn answered(asked: rest::Request, response: rest::Response) -> Answered {
    let event = Event::new(asked, &response, Vec::new(), 0);
    Answered {
        response: response.into(),
        happened: happened(event),
    }
}

fn happened(event: Event) -> Happened {
    Happened {
        is_change: !event.changes.is_empty(),
        body: Box::new(move || event.to_json()),
    }
}

fn to_fhir(request: &Request, now: Timestamp) -> rest::Request {
    rest::Request {
        method: request.method.clone(),
        path: below_store(&request.path).to_owned(),
        query: request.query.clone(),
        headers: Headers::from_http(&request.headers),
        body: request.body.clone(),
        at: now,
    }
}

impl From<rest::Response> for Response {
    fn from(response: rest::Response) -> Self {
        Self {
            status: response.status,
            headers: response.http_headers(),
            body: response.body,
        }
    }
}
