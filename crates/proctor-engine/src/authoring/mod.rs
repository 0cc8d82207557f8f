//! From drafts to frozen benchmarks.
//!
//! Drafts may be incomplete and wrong; a frozen benchmark is neither. [`freeze`] puts a benchmark
//! together from its drafts and keeps it under its digest, [`publish`] makes that the next version.
//! Both name everything that is wrong at once. Nothing here changes a draft.

pub(crate) mod compose;
mod inspect;
pub mod null_agent;
mod review;
mod scripts;
mod warnings;

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, BenchmarkVersion, Slug, Task, Visibility},
    id::kinds::{BenchmarkId, OrganizationId, TaskId},
    problem::Problem,
    time::Timestamp,
};
use proctor_store::{Store, StoreError, benchmarks::BenchmarkRecord};

use crate::extensions::Extensions;

pub use self::{
    inspect::{dataset_problems, scenario_problems},
    review::{Drafted, Given, Review, Untouched, drafted, review},
    warnings::warnings,
};

/// A benchmark that can no longer change, kept under its digest together with its environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Frozen {
    /// What is examined.
    pub definition: Benchmark,
    /// The name of the definition.
    pub digest: Digest,
}

/// A version that was just published.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The version.
    pub version: BenchmarkVersion,
    /// The version before it, if it says exactly the same.
    pub unchanged_since: Option<u32>,
    /// What its author should know.
    pub warnings: Vec<String>,
}

/// Something that is wrong with a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What, and where: the path begins with the id of the draft at fault.
    pub problem: Problem,
    /// What it stands in the way of.
    pub prevents: Prevents,
}

/// What an obstacle stands in the way of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prevents {
    /// A draft may be tried with it, but not published.
    Publishing,
    /// Not even a trial run can begin.
    Running,
}

