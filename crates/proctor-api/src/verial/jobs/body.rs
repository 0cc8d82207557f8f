//! What clients say about a job that is to be made.

use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::{
    id::{
        Dialect,
        kinds::{AgentId, BenchmarkId, OrganizationId},
    },
    job::{LONGEST_AGENT_TIME, Orchestration},
    problem::Problem,
    reader::{Node, Notes, Object, Wording},
};
use proctor_engine::{
    EngineError,
    jobs::{JobOf, NewJob, NewJobAgent},
    problems::{AgentProblem, JobProblem, NotBrought},
    runs::Taken,
};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    error::{ApiError, engine::how_to_start},
    extract::Checks,
    runloop::{check_secrets, check_variables, read_rounds},
    state::ApiState,
    verial::public_runs::{run_labels, version_named},
};

/// How often a void attempt is tried again if nobody says so.
const RETRIES: u32 = 3;
const LONGEST_NAME: usize = 500;
const LONGEST_TEXT: usize = 64 << 10;
const MOST_AGENTS: usize = 100;
const MOST_ATTEMPTS: u32 = 1000;
const MOST_AT_ONCE: u32 = 1000;
const MOST_RETRIES: u32 = 100;
/// How many runs a job may have.
const MOST_RUNS: usize = 1000;

/// A job to be made.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewJobBody {
    /// What people call it; named after its benchmark if absent.
    #[schema(max_length = 500)]
    name: Option<String>,
    /// The benchmark: `slug@version`, or the id of a benchmark, of which the newest published version is taken, or the draft if none is published.
    #[schema(required, example = "fax-referral@1")]
    benchmark: Option<String>,
    /// Who takes it: names (`oracle`, `null`, or a registered agent), or objects `{name, agent_id?, command?, model?, timeout?, kwargs?, env?, secrets?}`.
    #[schema(value_type = Vec<Object>, required)]
    agents: Option<Vec<Value>>,
    /// How often each agent takes each task: a run each; 1 if absent.
    #[schema(minimum = 1, maximum = 1000)]
    attempts: Option<u32>,
    /// How many attempts go on at once, over all agents; 1 if absent.
    #[schema(minimum = 1, maximum = 1000)]
    concurrency: Option<u32>,
    /// How often an attempt that is void, that is, says nothing about its agent, is tried again; 3 if absent.
    #[schema(minimum = 0, maximum = 100)]
    retries: Option<u32>,
    /// Labels of its runs, such as a branch and a commit: comparisons and gates find runs by them.
    labels: Option<BTreeMap<String, String>>,
    /// In how many rounds at most every agent takes every task, from 2 to 20, instead of `attempts`. After each from the second on the policy is looked at, and
    /// the job stops by itself when it is settled.
    #[schema(minimum = 2, maximum = 20)]
    rounds: Option<i64>,
    /// With `rounds`: what is looked at after each, the content of a `gate.toml` as JSON without a baseline, which is the first agent.
    #[schema(value_type = Option<Object>)]
    policy: Option<Value>,
}

impl NewJobBody {
    /// The job that is meant; everything that is wrong with it is named at once.
    pub(super) async fn read(
        self,
        state: &ApiState,
        organization: OrganizationId,
    ) -> Result<NewJob, ApiError> {
        let mut checks = Checks::default();
        let name = checks.optional_text("name", self.name, 1..=LONGEST_NAME);
        let benchmark = checks.text("benchmark", self.benchmark, 1..=LONGEST_NAME);
        let labels = run_labels(&mut checks, self.labels);
        checks.within("attempts", self.attempts, 1..=MOST_ATTEMPTS);
        checks.within("concurrency", self.concurrency, 1..=MOST_AT_ONCE);
        checks.within("retries", self.retries, 0..=MOST_RETRIES);
        let rounds = read_rounds(&mut checks, self.rounds, self.policy);
        if self.rounds.is_some() && self.attempts.is_some() {
            let message =
                "cannot be given together with rounds, which say how often every task is taken";
            checks.refuse("attempts", message);
        }
        let attempts = usize::try_from(self.attempts.unwrap_or(1)).unwrap_or(1);
        let agents = read_agents(&mut checks, self.agents, attempts);
        checks.finish()?;
        Ok(NewJob {
            organization,
            name,
            of: JobOf::Taken(taken(state, organization, &benchmark).await?),
            agents,
            orchestration: Orchestration {
                trials_at_once: self.concurrency.and_then(NonZeroU32::new),
                retries: Some(self.retries.unwrap_or(RETRIES)),
                retries_void_only: true,
                ..Orchestration::default()
            },
            rounds,
            labels,
        })
    }
}

