//! Why something did not happen, told apart by what the caller should do.

use std::sync::Arc;

use proctor_core::{
    devbox::request::UnreadableDevbox, id::kinds::TaskId, problem::Problems, refused::Refused,
};
use proctor_fleet::RequestProblem;
use proctor_playground::world::{NotOpened, OpenError, WorldError};
use proctor_store::StoreError;

use crate::{
    authoring::NotFrozen,
    comparisons::ComparisonProblem,
    problems::{JobProblem, NotBrought, listed},
    scenarios::BoxError,
    text_judge::JudgeSilent,
};

/// Why the engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no such thing, as far as the caller may know.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// The state does not allow it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// What was asked for cannot be done as things are.
    #[error("{0}")]
    Unclear(String),
    /// More than one task run is at work, and nobody said which is meant.
    #[error("several task runs are started")]
    SeveralStarted,
    /// The scenario of the task cannot happen.
    #[error("the scenario cannot happen: {0}")]
    Scenario(String),
    /// The environment cannot be made.
    #[error("the environment cannot be made: {0}")]
    Environment(#[from] Problems),
    /// The drafts cannot be frozen.
    #[error(transparent)]
    NotFrozen(#[from] NotFrozen),
    /// The taker did not bring along what is required.
    #[error("{}", listed(.0))]
    NotBrought(Vec<NotBrought>),
    /// These scenarios of the benchmark that was to be run are put away.
    #[error("scenarios of the benchmark are archived")]
    ScenariosArchived(Vec<TaskId>),
    /// The job cannot be made.
    #[error("{}", listed(.0))]
    Job(Vec<JobProblem>),
    /// The box of a task cannot be made as it was asked for.
    #[error("the devbox cannot be made as asked: {}", listed(.0))]
    DevboxRequest(Vec<RequestProblem>),
    /// What a task says of its box cannot be read.
    #[error("what the task says of its devbox cannot be read: {0}")]
    UnreadableDevbox(UnreadableDevbox),
    /// A box failed.
    #[error(transparent)]
    Box(BoxError),
    /// What was to be put in does not fit.
    #[error("{0}")]
    NotProvided(String),
    /// The world is frozen.
    #[error("the world is frozen: it can be read, but no longer changed")]
    Frozen,
    /// A judge of free text gave no answer. What was to be judged stays as it is, so that it can be tried again.
    #[error(transparent)]
    JudgeSilent(#[from] JudgeSilent),
    /// Two sides were not compared, or a gate not decided.
    #[error(transparent)]
    Comparison(#[from] ComparisonProblem),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store failed, and others are told too.
    #[error(transparent)]
    SharedStore(Arc<StoreError>),
    /// A record contradicts itself: a fault of ours.
    #[error("{0}")]
    Fault(String),
}

impl From<OpenError> for EngineError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Journal(error) => Self::SharedStore(error),
            OpenError::Event(_) | OpenError::NotOpened => Self::Fault(error.to_string()),
        }
    }
}

impl From<NotOpened> for EngineError {
    fn from(error: NotOpened) -> Self {
        Self::Scenario(error.to_string())
    }
}

impl From<WorldError> for EngineError {
    fn from(error: WorldError) -> Self {
        match error {
            WorldError::NotProvided(problem) => Self::NotProvided(problem.0),
            WorldError::Frozen => Self::Frozen,
            WorldError::Clock(message) => Self::Unclear(message),
            WorldError::Journal(error) => Self::SharedStore(error),
            WorldError::Overtaken | WorldError::Open(_) => Self::Fault(error.to_string()),
        }
    }
}

impl From<BoxError> for EngineError {
    fn from(error: BoxError) -> Self {
        match error {
            BoxError::Invalid(problems) => Self::DevboxRequest(problems),
            BoxError::Impossible(why) => Self::Unclear(why),
            BoxError::Ended => Self::Unclear(error.to_string()),
            BoxError::Limit(limit) => Self::Store(StoreError::Limit(limit)),
            BoxError::Failed(_) => Self::Box(error),
        }
    }
}
