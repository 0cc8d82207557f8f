//! Finds what is wrong with drafts, all of it at once.

use std::{collections::BTreeSet, fmt};

use proctor_core::{
    definition::Criterion,
    environment::{Dataset, Entity, Environment},
    problem::{Problem, Severity},
    scoring::check_axis,
};
use proctor_playground::environment::Blueprint;
use proctor_simulation::{registry::SimulatorRegistry, scenario::Step};
use proctor_store::{
    criteria::CriterionRecord,
    whole_benchmark::{WholeBenchmark, WholeTask},
};
use proctor_verify::{
    CheckRegistry, capture_problems, judge_problems, key_problems, lint_criterion,
};
use serde_json::Value;

use super::{Obstacle, Prevents, compose};
use crate::extensions::Extensions;

/// What is wrong with the benchmark and everything that it is made of.
pub(super) fn obstacles(
    whole: &WholeBenchmark,
    environment: Option<&Environment>,
    extensions: &Extensions,
) -> Vec<Obstacle> {
    let mut found = Found::default();
    let benchmark = &whole.benchmark;
    if whole.tasks.is_empty() {
        found.running(benchmark.id, "has no tasks");
    }
    if let Some(environment) = environment
        && let Err(problems) = Blueprint::read(environment, &extensions.simulators)
    {
        for problem in problems.into_vec() {
            found.running(place_in(environment, &problem.path), problem.message);
        }
    }
    for task in &whole.tasks {
        if task
            .task
            .content
            .timeout
            .or(benchmark.content.timeout)
            .is_none()
        {
            let message = "neither the task nor its benchmark says how long it may take";
            found.add(task.task.id, message, limit_prevents(task));
        }
        if task.task.content.devbox.is_none() {
            scenario(task, environment, &extensions.simulators, &mut found);
        }
        entities(task, &mut found);
        let about: Vec<_> = task.entities.iter().map(compose::entity).collect();
        for one in &task.criteria {
            criterion(one, task, &about, &extensions.checks, &mut found);
        }
        keys(task, &mut found);
        for problem in capture_problems(&task.task.content.capture, &about) {
            let place = compose::inside(format_args!("{}.capture", task.task.id), &problem.path);
            found.publishing(place, problem.message);
        }
    }
    found.0
}

/// What is wrong with the steps of a scenario by themselves, each with the number of the step before its place.
pub fn scenario_problems(scenario: &[Value], simulators: &SimulatorRegistry) -> Vec<Problem> {
    let steps = scenario.iter().map(|step| simulators.read_step(step));
    let wrong = steps.enumerate();
    let wrong = wrong.filter_map(|(number, step)| Some((number, step.err()?)));
    wrong
        .flat_map(|(number, problems)| {
            let problems = problems.into_vec().into_iter();
            problems.map(move |problem| problem.below(&number.to_string()))
        })
        .collect()
}

/// What is not well formed in the data sets that simulators begin with, beside what keeps them from being read.
pub fn dataset_problems<'e>(
    environment: &'e Environment,
    simulators: &SimulatorRegistry,
) -> Vec<(&'e Dataset, Problem)> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for simulator in &environment.simulators {
        let Some(plugin) = simulators.find(simulator.kind.as_str()) else {
            continue;
        };
        for dataset in &simulator.datasets {
            if seen.insert(dataset.id) {
                let problems = plugin.check_dataset(&simulator.config, dataset).into_iter();
                found.extend(problems.map(|problem| (dataset, problem)));
            }
        }
    }
    found
}

#[derive(Default)]
struct Found(Vec<Obstacle>);

impl Found {
    fn running(&mut self, place: impl fmt::Display, message: impl Into<String>) {
        self.add(place, message, Prevents::Running);
    }

    fn publishing(&mut self, place: impl fmt::Display, message: impl Into<String>) {
        self.add(place, message, Prevents::Publishing);
    }

    fn add(&mut self, place: impl fmt::Display, message: impl Into<String>, prevents: Prevents) {
        self.0.push(Obstacle {
            problem: Problem::error(place.to_string(), message),
            prevents,
        });
    }
}

