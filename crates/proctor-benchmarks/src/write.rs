//! From what a file says to its text.

use proctor_core::definition::Seconds;
use serde_json::{Map, Value, json};

use crate::{
    file::{BenchmarkFile, CriterionPart, TaskPart},
    yaml::{Tree, write},
};

impl BenchmarkFile {
    /// The text of the file. What it does not need to say is left out.
    pub fn to_yaml(&self) -> String {
        let mut file = Fields::default();
        file.add("name", &json!(self.name));
        file.add("slug", &json!(self.slug));
        file.add("visibility", &json!(self.visibility));
        file.add_some("description", self.description.as_ref());
        file.add("timeout", &json!(self.timeout));
        file.add("concurrency", &json!(self.concurrency));
        file.put("environment", self.environment_tree());
        file.put_all(
            "datasets",
            self.datasets.iter().map(|(name, part)| {
                let mut one = Fields::default();
                one.add("type", &json!(part.kind));
                one.add("data", &part.data);
                (name.clone(), one.tree())
            }),
        );
        file.put_all(
            "entities",
            self.entities.iter().map(|(key, part)| {
                let mut one = Fields::default();
                one.add("kind", &json!(part.kind));
                one.add_some("dataset", part.dataset.as_ref());
                one.add("data", &Value::Object(part.data.clone()));
                (key.clone(), one.tree())
            }),
        );
        let tasks = self.tasks.iter().map(task).collect();
        file.put("tasks", Tree::List(tasks));
        write(&file.tree())
    }

    fn environment_tree(&self) -> Tree {
        let simulators = self.environment.simulators.iter().map(|part| {
            let mut one = Fields::default();
            one.add("type", &json!(part.kind));
            one.add("name", &json!(part.name));
            one.add_full("config", &Value::Object(part.config.clone()));
            one.add_full("datasets", &json!(part.datasets));
            one.tree()
        });
        let mut environment = Fields::default();
        environment.add("name", &json!(self.environment.name));
        environment.put("simulators", Tree::List(simulators.collect()));
        environment.tree()
    }
}

fn task(part: &TaskPart) -> Tree {
    let mut one = Fields::default();
    one.add("name", &json!(part.name));
    one.add_some("timeout", part.timeout.map(Seconds::get).as_ref());
    one.add_full("tags", &json!(part.tags));
    one.add_full("task_item", &part.task_item);
    one.add_full("scenario", &json!(part.scenario));
    one.add_full("entities", &json!(part.entities));
    if !part.clock.is_advanceable() {
        one.add("clock", &json!(part.clock));
    }
    one.add_full("capture", &json!(part.capture));
    if !part.criteria.is_empty() {
        one.put(
            "criteria",
            Tree::List(part.criteria.iter().map(criterion).collect()),
        );
    }
    one.add_full("solution", &json!(part.solution));
    one.tree()
}

fn criterion(part: &CriterionPart) -> Tree {
    let mut one = Fields::default();
    one.add("label", &json!(part.label));
    if part.weight.value() != 1.0 {
        one.add("weight", &json!(part.weight));
    }
    one.add_some("axis", part.axis.as_ref());
    one.add_some("input_entity", part.input_entity.as_ref());
    one.add_some("key", part.key.as_ref());
    if part.critical {
        one.add("critical", &json!(true));
    }
    if part.all {
        one.add("all", &json!(true));
    }
    one.add_full("requires", &json!(part.requires));
    one.add("assertion", &part.assertion);
    one.tree()
}

/// The fields of a map, in the order in which people expect them.
#[derive(Default)]
struct Fields(Vec<(String, Tree)>);

impl Fields {
    fn put(&mut self, name: &str, tree: Tree) {
        self.0.push((name.to_owned(), tree));
    }

    fn put_all(&mut self, name: &str, all: impl Iterator<Item = (String, Tree)>) {
        let all: Vec<_> = all.collect();
        if !all.is_empty() {
            self.put(name, Tree::Map(all));
        }
    }

    fn add(&mut self, name: &str, value: &Value) {
        self.put(name, Tree::of(value));
    }

    fn add_some<T: serde::Serialize>(&mut self, name: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.add(name, &json!(value));
        }
    }

    /// Adds a value unless nothing is in it.
    fn add_full(&mut self, name: &str, value: &Value) {
        let is_empty = match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        if !is_empty {
            self.add(name, value);
        }
    }

    fn tree(self) -> Tree {
        Tree::Map(self.0)
    }
}

impl Tree {
    /// A value as a tree; members that say what something is go first.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Object(members) => Self::Map(in_order(members)),
            scalar => Self::Scalar(scalar.clone()),
        }
    }
}

/// Names that people look for first.
const FIRST: [&str; 9] = [
    "resourceType",
    "type",
    "assert",
    "call",
    "id",
    "name",
    "label",
    "path",
    "member_id",
];

fn in_order(members: &Map<String, Value>) -> Vec<(String, Tree)> {
    let rank = |name: &str| FIRST.iter().position(|first| *first == name);
    let mut all: Vec<_> = members.iter().collect();
    all.sort_by_key(|(name, _)| rank(name).unwrap_or(FIRST.len()));
    all.into_iter()
        .map(|(name, value)| (name.clone(), Tree::of(value)))
        .collect()
}
