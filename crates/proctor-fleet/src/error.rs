//! Why something did not happen, told apart by what the caller should do.

use proctor_core::{problem::Problem, refused::Refused};
use proctor_store::StoreError;

use crate::{blueprints::BlueprintError, requests::RequestProblem};

/// Why the fleet did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// This machine cannot have devboxes; the text says why.
    #[error("this server cannot run devboxes: {0}")]
    Impossible(String),
    /// There is no such thing, as far as the caller may know.
    #[error("no {noun} '{id}'")]
    NotFound {
        /// What was looked for.
        noun: &'static str,
        /// By which name.
        id: String,
    },
    /// It was there and is not kept any more; the text says where its traces are.
    #[error("{noun} '{id}' ended long ago and is not kept any more: {instead}")]
    Gone {
        /// What it was.
        noun: &'static str,
        /// Its name.
        id: String,
        /// What there still is.
        instead: &'static str,
    },
    /// The state does not allow it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// What was asked for makes no sense; which field says so, and why.
    #[error("{0}")]
    Invalid(Problem),
    /// The devbox that was asked for cannot be made.
    #[error("the devbox cannot be made as asked: {}", listed(.0))]
    Request(Vec<RequestProblem>),
    /// The blueprint that a devbox shall start from cannot be used.
    #[error(transparent)]
    Blueprint(#[from] BlueprintError),
    /// The box did not do it.
    #[error(transparent)]
    Box(#[from] proctor_devbox::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The server's own files failed.
    #[error("the server's own files failed")]
    Files(#[from] std::io::Error),
}

impl FleetError {
    /// One wrong field.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(Problem::error(field, message))
    }

    pub(crate) fn not_found(noun: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound {
            noun,
            id: id.to_string(),
        }
    }
}

fn listed(problems: &[RequestProblem]) -> String {
    let parts: Vec<_> = problems.iter().map(ToString::to_string).collect();
    parts.join("; ")
}
