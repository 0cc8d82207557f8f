//! What changed between two versions of a benchmark.

use std::collections::BTreeMap;

use proctor_core::{
    definition::{Benchmark, Criterion, Task},
    id::kinds::{CriterionId, TaskId},
};

/// What changed between two definitions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Tasks that the second has and the first has not.
    pub(super) added: Vec<String>,
    /// Tasks that only the first has.
    pub(super) removed: Vec<String>,
    /// Tasks that both have and that are not the same.
    pub(super) edited: Vec<EditedTask>,
    /// Whether anything but tasks is not the same.
    pub(super) has_other_settings: bool,
}

/// A task that is not the same in both.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditedTask {
    pub(super) name: String,
    /// What of it, in words.
    pub(super) what: Vec<String>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What changed from one definition to the other.
pub(super) fn between(before: &Benchmark, after: &Benchmark) -> Changes {
    let by_id = |benchmark| -> BTreeMap<TaskId, &Task> {
        let benchmark: &Benchmark = benchmark;
        benchmark.tasks.iter().map(|task| (task.id, task)).collect()
    };
    let (old, new) = (by_id(before), by_id(after));
    let only = |one: &BTreeMap<TaskId, &Task>, other: &BTreeMap<TaskId, &Task>| {
        let tasks = one.values().filter(|task| !other.contains_key(&task.id));
        tasks.map(|task| task.name.clone()).collect::<Vec<String>>()
    };
    let without_tasks = |benchmark: &Benchmark| Benchmark {
        tasks: Vec::new(),
        ..benchmark.clone()
    };
    let edited = new.values().filter_map(|task| {
        let was = old.get(&task.id)?;
        (was != task).then(|| EditedTask {
            name: task.name.clone(),
            what: parts(was, task),
        })
    });
    Changes {
        added: only(&new, &old),
        removed: only(&old, &new),
        edited: edited.collect(),
        has_other_settings: without_tasks(before) != without_tasks(after),
    }
}

fn parts(was: &Task, is: &Task) -> Vec<String> {
    let mut said = Vec::new();
    let mut note = |differs: bool, what: &str| {
        if differs {
            said.push(what.to_owned());
        }
    };
    note(was.name != is.name, "its name");
    note(was.brief != is.brief, "the prompt");
    note(was.world != is.world, "the world");
    note(was.entities != is.entities, "entities");
    note(was.timeout != is.timeout, "the time limit");
    note(was.reference != is.reference, "the reference");
    note(
        was.tags != is.tags || was.metadata != is.metadata,
        "tags or labels",
    );
    let by_id = |task| -> BTreeMap<CriterionId, &Criterion> {
        let task: &Task = task;
        task.criteria.iter().map(|one| (one.id, one)).collect()
    };
    let (old, new) = (by_id(was), by_id(is));
    for one in new.values() {
        match old.get(&one.id) {
            None => said.push(format!("criterion added: {}", one.label)),
            Some(before) if before != one => said.push(format!("criterion edited: {}", one.label)),
            Some(_) => {}
        }
    }
    for one in old.values().filter(|one| !new.contains_key(&one.id)) {
        said.push(format!("criterion removed: {}", one.label));
    }
    if said.is_empty() {
        said.push("other settings".to_owned());
    }
    said
}
