//! Carrying a search out.

use bytes::Bytes;
use http::StatusCode;
use proctor_core::time::Timestamp;

use super::{
    Found,
    bundle::{Links, write_bundle},
    include::included,
    order::{SortField, cut_page},
    page::{Position, Side},
    parameters::{Scope, Search, Total, parse},
    select::matching_rows,
};
use crate::{
    index::Row,
    kind::ResourceKind,
    outcome::{Answer, Issue, IssueCode, Refusal},
    query,
    resource::VersionName,
    rest::{Handling, Response},
    state::State,
    view::View,
};

/// A resource that a search found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its name and version.
    pub name: VersionName,
    /// The resource as it is stored.
    pub body: Bytes,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Hits {
    /// How many resources match, on all pages.
    pub total: usize,
    /// The matches on the first page.
    pub hits: Vec<Hit>,
}

/// One page of matches.
pub(super) struct Page {
    pub(super) matches: Vec<Found>,
    pub(super) total: Option<usize>,
    pub(super) next: Option<Position>,
    pub(super) previous: Option<Position>,
}

impl State {
    /// Searches for checking: whatever is not understood refuses the search, and the resource that
    /// was updated last comes first unless `criteria` sort otherwise.
    pub fn search_strictly(
        &self,
        kind: ResourceKind,
        criteria: &[(String, String)],
        now: Timestamp,
    ) -> Answer<Hits> {
        let pairs = criteria.to_vec();
        let mut search = parse(self, Scope::of(kind), pairs, Handling::Strict, now)?;
        search.total = Total::Accurate;
        if search.sort.is_empty() {
            search.sort.push(SortField {
                code: "_lastUpdated".into(),
                descending: true,
            });
        }
        let page = self.page(&search);
        let hits = page
            .matches
            .iter()
            .filter_map(|found| {
                let view = self.view(found.kind);
                Some(Hit {
                    name: view.name(found.row),
                    body: view.newest(found.row).body.clone()?,
                })
            })
            .collect();
        Ok(Hits {
            total: page.total.unwrap_or_default(),
            hits,
        })
    }

    /// The rows that `criteria` match, all of them understood.
    pub(crate) fn matching_rows(
        &self,
        kind: ResourceKind,
        criteria: &str,
        now: Timestamp,
    ) -> Answer<Vec<Row>> {
        let pairs = query::parse(criteria)?;
        let search = parse(self, Scope::of(kind), pairs, Handling::Strict, now)?;
        let [(kind, tests)] = search.tests.as_slice() else {
            return Ok(Vec::new());
        };
        if tests.is_empty() {
            return Err(Refusal::bad_request(
                IssueCode::Required,
                format!("criteria are missing: '{kind}?{criteria}' would match every {kind}"),
            ));
        }
        Ok(matching_rows(self, &self.view(*kind), tests))
    }

    /// One page of a search, as a bundle.
    pub(crate) fn search_bundle(&self, mut search: Search, path: &str) -> Response {
        let page = self.page(&search);
        let came_along = included(self, &search.includes, &page.matches);
        if came_along.cut {
            let limit = self.settings().max_included;
            search.warnings.push(Issue::warning(
                IssueCode::TooLong,
                format!(
                    "more than {limit} resources are linked to this page; the rest was left out"
                ),
            ));
        }
        let links = Links {
            base_url: &self.settings().base_url,
            path,
            used: &search.used,
            next: page.next,
            previous: page.previous,
        };
        let (body, shown) = write_bundle(
            self,
            &search.view,
            &page,
            &came_along.found,
            &search.warnings,
            &links,
        );
        Response {
            shown,
            ..Response::with_body(StatusCode::OK, body)
        }
    }

    fn page(&self, search: &Search) -> Page {
        let count = match search.view {
            View::Count => 0,
            _ => search.count,
        };
        let mut all = Vec::new();
        for (kind, tests) in &search.tests {
            let view = self.view(*kind);
            let rows = matching_rows(self, &view, tests);
            all.extend(rows.into_iter().map(|row| Found { kind: *kind, row }));
        }
        let total = all.len();
        let (matches, more) = cut_page(self, &search.sort, all, search.position, count);
        let beside =
            |side, found: Option<&Found>| found.map(|found| Position::beside(self, side, *found));
        let (has_next, has_previous) = match search.position.map(|position| position.side) {
            None => (more, false),
            Some(Side::After) => (more, true),
            Some(Side::Before) => (true, more),
        };
        Page {
            total: match search.total {
                Total::None if search.view != View::Count => None,
                Total::None | Total::Accurate => Some(total),
            },
            next: beside(Side::After, matches.last()).filter(|_| has_next),
            previous: beside(Side::Before, matches.first()).filter(|_| has_previous),
            matches,
        }
    }
}
