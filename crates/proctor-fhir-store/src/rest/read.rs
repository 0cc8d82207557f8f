//! Reading one resource, as it is now or as it was.

use http::StatusCode;
use proctor_core::time::Timestamp;

use super::{Request, Response, Shown, request::Headers, response::parse_http_date};
use crate::{
    index::Row,
    kind::ResourceKind,
    outcome::{Answer, Issue, IssueCode, Refusal},
    overlay::KindView,
    resource::{Version, VersionName},
    state::State,
    view::View,
};

impl State {
    /// `GET Type/id`.
    pub(super) fn read(&self, kind: ResourceKind, id: &str, request: &Request) -> Answer<Response> {
        let view = self.view(kind);
        let row = known_row(&view, id)?;
        show(&view, row, view.newest(row), request)
    }

    /// `GET Type/id/_history/version`.
    pub(super) fn version_read(
        &self,
        kind: ResourceKind,
        id: &str,
        version: &str,
        request: &Request,
    ) -> Answer<Response> {
        let view = self.view(kind);
        let row = known_row(&view, id)?;
        let found = version.parse().ok().and_then(|number: u32| {
            view.versions(row)
                .iter()
                .find(|known| known.number == number)
        });
        let Some(found) = found else {
            return Err(Refusal::not_found(format!(
                "{kind}/{id} has no version '{version}': the newest is {}",
                view.newest(row).number
            )));
        };
        show(&view, row, found, request)
    }
}

/// The row of a resource that exists or existed.
pub(super) fn known_row(view: &KindView<'_>, id: &str) -> Answer<Row> {
    view.row_of(id)
        .ok_or_else(|| Refusal::not_found(format!("there is no {}/{id}", view.kind)))
}

/// The row of a resource that exists.
pub(super) fn live_row(view: &KindView<'_>, id: &str) -> Answer<Row> {
    let row = known_row(view, id)?;
    if view.is_live(row) {
        Ok(row)
    } else {
        Err(gone(view.kind, id, view.newest(row)))
    }
}

fn show(view: &KindView<'_>, row: Row, version: &Version, request: &Request) -> Answer<Response> {
    let Some(body) = &version.body else {
        return Err(gone(view.kind, view.id(row), version));
    };
    let mut response = Response {
        version: Some(version.number),
        last_modified: Some(version.at),
        ..Response::empty(StatusCode::NOT_MODIFIED)
    };
    if is_unchanged(&request.headers, version) {
        return Ok(response);
    }
    response.status = StatusCode::OK;
    let place;
    (response.body, place) = match View::from_query(&request.query)? {
        View::Full => (body.clone(), Some(0..body.len())),
        projection => (projection.apply(body), None),
    };
    let name = VersionName {
        kind: view.kind,
        id: view.id(row).clone(),
        version: version.number,
    };
    response.shown.push(Shown { name, place });
    Ok(response)
}

/// 410: there was a resource, and it was deleted.
fn gone(kind: ResourceKind, id: &str, deletion: &Version) -> Box<Refusal> {
    let mut refusal = Refusal::new(
        StatusCode::GONE,
        Issue::error(
            IssueCode::Deleted,
            format!("{kind}/{id} was deleted at {}", deletion.at),
        ),
    );
    refusal.version = Some(deletion.number);
    refusal
}

fn is_unchanged(headers: &Headers, version: &Version) -> bool {
    // A tag is the sharper test: where there is one, the date is ignored.
    if let Some(tags) = &headers.if_none_match {
        let number = version.number.to_string();
        return tags.split(',').any(|tag| {
            let tag = tag.trim();
            tag == "*" || tag.trim_start_matches("W/").trim_matches('"') == number
        });
    }
    let since = headers
        .if_modified_since
        .as_deref()
        .and_then(parse_http_date);
    // HTTP dates have whole seconds.
    since.is_some_and(|since| whole_second(version.at) <= since)
}

fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis().div_euclid(1_000) * 1_000)
}
