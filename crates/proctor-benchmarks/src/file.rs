//! What a file says: a whole benchmark, with nothing left open.
//!
//! The same content is read from a file, drawn from a server, and turned into the definition that
//! is checked. It holds no ids: things are known by their names.

use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::{
    canonical::Digest,
    definition::{ClockPolicy, Seconds, Slug, Visibility},
    environment::{DatasetType, SimulatorType},
    scoring::Weight,
};
use serde::Serialize;
use serde_json::{Map, Value};

/// A whole benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchmarkFile {
    /// What people call it.
    pub name: String,
    /// The name under which takers ask for it.
    pub slug: Slug,
    /// Who may take it.
    pub visibility: Visibility,
    /// What it is about.
    pub description: Option<String>,
    /// How long a task may take that has no limit of its own.
    pub timeout: Seconds,
    /// How many of a run's tasks may be active at once.
    pub concurrency: NonZeroU32,
    /// Where its tasks are done.
    pub environment: EnvironmentPart,
    /// The data that its simulators begin with, by name.
    pub datasets: BTreeMap<String, DatasetPart>,
    /// What its tasks are about, by key.
    pub entities: BTreeMap<String, EntityPart>,
    /// What is to be done, in order.
    pub tasks: Vec<TaskPart>,
}

/// Where tasks are done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnvironmentPart {
    /// What people call it.
    pub name: String,
    /// Its services, in order.
    pub simulators: Vec<SimulatorPart>,
}

/// A simulated service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulatorPart {
    /// What it simulates.
    #[serde(rename = "type")]
    pub kind: SimulatorType,
    /// What people call it; no two of an environment have one name.
    pub name: String,
    /// How it behaves.
    pub config: Map<String, Value>,
    /// The names of the data sets that it begins with, in order.
    pub datasets: Vec<String>,
}

/// Data to begin with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetPart {
    /// What kind of data.
    #[serde(rename = "type")]
    pub kind: DatasetType,
    /// The data.
    pub data: Value,
}

/// Something that tasks are about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntityPart {
    /// What it is, in the author's words.
    pub kind: String,
    /// The data set that a server keeps it with; the first of the file where nothing is said. It
    /// decides about nothing else, so it is no part of the content.
    #[serde(skip)]
    pub dataset: Option<String>,
    /// Its values.
    pub data: Map<String, Value>,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskPart {
    /// What people call it; no two of a benchmark have one name.
    pub name: String,
    /// How long it may take.
    pub timeout: Option<Seconds>,
    /// Labels for choosing.
    pub tags: Vec<String>,
    /// What the taker is told.
    pub task_item: Value,
    /// What happens when it starts, in order.
    pub scenario: Vec<Value>,
    /// The keys of what it is about, sorted.
    pub entities: Vec<String>,
    /// Whether the taker may advance the clock of its world.
    #[serde(skip_serializing_if = "ClockPolicy::is_advanceable")]
    pub clock: ClockPolicy,
    /// Values of the finished world that criteria may name, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, Value>,
    /// What is checked, in order.
    pub criteria: Vec<CriterionPart>,
    /// How it is solved, for proving the criteria right.
    pub solution: Vec<Value>,
}

/// Something to be checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriterionPart {
    /// What people call it.
    pub label: String,
    /// How much it counts.
    pub weight: Weight,
    /// The axis it counts on.
    pub axis: Option<String>,
    /// The key of the entity that templates mean by `entity`.
    pub input_entity: Option<String>,
    /// A short name inside its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether missing it caps the verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
    /// Whether its sub-assertions count only together.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The keys of the criteria without which it counts 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// How it is checked.
    pub assertion: Value,
}

impl BenchmarkFile {
    /// The content as one document: the same for the same benchmark, however it was written.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a file has only string keys and finite numbers")
    }

    /// The digest of the content.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_value())
    }

    /// The name of the data set that a server keeps an entity with.
    pub(crate) fn home_of<'f>(&'f self, entity: &'f EntityPart) -> Option<&'f str> {
        let first = || self.datasets.keys().next().map(String::as_str);
        entity.dataset.as_deref().or_else(first)
    }
}
