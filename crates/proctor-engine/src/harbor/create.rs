//! A job file becomes a plan: everything that is wrong with it and with its tasks is named at once, and what has no effect is a warning.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use proctor_core::{
    definition::{Benchmark, Requirements, Task as ScenarioTask},
    id::kinds::OrganizationId,
    job::{
        Job, JobAgent, JobPlan, JobSource, JobState, Orchestration, PlannedScenario, RetryRules,
        TrialOrder,
    },
    problem::Problem,
    run::Pinned,
};
use proctor_fleet::{
    blueprints::{ImagePresence, images_named},
    trees,
};
use proctor_harbor::{
    Warning,
    job::{AgentEntry, JobConfig, SharedVerifier},
    task::{NetworkMode, VerifierMode, with_extras},
    timeouts::{AGENT_SETUP_SECONDS, PhaseLimit, duration},
};
use proctor_macros::boxed_futures;
use proctor_store::{benchmarks::BenchmarkDraft, repeatable::Made};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    HarborScenario, HarborWorkshop,
    collect::WantedLogs,
    environment::{self, Described, EnvironmentPlan},
    plan::Planning,
    scenario::{AgentPlan, SolutionPlan},
    sidecars::{MAIN, SidecarPlan},
    sources::FoundTask,
    variables::{Resolver, Variables},
};
use crate::{
    engine::Engine,
    error::EngineError,
    jobs::{JobDetails, NewJobAgent},
    problems::{AgentProblem, JobProblem},
};

/// Why a benchmark was made for a job.
const WHY_MADE: &str = "The tasks of a Harbor job.";
/// How long an agent may take whose task has no limit.
const LONGEST_AGENT: Duration = Duration::from_secs(24 * 60 * 60);
/// How many agents, each with all of its attempts, a job may have.
const MOST_RUNS: usize = 1000;

/// A Harbor job that is to be made.
#[derive(Clone, Debug)]
pub struct NewHarborJob {
    /// The organization that wants it.
    pub organization: OrganizationId,
    /// What people call it; what its file says without it.
    pub name: Option<String>,
    /// The job file.
    pub inline_yaml: String,
}

/// What a job would do.
#[derive(Clone, Debug)]
pub struct HarborPlan {
    /// What it is called.
    pub name: String,
    /// Its agents, in order.
    pub agents: Vec<PlannedAgent>,
    /// Its tasks, in order: what each is called, and its digest.
    pub tasks: Vec<(String, String)>,
    /// How often each agent takes each task.
    pub attempts: u32,
    /// The images that its boxes stand on.
    pub images: Vec<ImageNeed>,
    /// What whoever wrote the files should know.
    pub warnings: Vec<Warning>,
}

/// An agent of a job that would be made.
#[derive(Clone, Debug)]
pub struct PlannedAgent {
    /// What it is called.
    pub name: String,
    /// The model that it shall use.
    pub model: Option<String>,
}

/// An image that boxes stand on.
#[derive(Clone, Debug)]
pub struct ImageNeed {
    /// Its name.
    pub name: String,
    /// Whether it is there.
    pub presence: ImagePresence,
}

/// What a job file says, as trials need it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HarborRules {
    pub(crate) config: JobConfig,
    #[serde(default)]
    pub(crate) warnings: Vec<Warning>,
}

impl HarborRules {
    /// The rules of a job, if it is a Harbor job.
    pub(crate) fn of(source: &JobSource) -> Option<Self> {
        match source {
            JobSource::Harbor { rules, .. } => Self::deserialize(rules).ok(),
            JobSource::Benchmark { .. } | JobSource::Scenarios => None,
        }
    }

    /// What the file says of an agent.
    pub(crate) fn entry(&self, agent: &JobAgent) -> AgentEntry {
        let place = usize::try_from(agent.entry).unwrap_or(usize::MAX);
        self.config.agents.get(place).cloned().unwrap_or_default()
    }

    /// Which logs of an agent are kept.
    pub(crate) fn wanted_logs(&self, agent: &JobAgent) -> WantedLogs {
        let entry = self.entry(agent);
        (entry.include_logs, entry.exclude_logs)
    }

