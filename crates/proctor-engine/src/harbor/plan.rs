//! What a task's file and its job say together of the verifier and of each step.

use proctor_harbor::{
    job::JobConfig,
    task::{AgentPhase, Step, TaskStep, VerifierMode, VerifierPhase, with_extras},
    timeouts::PhaseLimit,
};

use super::{
    create::Notes,
    environment::{self, Described, EnvironmentPlan},
    scenario::{AgentPlan, VerifierPlan},
    sources::FoundTask,
    steps::StepPlan,
    variables::{Resolver, Variables},
};

/// A task of a job, while it becomes a scenario.
pub(super) struct Planning<'a> {
    pub(super) one: &'a FoundTask,
    pub(super) config: &'a JobConfig,
    pub(super) resolver: &'a mut Resolver,
    pub(super) notes: &'a mut Notes,
}

impl Planning<'_> {
    /// The verifier of the task, or of one of its steps.
    pub(super) fn verifier(&mut self, step: Option<&Step>) -> VerifierPlan {
        let (config, task) = (self.config, &self.one.task.config);
        let general = &task.verifier;
        let phase = step.map_or(general, |step| &step.verifier);
        let limit = PhaseLimit {
            task: Some(phase.timeout),
            instead: config.verifier.timeout,
            most: config.verifier.most,
            multiplier: config.multipliers.verifier,
        };
        let mode = self.one.task.verifier_mode(step);
        let own_box = match mode {
            VerifierMode::Separate => self.own_box(phase, step),
            VerifierMode::Shared => None,
        };
        let has_own_box = own_box.is_some();
        let of_box = phase
            .environment
            .as_ref()
            .filter(|_| mode == VerifierMode::Separate);
        let of_box = of_box.map_or_else(Variables::default, |own| self.resolver.resolve(&own.env));
        let of_task = self.resolver.resolve(&general.env).over(&of_box);
        let of_phase = self.resolver.resolve(&phase.env).over(&of_task);
        VerifierPlan {
            seconds: limit.seconds(&config.multipliers).unwrap_or_default(),
            variables: self.resolver.resolve(&config.verifier.env).over(&of_phase),
            user: phase.user.clone().or_else(|| general.user.clone()),
            mode,
            integrity: config.proctor.verifier,
            environment: own_box,
            directory: phase
                .environment
                .as_ref()
                .and_then(|own| own.workdir.clone()),
            has_bundled_tests: match step {
                None => self.one.task.has_bundled_tests,
                // Its image brings the tests, as that of a task does.
                Some(_) => has_own_box,
            },
            logs: (
                config.verifier.include_logs.clone(),
                config.verifier.exclude_logs.clone(),
            ),
            network: phase.network.clone().or_else(|| general.network.clone()),
            is_disabled: config.verifier.is_disabled,
        }
    }

    /// The box of a separate verifier; none if it is like the agent's.
    fn own_box(&mut self, phase: &VerifierPhase, step: Option<&Step>) -> Option<EnvironmentPlan> {
        let place = self.one.from.as_str();
        let tree = &self.one.tree.path;
        let general = &self.one.task.config.verifier;
        let named = phase.environment.as_ref().or(general.environment.as_ref());
        let image = named.and_then(|own| own.docker_image.as_deref());
        let has_files = |directory: &String| {
            let mut names = ["Dockerfile", "docker-compose.yaml"].iter();
            names.any(|name| tree.join(directory).join(name).is_file())
        };
        let of_step = step.map(|step| format!("steps/{}/tests", step.name));
        let mut directories = of_step.into_iter().chain(["tests".to_owned()]);
        let with_files = directories.find(has_files);
        if let Some(own) = named
            && (own.cpus.is_some() || own.memory_mb.is_some() || own.storage_mb.is_some())
        {
            let told = "verifier.environment: cpus, memory_mb and storage_mb have no effect: the box of a verifier is as large as the agent's";
            self.notes.warn(place, told);
        }
        if image.is_none() && with_files.is_none() {
            return None;
        }
        let directory = with_files.as_deref().unwrap_or("tests");
        match environment::describe(tree, directory, image, false) {
            Ok(Described { sidecars, .. }) if !sidecars.is_empty() => {
                let told = "verifier: the box of a separate verifier has no services beside it";
                self.notes.refuse(place, told);
                None
            }
            Ok(Described { mut plan, .. }) => {
                let seconds = named.map_or(self.one.task.config.environment.build_timeout, |own| {
                    own.build_timeout
                });
                plan.build_seconds = environment::build_seconds(seconds, self.config);
                Some(plan)
            }
            Err(message) => {
                self.notes.refuse(place, format!("verifier: {message}"));
                None
            }
        }
    }

    /// The steps of the task, in order.
    pub(super) fn steps(&mut self) -> Vec<StepPlan> {
        let steps = self.one.task.steps.iter();
        steps.map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &TaskStep) -> StepPlan {
        let (task, config) = (&self.one.task, &step.config);
        let name = &config.name;
        let has_solution = match step.has_solution_directory {
            true => step.has_solution,
            false => task.has_solution,
        };
        StepPlan {
            name: name.clone(),
            instruction: with_extras(&step.instruction, &self.config.extra_instructions),
            agent: agent(&config.agent, &task.config.agent),
            verifier: self.verifier(Some(config)),
            healthcheck: config.healthcheck.clone(),
            artifacts: config.artifacts.clone(),
            collect: config.verifier.collect.clone(),
            min_reward: config.min_reward.clone(),
            has_solution_directory: step.has_solution_directory,
            has_solution,
            has_workdir: step.has_workdir,
            has_setup: step.has_setup,
        }
    }
}

/// The agent's part of a step: what the step does not say the task says.
fn agent(step: &AgentPhase, task: &AgentPhase) -> AgentPlan {
    AgentPlan {
        timeout: step.timeout.or(task.timeout),
        user: step.user.clone().or_else(|| task.user.clone()),
        network: step.network.clone().or_else(|| task.network.clone()),
    }
}
