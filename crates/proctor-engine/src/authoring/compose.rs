//! Puts drafts together into definitions.

use std::{collections::BTreeMap, fmt, num::NonZeroU32};

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Criterion, Requirements, Task, World},
    environment::{Dataset, Entity, Environment, Simulator},
    id::kinds::{DatasetId, EnvironmentId},
};
use proctor_store::{
    criteria::CriterionRecord,
    entities::EntityRecord,
    simulators::SimulatorRecord,
    whole_benchmark::{WholeBenchmark, WholeEnvironment, WholeTask},
};
use serde_json::Value;

/// The environment as its drafts have it.
pub(crate) fn environment(whole: &WholeEnvironment) -> Environment {
    let simulator = |record| simulator(record, &whole.datasets);
    Environment {
        name: whole.environment.content.name.clone(),
        simulators: whole.simulators.iter().map(simulator).collect(),
    }
}

/// A simulator as its draft has it.
pub(crate) fn simulator(
    record: &SimulatorRecord,
    datasets: &BTreeMap<DatasetId, Dataset>,
) -> Simulator {
    Simulator {
        id: record.id,
        kind: record.content.kind.clone(),
        name: record.content.name.clone(),
        config: match &record.content.config {
            nothing if nothing.is_empty() => Value::Null,
            config => Value::Object(config.clone()),
        },
        datasets: record
            .content
            .datasets
            .iter()
            .filter_map(|id| datasets.get(id).cloned())
            .collect(),
    }
}

/// What a task is about and what is checked, as its drafts have it.
pub(crate) fn rubric(whole: &WholeTask) -> (Vec<Entity>, Vec<Criterion>) {
    (
        whole.entities.iter().map(entity).collect(),
        whole.criteria.iter().map(criterion).collect(),
    )
}

/// The benchmark as its drafts have it; none when a task needs an environment and there is none.
pub(super) fn benchmark(
    whole: &WholeBenchmark,
    environment: Option<(EnvironmentId, Digest)>,
) -> Option<Benchmark> {
    let draft = whole.benchmark.content.clone();
    Some(Benchmark {
        name: draft.name,
        description: draft.description,
        timeout: draft.timeout,
        concurrency: draft.concurrency,
        metadata: draft.metadata,
        requires: draft.requires,
        tasks: whole
            .tasks
            .iter()
            .map(|whole| task(whole, environment))
            .collect::<Option<_>>()?,
    })
}

/// A benchmark of tasks that are done in boxes; none if one is not.
pub(super) fn together(name: &str, tasks: &[WholeTask]) -> Option<Benchmark> {
    Some(Benchmark {
        name: name.to_owned(),
        description: None,
        timeout: None,
        concurrency: NonZeroU32::MIN,
        metadata: BTreeMap::new(),
        requires: Requirements::default(),
        tasks: tasks
            .iter()
            .map(|whole| task(whole, None))
            .collect::<Option<_>>()?,
    })
}

fn task(whole: &WholeTask, environment: Option<(EnvironmentId, Digest)>) -> Option<Task> {
    let draft = whole.task.content.clone();
    let world = match (draft.devbox, environment) {
        (Some(parameters), _) => World::Devbox { parameters },
        (None, Some((environment, frozen))) => World::Playground {
            environment,
            frozen: Some(frozen),
            scenario: draft.scenario,
        },
        (None, None) => return None,
    };
    let (entities, criteria) = rubric(whole);
    Some(Task {
        id: whole.task.id,
        name: draft.name,
        timeout: draft.timeout,
        tags: draft.tags,
        brief: draft.brief,
        world,
        entities,
        clock: draft.clock,
        capture: draft.capture,
        criteria,
        reference: draft.reference,
        validation: draft.validation,
        scoring_timeout: draft.scoring_timeout,
        requires: draft.requires,
        metadata: draft.metadata,
    })
}

pub(super) fn entity(record: &EntityRecord) -> Entity {
    let draft = record.content.clone();
    Entity {
        id: record.id,
        kind: draft.kind,
        key: draft.key,
        data: draft.data,
    }
}

pub(super) fn criterion(record: &CriterionRecord) -> Criterion {
    let draft = record.content.clone();
    Criterion {
        id: record.id,
        label: draft.label,
        weight: draft.weight,
        axis: draft.axis,
        input_entity: draft.input_entity,
        key: draft.key,
        critical: draft.critical,
        all: draft.all,
        requires: draft.requires,
        check: draft.check,
    }
}

/// The place at `path` inside something.
pub(super) fn inside(outer: impl fmt::Display, path: &str) -> String {
    if path.is_empty() {
        outer.to_string()
    } else {
        format!("{outer}.{path}")
    }
}
