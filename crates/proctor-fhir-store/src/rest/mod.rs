//! The RESTful interactions of FHIR, as functions of the state.
//!
//! [`State::apply`] carries out any request; [`State::answer`] those that change nothing. Neither
//! knows of sockets, clocks or journals.

mod bundle;
mod conditional;
mod delete;
mod entries;
mod everything;
mod format;
mod history;
mod patch;
mod read;
mod request;
mod response;
mod route;
mod search;
mod transaction;
mod validate;
mod write;

pub(crate) use request::is_read_only;
pub use request::{Handling, Headers, Preferences, Request, Return};
pub use response::{FHIR_JSON, Response, Shown};

use super::{change::Event, outcome::Answer, state::State};
use route::Route;

impl State {
    /// Carries out a request: the answer, and the event that tells of it.
    ///
    /// Time never runs backwards in a store: a request that claims to be earlier than the last
    /// change is taken to come at the same moment.
    pub fn apply(&mut self, mut request: Request) -> (Response, Event) {
        request.at = request.at.max(self.latest());
        let savepoint = self.savepoint();
        let response = self.perform(&request).unwrap_or_else(|refusal| {
            self.roll_back(savepoint);
            refusal.into()
        });
        let response = format::prettify(response, &request).for_method(&request.method);
        let changes = self.commit();
        let event = Event::new(request, &response, changes, self.drawn());
        (response, event)
    }

    /// Answers a request that changes nothing; nothing for one that may.
    pub fn answer(&self, request: &Request) -> Option<Response> {
        if !request.is_read_only() {
            return None;
        }
        let response = format::check_accept(request)
            .and_then(|()| Route::of(request))
            .and_then(|route| self.read_only(&route, request))
            .unwrap_or_else(Response::from);
        Some(format::prettify(response, request).for_method(&request.method))
    }

    fn perform(&mut self, request: &Request) -> Answer<Response> {
        format::check_accept(request)?;
        let route = Route::of(request)?;
        match route {
            Route::Create(kind) => self.create(kind, request),
            Route::Update(kind, ref id) => self.update(kind, id, request),
            Route::ConditionalUpdate(kind) => self.conditional_update(kind, request),
            Route::Patch(kind, ref id) => self.patch(kind, id, request),
            Route::ConditionalPatch(kind) => self.conditional_patch(kind, request),
            Route::Delete(kind, ref id) => self.delete_one(kind, id, request),
            Route::ConditionalDelete(kind) => self.conditional_delete(kind, request),
            Route::Bundle => self.bundle(request),
            Route::Read(..)
            | Route::VersionRead(..)
            | Route::InstanceHistory(..)
            | Route::TypeHistory(_)
            | Route::SystemHistory
            | Route::Search(_)
            | Route::SearchAll
            | Route::SearchCompartment { .. }
            | Route::Capabilities
            | Route::Everything(..)
            | Route::Validate(..) => self.read_only(&route, request),
        }
    }

    fn read_only(&self, route: &Route, request: &Request) -> Answer<Response> {
        match route {
            Route::Read(kind, id) => self.read(*kind, id, request),
            Route::VersionRead(kind, id, version) => self.version_read(*kind, id, version, request),
            Route::InstanceHistory(kind, id) => self.instance_history(*kind, id, request),
            Route::TypeHistory(kind) => self.log_history(Some(*kind), request),
            Route::SystemHistory => self.log_history(None, request),
            Route::Search(kind) => self.search_type(*kind, request),
            Route::SearchAll => self.search_all(request),
            Route::SearchCompartment {
                compartment,
                id,
                kind,
            } => self.search_compartment(*compartment, id, *kind, request),
            Route::Capabilities => self.capabilities(request),
            Route::Everything(id) => self.everything(id.as_deref(), request),
            Route::Validate(kind, id) => self.validate(*kind, id.as_deref(), request),
            Route::Create(_)
            | Route::Update(..)
            | Route::ConditionalUpdate(_)
            | Route::Patch(..)
            | Route::ConditionalPatch(_)
            | Route::Delete(..)
            | Route::ConditionalDelete(_)
            | Route::Bundle => unreachable!("a request that may write is performed, not answered"),
        }
    }
}
