//! Checking resources against the rules of their type: on the way in, and on request.

use http::{Method, StatusCode};
use proctor_fhir::{primitive::text::excerpt, validate};
use serde_json::Value;

use super::{Preferences, Request, Response, format::check_content, read::live_row};
use crate::{
    kind::ResourceKind,
    outcome::{Answer, Issue, IssueCode, Refusal, Severity, operation_outcome_bytes},
    resource::{Resource, parse_json},
    settings::Validation,
    state::State,
};

impl State {
    /// Refuses a resource that breaks the rules of its type, unless that is allowed.
    pub(super) fn check_valid(&self, resource: &Resource, preferences: Preferences) -> Answer<()> {
        let relaxed = match self.settings().validation {
            Validation::Always => false,
            Validation::Enforced => preferences.skip_validation,
            Validation::Off => true,
        };
        if relaxed {
            return Ok(());
        }
        let found = validate::validate(resource.value());
        if found
            .iter()
            .all(|issue| issue.severity != validate::Severity::Error)
        {
            return Ok(());
        }
        let issues = found.into_iter().map(Issue::from).collect();
        Err(Refusal::many(StatusCode::UNPROCESSABLE_ENTITY, issues))
    }

    /// `POST $validate`, `POST Type/$validate`, `POST Type/id/$validate`, `GET Type/id/$validate`. Without a type in the path, whatever is sent
    /// is checked by its own; Parameters are then always those of the operation.
    pub(super) fn validate(
        &self,
        kind: Option<ResourceKind>,
        id: Option<&str>,
        request: &Request,
    ) -> Answer<Response> {
        let mut not_regarded = Vec::new();
        let resource = if request.method == Method::POST && !request.body.is_empty() {
            check_content(request, "application/fhir+json")?;
            let sent = Resource::parse(&request.body)?;
            let wraps = sent.kind().name() == "Parameters"
                && kind.is_none_or(|kind| kind.name() != "Parameters");
            let resource = if wraps {
                not_regarded = names_not_regarded(&sent);
                resource_of(&sent)?
            } else {
                sent
            };
            if let Some(kind) = kind {
                resource.expect_kind(kind)?;
            }
            resource
        } else if let (Some(kind), Some(id)) = (kind, id) {
            let view = self.view(kind);
            let row = live_row(&view, id)?;
            let body = view.newest(row).body.as_deref().unwrap_or_default();
            Resource::from_value(parse_json(body)?)?
        } else {
            return Err(Refusal::bad_request(
                IssueCode::Required,
                "there is nothing to validate: send a resource, or Parameters with one",
            ));
        };
        let found = validate::validate(resource.value());
        let mut issues: Vec<Issue> = if found.is_empty() {
            let kind = resource.kind();
            vec![Issue::information(format!(
                "the {kind} keeps the rules of its type"
            ))]
        } else {
            found.into_iter().map(Issue::from).collect()
        };
        issues.extend(not_regarded.into_iter().map(|name| {
            Issue::information(format!(
                "the parameter '{name}' was not regarded: only the rules of the type are checked"
            ))
        }));
        Ok(Response::with_body(
            StatusCode::OK,
            operation_outcome_bytes(&issues),
        ))
    }
}

/// The parameters of the operation by their names.
fn named(parameters: &Resource) -> impl Iterator<Item = (&str, &Value)> {
    let list = parameters.value().get("parameter");
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| Some((item.get("name")?.as_str()?, item)))
}

/// The parameters of the operation that change nothing here, such as `profile` and `mode`.
fn names_not_regarded(parameters: &Resource) -> Vec<String> {
    let others = named(parameters).filter(|(name, _)| *name != "resource");
    others.map(|(name, _)| excerpt(name)).collect()
}

/// The resource inside the parameters of the operation.
fn resource_of(parameters: &Resource) -> Answer<Resource> {
    let resource = named(parameters)
        .find(|(name, _)| *name == "resource")
        .and_then(|(_, item)| item.get("resource"));
    match resource {
        Some(value) => Resource::from_value(value.clone()),
        None => Err(Refusal::bad_request(
            IssueCode::Required,
            "the Parameters have no parameter 'resource'",
        )
        .at("Parameters.parameter")),
    }
}

impl From<validate::Issue> for Issue {
    fn from(issue: validate::Issue) -> Self {
        let code = match issue.code {
            validate::IssueCode::Structure => IssueCode::Structure,
            validate::IssueCode::Required => IssueCode::Required,
            validate::IssueCode::Value => IssueCode::Value,
            validate::IssueCode::CodeInvalid => IssueCode::CodeInvalid,
            validate::IssueCode::Invariant => IssueCode::Invariant,
        };
        let severity = match issue.severity {
            validate::Severity::Error => Severity::Error,
            validate::Severity::Warning => Severity::Warning,
        };
        Self {
            severity,
            code,
            diagnostics: issue.diagnostics,
            expression: vec![issue.expression],
        }
    }
}
