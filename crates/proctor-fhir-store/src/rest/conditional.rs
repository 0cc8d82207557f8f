//! Writes whose target is found by a search.

use http::StatusCode;

use super::{
    Request, Response,
    write::{Done, Written},
};
use crate::{
    index::Row,
    kind::ResourceKind,
    outcome::{Answer, Issue, IssueCode, Refusal},
    resource::{Resource, Verb, check_id},
    state::State,
};
use proctor_core::time::Timestamp;

/// What criteria that must name at most one resource found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    None,
    One(Row),
}

impl State {
    /// `PUT Type?criteria`.
    pub(super) fn conditional_update(
        &mut self,
        kind: ResourceKind,
        request: &Request,
    ) -> Answer<Response> {
        let resource = self.incoming(kind, request)?;
        let if_match = request.headers.if_match.as_deref();
        let written = self.update_matching(kind, &request.query, resource, if_match, request.at)?;
        Ok(self.written(written, request))
    }

    /// `PATCH Type?criteria`.
    pub(super) fn conditional_patch(
        &mut self,
        kind: ResourceKind,
        request: &Request,
    ) -> Answer<Response> {
        match self.find_one(kind, &request.query, request.at)? {
            Found::One(row) => {
                let id = self.view(kind).id(row).clone();
                self.patch(kind, &id, request)
            }
            Found::None => Err(Refusal::not_found(format!(
                "no {kind} matches '{}': there is nothing to patch",
                request.query
            ))),
        }
    }

    /// `DELETE Type?criteria`.
    pub(super) fn conditional_delete(
        &mut self,
        kind: ResourceKind,
        request: &Request,
    ) -> Answer<Response> {
        let if_match = request.headers.if_match.as_deref();
        let written = self.delete_matching(kind, &request.query, if_match, request.at)?;
        Ok(self.written(written, request))
    }

    /// Updates the one match of `criteria`, or creates a resource when there is none.
    pub(super) fn update_matching(
        &mut self,
        kind: ResourceKind,
        criteria: &str,
        mut resource: Resource,
        if_match: Option<&str>,
        at: Timestamp,
    ) -> Answer<Written> {
        let own = resource.id()?.map(str::to_owned);
        match (self.find_one(kind, criteria, at)?, own) {
            (Found::One(row), own) => {
                let id = self.view(kind).id(row).clone();
                if own.is_none()
                    && let Some(map) = resource.value_mut().as_object_mut()
                {
                    map.insert("id".to_owned(), (*id).into());
                }
                self.update_resource(kind, &id, resource, if_match, at)
            }
            (Found::None, Some(id)) => {
                check_id(kind, &id)?;
                let view = self.view(kind);
                if view.row_of(&id).is_some_and(|row| view.is_live(row)) {
                    return Err(Refusal::new(
                        StatusCode::CONFLICT,
                        Issue::error(
                            IssueCode::Conflict,
                            format!("no {kind} matches '{criteria}', but {kind}/{id} exists"),
                        )
                        .at(format!("{kind}.id")),
                    ));
                }
                self.update_resource(kind, &id, resource, if_match, at)
            }
            (Found::None, None) => {
                let id = self.draw_id(kind);
                self.store(&id, Verb::Post, resource, Done::Created, at)
            }
        }
    }

    /// Deletes the one match of `criteria`, if there is one.
    pub(super) fn delete_matching(
        &mut self,
        kind: ResourceKind,
        criteria: &str,
        if_match: Option<&str>,
        at: Timestamp,
    ) -> Answer<Written> {
        match self.find_one(kind, criteria, at)? {
            Found::One(row) => {
                let id = self.view(kind).id(row).clone();
                self.delete_resource(kind, &id, if_match, at)
            }
            Found::None => Ok(Written {
                kind,
                row: None,
                done: Done::Nothing,
            }),
        }
    }

    /// The one match of `criteria`. Criteria here are always taken strictly: to ignore one would
    /// be to write to the wrong resource.
    pub(super) fn find_one(
        &self,
        kind: ResourceKind,
        criteria: &str,
        at: Timestamp,
    ) -> Answer<Found> {
        let criteria = criteria.trim_start_matches('?');
        let criteria = criteria
            .split_once('?')
            .filter(|(before, _)| *before == kind.name())
            .map_or(criteria, |(_, after)| after);
        let rows = self.matching_rows(kind, criteria, at)?;
        match rows.as_slice() {
            [] => Ok(Found::None),
            [row] => Ok(Found::One(*row)),
            many => Err(Refusal::precondition_failed(
                IssueCode::MultipleMatches,
                format!(
                    "'{criteria}' matches {} resources of type {kind}: criteria that name one are needed",
                    many.len()
                ),
            )),
        }
    }
}
