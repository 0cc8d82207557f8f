//! What happens in the box of a trial before its agent begins, and what its agent is.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use proctor_core::{
    blueprint::Image,
    devbox::{DevboxBase, UserParameters},
    id::kinds::{DevboxId, DevboxKind, OrganizationId},
    job::{Failure, JobAgent, Program},
    profile::RunProfile,
    task_run::Fault,
};
use proctor_devbox::{Error as DevboxError, ExecId, ExecSpec, Exit, Shared, Stream, User, View};
use proctor_fleet::{FleetError, Workplace};
use proctor_harbor::{exceptions::ExceptionType, task::Healthcheck, timeouts::duration};
use serde_json::json;

use super::{HarborScenario, HarborWorkshop};
use crate::{error::EngineError, scenarios::AgentWork};

/// Makes the directories that agents and verifiers leave their logs in.
const MAKE_LOGS: &str = "mkdir -p /logs/agent /logs/verifier /logs/artifacts && chmod 0777 /logs /logs/agent /logs/verifier /logs/artifacts";
/// How long that may take.
const A_MOMENT: Duration = Duration::from_secs(60);
/// Runs the reference solution as Harbor does: whatever its status, it has done its work.
const ORACLE: &str = "export DEBIAN_FRONTEND=noninteractive
(/solution/solve.sh) >/logs/agent/oracle.txt 2>&1
status=$?
[ \"$status\" = 0 ] || echo \"$status\" >/logs/agent/exit-code.txt
exit 0";
/// Where the reference solution is in the box of the oracle.
const SOLUTION: &str = "/solution";
/// How many bytes of what a health check printed are told.
const TOLD: usize = 2000;

/// What an agent does in its box.
pub(crate) enum AgentPhase {
    /// Nothing.
    Nothing,
    /// This.
    Works(Box<AgentWork>),
    /// It cannot begin.
    Fails(Failure),
}

/// How a part of a trial came out.
pub(crate) enum Phase {
    /// The next part can begin.
    Done,
    /// The trial is over.
    Failed(Failure),
}

/// The user that a file names, by name or number.
pub(crate) fn user_named(name: &str) -> User {
    let (user, group) = name.split_once(':').unwrap_or((name, name));
    match (user, user.parse(), group.parse()) {
        ("root", ..) => User::Root,
        (_, Ok(uid), Ok(gid)) => User::Ids { uid, gid },
        (_, Ok(uid), Err(_)) => User::Ids { uid, gid: uid },
        (user, Err(_), _) => User::Named(user.to_owned()),
    }
}

impl HarborScenario {
    /// What the box of a trial gets from outside, besides what its task says.
    pub(crate) fn profile(&self, agent: &JobAgent, image: &Image) -> RunProfile {
        // What only the oracle needs only its box has.
        let variables = match agent.program {
            Program::Oracle => self.solution.variables.over(&self.variables),
            Program::Nop | Program::Command { .. } => self.variables.clone(),
        };
        let mut environment = variables.plain;
        if !self.sidecars.is_empty() {
            environment.extend(self.direct_hosts());
        }
        let mut profile = RunProfile {
            environment,
            secrets: variables.secrets,
            volumes: self
                .volumes
                .iter()
                .map(|volume| (volume.at.clone(), volume.name.clone()))
                .collect(),
            ..RunProfile::default()
        };
        if image.user.is_none() {
            // An image that names nobody is root's, as everywhere but in devboxes of one's own.
            profile.launch.user = Some(UserParameters {
                username: "root".to_owned(),
                uid: 0,
            });
        }
        profile
    }

    /// The names of variables that are for the agent alone.
    pub(crate) fn agents_variables(&self, of_run: &RunProfile) -> BTreeSet<String> {
        let of_run = of_run.environment.keys().chain(of_run.secrets.keys());
        let of_solution = &self.solution.variables;
        let of_solution = of_solution.plain.keys().chain(of_solution.secrets.keys());
        of_run.chain(of_solution).cloned().collect()
    }

    /// The variables by which a command agent learns more of its task.
    pub(crate) fn told(&self) -> BTreeMap<String, String> {
        let mut told = BTreeMap::new();
        if !self.mcp_servers.is_empty() {
            let servers = json!(self.mcp_servers).to_string();
            told.insert("PROCTOR_MCP_SERVERS".to_owned(), servers);
        }
        if let Some(step) = &self.step {
            told.insert("PROCTOR_STEP".to_owned(), step.clone());
        }
        if let Some(directory) = &self.skills_dir {
            told.insert("PROCTOR_SKILLS_DIR".to_owned(), directory.clone());
        }
        told
    }
}

impl HarborWorkshop {
    /// What an agent does in the box of a Harbor task. `usual` is what it does in any box.
    pub(crate) async fn agent_phase(
        &self,
        scenario: &HarborScenario,
        agent: &JobAgent,
        usual: Option<AgentWork>,
    ) -> Result<AgentPhase, EngineError> {
        let user = scenario.agent.user.as_deref().map(user_named);
        match (&agent.program, usual) {
            (Program::Nop, _) | (_, None) => Ok(AgentPhase::Nothing),
            (Program::Command { .. }, Some(mut work)) => {
                work.user = user;
                work.variables.extend(scenario.told());
                Ok(AgentPhase::Works(Box::new(work)))
            }
            (Program::Oracle, Some(_)) if !scenario.solution.is_there => {
                let told = "the task has no solution/solve.sh for the oracle";
                let failure = Failure::setup(told.to_owned(), Fault::setup());
                let name = ExceptionType::FileNotFoundError.as_str();
                Ok(AgentPhase::Fails(failure.called(name)))
            }
            (Program::Oracle, Some(mut work)) => {
                let solution = self
                    .assembled(&scenario.tree, vec![scenario.solution_directory()])
                    .await
                    .map_err(|error| EngineError::Fault(error.to_string()))?;
                work.script = ORACLE.to_owned();
                work.input = None;
                work.user = user;
                work.view = Some(View {
                    read_only: vec![Shared {
                        host: solution,
                        at: SOLUTION.to_owned(),
                    }],
                    ..View::default()
                });
                Ok(AgentPhase::Works(Box::new(work)))
            }
        }
    }

    /// Makes a box ready for its agent: directories for logs, the image's entry point, the health check.
    pub(crate) async fn make_ready(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        scenario: &HarborScenario,
        of_run: &RunProfile,
    ) -> Result<Phase, FleetError> {
        let fleet = &self.inner.fleet;
        let mut place = fleet.workplace(devbox).await?;
        place.environment = self
            .environment_without_agent(organization, &place.environment, scenario, of_run)
            .await?;
        let mut spec = place.program(self.exec_id("logs")?, ["/bin/sh", "-c", MAKE_LOGS]);
        spec.user = User::Root;
        spec.cwd = Some("/".to_owned());
        spec.timeout = Some(A_MOMENT);
        let (exit, said) = run(&place, spec).await?;
        if !exit.success() {
            let told = format!("the directories for logs could not be made: {said}");
            let failure = Failure::setup(told, Fault::setup());
            let name = ExceptionType::HealthcheckError.as_str();
            return Ok(Phase::Failed(failure.called(name)));
        }
        if !scenario.sidecars.is_empty() {
            let started = self.start_sidecars(organization, devbox, scenario, &place);
            match Box::pin(started).await? {
                Phase::Done => {}
                failed @ Phase::Failed(_) => return Ok(failed),
            }
        }
        let record = fleet.devbox(organization, devbox).await?;
        if let DevboxBase::Blueprint { image, .. } = &record.setup.base
            && let Some(spec) = place.entrypoint(self.exec_id("entrypoint")?, image)
        {
            // It goes on in the background; that it cannot be started is not the task's end.
            if let Err(error) = place.devbox.exec(spec).await {
                tracing::warn!(%error, %devbox, "the entry point of an image could not be started");
            }
        }
        match &scenario.healthcheck {
            None => Ok(Phase::Done),
            Some(check) => self.wait_until_healthy(&place, check).await,
        }
    }

    /// The environment of a box without what is for its agent alone.
    pub(super) async fn environment_without_agent(
        &self,
        organization: OrganizationId,
        whole: &BTreeMap<String, String>,
        scenario: &HarborScenario,
        of_run: &RunProfile,
    ) -> Result<BTreeMap<String, String>, FleetError> {
        let of_agent = scenario.agents_variables(of_run);
        let mut environment = whole.clone();
        environment.retain(|name, _| !of_agent.contains(name));
        if of_agent.iter().any(|name| scenario.variables.has(name)) {
            let store = self.inner.fleet.store();
            let (own, _) = scenario.variables.values(store, organization).await?;
            environment.extend(own);
        }
        Ok(environment)
    }

    /// Runs a health check until it passes; or why the box is not healthy.
    pub(super) async fn wait_until_healthy(
        &self,
        place: &Workplace,
        check: &Healthcheck,
    ) -> Result<Phase, FleetError> {
        let began = Instant::now();
        let start_period = duration(check.start_period);
        let mut failures = 0;
        loop {
            let mut spec = place.shell_command(self.exec_id("health")?, &check.command);
            spec.timeout = Some(duration(check.timeout));
            let (exit, said) = run(place, spec).await?;
            if exit.success() {
                return Ok(Phase::Done);
            }
            let counts = began.elapsed() >= start_period;
            failures += u64::from(counts);
            if failures >= check.retries.max(1) {
                let status = exit.status();
                let told = format!("the health check failed with status {status}: {said}");
                let failure = Failure::setup(place.masks.apply(&told), Fault::setup());
                let name = ExceptionType::HealthcheckError.as_str();
                return Ok(Phase::Failed(failure.called(name)));
            }
            let pause = if counts {
                check.interval
            } else {
                check.start_interval
            };
            tokio::time::sleep(duration(pause)).await;
        }
    }

    /// A name of its own for something that is run in a box.
    pub(super) fn exec_id(&self, what: &str) -> Result<ExecId, FleetError> {
        let name = self.inner.fleet.store().fresh_id::<DevboxKind>().bare();
        let id = ExecId::new(format!("harbor-{what}-{}", name.to_lowercase()));
        id.map_err(|error| FleetError::Box(DevboxError::Invalid(error.to_string())))
    }
}

/// Runs a program to its end; how it ended, and the end of what it said.
pub(super) async fn run(
    place: &Workplace,
    mut spec: ExecSpec,
) -> Result<(Exit, String), FleetError> {
    spec.output_limit = TOLD as u64;
    let execution = place.devbox.exec(spec).await?;
    let exit = execution.wait().await?;
    let mut said = String::new();
    for stream in [Stream::Stdout, Stream::Stderr] {
        let chunk = execution.read_output(stream, 0, TOLD).await?;
        said.push_str(&String::from_utf8_lossy(&chunk.bytes));
    }
    execution.forget().await?;
    Ok((exit, said.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_named_or_numbered() {
        assert_eq!(user_named("root"), User::Root);
        assert_eq!(user_named("agent"), User::Named("agent".to_owned()));
        let ids = |uid, gid| User::Ids { uid, gid };
        assert_eq!(user_named("1000"), ids(1000, 1000));
        assert_eq!(user_named("1000:7"), ids(1000, 7));
        assert_eq!(user_named("1000:staff"), ids(1000, 1000));
    }
}
