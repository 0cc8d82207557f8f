//! `Patient/$everything`: a patient, what belongs to them, and what that refers to.

use http::Method;
use proctor_fhir::definitions::SearchDefinitions;

use super::{Handling, Request, Response, read::live_row, search::search_pairs};
use crate::{
    kind::ResourceKind,
    outcome::{Answer, IssueCode, Refusal},
    resource::Resource,
    search::{
        Include,
        parameters::{Compartment, Scope, parse},
    },
    state::State,
};

impl State {
    /// `GET Patient/id/$everything`, or of all patients.
    pub(super) fn everything(&self, id: Option<&str>, request: &Request) -> Answer<Response> {
        let patient = ResourceKind::named("Patient")
            .expect("R4 has patients, or there would be no such operation");
        let definitions = SearchDefinitions::r4();
        let members = definitions
            .compartment_members("Patient")
            .unwrap_or_default();
        let kinds = members.into_iter().filter_map(ResourceKind::named);
        let kinds: Vec<ResourceKind> = std::iter::once(patient)
            .chain(kinds.filter(|kind| *kind != patient))
            .collect();
        let pairs = operation_pairs(request)?;
        let compartment = match id {
            Some(id) => {
                live_row(&self.view(patient), id)?;
                Compartment::Of(patient, id.to_owned())
            }
            None => Compartment::OfAny(patient),
        };
        let scope = Scope {
            kinds,
            compartment: Some(compartment),
        };
        let mut asked = pairs.clone();
        asked.retain(|(name, _)| name != "_page_token");
        let mut kept = Vec::new();
        for (name, value) in pairs {
            match name.as_str() {
                "_since" => kept.push(("_lastUpdated".to_owned(), format!("ge{value}"))),
                "_count" | "_type" | "_page_token" | "_format" | "_pretty" | "_elements"
                | "_summary" => kept.push((name, value)),
                _ => {
                    return Err(Refusal::bad_request(
                        IssueCode::NotSupported,
                        format!("$everything has no parameter '{name}': there are _since, _type and _count"),
                    )
                    .at(&format!("http.{name}")));
                }
            }
        }
        let mut search = parse(self, scope, kept, Handling::Strict, request.at)?;
        search.used = asked;
        search.includes.push(Include::all_references());
        Ok(self.search_bundle(search, request.path.trim_matches('/')))
    }
}

/// The parameters of an operation, from the query or from a `Parameters` resource.
fn operation_pairs(request: &Request) -> Answer<Vec<(String, String)>> {
    if request.method != Method::POST || request.body.is_empty() {
        return search_pairs(request);
    }
    let parameters = Resource::parse(&request.body)?;
    let list = parameters.value().get("parameter");
    let items = list.and_then(serde_json::Value::as_array);
    let pair = |item: &serde_json::Value| {
        let map = item.as_object()?;
        let name = map.get("name")?.as_str()?.to_owned();
        let value = map.iter().find(|(key, _)| key.starts_with("value"))?.1;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        Some((name, text))
    };
    Ok(items.into_iter().flatten().filter_map(pair).collect())
}
