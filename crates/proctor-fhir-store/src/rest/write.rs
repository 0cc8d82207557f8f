//! Creating and updating one resource.

use http::StatusCode;
use proctor_core::time::Timestamp;

use super::{
    Request, Response, Return, Shown, conditional::Found, format::check_content,
    request::version_of_tag,
};
use crate::{
    index::Row,
    kind::ResourceKind,
    outcome::{Answer, Issue, IssueCode, Refusal, operation_outcome_bytes},
    resource::{Resource, Verb, check_id},
    state::State,
};

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// A resource came to be.
    Created,
    /// A resource has a new version.
    Updated,
    /// A resource was there already, and nothing was done.
    Found,
    /// A resource was deleted.
    Deleted,
    /// There was nothing to do.
    Nothing,
}

impl Done {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Created => StatusCode::CREATED,
            Self::Updated | Self::Found => StatusCode::OK,
            Self::Deleted | Self::Nothing => StatusCode::NO_CONTENT,
        }
    }
}

/// What a write did, and to which row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) kind: ResourceKind,
    pub(super) row: Option<Row>,
    pub(super) done: Done,
}

impl State {
    /// `POST Type`.
    pub(super) fn create(&mut self, kind: ResourceKind, request: &Request) -> Answer<Response> {
        let resource = self.incoming(kind, request)?;
        // Criteria in the address are an older way to say `If-None-Exist`, which clients still use.
        let condition = request.headers.if_none_exist.as_deref().or_else(|| {
            let only_format = |pair: &str| {
                pair.is_empty() || pair.starts_with("_format=") || pair.starts_with("_pretty=")
            };
            let has_criteria = !request.query.split('&').all(only_format);
            has_criteria.then_some(request.query.as_str())
        });
        let written = self.create_resource(kind, resource, condition, request.at)?;
        Ok(self.written(written, request))
    }

    /// `PUT Type/id`.
    pub(super) fn update(
        &mut self,
        kind: ResourceKind,
        id: &str,
        request: &Request,
    ) -> Answer<Response> {
        let resource = self.incoming(kind, request)?;
        let if_match = request.headers.if_match.as_deref();
        let written = self.update_resource(kind, id, resource, if_match, request.at)?;
        Ok(self.written(written, request))
    }

    /// Stores a resource under an id of the server's choice, unless `if_none_exist` finds one.
    pub(super) fn create_resource(
        &mut self,
        kind: ResourceKind,
        resource: Resource,
        if_none_exist: Option<&str>,
        at: Timestamp,
    ) -> Answer<Written> {
        if let Some(criteria) = if_none_exist {
            match self.find_one(kind, criteria, at)? {
                Found::None => {}
                Found::One(row) => {
                    return Ok(Written {
                        kind,
                        row: Some(row),
                        done: Done::Found,
                    });
                }
            }
        }
        let id = self.draw_id(kind);
        self.store(&id, Verb::Post, resource, Done::Created, at)
    }

    /// Stores a resource under the id that the address names.
    pub(super) fn update_resource(
        &mut self,
        kind: ResourceKind,
        id: &str,
        resource: Resource,
        if_match: Option<&str>,
        at: Timestamp,
    ) -> Answer<Written> {
        check_id(kind, id)?;
        match resource.id()? {
            Some(own) if own != id => {
                return Err(Refusal::bad_request(
                    IssueCode::Invalid,
                    format!("the resource says its id is '{own}', but the address says '{id}'"),
                )
                .at(&format!("{kind}.id")));
            }
            None => {
                return Err(Refusal::bad_request(
                    IssueCode::Required,
                    format!("the resource needs the id '{id}' that the address names"),
                )
                .at(&format!("{kind}.id")));
            }
            Some(_) => {}
        }
        self.check_version(kind, id, if_match)?;
        let view = self.view(kind);
        let exists = view.row_of(id).is_some_and(|row| view.is_live(row));
        let done = if exists { Done::Updated } else { Done::Created };
        self.store(id, Verb::Put, resource, done, at)
    }

    /// Stores a resource under `id`.
    pub(super) fn store(
        &mut self,
        id: &str,
        verb: Verb,
        resource: Resource,
        done: Done,
        at: Timestamp,
    ) -> Answer<Written> {
        let kind = resource.kind();
        let row = self.put(id, verb, at, resource)?;
        Ok(Written {
            kind,
            row: Some(row),
            done,
        })
    }

    /// Refuses when `if_match` does not name the newest version.
    pub(super) fn check_version(
        &self,
        kind: ResourceKind,
        id: &str,
        if_match: Option<&str>,
    ) -> Answer<()> {
        let Some(tag) = if_match else { return Ok(()) };
        if tag.trim() == "*" {
            return Ok(());
        }
        let wanted = version_of_tag(tag)?;
        let view = self.view(kind);
        let newest = view.row_of(id).map(|row| view.newest(row).number);
        if newest == Some(wanted) {
            return Ok(());
        }
        let now = newest.map_or_else(
            || "it does not exist".to_owned(),
            |number| format!("the newest is {number}"),
        );
        let mut refusal = Refusal::precondition_failed(
            IssueCode::Conflict,
            format!(
                "{kind}/{id} is not at version {wanted}: {now}; read it again and repeat the change"
            ),
        )
        .at("http.If-Match");
        refusal.version = newest;
        Err(refusal)
    }

    /// The resource in a request's body: of the right type, and valid.
    pub(super) fn incoming(&self, kind: ResourceKind, request: &Request) -> Answer<Resource> {
        check_content(request, "application/fhir+json")?;
        let resource = Resource::parse(&request.body)?;
        resource.expect_kind(kind)?;
        self.check_valid(&resource, request.headers.preferences())?;
        Ok(resource)
    }

    /// The answer to a write, with as much of the resource as the client prefers.
    pub(super) fn written(&self, written: Written, request: &Request) -> Response {
        let mut response = Response::empty(written.done.status());
        let returns = request.headers.preferences().returns;
        if let Some(row) = written.row {
            let view = self.view(written.kind);
            let version = view.newest(row);
            response.version = Some(version.number);
            response.last_modified = Some(version.at);
            if matches!(written.done, Done::Created | Done::Found) {
                response.location = Some(self.address_of(written.kind, row));
            }
            if let (Return::Representation, Some(body)) =
                (returns.unwrap_or(Return::Representation), &version.body)
            {
                response.body = body.clone();
                response.shown.push(Shown {
                    name: view.name(row),
                    place: Some(0..body.len()),
                });
            }
        }
        if returns == Some(Return::OperationOutcome) {
            let said = self.tell(written);
            response.body = operation_outcome_bytes(&[Issue::information(said)]);
            if response.status == StatusCode::NO_CONTENT {
                response.status = StatusCode::OK;
            }
        }
        response
    }

    /// Where a version can be read.
    pub(super) fn address_of(&self, kind: ResourceKind, row: Row) -> String {
        format!("{}/{}", self.settings().base_url, self.view(kind).name(row))
    }

    fn tell(&self, written: Written) -> String {
        let Some(row) = written.row else {
            return "there was nothing to do".to_owned();
        };
        let name = self.view(written.kind).name(row);
        match written.done {
            Done::Created => format!("created {name}"),
            Done::Updated => format!("updated to {name}"),
            Done::Found => format!("{name} was there already"),
            Done::Deleted => format!("deleted as {name}"),
            Done::Nothing => "there was nothing to do".to_owned(),
        }
    }
}
