//! Level-1 validation: whether a resource is well formed by the definitions of its type.
//!
//! Checks the type, unknown elements, cardinality, choices, the forms of primitives, required bindings, references, extensions and
//! contained resources. Never looks at profiles, other resources or terminology that the definitions do not list.

mod place;
mod rules;
#[cfg(test)]
mod tests;
mod walk;

use serde_json::Value;

use crate::definitions::Structures;

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The resource cannot be accepted.
    Error,
    /// The resource can be accepted, but is probably not what was meant.
    Warning,
}

impl Severity {
    /// The code of the severity in an `OperationOutcome`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// What kind of issue it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueCode {
    /// Something stands where nothing can, or in the wrong form of JSON.
    Structure,
    /// Something is missing.
    Required,
    /// A value does not have the form of its type.
    Value,
    /// A code is not one of those that are allowed.
    CodeInvalid,
    /// A rule of the type is broken.
    Invariant,
}

impl IssueCode {
    /// The code of the issue in an `OperationOutcome`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Required => "required",
            Self::Value => "value",
            Self::CodeInvalid => "code-invalid",
            Self::Invariant => "invariant",
        }
    }
}

/// Something that is wrong with a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of issue it is.
    pub code: IssueCode,
    /// What is wrong, in words.
    pub diagnostics: String,
    /// Where, as a simple FHIRPath such as `Patient.name[0].given[1]`.
    pub expression: String,
}

/// How many issues are reported at most: enough to mend a resource, and bounded whatever a client sends.
pub const MOST_ISSUES: usize = 100;

/// Everything that is wrong with a resource, at most [`MOST_ISSUES`]; empty for a well-formed one.
pub fn validate(resource: &Value) -> Vec<Issue> {
    walk::validate(Structures::r4(), resource)
}
