//! What the engine's errors mean to a client.

use proctor_core::{devbox::request::UnreadableDevbox, job::BUILT_IN_AGENTS, refused::Refused};
use proctor_engine::{
    EngineError,
    problems::{AgentProblem, JobProblem, NotBrought},
};
use proctor_store::StoreError;

use super::{FieldErrors, Problem, ProblemKind};
use crate::runloop::SEVERAL_BASES;

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        Self::new(ProblemKind::IllegalState, refused.to_string())
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let state = |message: String| Self::new(ProblemKind::IllegalState, message);
        match error {
            EngineError::NotFound(_) => Self::not_found(error.to_string()),
            EngineError::Refused(refused) => refused.into(),
            EngineError::Unclear(message) => state(message),
            EngineError::Scenario(_) | EngineError::Frozen => state(error.to_string()),
            EngineError::Environment(problems) => {
                let mut errors = FieldErrors::default();
                for (place, problem) in problems.0 {
                    errors.add(place, problem);
                }
                Self::unmet(errors)
            }
            EngineError::NotBrought(problems) => not_brought(problems),
            EngineError::Job(problems) => job(problems),
            EngineError::DevboxRequest(problems) => super::fleet::devbox_request(problems),
            EngineError::UnreadableDevbox(problem) => unreadable_devbox(&problem),
            EngineError::Box(_) => Self::internal(error),
            EngineError::NotFrozen(problem) => problem.into(),
            EngineError::NotProvided(message) => Self::bad_request(message),
            EngineError::Store(error) => error.into(),
            EngineError::SharedStore(shared) => match &*shared {
                StoreError::Unavailable { reason, .. } => {
                    super::store::unavailable(*reason).because(shared)
                }
                _ => Self::internal(shared),
            },
            EngineError::Fault(_) => Self::internal(error),
        }
    }
}

/// What is wrong with what a scenario says of its devbox, by the field that says it.
fn unreadable_devbox(problem: &UnreadableDevbox) -> Problem {
    let (field, message) = match problem {
        UnreadableDevbox::Form(message) => ("environment", message.clone()),
        UnreadableDevbox::SeveralBases => ("snapshot_id", SEVERAL_BASES.to_owned()),
    };
    Problem::field(field, message)
}

/// What a taker should have brought along, by the fields in which it is brought.
fn not_brought(problems: Vec<NotBrought>) -> Problem {
    let mut errors = FieldErrors::default();
    for problem in problems {
        let message = problem.to_string();
        let field = match problem {
            NotBrought::Variable(name) => format!("runProfile.envVars.{name}"),
            NotBrought::Secret(name) | NotBrought::NoSuchSecret(name) => {
                format!("runProfile.secrets.{name}")
            }
        };
        errors.add(field, message);
    }
    Problem::unmet(errors)
}

/// Why a job cannot be made, by the fields that say it.
fn job(problems: Vec<JobProblem>) -> Problem {
    let mut errors = FieldErrors::default();
    for problem in problems {
        let message = problem.to_string();
        match problem {
            JobProblem::NoBenchmark(_)
            | JobProblem::BenchmarkArchived(_)
            | JobProblem::ScenariosArchived(_)
            | JobProblem::EmptyBenchmark => errors.add("spec.benchmark_id", message),
            JobProblem::NoScenarios | JobProblem::NoScenario(_) => {
                errors.add("spec.scenario_ids", message);
            }
            JobProblem::Agent { number, problem } => {
                let (field, message) = agent(problem);
                errors.add(format!("spec.agent_configs.{number}.{field}"), message);
            }
        }
    }
    Problem::unmet(errors)
}

/// Why an agent cannot take part in a job: the field of its configuration, and what is wrong with it.
fn agent(problem: AgentProblem) -> (String, String) {
    let message = problem.to_string();
    match problem {
        AgentProblem::NotRegistered(_) => ("agent_id".to_owned(), message),
        AgentProblem::NoCommand(_) => (
            "kwargs.command".to_owned(),
            format!("{message}: give its command as kwargs.command"),
        ),
        AgentProblem::Unknown(_) => (
            "name".to_owned(),
            format!(
                "{message}: built in are {}; any other is a command, given as kwargs.command, \
                 together with an agent registered at /v1/agents (by this name or by agent_id) if it needs one",
                BUILT_IN_AGENTS.join(" and ")
            ),
        ),
        AgentProblem::NotBrought(NotBrought::Variable(name)) => {
            let field = format!("agent_environment.environment_variables.{name}");
            (field, message)
        }
        AgentProblem::NotBrought(NotBrought::Secret(name) | NotBrought::NoSuchSecret(name)) => {
            (format!("agent_environment.secrets.{name}"), message)
        }
    }
}
