//! What the author of a criterion is told while drafting it.

use std::collections::BTreeSet;

use proctor_core::{
    definition::{Benchmark, Check, Task, World},
    id::kinds::{OrganizationId, TaskId},
    problem::Severity,
};
use proctor_store::{
    Store, StoreError,
    criteria::CriterionRecord,
    page::{PageRequest, PageStart},
};
use proctor_verify::{CheckRegistry, lint_criterion};

use super::compose;

/// The tasks of a benchmark that nothing is checked of, each with what that means.
pub(super) fn unchecked_tasks(benchmark: &Benchmark) -> impl Iterator<Item = (TaskId, String)> {
    let tasks = benchmark
        .tasks
        .iter()
        .filter(|task| task.criteria.is_empty());
    tasks.map(|task| {
        let message = format!(
            "the task '{}' has no criteria: whatever an agent does, it scores 0 and its verdict is fail",
            task.name
        );
        (task.id, message)
    })
}

/// The tasks whose criteria see nothing but what they name, each with what that means.
pub(super) fn unwatched_tasks(benchmark: &Benchmark) -> impl Iterator<Item = (TaskId, String)> {
    let is_watched = |task: &Task| {
        let mut criteria = task.criteria.iter();
        criteria.any(|one| match &one.check {
            Check::Assertion(assertion) => assertion["assert"] == "unchanged",
            Check::Scorer(_) => true,
        })
    };
    let tasks = benchmark.tasks.iter();
    let tasks = tasks.filter(move |task| {
        let is_simulated = matches!(task.world, World::Playground { .. });
        is_simulated && !task.criteria.is_empty() && !is_watched(task)
    });
    tasks.map(|task| {
        let message = format!(
            "the task '{}' has no criterion 'unchanged', so nobody sees what else an agent changes or sends",
            task.name
        );
        (task.id, message)
    })
}

/// What the author of a criterion should know: that it could not be published as it is, or that
/// its label gives the answer away.
pub async fn warnings(
    store: &Store,
    checks: &CheckRegistry,
    organization: OrganizationId,
    criterion: &CriterionRecord,
) -> Result<Vec<String>, StoreError> {
    let all = PageRequest {
        limit: u32::MAX,
        from: PageStart::Newest,
        count: false,
    };
    let task = criterion.content.task;
    let entities = store.task_entities(organization, task, all).await?;
    let entities: Vec<_> = entities.items.iter().map(compose::entity).collect();
    let task = store.task(organization, task).await?;
    let captures = task.iter().flat_map(|task| task.content.capture.keys());
    let captures: BTreeSet<&str> = captures.map(String::as_str).collect();
    let written = compose::criterion(criterion);
    let remarks = lint_criterion(&written, &entities, &captures, checks);
    let told = remarks.into_iter().map(|problem| {
        let place = compose::inside("assertion", &problem.path);
        let message = problem.message;
        match problem.severity {
            Severity::Warning => format!("{place}: {message}"),
            Severity::Error => format!("{place}: {message}; it cannot be published like this"),
        }
    });
    Ok(told.collect())
}