/// The benchmark that is meant: a version, or one by its id.
async fn taken(
    state: &ApiState,
    organization: OrganizationId,
    named: &str,
) -> Result<Taken, ApiError> {
    let id = [Dialect::Verial, Dialect::Runloop]
        .into_iter()
        .find_map(|dialect| BenchmarkId::from_wire(named, dialect).ok());
    let Some(id) = id else {
        let version = version_named(state, organization, named).await?;
        return Ok(Taken::Version(Box::new(version)));
    };
    Ok(
        match state.engine().newest_version(organization, id).await? {
            Some(version) => Taken::Version(Box::new(version)),
            None => Taken::Draft(id),
        },
    )
}

fn read_agents(
    checks: &mut Checks,
    given: Option<Vec<Value>>,
    attempts: usize,
) -> Vec<NewJobAgent> {
    let given = given.unwrap_or_default();
    if given.is_empty() || given.len() > MOST_AGENTS {
        let message = format!("must have from 1 to {MOST_AGENTS} agents");
        checks.refuse("agents", message);
        return Vec::new();
    }
    if given.len() * attempts > MOST_RUNS {
        let message = format!("agents times attempts must be at most {MOST_RUNS}: a run each");
        checks.refuse("attempts", message);
        return Vec::new();
    }
    let mut agents = Vec::with_capacity(given.len() * attempts);
    for (number, agent) in given.iter().enumerate() {
        let place = format!("agents.{number}");
        let notes: Notes<'_> = Notes::worded(Wording::Request);
        let read = read_agent(&Node::at(&place, agent, &notes));
        for problem in notes.problems() {
            checks.refuse(&problem.path, problem.message);
        }
        let Some(agent) = read else { continue };
        check_variables(checks, &format!("{place}.env"), &agent.environment);
        check_secrets(checks, &format!("{place}.secrets"), &agent.secrets);
        // The same agent so many times is one agent with as many attempts at each task.
        agents.extend(std::iter::repeat_n(agent, attempts));
    }
    agents
}

fn read_agent(node: &Node<'_>) -> Option<NewJobAgent> {
    if node.value().is_string() {
        let name = node.text_of_length(1..=LONGEST_NAME)?;
        return Some(called(name.to_owned()));
    }
    let Some(object) = node.value().is_object().then(|| node.object()).flatten() else {
        node.refuse("must be the name of an agent, or an object with its name");
        return None;
    };
    let text = |name: &'static str, longest: usize| {
        let text = object.optional(name)?.text_of_length(1..=longest)?;
        Some(text.to_owned())
    };
    let agent = object.optional("agent_id").and_then(|id| {
        id.parsed(|text| {
            AgentId::from_wire(text, Dialect::Verial)
                .or_else(|_| AgentId::from_wire(text, Dialect::Runloop))
        })
    });
    let name = match object.optional("name") {
        Some(name) => name.text_of_length(1..=LONGEST_NAME).map(str::to_owned),
        None => match agent {
            Some(id) => Some(id.wire(Dialect::Runloop)),
            None => {
                object.refuse("name", "is required, or agent_id");
                None
            }
        },
    };
    let mut kwargs = texts(&object, "kwargs");
    if let Some(command) = text("command", LONGEST_TEXT) {
        kwargs.insert("command".to_owned(), command);
    }
    let longest = LONGEST_AGENT_TIME.as_secs_f64();
    let timeout = object.optional("timeout").and_then(|timeout| {
        let seconds = timeout.number()?;
        if !(seconds > 0.0 && seconds <= longest) {
            timeout.refuse(format!("must be more than 0 and at most {longest} seconds"));
        }
        Some(seconds)
    });
    let read = NewJobAgent {
        agent,
        model: text("model", LONGEST_NAME),
        timeout,
        kwargs,
        environment: texts(&object, "env"),
        secrets: texts(&object, "secrets"),
        ..called(name?)
    };
    object.finish();
    Some(read)
}

