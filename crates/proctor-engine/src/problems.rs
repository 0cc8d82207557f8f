//! What is wrong with what somebody asks for. Which field of a request says it is for the dialect to name.

use proctor_core::{
    id::{
        Dialect,
        kinds::{AgentId, BenchmarkId, TaskId},
    },
    problem::Problem,
};
use proctor_fleet::RequestProblem;

/// Something that a taker should have brought along.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBrought {
    /// An environment variable that is required.
    #[error("the environment variable {0} is required")]
    Variable(String),
    /// A secret that is required.
    #[error("the secret {0} is required")]
    Secret(String),
    /// A secret that a variable shall hold, and that is not there.
    #[error("there is no secret named '{0}'")]
    NoSuchSecret(String),
}

/// Why a job cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobProblem {
    /// The benchmark is not there.
    #[error("there is no benchmark '{}'", .0.wire(Dialect::Runloop))]
    NoBenchmark(BenchmarkId),
    /// The benchmark is put away.
    #[error("the benchmark '{}' is archived; unarchive it before it is run", .0.wire(Dialect::Runloop))]
    BenchmarkArchived(BenchmarkId),
    /// These scenarios of the benchmark are put away.
    #[error("scenarios of the benchmark are archived")]
    ScenariosArchived(Vec<TaskId>),
    /// The benchmark has no scenarios.
    #[error("there are no scenarios to run")]
    EmptyBenchmark,
    /// No scenarios were named.
    #[error("there are no scenarios to run")]
    NoScenarios,
    /// A scenario is not there.
    #[error("there is no active scenario '{}'", .0.wire(Dialect::Runloop))]
    NoScenario(TaskId),
    /// Its rounds cannot be planned.
    #[error("{0}")]
    Rounds(String),
    /// What is looked at after its rounds cannot be decided.
    #[error("{message}")]
    Policy {
        /// The member of the request, from `policy` on.
        member: String,
        /// What is wrong with it.
        message: String,
    },
    /// Something is wrong with its Harbor job file, or with the tasks that it names.
    #[error("{0}")]
    Harbor(Problem),
    /// One of its agents cannot take part.
    #[error("{problem}")]
    Agent {
        /// Which, by its place among them.
        number: usize,
        /// Why not.
        problem: AgentProblem,
    },
}

/// Why an agent cannot take part in a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentProblem {
    /// No agent was registered under this id.
    #[error("there is no agent '{}'", .0.wire(Dialect::Runloop))]
    NotRegistered(AgentId),
    /// It was registered under this name, but nobody says how it is started.
    #[error("the agent '{0}' is registered, but not how it is started")]
    NoCommand(String),
    /// It is neither built in nor registered, and nobody says how it is started.
    #[error("there is no agent '{0}'")]
    Unknown(String),
    /// It needs a secret in this variable, and gets none.
    #[error("the agent needs a secret in {0}, and there is none of this name")]
    NoSecret(String),
    /// It gets a plain text in a variable that must hold a secret.
    #[error("the agent needs a secret in {0}, not a plain text")]
    NotASecret(String),
    /// It lacks what the scenarios require.
    #[error(transparent)]
    NotBrought(NotBrought),
    /// It cannot be put into a box.
    #[error("{0}")]
    Mount(RequestProblem),
    /// Another agent is called the same, in a job that tells its agents apart by their names.
    #[error("another agent is called '{0}': with rounds each needs a name of its own")]
    NameTaken(String),
    /// It has another time limit than the agent that it is compared with.
    #[error("must be that of the first agent, which this one is compared with")]
    OtherTimeLimit,
}

pub(crate) fn listed<T: ToString>(problems: &[T]) -> String {
    let parts: Vec<_> = problems.iter().map(ToString::to_string).collect();
    parts.join("; ")
}
