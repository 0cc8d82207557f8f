//! Puts drafts together into definitions.

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Criterion, Task, World},
    environment::{Entity, Environment, Simulator},
    id::kinds::EnvironmentId,
};
use proctor_store::{
    criteria::CriterionRecord,
    entities::EntityRecord,
    simulators::SimulatorRecord,
    whole_benchmark::{WholeBenchmark, WholeEnvironment, WholeTask},
};
use serde_json::Value;

/// The environment as its drafts have it.
pub(super) fn environment(whole: &WholeEnvironment) -> Environment {
    let simulator = |record: &SimulatorRecord| Simulator {
        id: record.id,
        kind: record.content.kind,
        name: record.content.name.clone(),
        config: match &record.content.config {
            nothing if nothing.is_empty() => Value::Null,
            config => Value::Object(config.clone()),
        },
        datasets: record
            .content
            .datasets
            .iter()
            .filter_map(|id| whole.datasets.get(id).cloned())
            .collect(),
    };
    Environment {
        name: whole.environment.content.name.clone(),
        simulators: whole.simulators.iter().map(simulator).collect(),
    }
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
    Some(Task {
        id: whole.task.id,
        name: draft.name,
        timeout: draft.timeout,
        tags: draft.tags,
        brief: draft.brief,
        world,
        entities: whole.entities.iter().map(entity).collect(),
        criteria: whole.criteria.iter().map(criterion).collect(),
        reference: draft.reference,
        requires: draft.requires,
        metadata: draft.metadata,
    })
}

fn entity(record: &EntityRecord) -> Entity {
    let draft = record.content.clone();
    Entity {
        id: record.id,
        kind: draft.kind,
        key: draft.key,
        data: draft.data,
    }
}

fn criterion(record: &CriterionRecord) -> Criterion {
    let draft = record.content.clone();
    Criterion {
        id: record.id,
        label: draft.label,
        weight: draft.weight,
        axis: draft.axis,
        input_entity: draft.input_entity,
        check: draft.check,
    }
}
