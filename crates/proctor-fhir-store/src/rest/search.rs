//! Searches over one type, all types, or what belongs to one resource.

use http::Method;

use super::{Request, Response, format::unsupported_media, read::known_row};
use crate::{
    kind::ResourceKind,
    outcome::{Answer, IssueCode, Refusal},
    query,
    search::parameters::{Compartment, Scope, parse},
    state::State,
};

const FORM: &str = "application/x-www-form-urlencoded";

impl State {
    /// `GET Type?…` and `POST Type/_search`.
    pub(super) fn search_type(&self, kind: ResourceKind, request: &Request) -> Answer<Response> {
        self.search(Scope::of(kind), request)
    }

    /// `GET ?…` and `POST _search`.
    pub(super) fn search_all(&self, request: &Request) -> Answer<Response> {
        let scope = Scope {
            kinds: ResourceKind::all().collect(),
            compartment: None,
        };
        self.search(scope, request)
    }

    /// `GET Type/id/Type?…`.
    pub(super) fn search_compartment(
        &self,
        compartment: ResourceKind,
        id: &str,
        kind: Option<ResourceKind>,
        request: &Request,
    ) -> Answer<Response> {
        known_row(&self.view(compartment), id)?;
        let scope = Scope {
            kinds: kind.map_or_else(|| ResourceKind::all().collect(), |kind| vec![kind]),
            compartment: Some(Compartment::Of(compartment, id.to_owned())),
        };
        self.search(scope, request)
    }

    fn search(&self, scope: Scope, request: &Request) -> Answer<Response> {
        let pairs = search_pairs(request)?;
        let handling = request.headers.preferences().handling;
        let search = parse(self, scope, pairs, handling, request.at)?;
        let path = request.path.trim_matches('/');
        let path = path
            .strip_suffix("_search")
            .unwrap_or(path)
            .trim_matches('/');
        Ok(self.search_bundle(search, path))
    }
}

/// The parameters of a search, from the query and from the form in the body.
pub(super) fn search_pairs(request: &Request) -> Answer<Vec<(String, String)>> {
    let mut pairs = query::parse(&request.query)?;
    if request.method == Method::POST && !request.body.is_empty() {
        if let Some(kind) = &request.headers.content_type
            && !kind.starts_with(FORM)
        {
            return Err(unsupported_media(kind, FORM));
        }
        let form = match std::str::from_utf8(&request.body) {
            Ok(form) => form,
            Err(_) => {
                return Err(Refusal::bad_request(
                    IssueCode::Invalid,
                    "the form in the body is not UTF-8",
                ));
            }
        };
        pairs.extend(query::parse(form)?);
    }
    Ok(pairs)
}
