//! From a file to the definition that is examined, and back.
//!
//! A file names things, a definition has ids. Where there is no server that gave any, ids follow
//! from the names, so that the same file always gives the same definition.

use std::collections::BTreeMap;

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Check, Criterion, Requirements, Slug, Task, Visibility, World},
    environment::{Dataset, Entity, Environment, Simulator},
    id::{Id, Kind},
};
use serde_json::{Map, Value};

use crate::file::{
    BenchmarkFile, CriterionPart, DatasetPart, EntityPart, EnvironmentPart, SimulatorPart, TaskPart,
};

/// The id that follows from a name.
fn id_of<K: Kind>(name: &str) -> Id<K> {
    let digest = Digest::of_bytes(format!("{} {name}", K::NOUN).as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.raw()[..16]);
    Id::from_uuid(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

impl BenchmarkFile {
    /// The environment of the file.
    pub fn environment(&self) -> Environment {
        let dataset = |name: &String| {
            let part = self.datasets.get(name)?;
            Some(Dataset {
                id: id_of(name),
                name: name.clone(),
                kind: part.kind,
                data: part.data.clone(),
            })
        };
        let simulator = |part: &SimulatorPart| Simulator {
            id: id_of(&part.name),
            kind: part.kind.clone(),
            name: part.name.clone(),
            config: if part.config.is_empty() {
                Value::Null
            } else {
                Value::Object(part.config.clone())
            },
            datasets: part.datasets.iter().filter_map(dataset).collect(),
        };
        Environment {
            name: self.environment.name.clone(),
            simulators: self.environment.simulators.iter().map(simulator).collect(),
        }
    }

    /// The benchmark of the file.
    pub fn definition(&self) -> Benchmark {
        Benchmark {
            name: self.name.clone(),
            description: self.description.clone(),
            timeout: Some(self.timeout),
            concurrency: self.concurrency,
            metadata: BTreeMap::new(),
            requires: Requirements::default(),
            tasks: self.tasks.iter().map(|task| self.task(task)).collect(),
        }
    }

    /// A task of the file.
    pub(crate) fn task(&self, part: &TaskPart) -> Task {
        let criterion = |(place, one): (usize, &CriterionPart)| Criterion {
            id: id_of(&format!("{} {place}", part.name)),
            label: one.label.clone(),
            weight: one.weight,
            axis: one.axis.clone(),
            input_entity: one.input_entity.as_deref().map(id_of),
            key: one.key.clone(),
            critical: one.critical,
            all: one.all,
            requires: one.requires.clone(),
            check: Check::Assertion(one.assertion.clone()),
        };
        Task {
            id: id_of(&part.name),
            name: part.name.clone(),
            timeout: part.timeout,
            tags: part.tags.clone(),
            brief: part.task_item.clone(),
            world: World::Playground {
                environment: id_of(&self.environment.name),
                frozen: None,
                scenario: part.scenario.clone(),
            },
            entities: self.entities_of(part),
            clock: part.clock,
            capture: part.capture.clone(),
            criteria: part.criteria.iter().enumerate().map(criterion).collect(),
            reference: match part.solution.as_slice() {
                [] => Value::Null,
                solution => Value::Array(solution.to_vec()),
            },
            validation: None,
            scoring_timeout: None,
            requires: Requirements::default(),
            metadata: BTreeMap::new(),
        }
    }

    /// What a task is about.
    pub(crate) fn entities_of(&self, part: &TaskPart) -> Vec<Entity> {
        let entity = |key: &String| {
            let one = self.entities.get(key)?;
            Some(Entity {
                id: id_of(key),
                kind: one.kind.clone(),
                key: key.clone(),
                data: Value::Object(one.data.clone()),
            })
        };
        part.entities.iter().filter_map(entity).collect()
    }

    /// The file that says what a definition says, or why no file can.
    pub fn from_definition(
        definition: &Benchmark,
        environment: &Environment,
        slug: Slug,
        visibility: Visibility,
    ) -> Result<Self, NoFile> {
        let mut file = Self {
            name: definition.name.clone(),
            slug,
            visibility,
            description: definition.description.clone(),
            timeout: definition.timeout.ok_or(NoFile::NoTimeout)?,
            concurrency: definition.concurrency,
            environment: EnvironmentPart {
                name: environment.name.clone(),
                simulators: Vec::new(),
            },
            datasets: BTreeMap::new(),
            entities: BTreeMap::new(),
            tasks: Vec::new(),
        };
        for simulator in &environment.simulators {
            file.add_simulator(simulator)?;
        }
        for task in &definition.tasks {
            file.add_task(task)?;
        }
        Ok(file)
    }

    fn add_simulator(&mut self, simulator: &Simulator) -> Result<(), NoFile> {
        for dataset in &simulator.datasets {
            let part = DatasetPart {
                kind: dataset.kind,
                data: dataset.data.clone(),
            };
            let known = self.datasets.insert(dataset.name.clone(), part.clone());
            if known.is_some_and(|known| known != part) {
                return Err(NoFile::SameName("data sets", dataset.name.clone()));
            }
        }
        let part = SimulatorPart {
            kind: simulator.kind.clone(),
            name: simulator.name.clone(),
            config: match &simulator.config {
                Value::Object(config) => config.clone(),
                _ => Map::new(),
            },
            datasets: simulator
                .datasets
                .iter()
                .map(|one| one.name.clone())
                .collect(),
        };
        let simulators = &mut self.environment.simulators;
        if simulators.iter().any(|other| other.name == part.name) {
            return Err(NoFile::SameName("simulators", part.name));
        }
        simulators.push(part);
        Ok(())
    }

    fn add_task(&mut self, task: &Task) -> Result<(), NoFile> {
        let World::Playground { scenario, .. } = &task.world else {
            return Err(NoFile::Devbox(task.name.clone()));
        };
        for entity in &task.entities {
            let part = EntityPart {
                kind: entity.kind.clone(),
                dataset: None,
                data: match &entity.data {
                    Value::Object(data) => data.clone(),
                    _ => Map::new(),
                },
            };
            let known = self.entities.insert(entity.key.clone(), part.clone());
            if known.is_some_and(|known| known != part) {
                return Err(NoFile::SameName("entities", entity.key.clone()));
            }
        }
        let mut about: Vec<_> = task.entities.iter().map(|one| one.key.clone()).collect();
        about.sort();
        let criterion = |criterion: &Criterion| {
            let Check::Assertion(assertion) = &criterion.check else {
                return Err(NoFile::Devbox(task.name.clone()));
            };
            let input = criterion.input_entity;
            let input = input.and_then(|id| task.entities.iter().find(|one| one.id == id));
            Ok(CriterionPart {
                label: criterion.label.clone(),
                weight: criterion.weight,
                axis: criterion.axis.clone(),
                input_entity: input.map(|entity| entity.key.clone()),
                key: criterion.key.clone(),
                critical: criterion.critical,
                all: criterion.all,
                requires: criterion.requires.clone(),
                assertion: assertion.clone(),
            })
        };
        self.tasks.push(TaskPart {
            name: task.name.clone(),
            timeout: task.timeout,
            tags: task.tags.clone(),
            task_item: task.brief.clone(),
            scenario: scenario.clone(),
            entities: about,
            clock: task.clock,
            capture: task.capture.clone(),
            criteria: task
                .criteria
                .iter()
                .map(criterion)
                .collect::<Result<_, _>>()?,
            solution: match &task.reference {
                Value::Array(solution) => solution.clone(),
                Value::Null => Vec::new(),
                other => vec![other.clone()],
            },
        });
        Ok(())
    }
}

/// Why no file can say what a definition says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFile {
    /// A file needs a limit for all tasks.
    #[error("the benchmark has no timeout")]
    NoTimeout,
    /// Things are known by name in a file.
    #[error("two {0} have the name '{1}'")]
    SameName(&'static str, String),
    /// A file has only tasks in playgrounds.
    #[error("the task '{0}' is done or judged in a devbox")]
    Devbox(String),
}

#[cfg(test)]
mod tests {
    use proctor_core::id::kinds::{EntityId, TaskId};

    use super::*;

    #[test]
    fn ids_follow_from_kind_and_name() {
        let (task, again): (TaskId, TaskId) = (id_of("a"), id_of("a"));
        let entity: EntityId = id_of("a");
        let other: TaskId = id_of("b");
        assert_eq!(task, again);
        assert_ne!(task, other);
        assert_ne!(task.bare(), entity.bare());
    }
}