/// Why a benchmark was not frozen.
#[derive(Debug, thiserror::Error)]
pub enum NotFrozen {
    /// The organization has no such benchmark.
    #[error("no benchmark '{0}'")]
    NoSuchBenchmark(BenchmarkId),
    /// There is no such scenario.
    #[error("no scenario '{0}'")]
    NoSuchScenario(TaskId),
    /// The drafts are not fit for it; all problems are named.
    #[error("the benchmark is not fit for it: {} problems", .0.len())]
    Unfit(Vec<Obstacle>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The inspection broke off.
    #[error("the inspection broke off")]
    BrokenOff(#[from] tokio::task::JoinError),
}

/// Freezes a benchmark as its drafts stand, for a run of them.
pub async fn freeze(
    store: &Store,
    extensions: &Extensions,
    organization: OrganizationId,
    benchmark: BenchmarkId,
) -> Result<Frozen, NotFrozen> {
    let (_, frozen, _) =
        freeze_for(store, extensions, organization, benchmark, Purpose::Running).await?;
    Ok(frozen)
}

/// Freezes a benchmark of scenarios as its drafts stand, for a run of them. It may be empty.
pub async fn freeze_suite(
    store: &Store,
    extensions: &Extensions,
    organization: OrganizationId,
    benchmark: BenchmarkId,
) -> Result<Frozen, NotFrozen> {
    let whole = store
        .whole_benchmark(organization, benchmark)
        .await?
        .ok_or(NotFrozen::NoSuchBenchmark(benchmark))?;
    if whole.tasks.is_empty()
        && let Some(definition) = compose::benchmark(&whole, None)
    {
        return keep(store, definition).await;
    }
    freeze(store, extensions, organization, benchmark).await
}

/// Freezes a scenario as its drafts stand, as the only task of a benchmark.
pub async fn freeze_scenario(store: &Store, scenario: TaskId) -> Result<Frozen, NotFrozen> {
    let definition = alone(store, scenario).await?;
    keep(store, definition).await
}

/// A scenario as its drafts stand. Nothing is kept.
pub(crate) async fn draft_of_scenario(store: &Store, scenario: TaskId) -> Result<Task, NotFrozen> {
    let definition = alone(store, scenario).await?;
    let mut definition = scripts::put_in(store, definition).await?;
    let task = definition.tasks.pop();
    task.ok_or(NotFrozen::NoSuchScenario(scenario))
}

async fn alone(store: &Store, scenario: TaskId) -> Result<Benchmark, NotFrozen> {
    let whole = store.whole_task(scenario).await?;
    let whole = whole.ok_or(NotFrozen::NoSuchScenario(scenario))?;
    let name = whole.task.content.name.clone();
    compose::together(&name, std::slice::from_ref(&whole))
        .ok_or(NotFrozen::NoSuchScenario(scenario))
}

/// Freezes scenarios as their drafts stand, as the tasks of a benchmark that is made of them.
pub async fn freeze_scenarios(
    store: &Store,
    name: &str,
    scenarios: &[TaskId],
) -> Result<Frozen, NotFrozen> {
    let mut tasks = Vec::with_capacity(scenarios.len());
    for scenario in scenarios {
        let whole = store.whole_task(*scenario).await?;
        let whole = whole.filter(|whole| whole.task.content.devbox.is_some());
        tasks.push(whole.ok_or(NotFrozen::NoSuchScenario(*scenario))?);
    }
    match compose::together(name, &tasks) {
        Some(definition) => keep(store, definition).await,
        None => Err(NotFrozen::Unfit(Vec::new())),
    }
}

/// Keeps a definition with everything that it refers to.
async fn keep(store: &Store, definition: Benchmark) -> Result<Frozen, NotFrozen> {
    let definition = scripts::put_in(store, definition).await?;
    let digest = store.put_definition(&definition).await?;
    Ok(Frozen { definition, digest })
}

/// Freezes a benchmark as its drafts stand, and makes that its next version. Its scenarios are rehearsed as at the time `now`.
pub async fn publish(
    store: &Store,
    extensions: &Extensions,
    organization: OrganizationId,
    benchmark: BenchmarkId,
    slug: Slug,
    visibility: Visibility,
    now: Timestamp,
) -> Result<Published, NotFrozen> {
    let (read, frozen, told) = freeze_for(
        store,
        extensions,
        organization,
        benchmark,
        Purpose::Publishing { now },
    )
    .await?;
    let before = store
        .latest_versions(&[benchmark])
        .await?
        .remove(&benchmark);
    let version = store
        .publish_benchmark(organization, &read, frozen.digest, slug, visibility)
        .await?;
    let same = before.filter(|before| before.digest == version.digest);
    let unchanged_since = same.map(|before| before.version);
    let mut warnings: Vec<String> = unchanged_since
        .map(|before| format!("nothing has changed: the content is that of version {before}"))
        .into_iter()
        .collect();
    warnings.extend(told);
    Ok(Published {
        version,
        unchanged_since,
        warnings,
    })
}

/// What a benchmark is frozen for.
#[derive(Clone, Copy)]
enum Purpose {
    /// To be tried as it is.
    Running,
    /// To be taken by others.
    Publishing {
        /// When.
        now: Timestamp,
    },
}

/// Freezes a benchmark unless an obstacle prevents `purpose`; with what its author should know.
async fn freeze_for(
    store: &Store,
    extensions: &Extensions,
    organization: OrganizationId,
    benchmark: BenchmarkId,
    purpose: Purpose,
) -> Result<(BenchmarkRecord, Frozen, Vec<String>), NotFrozen> {
    let whole = store
        .whole_benchmark(organization, benchmark)
        .await?
        .ok_or(NotFrozen::NoSuchBenchmark(benchmark))?;
    let environment = whole.environment.as_ref().map(compose::environment);
    // Reading megabytes of data sets takes long enough to keep others waiting.
    let extensions = extensions.clone();
    let inspection = tokio::task::spawn_blocking(move || {
        let (obstacles, told) = match purpose {
            Purpose::Running => {
                let found = inspect::obstacles(&whole, environment.as_ref(), &extensions);
                let is_in_the_way = |one: &Obstacle| one.prevents == Prevents::Running;
                (
                    found.into_iter().filter(is_in_the_way).collect(),
                    Vec::new(),
                )
            }
            Purpose::Publishing { now } => {
                let review = Review::of(&whole, &extensions, now);
                let told = review.told();
                (review.obstacles, told)
            }
        };
        (whole, environment, obstacles, told)
    });
    let (whole, environment, obstacles, told): (_, _, Vec<Obstacle>, _) = inspection.await?;
    let place = match (&whole.environment, &environment) {
        (Some(whole), Some(environment)) => Some((
            whole.environment.id,
            store.put_environment_definition(environment).await?,
        )),
        _ => None,
    };
    match compose::benchmark(&whole, place) {
        Some(definition) if obstacles.is_empty() => {
            Ok((whole.benchmark, keep(store, definition).await?, told))
        }
        _ => Err(NotFrozen::Unfit(obstacles)),
    }
}