    /// How long installing an agent may take.
    pub(crate) fn setup_limit(&self, agent: &JobAgent) -> Duration {
        let limit = PhaseLimit {
            task: Some(AGENT_SETUP_SECONDS),
            instead: self.entry(agent).setup_timeout,
            most: None,
            multiplier: self.config.multipliers.agent_setup,
        };
        let seconds = limit.seconds(&self.config.multipliers);
        duration(seconds.unwrap_or(AGENT_SETUP_SECONDS))
    }

    /// How long an agent may take with a task.
    pub(crate) fn agent_limit(&self, scenario: &HarborScenario, agent: &JobAgent) -> Duration {
        let entry = self.entry(agent);
        let limit = PhaseLimit {
            task: scenario.agent.timeout,
            instead: entry.timeout,
            most: entry.most,
            multiplier: self.config.multipliers.agent,
        };
        let seconds = limit.seconds(&self.config.multipliers);
        seconds.map_or(LONGEST_AGENT, duration)
    }
}

/// A job file with its tasks and agents, ready to become a job.
struct Prepared {
    rules: HarborRules,
    tasks: Vec<ScenarioTask>,
    digests: Vec<(String, String)>,
    agents: Vec<JobAgent>,
    images: Vec<ImageNeed>,
}

/// Problems and warnings as they are found.
#[derive(Default)]
pub(super) struct Notes {
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
}

impl Notes {
    pub(super) fn refuse(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::error(path, message));
    }

    pub(super) fn warn(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.warnings.push(Warning::new(path, message));
    }
}

#[boxed_futures]
impl Engine {
    /// What a job file would do. Nothing is started.
    pub async fn plan_harbor_job(&self, new: NewHarborJob) -> Result<HarborPlan, EngineError> {
        let prepared = self.prepare_harbor_job(&new).await?;
        let config = &prepared.rules.config;
        let agents = config.agents.iter().map(|entry| PlannedAgent {
            name: entry.name.clone(),
            model: entry.model_name.clone(),
        });
        Ok(HarborPlan {
            name: name_of(&new, config, &prepared.digests),
            agents: agents.collect(),
            tasks: prepared.digests,
            attempts: config.attempts,
            images: prepared.images,
            warnings: prepared.rules.warnings,
        })
    }

    /// Makes a Harbor job. It begins by itself.
    pub async fn create_harbor_job(&self, new: NewHarborJob) -> Result<JobDetails, EngineError> {
        let id = match self.store().make_once(|id| self.store().job(id)).await? {
            Made::Before(job) => {
                self.drive_in_background(job.value.id);
                return self.job(new.organization, job.value.id).await;
            }
            Made::New(id) => id,
        };
        let machine = self.workshop()?.boxes.machine();
        let prepared = self.prepare_harbor_job(&new).await?;
        let Prepared {
            rules,
            tasks,
            digests,
            agents,
            ..
        } = prepared;
        let config = &rules.config;
        let name = name_of(&new, config, &digests);
        let scenarios = tasks.iter().map(|task| PlannedScenario {
            id: task.id,
            name: task.name.clone(),
        });
        let scenarios: Vec<PlannedScenario> = scenarios.collect();
        let definition = Benchmark {
            name: name.clone(),
            description: Some(WHY_MADE.to_owned()),
            timeout: None,
            concurrency: NonZeroU32::MIN,
            metadata: BTreeMap::new(),
            requires: Requirements::default(),
            tasks,
        };
        let digest = self.store().put_definition(&definition).await?;
        let draft = BenchmarkDraft {
            name: name.clone(),
            description: Some(WHY_MADE.to_owned()),
            attribution: None,
            environment: None,
            timeout: None,
            concurrency: NonZeroU32::MIN,
            metadata: BTreeMap::new(),
            requires: Requirements::default(),
        };
        // It holds the definition of the job's runs, and no list shows it.
        let benchmark = self
            .store()
            .create_archived_suite(new.organization, draft, &[])
            .await?;
        let orchestration = Orchestration {
            trials_at_once: NonZeroU32::new(config.trials_at_once),
            retries: Some(config.retry.most),
            timeout_multiplier: None,
            quiet: None,
            order: TrialOrder::Attempts,
            retry_rules: Some(RetryRules {
                include: config.retry.include.clone(),
                exclude: config.retry.exclude.clone(),
            }),
            retries_void_only: false,
        };
        let job = Job {
            id,
            organization: new.organization,
            name,
            machine,
            plan: JobPlan {
                source: JobSource::Harbor {
                    inline_yaml: new.inline_yaml,
                    rules: json!(rules),
                },
                pinned: Pinned {
                    benchmark: benchmark.id,
                    version: None,
                    digest,
                },
                scenarios,
                agents,
                orchestration,
                rounds: None,
                labels: BTreeMap::new(),
            },
            created_at: self.now(),
            state: JobState::Initializing,
        };
        self.store().create_job(&job).await?;
        let details = self.job(new.organization, job.id).await?;
        self.drive_in_background(job.id);
        Ok(details)
    }

