//! What the owner of a playground puts into a store: resources, bundles, data sets.
//!
//! Each is one request to the store, so that it is checked and recorded like any other.

use http::Method;
use proctor_core::{
    environment::{Dataset, DatasetType},
    time::Timestamp,
};
use proctor_simulation::simulator::{NotProvided, Provision};
use serde_json::{Value, json};

use super::{
    change::Event,
    plugin::{FhirTransaction, FhirUpsert},
    resource::Resource,
    rest::Request,
    state::State,
};

/// Puts something into a store; what happened.
pub(crate) fn provide(
    state: &mut State,
    provision: &Provision<'_>,
    now: Timestamp,
) -> Result<Event, NotProvided> {
    let request = match provision {
        Provision::Step(step) => {
            if let Some(FhirUpsert { resource }) = step.action() {
                upsert(resource, now)?
            } else if let Some(FhirTransaction { bundle }) = step.action() {
                Request::new(Method::POST, "", now).with_body(bundle.to_string())
            } else {
                return Err(NotProvided::not_mine(provision, "Fhir"));
            }
        }
        Provision::Load(dataset) => transaction(
            dataset,
            now,
            |kind, id, resource| json!({"resource": resource, "request": {"method": "PUT", "url": format!("{kind}/{id}")}}),
        )?,
        Provision::Unload(dataset) => transaction(
            dataset,
            now,
            |kind, id, _| json!({"request": {"method": "DELETE", "url": format!("{kind}/{id}")}}),
        )?,
    };
    let (response, event) = state.apply(request);
    if response.status.is_client_error() || response.status.is_server_error() {
        return Err(NotProvided(said(&response.body)));
    }
    Ok(event)
}

fn upsert(resource: &Value, now: Timestamp) -> Result<Request, NotProvided> {
    let parsed = Resource::from_value(resource.clone())
        .map_err(|refusal| NotProvided(refusal.to_string()))?;
    let kind = parsed.kind().name();
    let id = parsed
        .id()
        .map_err(|refusal| NotProvided(refusal.to_string()))?;
    let (method, path) = match id {
        Some(id) => (Method::PUT, format!("{kind}/{id}")),
        None => (Method::POST, kind.to_owned()),
    };
    Ok(Request::new(method, &path, now).with_body(resource.to_string()))
}

/// A transaction with one entry for each resource of a data set.
fn transaction(
    dataset: &Dataset,
    now: Timestamp,
    entry: impl Fn(&str, &str, &Value) -> Value,
) -> Result<Request, NotProvided> {
    if dataset.kind != DatasetType::Fhir {
        return Err(NotProvided(format!(
            "a Fhir simulator takes data sets of type FHIR, not {}",
            dataset.kind.as_str()
        )));
    }
    let mut entries = Vec::new();
    for resource in resources(&dataset.data) {
        let kind = resource.get("resourceType").and_then(Value::as_str);
        let id = resource.get("id").and_then(Value::as_str);
        let (Some(kind), Some(id)) = (kind, id) else {
            return Err(NotProvided(
                "every resource of the data set needs a resourceType and an id".to_owned(),
            ));
        };
        entries.push(entry(kind, id, resource));
    }
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": entries});
    Ok(Request::new(Method::POST, "", now).with_body(bundle.to_string()))
}

/// The resources that a data set's data holds: a list, the entries of a bundle, or one resource.
pub(crate) fn resources(data: &Value) -> Vec<&Value> {
    match data {
        Value::Array(list) => list.iter().collect(),
        bundle if bundle.get("resourceType").and_then(Value::as_str) == Some("Bundle") => bundle
            .get("entry")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.get("resource"))
            .collect(),
        one => vec![one],
    }
}

/// The diagnostics of an OperationOutcome.
fn said(body: &[u8]) -> String {
    let outcome: Value = serde_json::from_slice(body).unwrap_or_default();
    let issues = outcome.get("issue").and_then(Value::as_array);
    let texts: Vec<&str> = issues
        .into_iter()
        .flatten()
        .filter_map(|issue| issue.get("diagnostics")?.as_str())
        .collect();
    texts.join("; ")
}