fn called(name: String) -> NewJobAgent {
    NewJobAgent {
        name,
        agent: None,
        model: None,
        timeout: None,
        kwargs: BTreeMap::new(),
        environment: BTreeMap::new(),
        secrets: BTreeMap::new(),
    }
}

/// A member with texts by name.
fn texts(object: &Object<'_>, name: &'static str) -> BTreeMap<String, String> {
    let Some(member) = object.optional(name) else {
        return BTreeMap::new();
    };
    let mut texts = BTreeMap::new();
    for (name, node) in member.entries() {
        if let Some(text) = node.text_of_length(0..=LONGEST_TEXT) {
            if text.contains('\0') || name.contains('\0') {
                node.refuse("must not contain a NUL");
            }
            texts.insert(name.to_owned(), text.to_owned());
        }
    }
    texts
}

/// Why a job cannot be made, by the fields of this body.
pub(super) fn refused(error: EngineError) -> ApiError {
    let EngineError::Job(problems) = error else {
        return error.into();
    };
    let found = problems.into_iter().map(|problem| {
        let message = problem.to_string();
        match problem {
            JobProblem::Rounds(_) => Problem::error("rounds", message),
            JobProblem::Policy { member, .. } => Problem::error(member, message),
            JobProblem::Agent { number, problem } => {
                let (field, message) = agent(problem);
                Problem::error(format!("agents.{number}.{field}"), message)
            }
            JobProblem::EmptyBenchmark => Problem::error("benchmark", "the benchmark has no tasks"),
            JobProblem::NoBenchmark(_)
            | JobProblem::BenchmarkArchived(_)
            | JobProblem::ScenariosArchived(_)
            | JobProblem::NoScenarios
            | JobProblem::NoScenario(_)
            | JobProblem::Harbor(_) => Problem::error("benchmark", message),
        }
    });
    ApiError::unmet(found.collect())
}

/// Why an agent cannot take part: the field of its object, and what is wrong with it.
fn agent(problem: AgentProblem) -> (String, String) {
    let message = problem.to_string();
    match problem {
        AgentProblem::NotRegistered(_) | AgentProblem::Mount(_) => ("agent_id".to_owned(), message),
        AgentProblem::NameTaken(_) => ("name".to_owned(), message),
        AgentProblem::OtherTimeLimit => ("timeout".to_owned(), message),
        AgentProblem::NoCommand(_) => {
            let problem = format!("{message}:");
            ("command".to_owned(), how_to_start(&problem, "command"))
        }
        AgentProblem::Unknown(_) => {
            let problem = format!(
                "{message}: built in are oracle and null; register any other at /v1/agents, and"
            );
            ("name".to_owned(), how_to_start(&problem, "command"))
        }
        AgentProblem::NoSecret(name) => (
            format!("secrets.{name}"),
            format!("{message}: name one here, or make one at /v1/secrets that is called {name}"),
        ),
        AgentProblem::NotASecret(name) => (
            format!("env.{name}"),
            format!("{message}: name a secret for it in secrets"),
        ),
        AgentProblem::NotBrought(NotBrought::Variable(name)) => (format!("env.{name}"), message),
        AgentProblem::NotBrought(NotBrought::Secret(name) | NotBrought::NoSuchSecret(name)) => {
            (format!("secrets.{name}"), message)
        }
    }
}