    pub(crate) fn harbor(&self) -> Result<&HarborWorkshop, EngineError> {
        self.workshop()?.harbor.as_ref().ok_or_else(|| {
            let told = "this server has no devboxes that Harbor tasks could be run in";
            EngineError::Unclear(told.to_owned())
        })
    }

    async fn prepare_harbor_job(&self, new: &NewHarborJob) -> Result<Prepared, EngineError> {
        let workshop = self.harbor()?;
        let read = JobConfig::read(&new.inline_yaml);
        let (config, warnings) = read.map_err(|problems| refused(problems.into_vec()))?;
        let mut notes = Notes {
            problems: Vec::new(),
            warnings,
        };
        let found = workshop.find_tasks(new.organization, &config).await?;
        notes.problems.extend(found.problems);
        notes.warnings.extend(found.warnings);
        let found = found.tasks;
        check_rules(&config, &found, &mut notes);
        let maps = maps_of(&config, &found);
        let mut resolver = Resolver::of(self.store(), new.organization, maps).await?;
        let agents = self
            .agents_of_file(new.organization, &config, &mut resolver, &mut notes)
            .await?;
        let has_public = workshop.has_public_policy(new.organization).await?;
        let build_policy = workshop.build_policy(new.organization).await?;
        let mut tasks = Vec::with_capacity(found.len());
        let mut digests = Vec::with_capacity(found.len());
        let mut images: BTreeMap<String, ImagePresence> = BTreeMap::new();
        for one in &found {
            let place = one.from.clone();
            let warnings = one.task.warnings.iter().cloned();
            notes
                .warnings
                .extend(warnings.map(|warning| warning.below(&place)));
            if one.task.config.environment.network.mode == NetworkMode::Public && !has_public {
                notes.warn(
                    place.clone(),
                    "the task's network is public, and boxes of this server reach nothing: the setting harbor-public-policy names the policy of such boxes",
                );
            }
            let Some(task) = scenario_of(one, &config, &mut resolver, &mut notes) else {
                continue;
            };
            let (mut scenario, launch, directory) = task;
            for plan in scenario.environments_mut() {
                let context = match &plan.context {
                    Some(context) => trees::name_of(&one.tree.path.join(context))
                        .map_err(|error| EngineError::Fault(error.to_string()))?,
                    None => String::new(),
                };
                plan.name(&context, build_policy);
                for image in images_of(plan, &place, &mut notes) {
                    if images.contains_key(&image) {
                        continue;
                    }
                    let presence = workshop.image_presence(new.organization, &image).await?;
                    if let ImagePresence::Missing { message } = &presence {
                        notes.refuse(place.clone(), format!("the image {image}: {message}"));
                    }
                    images.insert(image, presence);
                }
            }
            // An agent learns of a step when it begins.
            let instruction = match scenario.steps.first() {
                Some(first) => first.instruction.clone(),
                None => with_extras(&one.task.instruction, &config.extra_instructions),
            };
            digests.push((one.task.name.clone(), one.task.digest.clone()));
            tasks.push(scenario.into_task(&one.task.name, &instruction, launch, directory));
        }
        if config.proctor.keeps_disks {
            let trials = agents.len().saturating_mul(tasks.len());
            let wanted = u64::try_from(trials).unwrap_or(u64::MAX);
            if let Err(why) = workshop.check_room(wanted).await? {
                notes.refuse("metadata.proctor_keep_disks", why);
            }
        }
        let missing: Vec<String> = resolver.missing().into_iter().collect();
        if !missing.is_empty() {
            let told = format!(
                "there are no secrets named {}: make them at /v1/secrets, or give defaults (${{NAME:-default}})",
                missing.join(", ")
            );
            notes.refuse("", told);
        }
        match notes.problems.is_empty() {
            false => Err(refused(notes.problems)),
            true => Ok(Prepared {
                rules: HarborRules {
                    config,
                    warnings: notes.warnings,
                },
                tasks,
                digests,
                agents,
                images: images
                    .into_iter()
                    .map(|(name, presence)| ImageNeed { name, presence })
                    .collect(),
            }),
        }
    }

