//! Frozen definitions, read and prepared once: they never change, so neither do these.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Task, World},
    id::kinds::{EnvironmentId, TaskId},
    run::Run,
};
use proctor_playground::{environment::Blueprint, world::Scenario};
use proctor_store::Store;
use proctor_verify::Rubric;

use crate::{error::EngineError, extensions::Extensions};

/// How many definitions are kept ready.
const KEPT: usize = 256;

/// A frozen benchmark, ready to be taken.
pub struct Prepared {
    /// The definition.
    pub benchmark: Benchmark,
    tasks: HashMap<TaskId, PreparedTask>,
    /// How many of its tasks are done in boxes.
    in_boxes: u32,
    /// What is checked, of all tasks; computed when somebody asks.
    rubric: OnceLock<Digest>,
}

/// A task of a frozen benchmark.
pub struct PreparedTask {
    /// Its place in the benchmark.
    pub place: usize,
    /// What is checked.
    pub rubric: Rubric,
    /// Where it is done, if that is a playground.
    pub playground: Option<PreparedPlayground>,
}

/// Where a task is done.
pub struct PreparedPlayground {
    /// The environment.
    pub environment: EnvironmentId,
    /// Its content.
    pub blueprint: Arc<Blueprint>,
    /// What happens in it beside what the taker does.
    pub scenario: Scenario,
}

impl Prepared {
    /// A task of the benchmark.
    pub fn task(&self, id: TaskId) -> Result<(&Task, &PreparedTask), EngineError> {
        let prepared = self
            .tasks
            .get(&id)
            .ok_or_else(|| EngineError::Fault(format!("the definition has no task {id}")))?;
        Ok((&self.benchmark.tasks[prepared.place], prepared))
    }

    /// Whether it has this task.
    pub fn has_task(&self, id: TaskId) -> bool {
        self.tasks.contains_key(&id)
    }

    /// The digest of what is checked: the same for two versions whose tasks have the same criteria.
    pub fn rubric_digest(&self) -> Digest {
        *self.rubric.get_or_init(|| {
            let tasks = self.benchmark.tasks.iter();
            let criteria = tasks.map(|task| serde_json::json!([task.id, task.criteria]));
            Digest::of(&criteria.collect())
        })
    }

    /// The tasks that are to be taken before a run of it completes by itself. Only a run with a token can take those that are
    /// done in playgrounds.
    pub(crate) fn wanted_by(&self, run: &Run) -> impl Iterator<Item = &Task> {
        run.wanted(&self.benchmark)
    }

    /// How many these are.
    pub(crate) fn tasks_of(&self, run: &Run) -> u32 {
        match (&run.plan.tasks, run.expires_at) {
            (Some(_), _) => count(self.wanted_by(run).count()),
            (None, Some(_)) => count(self.benchmark.tasks.len()),
            (None, None) => self.in_boxes,
        }
    }

    /// The environment of the run: that of its first task in a playground.
    pub fn blueprint(&self) -> Option<&Arc<Blueprint>> {
        self.benchmark.tasks.iter().find_map(|task| {
            let playground = self.tasks.get(&task.id)?.playground.as_ref()?;
            Some(&playground.blueprint)
        })
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Prepared definitions by their digest.
pub(crate) struct Catalog {
    extensions: Extensions,
    benchmarks: Shelf<Prepared>,
    blueprints: Shelf<Blueprint>,
}

struct Shelf<T>(Mutex<HashMap<Digest, Arc<T>>>);

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Shelf<T> {
    fn get(&self, digest: &Digest) -> Option<Arc<T>> {
        let shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.get(digest).map(Arc::clone)
    }

    fn put(&self, digest: Digest, value: T) -> Arc<T> {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shelf.len() >= KEPT {
            // Worlds at work keep what they need; the rest is quickly read again.
            shelf.retain(|_, value| Arc::strong_count(value) > 1);
        }
        Arc::clone(shelf.entry(digest).or_insert_with(|| Arc::new(value)))
    }
}

impl Catalog {
    /// Nothing is prepared yet.
    pub(crate) fn new(extensions: Extensions) -> Self {
        Self {
            extensions,
            benchmarks: Shelf::default(),
            blueprints: Shelf::default(),
        }
    }

    /// The benchmark with this digest.
    pub(crate) async fn benchmark(
        &self,
        store: &Store,
        digest: &Digest,
    ) -> Result<Arc<Prepared>, EngineError> {
        if let Some(prepared) = self.benchmarks.get(digest) {
            return Ok(prepared);
        }
        let benchmark = store
            .definition(digest)
            .await?
            .ok_or_else(|| EngineError::Fault(format!("the definition {digest} is missing")))?;
        let prepared = self.prepare(store, benchmark).await?;
        Ok(self.benchmarks.put(*digest, prepared))
    }

    /// Makes a definition ready without keeping it.
    pub(crate) async fn prepare(
        &self,
        store: &Store,
        benchmark: Benchmark,
    ) -> Result<Prepared, EngineError> {
        let mut tasks = HashMap::new();
        for (place, task) in benchmark.tasks.iter().enumerate() {
            let playground = match &task.world {
                World::Devbox { .. } => None,
                World::Playground { frozen: None, .. } => {
                    return Err(EngineError::Fault(
                        "the definition's environment is not frozen".to_owned(),
                    ));
                }
                World::Playground {
                    environment,
                    frozen: Some(digest),
                    scenario,
                } => Some(PreparedPlayground {
                    environment: *environment,
                    blueprint: self.blueprint(store, digest).await?,
                    scenario: Scenario {
                        steps: scenario
                            .iter()
                            .map(|step| self.extensions.simulators.read_step(step))
                            .collect::<Result<_, _>>()
                            .map_err(|bad| EngineError::Scenario(bad.to_string()))?,
                        clock: task.clock,
                    },
                }),
            };
            let prepared = PreparedTask {
                place,
                rubric: Rubric::compile(task, &self.extensions.checks),
                playground,
            };
            tasks.insert(task.id, prepared);
        }
        let in_boxes = |task: &&Task| matches!(task.world, World::Devbox { .. });
        let in_boxes = count(benchmark.tasks.iter().filter(in_boxes).count());
        Ok(Prepared {
            benchmark,
            tasks,
            in_boxes,
            rubric: OnceLock::new(),
        })
    }

    /// The environment with this digest.
    pub(crate) async fn blueprint(
        &self,
        store: &Store,
        digest: &Digest,
    ) -> Result<Arc<Blueprint>, EngineError> {
        if let Some(blueprint) = self.blueprints.get(digest) {
            return Ok(blueprint);
        }
        let environment = store
            .environment_definition(digest)
            .await?
            .ok_or_else(|| EngineError::Fault(format!("the environment {digest} is missing")))?;
        let blueprint = Blueprint::read(&environment, &self.extensions.simulators)?;
        Ok(self.blueprints.put(*digest, blueprint))
    }
}
