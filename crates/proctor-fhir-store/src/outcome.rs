//! `OperationOutcome`: how the store says what went wrong, or what to be aware of.
//!
//! Every refusal of the store is a [`Refusal`]: an HTTP status and at least one [`Issue`]. Nothing
//! else may turn an error into bytes.

use std::fmt;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::kind::ResourceKind;

/// How bad an issue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The request was refused because of it.
    Error,
    /// The request was answered, but not quite as asked.
    Warning,
    /// Worth knowing.
    Information,
}

/// The kinds of issue that the store reports, named as FHIR's `issue-type` codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueCode {
    /// The content is not what the format demands.
    Invalid,
    /// The content breaks the structure of its type.
    Structure,
    /// Something required is missing.
    Required,
    /// A value is not allowed here.
    Value,
    /// An invariant of FHIR is broken.
    Invariant,
    /// A code is not among those allowed.
    CodeInvalid,
    /// The caller has not said who they are.
    Login,
    /// The credentials have ended.
    Expired,
    /// The store does not do this.
    NotSupported,
    /// The same thing is there twice.
    Duplicate,
    /// Criteria that must name one resource name several.
    MultipleMatches,
    /// There is nothing of this name.
    NotFound,
    /// There was something of this name.
    Deleted,
    /// The request is too large.
    TooLong,
    /// The versions do not fit together.
    Conflict,
    /// A rule of the store forbids it.
    BusinessRule,
    /// It may work later.
    Transient,
    /// It went well.
    Informational,
}

impl IssueCode {
    /// The code on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Structure => "structure",
            Self::Required => "required",
            Self::Value => "value",
            Self::Invariant => "invariant",
            Self::CodeInvalid => "code-invalid",
            Self::Login => "login",
            Self::Expired => "expired",
            Self::NotSupported => "not-supported",
            Self::Duplicate => "duplicate",
            Self::MultipleMatches => "multiple-matches",
            Self::NotFound => "not-found",
            Self::Deleted => "deleted",
            Self::TooLong => "too-long",
            Self::Conflict => "conflict",
            Self::BusinessRule => "business-rule",
            Self::Transient => "transient",
            Self::Informational => "informational",
        }
    }
}

/// One thing to say about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of thing it is.
    pub code: IssueCode,
    /// What happened, to what, and what would be right.
    pub diagnostics: String,
    /// Where: FHIRPath expressions, or `http.<part>` for parts of the request.
    pub expression: Vec<String>,
}

impl Issue {
    /// An issue that refuses the request.
    pub fn error(code: IssueCode, diagnostics: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            diagnostics: diagnostics.into(),
            expression: Vec::new(),
        }
    }

    /// An issue that accompanies an answer.
    pub fn warning(code: IssueCode, diagnostics: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, diagnostics)
        }
    }

    /// Says that all is well.
    pub fn information(diagnostics: impl Into<String>) -> Self {
        Self {
            severity: Severity::Information,
            ..Self::error(IssueCode::Informational, diagnostics)
        }
    }

    /// The same issue, located.
    #[must_use]
    pub fn at(mut self, expression: impl Into<String>) -> Self {
        self.expression.push(expression.into());
        self
    }

    fn to_json(&self) -> Value {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Information => "information",
        };
        let mut issue = json!({
            "severity": severity,
            "code": self.code.as_str(),
            "diagnostics": self.diagnostics,
        });
        if !self.expression.is_empty() {
            issue["expression"] = json!(self.expression);
        }
        issue
    }
}

/// The resource that carries `issues`.
pub fn operation_outcome(issues: &[Issue]) -> Value {
    json!({
        "resourceType": "OperationOutcome",
        "issue": issues.iter().map(Issue::to_json).collect::<Vec<_>>(),
    })
}

