//! What an agent is: which program a name means, and what it finds in its box.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proctor_core::{
    agent::{AgentManifest, briefing::problem_text},
    definition::{Task, Validation, World},
    devbox::DevboxRequest,
    id::kinds::OrganizationId,
    job::{JobAgent, Program},
    mount::Mount,
    profile::RunProfile,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::create::NewJobAgent;
use crate::{
    engine::Engine,
    error::EngineError,
    harbor::HarborScenario,
    problems::AgentProblem,
    scenarios::{AgentWork, command},
};

/// What is said about an agent under this name is what it runs.
const COMMAND: &str = "command";

// Where an agent finds what it needs: outside of every home and working directory.
pub(super) const PROBLEM_FILE: &str = "/tmp/proctor-agent/problem_statement.md";
const TASK_FILE: &str = "/tmp/proctor-agent/task.json";
/// Where an agent in a box of its own may leave what it used up.
pub(super) const USAGE_FILE: &str = "/tmp/proctor-agent-usage.jsonl";
const CONTEXT_FILE: &str = "/tmp/proctor-agent/additional_context.json";
const AGENT_PATH: &str = "/tmp/proctor-agent/agent";

impl Engine {
    /// What an agent runs. A command goes before the built-in agents; a registered agent is put into the box first.
    ///
    /// How a registered agent is started is said by its manifest, or by the server's own manifests under its name.
    pub(crate) async fn program_of(
        &self,
        organization: OrganizationId,
        agent: &NewJobAgent,
    ) -> Result<Result<Chosen, AgentProblem>, EngineError> {
        let store = self.store();
        let registered = match agent.agent {
            Some(id) => match store.agent(organization, id).await? {
                None => return Ok(Err(AgentProblem::NotRegistered(id))),
                found => found,
            },
            None => store.agent_named(organization, &agent.name).await?,
        };
        let name = &agent.name;
        let built_in = match agent.agent {
            Some(_) => None,
            None => Program::built_in(name),
        };
        // One without a source is a name and a manifest: there is nothing to put into the box.
        let mounted = registered
            .as_ref()
            .filter(|agent| agent.source.is_some())
            .map(|agent| agent.id);
        let version = registered.as_ref().and_then(|agent| agent.version.clone());
        if let Some(command) = agent.kwargs.get(COMMAND) {
            let program = Program::Command {
                command: command.clone(),
                agent: mounted,
            };
            return Ok(Ok(Chosen {
                version,
                ..Chosen::of(program)
            }));
        }
        if let Some(built_in) = built_in {
            return Ok(Ok(Chosen::of(built_in)));
        }
        let known_as = registered.as_ref().map_or(name, |agent| &agent.name);
        let own = registered.as_ref().and_then(|agent| agent.manifest.clone());
        let manifest = own.or_else(|| self.extensions().agents.get(known_as).cloned());
        Ok(match (manifest, registered) {
            (Some(manifest), _) => Ok(Chosen {
                program: Program::Command {
                    command: manifest.command.clone(),
                    agent: mounted,
                },
                manifest: Some(Box::new(manifest)),
                version,
            }),
            (None, Some(_)) => Err(AgentProblem::NoCommand(name.clone())),
            (None, None) => Err(AgentProblem::Unknown(name.clone())),
        })
    }

    /// Gives an agent the secrets that it must have: those that were named for it, or those that are called like the variable.
    pub(crate) async fn give_secrets(
        &self,
        organization: OrganizationId,
        agent: &mut NewJobAgent,
        wanted: BTreeSet<String>,
    ) -> Result<Vec<AgentProblem>, EngineError> {
        let mut problems = Vec::new();
        for variable in wanted {
            if agent.secrets.contains_key(&variable) {
                continue;
            }
            if agent.environment.contains_key(&variable) {
                problems.push(AgentProblem::NotASecret(variable));
            } else if self
                .store()
                .secret(organization, &variable)
                .await?
                .is_none()
            {
                problems.push(AgentProblem::NoSecret(variable));
            } else {
                agent.secrets.insert(variable.clone(), variable);
            }
        }
        Ok(problems)
    }
}

/// What an agent runs, and what its manifest says besides.
pub(crate) struct Chosen {
    pub(crate) program: Program,
    pub(crate) manifest: Option<Box<AgentManifest>>,
    /// Which version of a registered agent it is, if that was said.
    pub(crate) version: Option<String>,
}

impl Chosen {
    const fn of(program: Program) -> Self {
        Self {
            program,
            manifest: None,
            version: None,
        }
    }

    /// Environment variables that must hold secrets.
    pub(crate) fn secrets(&self) -> BTreeSet<String> {
        let manifest = self.manifest.as_ref();
        manifest.map_or_else(BTreeSet::new, |manifest| manifest.env.clone())
    }
}

