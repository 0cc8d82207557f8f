//! The part of FHIRPath that search parameters and patches are written in.
//!
//! An expression is read once (`syntax`), resolved against the types of its root into steps that name the JSON keys to
//! follow (`compile`, `plan`), and then evaluated any number of times on borrowed JSON without cloning it (`evaluate`).
//! It knows paths, `[n]`, `first()`, `last()`, `where`, `exists`, `extension`, `hasExtension`, `resolve() is T`, `is`, `as`,
//! `ofType`, `not`, `and`, `or`, `=`, `!=` and unions; anything else is an error when the expression is compiled, never later.

mod compile;
mod evaluate;
mod lexer;
mod plan;
mod syntax;
#[cfg(test)]
mod tests;

pub(crate) use compile::{Source, json_key};
pub use evaluate::{Item, Node};
pub use plan::{ElementTypes, Expression, TypeModel};

/// Why the text of an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The text breaks off or has a character where none is possible.
    #[error("`{expression}` cannot be read at position {position}: {expected} expected")]
    Syntax {
        /// The whole text.
        expression: String,
        /// The byte where reading stopped.
        position: usize,
        /// What could have stood there.
        expected: &'static str,
    },
    /// The text is FHIRPath, but uses something that is not supported here.
    #[error("`{expression}` uses {what}, which is not supported")]
    Unsupported {
        /// The whole text.
        expression: String,
        /// The function or operator.
        what: String,
    },
    /// A type is named that R4 does not have.
    #[error("`{expression}` names the type `{name}`, which FHIR R4 does not have")]
    UnknownType {
        /// The whole text.
        expression: String,
        /// The name.
        name: String,
    },
}