/// The bytes of the resource that carries `issues`.
pub fn operation_outcome_bytes(issues: &[Issue]) -> Bytes {
    operation_outcome(issues).to_string().into()
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status that tells a client what to do next.
    pub status: StatusCode,
    /// What went wrong; never empty.
    pub issues: Vec<Issue>,
    /// The methods that are allowed, when the method was the problem.
    pub allow: Option<&'static str>,
    /// The current version, when versions were the problem.
    pub version: Option<u32>,
}

/// The result of anything that a client may have asked wrongly.
pub type Answer<T> = Result<T, Box<Refusal>>;

impl Refusal {
    /// A refusal for one reason.
    pub fn new(status: StatusCode, issue: Issue) -> Box<Self> {
        Self::many(status, vec![issue])
    }

    /// A refusal for several reasons.
    pub fn many(status: StatusCode, issues: Vec<Issue>) -> Box<Self> {
        Box::new(Self {
            status,
            issues,
            allow: None,
            version: None,
        })
    }

    /// 400: the request is malformed.
    pub fn bad_request(code: IssueCode, diagnostics: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::BAD_REQUEST, Issue::error(code, diagnostics))
    }

    /// 404: nothing of this name.
    pub fn not_found(diagnostics: impl Into<String>) -> Box<Self> {
        Self::new(
            StatusCode::NOT_FOUND,
            Issue::error(IssueCode::NotFound, diagnostics),
        )
    }

    /// 405: the method does not fit the address.
    pub fn method_not_allowed(diagnostics: impl Into<String>, allow: &'static str) -> Box<Self> {
        let mut refusal = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            Issue::error(IssueCode::NotSupported, diagnostics).at("http.method"),
        );
        refusal.allow = Some(allow);
        refusal
    }

    /// 412: a condition of the request does not hold.
    pub fn precondition_failed(code: IssueCode, diagnostics: impl Into<String>) -> Box<Self> {
        Self::new(
            StatusCode::PRECONDITION_FAILED,
            Issue::error(code, diagnostics),
        )
    }

    /// The same refusal, its issues located.
    #[must_use]
    pub fn at(mut self: Box<Self>, expression: &str) -> Box<Self> {
        for issue in &mut self.issues {
            issue.expression.push(expression.to_owned());
        }
        self
    }

    /// The same refusal, seen from an entry of a bundle.
    #[must_use]
    pub fn within(mut self: Box<Self>, place: &str) -> Box<Self> {
        for issue in &mut self.issues {
            issue.diagnostics = format!("{place}: {}", issue.diagnostics);
            if issue.expression.is_empty() {
                issue.expression.push(place.to_owned());
            }
            for expression in &mut issue.expression {
                *expression = expression_within(place, expression);
            }
        }
        self
    }
}

/// Where a place in an entry's resource or request is, seen from the bundle.
fn expression_within(place: &str, expression: &str) -> String {
    if expression.starts_with("Bundle.entry[") {
        return expression.to_owned();
    }
    if expression.starts_with("http.") {
        return format!("{place}.request");
    }
    match expression.split_once('.') {
        Some((kind, rest)) if ResourceKind::named(kind).is_some() => {
            format!("{place}.resource.{rest}")
        }
        _ => format!("{place}.resource"),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        for issue in &self.issues {
            write!(f, "; {}", issue.diagnostics)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_from_the_bundle() {
        let within = |expression| expression_within("Bundle.entry[2]", expression);
        assert_eq!(
            within("Patient.name[0].given"),
            "Bundle.entry[2].resource.name[0].given"
        );
        assert_eq!(within("resourceType"), "Bundle.entry[2].resource");
        assert_eq!(within("http.If-Match"), "Bundle.entry[2].request");
        assert_eq!(within("Bundle.entry[2]"), "Bundle.entry[2]");
    }

    #[test]
    fn an_outcome_names_kind_text_and_place() {
        let issue =
            Issue::error(IssueCode::Value, "birthDate '19' is no date").at("Patient.birthDate");
        insta::assert_json_snapshot!(operation_outcome(&[issue, Issue::information("fine")]));
    }
}