/// What a run gets from outside because of its agent.
pub(super) fn profile(agent: &JobAgent) -> RunProfile {
    let mounts = match &agent.program {
        Program::Command {
            agent: Some(agent), ..
        } => vec![Mount::Agent {
            agent: Some(*agent),
            name: None,
            target: Some(AGENT_PATH.to_owned()),
            token: None,
        }],
        Program::Command { agent: None, .. } | Program::Oracle | Program::Nop => Vec::new(),
    };
    RunProfile {
        environment: agent.environment.clone(),
        secrets: agent.secrets.clone(),
        mounts,
        ..RunProfile::default()
    }
}

/// What an agent finds of its task; nothing if it does not look.
pub(super) fn task_profile(agent: &JobAgent, task: &Task) -> RunProfile {
    let Program::Command { .. } = agent.program else {
        return RunProfile::default();
    };
    let file = |target: &str, content| Mount::File {
        target: target.to_owned(),
        content,
    };
    let (statement, context) = told(&task.brief);
    let mut mounts = vec![file(PROBLEM_FILE, statement)];
    if let Some(context) = context {
        mounts.push(file(CONTEXT_FILE, context.to_string()));
    }
    RunProfile {
        mounts,
        ..RunProfile::default()
    }
}

/// What an agent is told: the problem, and what else there is to know.
fn told(brief: &Value) -> (String, Option<&Value>) {
    let context = brief
        .get("additional_context")
        .filter(|context| !context.is_null());
    match (
        brief.get("problem_statement").and_then(Value::as_str),
        brief,
    ) {
        (Some(statement), _) => (statement.to_owned(), context),
        (None, Value::String(text)) => (text.clone(), None),
        (None, Value::Null) => (String::new(), None),
        (None, other) => (other.to_string(), None),
    }
}

/// What an agent finds that takes a task in a playground from a box of its own.
pub(super) fn box_for_playground(
    agent: &JobAgent,
    task: &Task,
    task_file: &Value,
) -> DevboxRequest {
    let of_run = profile(agent);
    let file = |target: &str, content| Mount::File {
        target: target.to_owned(),
        content,
    };
    let mut mounts = of_run.mounts;
    mounts.push(file(PROBLEM_FILE, problem_text(&task.name, &task.brief)));
    mounts.push(file(TASK_FILE, format!("{task_file:#}\n")));
    DevboxRequest {
        environment: of_run.environment,
        secrets: of_run.secrets,
        mounts,
        ..DevboxRequest::default()
    }
}

/// What an agent does in a box of its own, from where it reaches a world by these variables; none if it runs no command.
pub(super) fn work_on_playground(
    agent: &JobAgent,
    task: &Task,
    name: Uuid,
    time_limit: Duration,
    world: BTreeMap<String, String>,
) -> Option<AgentWork> {
    let Program::Command { command, .. } = &agent.program else {
        return None;
    };
    let mut variables = variables(agent, task);
    // There is no other context than what the task's file says.
    variables.remove("PROCTOR_CONTEXT_FILE");
    let own = [
        ("PROCTOR_TASK_FILE", TASK_FILE),
        ("PROCTOR_USAGE_FILE", USAGE_FILE),
    ];
    variables.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    variables.extend(world);
    Some(AgentWork {
        name,
        script: command.clone(),
        input: None,
        directory: None,
        variables,
        user: None,
        view: None,
        time_limit,
    })
}

/// Why an agent cannot take a task, if it cannot.
pub(super) fn unfit(agent: &JobAgent, task: &Task) -> Option<&'static str> {
    let needs_reference =
        agent.program == Program::Oracle && task.validation != Some(Validation::Reverse);
    let has_reference = match task.world {
        World::Playground { .. } => task.reference.is_array(),
        // The oracle of a Harbor task says itself what it misses.
        World::Devbox { .. } => task.reference.is_string() || HarborScenario::of(task).is_some(),
    };
    (needs_reference && !has_reference)
        .then_some("the oracle has nothing to apply: the scenario has no reference solution")
}

/// What an agent does in its box; none if that is nothing.
pub(super) fn work(
    agent: &JobAgent,
    task: &Task,
    name: Uuid,
    time_limit: Duration,
) -> Result<Option<AgentWork>, EngineError> {
    let work = |script: String, input, variables| AgentWork {
        name,
        script,
        input,
        directory: task.working_directory().map(str::to_owned),
        variables,
        user: None,
        view: None,
        time_limit,
    };
    match &agent.program {
        Program::Nop => Ok(None),
        // Such a scenario is solved to begin with.
        Program::Oracle if task.validation == Some(Validation::Reverse) => Ok(None),
        Program::Oracle => {
            let reference = task.reference.as_str().unwrap_or_default();
            let command = command(reference, false)?;
            let input = Some(command.input);
            Ok(Some(work(command.script, input, BTreeMap::new())))
        }
        Program::Command { command, .. } => {
            Ok(Some(work(command.clone(), None, variables(agent, task))))
        }
    }
}

