//! Changing a resource in part: JSON Patch and FHIRPath Patch.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::StatusCode;
use proctor_fhir::patch::{PatchError, fhirpath_patch, json_patch};
use serde_json::{Map, Value};

use super::{Request, Response, format::unsupported_media, read::live_row, write::Done};
use crate::{
    kind::ResourceKind,
    outcome::{Answer, Issue, IssueCode, Refusal},
    resource::{Resource, Verb, parse_json},
    state::State,
};

const JSON_PATCH: &str = "application/json-patch+json";

impl State {
    /// `PATCH Type/id`.
    pub(super) fn patch(
        &mut self,
        kind: ResourceKind,
        id: &str,
        request: &Request,
    ) -> Answer<Response> {
        let patch = incoming_patch(request)?;
        let view = self.view(kind);
        let row = live_row(&view, id)?;
        self.check_version(kind, id, request.headers.if_match.as_deref())?;
        let before = parse_json(view.newest(row).body.as_deref().unwrap_or_default())?;
        let resource = Resource::from_value(patch.apply(before)?)?;
        self.check_valid(&resource, request.headers.preferences())?;
        let written = self.store(id, Verb::Patch, resource, Done::Updated, request.at)?;
        Ok(self.written(written, request))
    }
}

/// A patch that was understood.
enum Patch {
    /// JSON Patch: a list of operations.
    Json(Value),
    /// FHIRPath Patch: a `Parameters` resource.
    FhirPath(Value),
    /// JSON Merge Patch: the elements to replace; null removes one.
    Merge(Map<String, Value>),
}

impl Patch {
    fn apply(self, before: Value) -> Answer<Value> {
        let after = match self {
            Self::Json(patch) => json_patch(&before, &patch),
            Self::FhirPath(patch) => fhirpath_patch(&before, &patch),
            Self::Merge(changes) => merge(before, changes),
        };
        after.map_err(|error| refuse(&error))
    }
}

/// The patch in a request.
///
/// Plain JSON that is neither of the standard's two forms is a merge patch: some clients send
/// nothing else.
fn incoming_patch(request: &Request) -> Answer<Patch> {
    let expected = "application/json-patch+json, or application/fhir+json with Parameters,";
    let kind = request
        .headers
        .content_type
        .as_deref()
        .unwrap_or("application/fhir+json");
    if !kind.contains("json") {
        return Err(unsupported_media(kind, expected));
    }
    let may_merge = kind.starts_with("application/json") && !kind.starts_with(JSON_PATCH)
        || kind.starts_with("application/merge-patch+json");
    match parse_json(&request.body)? {
        patch @ Value::Array(_) => Ok(Patch::Json(patch)),
        Value::Object(map)
            if map.get("resourceType").and_then(Value::as_str) == Some("Parameters") =>
        {
            Ok(Patch::FhirPath(Value::Object(map)))
        }
        Value::Object(map) if may_merge => Ok(Patch::Merge(map)),
        _ => Err(Refusal::bad_request(
            IssueCode::Structure,
            "a patch is a list of JSON Patch operations, or a Parameters resource with FHIRPath Patch operations",
        )
        .at("http.body")),
    }
}

fn merge(mut before: Value, changes: Map<String, Value>) -> Result<Value, PatchError> {
    let keeps = |name: &'static str| match changes.get(name) {
        Some(value) if Some(value) != before.get(name) => Err(PatchError::ChangedIdentity(name)),
        _ => Ok(()),
    };
    keeps("resourceType")?;
    keeps("id")?;
    json_patch::merge(&mut before, &Value::Object(changes));
    Ok(before)
}

/// The patch that an entry of a bundle carries: Parameters, or a JSON Patch inside a Binary.
pub(super) fn patch_of_entry(resource: &Resource) -> Answer<bytes::Bytes> {
    if resource.kind().name() == "Parameters" {
        return Ok(resource.value().to_string().into());
    }
    let text = |name: &str| resource.value().get(name).and_then(Value::as_str);
    let data = text("data").filter(|_| text("contentType") == Some(JSON_PATCH));
    match data.map(|data| STANDARD.decode(data)) {
        Some(Ok(patch)) => Ok(patch.into()),
        _ => Err(Refusal::bad_request(
            IssueCode::Structure,
            format!(
                "the patch of an entry is a Parameters resource, or a Binary of contentType {JSON_PATCH} with base64 data"
            ),
        )),
    }
}

fn refuse(error: &PatchError) -> Box<Refusal> {
    let (status, code) = match error {
        PatchError::Malformed(_) | PatchError::MalformedOperation { .. } => {
            (StatusCode::BAD_REQUEST, IssueCode::Structure)
        }
        PatchError::TestFailed { .. } => (StatusCode::PRECONDITION_FAILED, IssueCode::Conflict),
        PatchError::NotApplicable { .. } | PatchError::ChangedIdentity(_) => {
            (StatusCode::UNPROCESSABLE_ENTITY, IssueCode::BusinessRule)
        }
    };
    let mut issue = Issue::error(code, error.to_string());
    if let PatchError::TestFailed { path, .. } | PatchError::NotApplicable { path, .. } = error {
        issue = issue.at(path.clone());
    }
    Refusal::new(status, issue)
}
