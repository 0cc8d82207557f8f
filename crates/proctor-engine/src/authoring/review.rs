//! A benchmark's draft before it is frozen: what it would be, and what its author should know.

use std::{collections::BTreeSet, sync::Arc};

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Task, World},
    environment::Environment,
    id::kinds::{BenchmarkId, CriterionId, OrganizationId, TaskId},
    problem::{Problem, Severity},
    scoring::Score,
    time::Timestamp,
};
use proctor_playground::environment::Blueprint;
use proctor_store::{Store, whole_benchmark::WholeBenchmark};
use proctor_verify::{AskedRows, lint, row_resources};

use super::{
    NotFrozen, Obstacle, Prevents, compose,
    inspect::{self, dataset_problems},
    null_agent::{NotTried, Tried, impossible_steps, without_agent},
    warnings::{unchecked_tasks, unwatched_tasks},
};
use crate::extensions::Extensions;

/// A benchmark as its drafts stand. Nothing of it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Drafted {
    /// What would be examined.
    pub definition: Benchmark,
    /// Where its tasks would be done.
    pub environment: Option<Environment>,
    /// The digest under which it would be frozen.
    pub digest: Digest,
}

/// What there is to say about a draft.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// What stands in the way of running or publishing it.
    pub obstacles: Vec<Obstacle>,
    /// What is worth a look: where, and what.
    pub warnings: Vec<(String, String)>,
    /// What an agent that does nothing would get, for each task that can be tried in memory.
    pub untouched: Vec<Untouched>,
}

/// A task that nobody worked on.
#[derive(Clone, Debug, PartialEq)]
pub struct Untouched {
    /// Which task.
    pub task: TaskId,
    /// What people call it.
    pub name: String,
    /// What it would score.
    pub score: Score,
    /// The criteria that are met, at least in part.
    pub met: Vec<Given>,
    /// What is asked of rows that nobody has, each with what to say of it.
    pub strange: Vec<(AskedRows, String)>,
}

/// A criterion that is met before anybody acted.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Which criterion.
    pub criterion: CriterionId,
    /// What people call it.
    pub label: String,
    /// What it would score.
    pub score: Score,
    /// Why, in words.
    pub details: String,
}

impl Untouched {
    /// What a task would get from an agent that does nothing.
    pub fn of(
        task: &Task,
        blueprint: &Arc<Blueprint>,
        extensions: &Extensions,
        now: Timestamp,
    ) -> Result<Self, NotTried> {
        let Tried {
            judgement,
            resources,
        } = without_agent(task, blueprint, extensions, now)?;
        let findings = judgement.findings.into_iter().zip(&task.criteria);
        let met = findings
            .filter(|(finding, _)| finding.score > Score::ZERO)
            .map(|(finding, criterion)| Given {
                criterion: finding.criterion,
                label: criterion.label.clone(),
                score: finding.score,
                details: finding.details,
            });
        Ok(Self {
            task: task.id,
            name: task.name.clone(),
            met: met.collect(),
            score: judgement.scorecard.score,
            strange: strange_rows(task, resources),
        })
    }
}

/// What a task asks of rows that no simulator has and no step brings.
fn strange_rows(task: &Task, mut known: BTreeSet<String>) -> Vec<(AskedRows, String)> {
    if let World::Playground { scenario, .. } = &task.world {
        let seeded = scenario.iter().filter(|step| step["type"] == "portal_seed");
        let seeded = seeded.filter_map(|step| step["resource"].as_str());
        known.extend(seeded.map(str::to_owned));
    }
    let asked = row_resources(task).into_iter();
    asked
        .filter(|one| {
            let may_change = one.is_allowance && KEPT.contains(&one.resource.as_str());
            !may_change && !known.contains(&one.resource)
        })
        .map(|one| {
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            let message = match names.as_slice() {
                [] => format!(
                    "no simulator has rows called '{}', nor any others",
                    one.resource
                ),
                names => format!(
                    "no simulator has rows called '{}'; there are {}",
                    one.resource,
                    names.join(", ")
                ),
            };
            (one, message)
        })
        .collect()
}

/// What a payer keeps beside the rows that it shows to checks.
const KEPT: [&str; 3] = ["members", "patients", "providers"];

/// A benchmark as its drafts stand; none where it needs an environment and has none.
pub async fn drafted(
    store: &Store,
    organization: OrganizationId,
    benchmark: BenchmarkId,
) -> Result<Option<Drafted>, NotFrozen> {
    let whole = whole(store, organization, benchmark).await?;
    let environment = whole.environment.as_ref().map(compose::environment);
    Ok(Drafted::of(&whole, environment))
}

/// Reviews a benchmark's draft at the time `now`.
pub async fn review(
    store: &Store,
    extensions: &Extensions,
    organization: OrganizationId,
    benchmark: BenchmarkId,
    now: Timestamp,
) -> Result<Review, NotFrozen> {
    let whole = whole(store, organization, benchmark).await?;
    // Reading data sets and playing scenarios takes long enough to keep others waiting.
    let extensions = extensions.clone();
    let reviewing = tokio::task::spawn_blocking(move || Review::of(&whole, &extensions, now));
    Ok(reviewing.await?)
}

