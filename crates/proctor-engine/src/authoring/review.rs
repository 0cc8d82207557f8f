//! A benchmark's draft before it is frozen: what it would be, and what its author should know.

use std::sync::Arc;

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Task},
    environment::Environment,
    id::kinds::{BenchmarkId, CriterionId, OrganizationId, TaskId},
    problem::{Problem, Severity},
    scoring::Score,
    time::Timestamp,
};
use proctor_playground::environment::Blueprint;
use proctor_store::{Store, whole_benchmark::WholeBenchmark};
use proctor_verify::lint;

use super::{
    NotFrozen, Obstacle, Prevents, compose, inspect,
    null_agent::{NotTried, without_agent},
    warnings::unchecked_tasks,
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
        let judgement = without_agent(task, blueprint, extensions, now)?;
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
        })
    }
}

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
    let reviewing = tokio::task::spawn_blocking(move || {
        let environment = whole.environment.as_ref().map(compose::environment);
        let mut review = Review {
            obstacles: inspect::obstacles(&whole, environment.as_ref(), &extensions),
            warnings: Vec::new(),
            untouched: Vec::new(),
        };
        if let Some(drafted) = Drafted::of(&whole, environment) {
            review.add_warnings(&drafted.definition, &extensions);
            review.try_without_agent(&drafted, &extensions, now);
        }
        review
    });
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
    fn add_warnings(&mut self, definition: &Benchmark, extensions: &Extensions) {
        let unchecked = unchecked_tasks(definition);
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
                Ok(untouched) => self.untouched.push(untouched),
                Err(NotTried::Devbox) => {}
                Err(refused) => self.add_refusal(task, &refused),
            }
        }
    }

    /// A step may have been found wanting without being tried.
    fn add_refusal(&mut self, task: &Task, refused: &NotTried) {
        let place = match refused.step() {
            Some(number) => format!("{}.scenario.{number}", task.id),
            None => task.id.to_string(),
        };
        let mut obstacles = self.obstacles.iter();
        if obstacles.all(|obstacle| obstacle.problem.path != place) {
            self.obstacles.push(Obstacle {
                problem: Problem::error(place, refused.to_string()),
                prevents: Prevents::Running,
            });
        }
    }
}
