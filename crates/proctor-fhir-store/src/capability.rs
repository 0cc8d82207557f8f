//! The CapabilityStatement: what the store does, and nothing else.

use bytes::Bytes;
use http::StatusCode;
use proctor_fhir::definitions::{ParameterType, SearchDefinitions};
use serde_json::{Value, json};

use super::{
    kind::ResourceKind,
    outcome::Answer,
    rest::{Request, Response},
    settings::Settings,
    state::State,
};

/// When the list of capabilities last changed.
const DATE: &str = "2026-11-15";

impl State {
    /// `GET metadata`.
    pub(super) fn capabilities(&self, _request: &Request) -> Answer<Response> {
        let body = self.capability_bytes(|| capability_statement(self.settings()));
        Ok(Response::with_body(StatusCode::OK, body))
    }
}

/// The statement of a store with these settings.
fn capability_statement(settings: &Settings) -> Bytes {
    let resources: Vec<Value> = ResourceKind::all().map(resource).collect();
    let statement = json!({
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": DATE,
        "kind": "instance",
        "software": {"name": "Proctor FHIR store", "version": env!("CARGO_PKG_VERSION")},
        "implementation": {"description": "A FHIR store of one playground", "url": settings.base_url},
        "fhirVersion": "4.0.1",
        "format": ["application/fhir+json", "json"],
        "patchFormat": ["application/json-patch+json", "application/fhir+json"],
        "rest": [{
            "mode": "server",
            "security": {
                "service": [{"coding": [{
                    "system": "http://terminology.hl7.org/CodeSystem/restful-security-service",
                    "code": "SMART-on-FHIR",
                }]}],
                "description": "Where the store asks for a token, .well-known/smart-configuration says where to get one.",
            },
            "resource": resources,
            "interaction": codes(&["transaction", "batch", "history-system", "search-system"]),
            "operation": [validate_operation()],
            "searchParam": common_parameters(),
            "compartment": [
                "http://hl7.org/fhir/CompartmentDefinition/device",
                "http://hl7.org/fhir/CompartmentDefinition/encounter",
                "http://hl7.org/fhir/CompartmentDefinition/patient",
                "http://hl7.org/fhir/CompartmentDefinition/practitioner",
                "http://hl7.org/fhir/CompartmentDefinition/relatedPerson",
            ],
        }],
    });
    statement.to_string().into()
}

fn resource(kind: ResourceKind) -> Value {
    let definitions = SearchDefinitions::r4();
    let mut parameters: Vec<_> = definitions
        .for_type(kind.name())
        .filter(|parameter| parameter.expression.is_some())
        .collect();
    parameters.sort_by_key(|parameter| parameter.code);
    let references: Vec<String> = parameters
        .iter()
        .filter(|parameter| parameter.kind == ParameterType::Reference)
        .map(|parameter| format!("{kind}:{}", parameter.code))
        .collect();
    let search: Vec<Value> = parameters
        .iter()
        .map(|parameter| {
            json!({
                "name": parameter.code,
                "definition": parameter.url(),
                "type": parameter.kind.as_str(),
            })
        })
        .collect();
    let mut described = json!({
        "type": kind.name(),
        "interaction": codes(&[
            "read", "vread", "update", "patch", "delete", "history-instance", "history-type",
            "create", "search-type",
        ]),
        "versioning": "versioned-update",
        "readHistory": true,
        "updateCreate": true,
        "conditionalCreate": true,
        "conditionalRead": "full-support",
        "conditionalUpdate": true,
        "conditionalDelete": "single",
        "referencePolicy": ["literal", "logical"],
        "searchInclude": ["*"],
        "searchRevInclude": referring(kind),
        "searchParam": search,
        "operation": operations(kind),
    });
    if let Some(Value::Array(includes)) = described.get_mut("searchInclude") {
        includes.extend(references.into_iter().map(Value::from));
    }
    if described["searchRevInclude"]
        .as_array()
        .is_some_and(Vec::is_empty)
        && let Some(map) = described.as_object_mut()
    {
        map.remove("searchRevInclude");
    }
    described
}

/// The references of other types that may point at `kind`.
fn referring(kind: ResourceKind) -> Vec<String> {
    let definitions = SearchDefinitions::r4();
    let mut found: Vec<String> = ResourceKind::all()
        .flat_map(|source| {
            let parameters = definitions.for_type(source.name());
            let pointing = parameters.filter(|parameter| {
                parameter.kind == ParameterType::Reference
                    && parameter.targets.contains(&kind.name())
            });
            pointing.map(move |parameter| format!("{source}:{}", parameter.code))
        })
        .collect();
    found.sort_unstable();
    found
}

/// The operation that every type has, and the whole store.
fn validate_operation() -> Value {
    json!({
        "name": "validate",
        "definition": "http://hl7.org/fhir/OperationDefinition/Resource-validate",
    })
}

fn operations(kind: ResourceKind) -> Vec<Value> {
    let mut operations = vec![validate_operation()];
    if kind.name() == "Patient" {
        operations.push(json!({
            "name": "everything",
            "definition": "http://hl7.org/fhir/OperationDefinition/Patient-everything",
        }));
    }
    operations
}

/// The parameters that every type has.
fn common_parameters() -> Vec<Value> {
    let definitions = SearchDefinitions::r4();
    [
        "_id",
        "_lastUpdated",
        "_profile",
        "_security",
        "_source",
        "_tag",
    ]
    .into_iter()
    .filter_map(|code| definitions.find("Patient", code))
    .map(|parameter| {
        json!({
            "name": parameter.code,
            "definition": parameter.url(),
            "type": parameter.kind.as_str(),
        })
    })
    .collect()
}

fn codes(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({"code": name})).collect()
}