async fn whole(
    store: &Store,
    organization: OrganizationId,
    benchmark: BenchmarkId,
) -> Result<WholeBenchmark, NotFrozen> {
    let whole = store.whole_benchmark(organization, benchmark).await?;
    whole.ok_or(NotFrozen::NoSuchBenchmark(benchmark))
}

impl Drafted {
    fn of(whole: &WholeBenchmark, environment: Option<Environment>) -> Option<Self> {
        let place = match (&whole.environment, &environment) {
            (Some(whole), Some(environment)) => Some((whole.environment.id, environment.digest())),
            _ => None,
        };
        let definition = compose::benchmark(whole, place)?;
        Some(Self {
            digest: definition.digest(),
            definition,
            environment,
        })
    }
}

impl Review {
    /// Everything there is to say about a draft at the time `now`. Its scenarios are rehearsed as they are at the start of a task.
    pub(super) fn of(whole: &WholeBenchmark, extensions: &Extensions, now: Timestamp) -> Self {
        let environment = whole.environment.as_ref().map(compose::environment);
        let mut review = Self {
            obstacles: inspect::obstacles(whole, environment.as_ref(), extensions),
            warnings: Vec::new(),
            untouched: Vec::new(),
        };
        if let Some(environment) = &environment {
            review.check_datasets(environment, extensions);
        }
        if let Some(drafted) = Drafted::of(whole, environment) {
            review.add_warnings(&drafted.definition, extensions);
            review.try_without_agent(&drafted, extensions, now);
        }
        review
    }

    fn check_datasets(&mut self, environment: &Environment, extensions: &Extensions) {
        for (dataset, problem) in dataset_problems(environment, &extensions.simulators) {
            let problem = problem.below(&format!("{}.data", dataset.id));
            match problem.severity {
                Severity::Error => self.obstacles.push(Obstacle {
                    problem,
                    prevents: Prevents::Publishing,
                }),
                Severity::Warning => self.warnings.push((problem.path, problem.message)),
            }
        }
    }

    fn add_warnings(&mut self, definition: &Benchmark, extensions: &Extensions) {
        let unchecked = unchecked_tasks(definition).chain(unwatched_tasks(definition));
        self.warnings
            .extend(unchecked.map(|(task, message)| (task.to_string(), message)));
        let tasks = definition.tasks.iter();
        let remarks = tasks.flat_map(|task| lint(task, &extensions.checks));
        let warnings = remarks
            .filter(|remark| remark.problem.severity == Severity::Warning)
            .map(|remark| {
                let place = format!("{}.assertion", remark.criterion);
                (place, remark.problem.to_string())
            });
        self.warnings.extend(warnings);
    }

    fn try_without_agent(&mut self, drafted: &Drafted, extensions: &Extensions, now: Timestamp) {
        // What is wrong with the environment was named among the obstacles.
        let environment = drafted.environment.as_ref();
        let read = environment.map(|one| Blueprint::read(one, &extensions.simulators));
        let Some(Ok(blueprint)) = read else {
            return;
        };
        let blueprint = Arc::new(blueprint);
        for task in &drafted.definition.tasks {
            match Untouched::of(task, &blueprint, extensions, now) {
                Ok(untouched) => {
                    self.add_strange_rows(task, &untouched.strange);
                    self.untouched.push(untouched);
                }
                Err(NotTried::Devbox) => {}
                Err(_) => self.add_impossible_steps(task, &blueprint, extensions, now),
            }
        }
    }

    fn add_strange_rows(&mut self, task: &Task, strange: &[(AskedRows, String)]) {
        for (asked, message) in strange {
            let place = match asked.criterion {
                Some(criterion) => format!("{criterion}.assertion.{}", asked.path),
                None => format!("{}.capture.{}", task.id, asked.path),
            };
            self.obstacles.push(Obstacle {
                problem: Problem::error(place, message.clone()),
                prevents: Prevents::Publishing,
            });
        }
    }

    /// Steps may have been found wanting without being tried.
    fn add_impossible_steps(
        &mut self,
        task: &Task,
        blueprint: &Arc<Blueprint>,
        extensions: &Extensions,
        now: Timestamp,
    ) {
        for problem in impossible_steps(task, blueprint, extensions, now) {
            let problem = problem.below(&task.id.to_string());
            let told = self.obstacles.iter();
            let mut told = told.map(|obstacle| obstacle.problem.path.as_str());
            if told.all(|path| {
                path != problem.path && !path.starts_with(&format!("{}.", problem.path))
            }) {
                self.obstacles.push(Obstacle {
                    problem,
                    prevents: Prevents::Running,
                });
            }
        }
    }

    /// What its author should know, each as one sentence.
    pub(super) fn told(&self) -> Vec<String> {
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|(place, message)| format!("{place}: {message}"));
        let given = self.untouched.iter().flat_map(|task| &task.met);
        let given = given.map(|given| {
            format!(
                "{}: '{}' is met before anybody acted, so an agent that does nothing scores: {}",
                given.criterion, given.label, given.details
            )
        });
        warnings.chain(given).collect()
    }
}