/// The environment variables by which an agent learns what it is to do.
fn variables(agent: &JobAgent, task: &Task) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: String| variables.insert(name.to_owned(), value);
    set("PROCTOR_PROBLEM_FILE", PROBLEM_FILE.to_owned());
    if told(&task.brief).1.is_some() {
        set("PROCTOR_CONTEXT_FILE", CONTEXT_FILE.to_owned());
    }
    if let Program::Command { agent: Some(_), .. } = agent.program {
        set("PROCTOR_AGENT_PATH", AGENT_PATH.to_owned());
    }
    if let Some(model) = &agent.model {
        set("PROCTOR_MODEL_NAME", model.clone());
    }
    let others: BTreeMap<_, _> = agent
        .kwargs
        .iter()
        .filter(|(name, _)| *name != COMMAND)
        .collect();
    set("PROCTOR_AGENT_KWARGS", json!(others).to_string());
    variables
}

#[cfg(test)]
mod tests {
    use proctor_core::{
        document::Document,
        id::kinds::{RunId, TaskId},
    };

    use super::*;

    fn task() -> Task {
        Task {
            id: TaskId::from_uuid(Uuid::nil()),
            name: "fix".to_owned(),
            timeout: None,
            tags: Vec::new(),
            brief: json!({"problem_statement": "Fix it.", "additional_context": {"hint": 1}}),
            world: World::Devbox {
                parameters: Document::of(json!({"working_directory": "repo's"})),
            },
            entities: Vec::new(),
            clock: Default::default(),
            capture: BTreeMap::new(),
            criteria: Vec::new(),
            reference: Value::Null,
            validation: None,
            scoring_timeout: None,
            requires: proctor_core::definition::Requirements::default(),
            metadata: BTreeMap::new(),
        }
    }

    fn agent(program: Program) -> JobAgent {
        JobAgent {
            run: RunId::from_uuid(Uuid::nil()),
            name: "mine".to_owned(),
            agent: None,
            model: Some("m-1".to_owned()),
            timeout: None,
            kwargs: [("command", "go"), ("effort", "it's high")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            environment: BTreeMap::new(),
            secrets: BTreeMap::new(),
            program,
            attempt: 1,
            entry: 0,
            manifest: None,
            version: None,
            at_once: None,
        }
    }

    fn command_agent() -> JobAgent {
        agent(Program::Command {
            command: "go".to_owned(),
            agent: None,
        })
    }

    #[test]
    fn a_command_finds_its_task_by_its_environment() {
        let limit = Duration::from_secs(1);
        let work = work(&command_agent(), &task(), Uuid::nil(), limit)
            .unwrap()
            .unwrap();
        insta::assert_snapshot!(work.shell_text(|path| format!("/home/user/{path}")), @r#"
        export PROCTOR_AGENT_KWARGS='{"effort":"it'\''s high"}'
        export PROCTOR_CONTEXT_FILE='/tmp/proctor-agent/additional_context.json'
        export PROCTOR_MODEL_NAME='m-1'
        export PROCTOR_PROBLEM_FILE='/tmp/proctor-agent/problem_statement.md'
        cd -- '/home/user/repo'\''s' || exit
        go
        "#);
        let profile = task_profile(&command_agent(), &task());
        let contents = profile.mounts.iter().map(|mount| match mount {
            Mount::File { content, .. } => content.as_str(),
            other => panic!("{other:?} is not a file"),
        });
        assert_eq!(contents.collect::<Vec<_>>(), ["Fix it.", "{\"hint\":1}"]);
    }

    #[test]
    fn the_oracle_applies_the_reference_and_needs_one() {
        let oracle = agent(Program::Oracle);
        assert!(unfit(&oracle, &task()).is_some());
        let solved = Task {
            reference: json!("touch done"),
            ..task()
        };
        assert_eq!(unfit(&oracle, &solved), None);
        let applied = work(&oracle, &solved, Uuid::nil(), Duration::MAX)
            .unwrap()
            .unwrap();
        assert_eq!(
            (applied.script.as_str(), applied.input.as_deref()),
            ("bash -e", Some("touch done"))
        );
        let reverse = Task {
            validation: Some(Validation::Reverse),
            ..solved
        };
        let nothing = work(&oracle, &reverse, Uuid::nil(), Duration::MAX).unwrap();
        assert!(nothing.is_none(), "such a box is solved to begin with");
        assert!(task_profile(&oracle, &task()).mounts.is_empty());
        assert_eq!(unfit(&agent(Program::Nop), &task()), None);
    }
}