/// A playground without a limit would stand for ever; a devbox has one of its own.
fn limit_prevents(task: &WholeTask) -> Prevents {
    match task.task.content.devbox {
        Some(_) => Prevents::Publishing,
        None => Prevents::Running,
    }
}

/// Says the simulator's id in place of its number.
fn place_in(environment: &Environment, place: &str) -> String {
    let simulator = place
        .strip_prefix("simulators.")
        .map(|rest| rest.split_once('.').unwrap_or((rest, "")))
        .and_then(|(number, path)| {
            let simulator = environment.simulators.get(number.parse::<usize>().ok()?)?;
            Some(compose::inside(simulator.id, path))
        });
    simulator.unwrap_or_else(|| place.to_owned())
}

fn scenario(
    task: &WholeTask,
    environment: Option<&Environment>,
    simulators: &SimulatorRegistry,
    found: &mut Found,
) {
    let id = task.task.id;
    let Some(environment) = environment else {
        found.running(id, "needs an environment: its benchmark has none");
        return;
    };
    for (number, step) in task.task.content.scenario.iter().enumerate() {
        let place = format!("{id}.scenario.{number}");
        match simulators.read_step(step) {
            Ok(step) => {
                if let Some(problem) = nobody_for(&step, environment) {
                    found.running(place, problem);
                }
            }
            Err(wrong) => {
                for problem in wrong.iter() {
                    found.running(&place, problem.to_string());
                }
            }
        }
    }
}

/// Why no simulator can carry out the step, if none can.
fn nobody_for(step: &Step, environment: &Environment) -> Option<String> {
    let mut fitting = environment
        .simulators
        .iter()
        .filter(|simulator| step.targets().contains(&simulator.kind));
    let types: Vec<_> = step.targets().iter().map(|kind| kind.as_str()).collect();
    let types = types.join(" or ");
    let kind = step.kind();
    match &step.simulator {
        None => fitting.next().is_none().then(|| {
            format!("the step '{kind}' needs a simulator of type {types}; the environment has none")
        }),
        Some(name) => (!fitting.any(|simulator| simulator.name == *name)).then(|| {
            format!(
                "the environment has no simulator '{name}' of type {types} for the step '{kind}'"
            )
        }),
    }
}

fn entities(task: &WholeTask, found: &mut Found) {
    let mut keys = BTreeSet::new();
    for entity in &task.entities {
        let key = entity.content.key.as_str();
        if !keys.insert(key) {
            let place = format_args!("{}.entities", task.task.id);
            found.publishing(place, format!("is about two entities with the key '{key}'"));
        }
    }
}

/// What is wrong with the keys of criteria, what they require, and who alone decides about safety.
fn keys(task: &WholeTask, found: &mut Found) {
    let criteria: Vec<Criterion> = task.criteria.iter().map(compose::criterion).collect();
    for (place, problem) in key_problems(&criteria) {
        let id = criteria[place].id;
        found.publishing(compose::inside(id, &problem.path), problem.message);
    }
    for (place, problem) in judge_problems(&criteria) {
        let id = criteria[place].id;
        found.publishing(format_args!("{id}.assertion"), problem.message);
    }
}

fn criterion(
    criterion: &CriterionRecord,
    task: &WholeTask,
    entities: &[Entity],
    checks: &CheckRegistry,
    found: &mut Found,
) {
    let id = criterion.id;
    if let Some(entity) = criterion.content.input_entity
        && !task.entities.iter().any(|linked| linked.id == entity)
    {
        let message = format!("its task is not about the entity '{entity}'");
        found.publishing(format_args!("{id}.input_entity_id"), message);
    }
    if let Some(Err(bad)) = criterion.content.axis.as_deref().map(check_axis) {
        found.publishing(format_args!("{id}.axis"), bad.to_string());
    }
    // What checks a devbox is read by whoever runs it there.
    if task.task.content.devbox.is_none() {
        let captures = task.task.content.capture.keys();
        let captures: BTreeSet<&str> = captures.map(String::as_str).collect();
        let written = compose::criterion(criterion);
        for problem in lint_criterion(&written, entities, &captures, checks) {
            if problem.severity == Severity::Error {
                let place = compose::inside(format_args!("{id}.assertion"), &problem.path);
                found.publishing(place, problem.message);
            }
        }
    }
}
