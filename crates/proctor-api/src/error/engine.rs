//! What the engine's errors mean to a client.

use std::time::Duration;

use proctor_core::{
    devbox::request::UnreadableDevbox,
    id::{Dialect, kinds::TaskId},
    job::BUILT_IN_AGENTS,
    problem::Problem,
    refused::Refused,
};
use proctor_engine::{
    EngineError,
    comparisons::ComparisonProblem,
    problems::{AgentProblem, JobProblem, NotBrought},
};
use proctor_store::StoreError;

use super::{ApiError, ApiErrorKind};
use crate::runloop::SEVERAL_BASES;

/// When to try again after a judge of free text gave no answer.
const JUDGE_LATER: Duration = Duration::from_secs(5);

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        Self::new(ApiErrorKind::IllegalState, refused.to_string())
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let state = |message: String| Self::new(ApiErrorKind::IllegalState, message);
        match error {
            EngineError::NotFound(_) => Self::not_found(error.to_string()),
            EngineError::Refused(refused) => refused.into(),
            EngineError::Unclear(message) => state(message),
            EngineError::SeveralStarted => state(format!(
                "{error}; say which with the header 'X-Task-Run: tr_…' or the parameter task_run_id"
            )),
            EngineError::Scenario(_) | EngineError::Frozen => state(error.to_string()),
            EngineError::Environment(problems) => Self::unmet(problems.into_vec()),
            EngineError::NotBrought(problems) => not_brought(problems),
            EngineError::ScenariosArchived(scenarios) => state(archived(&scenarios)),
            EngineError::Job(problems) => job(problems),
            EngineError::DevboxRequest(problems) => super::fleet::devbox_request(problems),
            EngineError::UnreadableDevbox(problem) => unreadable_devbox(&problem),
            EngineError::Box(_) => Self::internal(error),
            EngineError::NotFrozen(problem) => problem.into(),
            EngineError::JudgeSilent(why) => {
                let message = format!("{why}; nothing was changed, try again later");
                Self::unavailable(message, JUDGE_LATER).because(why)
            }
            EngineError::Comparison(problem) => comparison(problem),
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

/// Why two sides were not compared, by the fields that say it.
fn comparison(problem: ComparisonProblem) -> ApiError {
    let message = problem.to_string();
    match problem {
        ComparisonProblem::NoRun { side, .. } | ComparisonProblem::NoLabelledRun { side, .. } => {
            ApiError::unmet(vec![Problem::error(side, message)])
        }
        ComparisonProblem::Member { member, message } => ApiError::field(member, message),
        ComparisonProblem::NotOver { .. }
        | ComparisonProblem::NotComparable(_)
        | ComparisonProblem::Refused(_) => ApiError::new(ApiErrorKind::IllegalState, message),
    }
}

/// What is wrong with what a scenario says of its devbox, by the field that says it.
fn unreadable_devbox(problem: &UnreadableDevbox) -> ApiError {
    let (field, message) = match problem {
        UnreadableDevbox::Form(message) => ("environment", message.clone()),
        UnreadableDevbox::SeveralBases => ("snapshot_id", SEVERAL_BASES.to_owned()),
    };
    ApiError::field(field, message)
}

/// What a taker should have brought along, by the fields in which it is brought.
fn not_brought(problems: Vec<NotBrought>) -> ApiError {
    let mut found = Vec::new();
    for problem in problems {
        let message = problem.to_string();
        let field = match problem {
            NotBrought::Variable(name) => format!("runProfile.envVars.{name}"),
            NotBrought::Secret(name) | NotBrought::NoSuchSecret(name) => {
                format!("runProfile.secrets.{name}")
            }
        };
        found.push(Problem::error(field, message));
    }
    ApiError::unmet(found)
}

/// Why a benchmark cannot be run as long as these scenarios of it are put away.
fn archived(scenarios: &[TaskId]) -> String {
    let named: Vec<String> = scenarios
        .iter()
        .map(|scenario| scenario.wire(Dialect::Runloop))
        .collect();
    format!(
        "scenarios of this benchmark are archived: {}; unarchive them or take them out of it before it is run",
        named.join(", ")
    )
}

/// Why a job cannot be made, by the fields that say it.
fn job(problems: Vec<JobProblem>) -> ApiError {
    let found = problems.into_iter().map(|problem| {
        let message = problem.to_string();
        match problem {
            JobProblem::ScenariosArchived(scenarios) => {
                Problem::error("spec.benchmark_id", archived(&scenarios))
            }
            JobProblem::NoBenchmark(_)
            | JobProblem::BenchmarkArchived(_)
            | JobProblem::EmptyBenchmark => Problem::error("spec.benchmark_id", message),
            JobProblem::NoScenarios | JobProblem::NoScenario(_) => {
                Problem::error("spec.scenario_ids", message)
            }
            JobProblem::Rounds(_) => Problem::error("rounds", message),
            JobProblem::Policy { member, .. } => Problem::error(member, message),
            JobProblem::Harbor(_) => Problem::error("spec.inline_yaml", message),
            JobProblem::Agent { number, problem } => {
                let (field, message) = agent(problem);
                Problem::error(format!("spec.agent_configs.{number}.{field}"), message)
            }
        }
    });
    ApiError::unmet(found.collect())
}

/// How people say how an agent is started, where `member` of a request can say it.
pub(crate) fn how_to_start(problem: &str, member: &str) -> String {
    format!(
        "{problem} give its command as {member}, or in its manifest (POST /v1/agents/{{id}}/manifest), or have the server's setting `agents` \
         name a manifest for it"
    )
}

/// Why an agent cannot take part in a job: the field of its configuration, and what is wrong with it.
fn agent(problem: AgentProblem) -> (String, String) {
    let message = problem.to_string();
    match problem {
        AgentProblem::NotRegistered(_) | AgentProblem::Mount(_) => ("agent_id".to_owned(), message),
        AgentProblem::NameTaken(_) => ("name".to_owned(), message),
        AgentProblem::OtherTimeLimit => ("timeout_seconds".to_owned(), message),
        AgentProblem::NoCommand(_) => (
            "kwargs.command".to_owned(),
            how_to_start(&format!("{message}:"), "kwargs.command"),
        ),
        AgentProblem::Unknown(_) => {
            let known = BUILT_IN_AGENTS.join(" and ");
            let problem =
                format!("{message}: built in are {known}; register any other at /v1/agents, and");
            ("name".to_owned(), how_to_start(&problem, "kwargs.command"))
        }
        AgentProblem::NoSecret(name) => (
            format!("agent_environment.secrets.{name}"),
            format!("{message}: name one here, or make one at /v1/secrets that is called {name}"),
        ),
        AgentProblem::NotASecret(name) => {
            let field = format!("agent_environment.environment_variables.{name}");
            (
                field,
                format!("{message}: name a secret for it in agent_environment.secrets"),
            )
        }
        AgentProblem::NotBrought(NotBrought::Variable(name)) => {
            let field = format!("agent_environment.environment_variables.{name}");
            (field, message)
        }
        AgentProblem::NotBrought(NotBrought::Secret(name) | NotBrought::NoSuchSecret(name)) => {
            (format!("agent_environment.secrets.{name}"), message)
        }
    }
}
