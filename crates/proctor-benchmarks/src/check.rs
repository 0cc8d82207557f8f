//! Everything that can be known about a benchmark before anybody takes it, without a server.

use std::sync::Arc;

use proctor_core::{id::kinds::CriterionId, problem::Problem, time::Timestamp};
use proctor_engine::{
    Extensions,
    authoring::{
        Untouched, dataset_problems,
        null_agent::{NotTried, impossible_steps},
        scenario_problems,
    },
};
use proctor_playground::environment::Blueprint;
use proctor_verify::{capture_problems, key_problems, lint};

use crate::{
    file::{BenchmarkFile, CriterionPart, TaskPart},
    read::ReadFile,
    report::Report,
    solution::Solution,
};

/// What was found out about a file.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What is wrong, and what is worth a look.
    pub report: Report,
    /// How many tasks were tried without an agent.
    pub tried: usize,
    /// How many criteria there are.
    pub criteria: usize,
}

impl ReadFile {
    /// Checks the file as if it were published and taken, at the time `now`, by an agent that does
    /// nothing.
    pub fn check(&self, now: Timestamp) -> Checked {
        let (content, extensions) = (&self.content, &self.extensions);
        let mut problems = unused(content);
        if content.tasks.is_empty() {
            problems.push(Problem::error("tasks", "there must be at least one task"));
        }
        let blueprint = match Blueprint::read(&content.environment(), &extensions.simulators) {
            Ok(blueprint) => Some(Arc::new(blueprint)),
            Err(found) => {
                let found = found.into_vec().into_iter();
                problems.extend(found.map(|problem| problem.below("environment")));
                None
            }
        };
        let environment = content.environment();
        for (dataset, problem) in dataset_problems(&environment, &extensions.simulators) {
            problems.push(problem.below(&format!("datasets.{}.data", dataset.name)));
        }
        let mut tried = 0;
        for (place, task) in content.tasks.iter().enumerate() {
            let path = format!("tasks.{place}");
            problems.extend(criteria(content, task, extensions, &path));
            problems.extend(solution(content, task, extensions, &path));
            match &blueprint {
                Some(blueprint) => {
                    tried += 1;
                    let whole = content.task(task);
                    let untouched = match Untouched::of(&whole, blueprint, extensions, now) {
                        Ok(untouched) => Ok(untouched),
                        Err(NotTried::Devbox) => Err(Vec::new()),
                        Err(_) => Err(impossible_steps(&whole, blueprint, extensions, now)),
                    };
                    problems.extend(without_agent(content, task, untouched, &path));
                }
                None => problems.extend(scenario(task, extensions, &path)),
            }
        }
        Checked {
            report: self.report(problems),
            tried,
            criteria: content.tasks.iter().map(|task| task.criteria.len()).sum(),
        }
    }
}

/// What stands in the file and nobody needs: a server would not keep it.
fn unused(file: &BenchmarkFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    for name in file.datasets.keys() {
        let simulators = &file.environment.simulators;
        if !simulators.iter().any(|one| one.datasets.contains(name)) {
            let path = format!("datasets.{name}");
            problems.push(Problem::error(path, "no simulator begins with it"));
        }
    }
    for key in file.entities.keys() {
        if !file.tasks.iter().any(|task| task.entities.contains(key)) {
            let path = format!("entities.{key}");
            problems.push(Problem::error(path, "no task is about it"));
        }
    }
    problems
}

fn criteria(
    file: &BenchmarkFile,
    part: &TaskPart,
    extensions: &Extensions,
    path: &str,
) -> Vec<Problem> {
    let task = file.task(part);
    let place = |id: CriterionId| task.criteria.iter().position(|one| one.id == id);
    let mut problems = Vec::new();
    if part.criteria.is_empty() {
        let message = "has no criteria, so nobody can score";
        problems.push(Problem::warning(path, message));
    }
    if !part.criteria.is_empty() && !part.criteria.iter().any(sees_changes) {
        let message =
            "has no criterion 'unchanged', so nobody sees what else an agent changes or sends";
        problems.push(Problem::warning(path, message));
    }
    for (place, problem) in key_problems(&task.criteria) {
        problems.push(problem.below(&format!("{path}.criteria.{place}")));
    }
    for problem in capture_problems(&task.capture, &task.entities) {
        problems.push(problem.below(&format!("{path}.capture")));
    }
    for remark in lint(&task, &extensions.checks) {
        let place = place(remark.criterion).unwrap_or_default();
        let path = format!("{path}.criteria.{place}.assertion");
        problems.push(remark.problem.below(&path));
    }
    problems
}

/// Whether a criterion sees what is changed that it does not name.
fn sees_changes(criterion: &CriterionPart) -> bool {
    criterion.assertion["assert"] == "unchanged"
}

fn solution(
    file: &BenchmarkFile,
    part: &TaskPart,
    extensions: &Extensions,
    path: &str,
) -> Vec<Problem> {
    if part.solution.is_empty() {
        let message = "has no solution, so nothing proves its criteria right";
        return vec![Problem::warning(path, message)];
    }
    let problems = match Solution::read(&part.solution, &extensions.simulators) {
        Ok(solution) => solution.unresolved(&file.entities_of(part)),
        Err(problems) => problems,
    };
    let path = format!("{path}.solution");
    let problems = problems.into_iter();
    problems.map(|problem| problem.below(&path)).collect()
}

/// What can be said of a scenario that cannot be tried.
fn scenario(part: &TaskPart, extensions: &Extensions, path: &str) -> Vec<Problem> {
    let flaws = scenario_problems(&part.scenario, &extensions.simulators).into_iter();
    let path = format!("{path}.scenario");
    flaws.map(|problem| problem.below(&path)).collect()
}

/// What an agent that does nothing would get.
fn without_agent(
    file: &BenchmarkFile,
    part: &TaskPart,
    untouched: Result<Untouched, Vec<Problem>>,
    path: &str,
) -> Vec<Problem> {
    let task = file.task(part);
    let untouched = match untouched {
        Ok(untouched) => untouched,
        Err(problems) => {
            let problems = problems.into_iter();
            return problems.map(|problem| problem.below(path)).collect();
        }
    };
    let place = |id: CriterionId| {
        let place = task.criteria.iter().position(|one| one.id == id);
        format!("{path}.criteria.{}", place.unwrap_or_default())
    };
    let strange = untouched.strange.into_iter();
    let strange = strange.map(|(asked, message)| {
        let path = match asked.criterion {
            Some(id) => format!("{}.assertion.{}", place(id), asked.path),
            None => format!("{path}.capture.{}", asked.path),
        };
        Problem::error(path, message)
    });
    let met = untouched.met.into_iter();
    let met = met.map(|given| {
        let path = place(given.criterion);
        let share = if given.score.value() >= 1.0 {
            "is met"
        } else {
            "is met in part"
        };
        let message = format!(
            "{share} before anybody acted, so an agent that does nothing scores: {}",
            given.details
        );
        Problem::warning(path, message)
    });
    strange.chain(met).collect()
}