    /// The agents of a job file, each as often as it is to try.
    async fn agents_of_file(
        &self,
        organization: OrganizationId,
        config: &JobConfig,
        resolver: &mut Resolver,
        notes: &mut Notes,
    ) -> Result<Vec<JobAgent>, EngineError> {
        let attempts = usize::try_from(config.attempts).unwrap_or(usize::MAX);
        if config.agents.len().saturating_mul(attempts) > MOST_RUNS {
            let told = format!("agents × attempts must be at most {MOST_RUNS}");
            notes.refuse("n_attempts", told);
            return Ok(Vec::new());
        }
        let mut agents = Vec::new();
        let mut identities = Vec::new();
        for (number, entry) in config.agents.iter().enumerate() {
            let place = format!("agents.{number}");
            let identity = entry.identity();
            if identities.contains(&identity) {
                notes.warn(place.clone(), "is the same as another agent of the job");
            }
            identities.push(identity);
            let variables = resolver.resolve(&entry.env);
            let mut agent = NewJobAgent {
                name: entry.name.clone(),
                agent: None,
                model: entry.model_name.clone(),
                timeout: entry.timeout.filter(|seconds| *seconds > 0.0),
                kwargs: entry.kwargs_as_texts(),
                environment: variables.plain,
                secrets: variables.secrets,
            };
            let chosen = match self.program_of(organization, &agent).await? {
                Ok(chosen) => chosen,
                Err(problem) => {
                    let known = self.extensions().agents.keys().cloned();
                    notes.refuse(format!("{place}.name"), unknown(&problem, known.collect()));
                    continue;
                }
            };
            let lacking = self.give_secrets(organization, &mut agent, chosen.secrets());
            for problem in lacking.await? {
                notes.refuse(format!("{place}.env"), problem.to_string());
            }
            for attempt in 1..=config.attempts {
                agents.push(JobAgent {
                    run: self.store().fresh_id(),
                    name: agent.name.clone(),
                    agent: agent.agent,
                    model: agent.model.clone(),
                    timeout: agent.timeout,
                    kwargs: agent.kwargs.clone(),
                    environment: agent.environment.clone(),
                    secrets: agent.secrets.clone(),
                    program: chosen.program.clone(),
                    manifest: chosen.manifest.clone(),
                    version: chosen.version.clone(),
                    attempt,
                    entry: u32::try_from(number).unwrap_or(u32::MAX),
                    at_once: entry.at_once,
                });
            }
        }
        Ok(agents)
    }
}

impl HarborWorkshop {
    /// Whether the disks of so many trials can be kept, besides what jobs that go on have asked for.
    async fn check_room(&self, wanted: u64) -> Result<Result<(), String>, EngineError> {
        let (fleet, store) = (&self.inner.fleet, self.inner.fleet.store());
        let mut promised = 0;
        for id in store.live_jobs(fleet.machine()).await? {
            let Some(job) = store.job(id).await? else {
                continue;
            };
            let plan = &job.value.plan;
            let rules = HarborRules::of(&plan.source);
            if rules.is_some_and(|rules| rules.config.proctor.keeps_disks) {
                promised += plan.agents.len() * plan.scenarios.len();
            }
        }
        let promised = u64::try_from(promised).unwrap_or(u64::MAX);
        let room = fleet.check_room_for_disks(wanted.saturating_add(promised));
        let room = room.await;
        room.map_err(|error| EngineError::Fault(error.to_string()))
    }

    async fn image_presence(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<ImagePresence, EngineError> {
        use proctor_fleet::blueprints::BlueprintError;
        let presence = self.inner.blueprints.image_presence(organization, name);
        match presence.await {
            Ok(presence) => Ok(presence),
            Err(BlueprintError::Store(error)) => Err(error.into()),
            Err(other) => Ok(ImagePresence::Missing {
                message: other.to_string(),
            }),
        }
    }
}

/// The images that a box stands on.
fn images_of(plan: &EnvironmentPlan, place: &str, notes: &mut Notes) -> Vec<String> {
    match images_named(&plan.dockerfile, &plan.args, plan.target.as_deref()) {
        Ok(images) => images,
        Err(error) => {
            notes.refuse(place, format!("environment: {error}"));
            Vec::new()
        }
    }
}

fn refused(problems: Vec<Problem>) -> EngineError {
    EngineError::Job(problems.into_iter().map(JobProblem::Harbor).collect())
}

/// What a job is called.
fn name_of(new: &NewHarborJob, config: &JobConfig, tasks: &[(String, String)]) -> String {
    let given = new.name.clone().or_else(|| config.job_name.clone());
    given.unwrap_or_else(|| match tasks {
        [(only, _)] => only.clone(),
        _ => format!("{} tasks", tasks.len()),
    })
}

fn unknown(problem: &AgentProblem, known: Vec<String>) -> String {
    let mut names = vec!["oracle".to_owned(), "nop".to_owned()];
    names.extend(known);
    format!(
        "{problem}: there are {}; register any other at /v1/agents, and say how it is started in its manifest (POST /v1/agents/{{id}}/manifest)",
        names.join(", ")
    )
}

/// Every map of variables with templates.
fn maps_of<'m>(config: &'m JobConfig, found: &'m [FoundTask]) -> Vec<&'m BTreeMap<String, String>> {
    let of_job = [&config.environment.env, &config.verifier.env];
    let of_agents = config.agents.iter().map(|agent| &agent.env);
    let of_tasks = found.iter().flat_map(|one| {
        let task = &one.task.config;
        let verifiers = task.steps.iter().map(|step| &step.verifier);
        let verifiers = verifiers.chain([&task.verifier]).flat_map(|verifier| {
            let of_box = verifier.environment.as_ref().map(|own| &own.env);
            std::iter::once(&verifier.env).chain(of_box)
        });
        verifiers.chain([&task.environment.env, &task.solution_env])
    });
    of_job
        .into_iter()
        .chain(of_agents)
        .chain(of_tasks)
        .collect()
}

/// What cannot be done although it can be read, and what has no effect.
fn check_rules(config: &JobConfig, found: &[FoundTask], notes: &mut Notes) {
    for (number, entry) in config.agents.iter().enumerate() {
        let steps = found.iter().filter(|one| one.task.steps.len() > 1);
        if entry.resumes && steps.count() > 0 {
            let place = format!("agents.{number}.resume_trajectory");
            notes.refuse(place, "sessions do not go on from step to step");
        }
        if entry.group.is_some() {
            let place = format!("agents.{number}.concurrency_group");
            notes.warn(place, "has no effect: n_concurrent counts for each agent");
        }
    }
    if config.verifier.is_disabled {
        notes.warn(
            "verifier.disable",
            "no trial is verified: none has a reward, and none counts",
        );
    }
    for one in found {
        let place = one.from.clone();
        let task = &one.task.config;
        let has_limits = match &task.steps[..] {
            [] => task.agent.timeout.is_some(),
            steps => steps
                .iter()
                .all(|step| step.agent.timeout.or(task.agent.timeout).is_some()),
        };
        if !has_limits && config.agents.iter().any(|agent| agent.timeout.is_none()) {
            let hours = LONGEST_AGENT.as_secs() / 3600;
            let told = format!("the task has no time limit; agents are ended after {hours} hours");
            notes.warn(place, told);
        }
    }
}

/// What cannot be done with services beside a task's box, and services that artifacts and hooks name in vain.
fn check_sidecars(
    one: &FoundTask,
    config: &JobConfig,
    sidecars: &[SidecarPlan],
    notes: &mut Notes,
) {
    let (task, place) = (&one.task.config, one.from.as_str());
    if !sidecars.is_empty() && config.proctor.verifier != SharedVerifier::Sealed {
        let told = "a task with several services is verified in the agent's box: proctor_verifier must be sealed";
        notes.refuse(place, told);
    }
    let steps = task.steps.iter();
    let artifacts = steps.clone().flat_map(|step| &step.artifacts);
    let artifacts = task.artifacts.iter().chain(artifacts);
    let hooks = steps.flat_map(|step| &step.verifier.collect);
    let hooks = task.verifier.collect.iter().chain(hooks);
    let of_artifacts = artifacts.map(|one| ("artifacts", one.service.as_deref().unwrap_or(MAIN)));
    let of_hooks = hooks.map(|one| ("verifier.collect", one.service.as_str()));
    for (what, service) in of_artifacts.chain(of_hooks) {
        if service != MAIN && !sidecars.iter().any(|one| one.name == service) {
            notes.refuse(place, format!("{what}: there is no service '{service}'"));
        }
    }
}

type TaskParts = (
    HarborScenario,
    proctor_core::devbox::LaunchRequest,
    Option<String>,
);

/// A task as a scenario, with how its box is launched and where it is worked in; none if something is wrong with it.
fn scenario_of(
    one: &FoundTask,
    config: &JobConfig,
    resolver: &mut Resolver,
    notes: &mut Notes,
) -> Option<TaskParts> {
    let (task, place) = (&one.task.config, one.from.as_str());
    let image = task.environment.docker_image.as_deref();
    let force_build = config.environment.force_build;
    let described = environment::describe(&one.tree.path, "environment", image, force_build);
    let Described {
        mut plan,
        mut compose,
        sidecars,
    } = match described {
        Ok(described) => described,
        Err(message) => {
            notes.refuse(place, message);
            return None;
        }
    };
    let launch = match environment::size(&task.environment, &config.environment, compose.as_ref()) {
        Ok(launch) => launch,
        Err(problems) => {
            for (field, message) in problems {
                notes.refuse(format!("{place}: environment.{field}"), message);
            }
            return None;
        }
    };
    plan.build_seconds = environment::build_seconds(task.environment.build_timeout, config);
    let sidecars: Vec<SidecarPlan> = sidecars
        .into_iter()
        .map(|(service, mut environment)| {
            environment.build_seconds = plan.build_seconds;
            for ignored in &service.ignored {
                let told = format!("docker-compose.yaml: {ignored} has no effect");
                notes.warn(place, told);
            }
            let variables = resolver.resolve(&service.environment);
            SidecarPlan::of(service, environment, variables)
        })
        .collect();
    check_sidecars(one, config, &sidecars, notes);
    let main = compose.as_mut();
    let (waits_for, volumes) = main.map_or_else(Default::default, |main| {
        let waits_for = std::mem::take(&mut main.depends_on);
        (waits_for, std::mem::take(&mut main.volumes))
    });
    let mut network = task.environment.network.clone();
    let mut of_box = Variables::default();
    if let Some(service) = &compose {
        of_box = resolver.resolve(&service.environment);
        if service.no_network {
            network.mode = NetworkMode::NoNetwork;
        }
        for ignored in &service.ignored {
            let told = format!("docker-compose.yaml: {ignored} has no effect");
            notes.warn(place, told);
        }
    }
    let of_box = resolver.resolve(&task.environment.env).over(&of_box);
    let of_box = resolver.resolve(&config.environment.env).over(&of_box);
    let mut planning = Planning {
        one,
        config,
        resolver,
        notes,
    };
    let (verifier, steps) = (planning.verifier(None), planning.steps());
    if verifier.mode == VerifierMode::Separate && !config.verifier.hosts.is_empty() {
        let told = "verifier.extra_allowed_hosts has no effect: the box of a separate verifier reaches nothing";
        planning.notes.warn(place, told);
    }
    let resolver = planning.resolver;
    let mut artifacts = task.artifacts.clone();
    artifacts.extend(config.artifacts.iter().cloned());
    let workdir = task.environment.workdir.clone();
    let workdir = workdir.or_else(|| compose.and_then(|service| service.working_dir));
    let scenario = HarborScenario {
        tree: one.tree.digest.clone(),
        digest: one.task.digest.clone(),
        from: one.from.clone(),
        origin: one.origin.clone(),
        source: one.source.clone().or_else(|| task.source.clone()),
        environment: plan,
        variables: of_box,
        network,
        healthcheck: task.environment.healthcheck.clone(),
        agent: AgentPlan {
            timeout: task.agent.timeout,
            user: task.agent.user.clone(),
            network: task.agent.network.clone(),
        },
        solution: SolutionPlan {
            is_there: one.task.has_solution,
            variables: resolver.resolve(&task.solution_env),
            is_of_step: false,
        },
        verifier,
        artifacts,
        collect: task.verifier.collect.clone(),
        mcp_servers: task.environment.mcp_servers.clone(),
        skills_dir: task.environment.skills_dir.clone(),
        steps,
        strategy: task.strategy,
        sidecars,
        waits_for,
        volumes,
        keeps_disk: config.proctor.keeps_disks,
        ..HarborScenario::default()
    };
    Some((scenario, launch, workdir))
}
