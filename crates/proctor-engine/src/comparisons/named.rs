//! What the lines of a policy name of a benchmark: criteria, axes, tags. A line about nothing is refused, because it would look like one that holds.

use std::collections::HashMap;

use proctor_core::{
    definition::{Benchmark, Criterion, Task},
    id::kinds::TaskId,
    policy::{Policy, PolicyLine, Rule},
};

use super::criteria::{is_called, is_on};

/// A member of a policy that names nothing of the benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamesNothing {
    /// The member.
    pub(crate) member: String,
    /// What is wrong with it.
    pub(crate) message: String,
}

/// Everything in a policy that names nothing of the benchmark.
pub(crate) fn unknown_names(policy: &Policy, definition: &Benchmark) -> Vec<NamesNothing> {
    let lines = policy.lines.iter().enumerate();
    lines
        .filter_map(|(place, line)| names_nothing(place, line, definition))
        .collect()
}

/// The first member of a line that names nothing of the benchmark.
pub(super) fn names_nothing(
    place: usize,
    line: &PolicyLine,
    definition: &Benchmark,
) -> Option<NamesNothing> {
    let found = |member: &str, message: String| {
        Some(NamesNothing {
            member: format!("policy.line.{place}.{member}"),
            message,
        })
    };
    let tasks = &definition.tasks;
    if let Some(axis) = &line.axis {
        let has_axis = |task: &Task| task.criteria.iter().any(|one| is_on(one, axis));
        if !tasks.iter().any(has_axis) {
            let message = format!("no criterion of the benchmark is on the axis '{axis}'");
            return found("axis", message);
        }
    }
    for tag in &line.tags {
        if !tasks.iter().any(|task| task.tags.contains(tag)) {
            return found(
                "tags",
                format!("no task of the benchmark has the tag '{tag}'"),
            );
        }
    }
    let (member, message) = match line.rule {
        Rule::Never { critical: true, .. } => (
            "criteria",
            "no criterion of the benchmark is critical: this line could never fail",
        ),
        Rule::Never { .. } => ("keys", "no criterion of the tasks is meant by this line"),
        // The score as a whole.
        Rule::Change { .. } | Rule::Level { .. } if line.keys.is_empty() => return None,
        Rule::Change { .. } | Rule::Level { .. } => (
            "keys",
            "no criterion of the benchmark has such a key, id or label (on this axis)",
        ),
    };
    match meant(line, definition).is_empty() {
        true => found(member, message.to_owned()),
        false => None,
    }
}

/// The criteria that a line is about, by task; tasks without any are left out.
pub(super) fn meant<'a>(
    line: &PolicyLine,
    definition: &'a Benchmark,
) -> HashMap<TaskId, Vec<&'a Criterion>> {
    let is_meant = |task: &Task, criterion: &Criterion| {
        let is_named = match line.rule {
            Rule::Never { critical: true, .. } => task.is_critical(criterion),
            _ => line.keys.is_empty() || line.keys.iter().any(|key| is_called(criterion, key)),
        };
        let axis = line.axis.as_deref();
        is_named && axis.is_none_or(|axis| is_on(criterion, axis))
    };
    let tasks = definition.tasks.iter();
    tasks
        .filter(|task| line.tags.iter().all(|tag| task.tags.contains(tag)))
        .map(|task| {
            let criteria = task.criteria.iter().filter(|one| is_meant(task, one));
            (task.id, criteria.collect::<Vec<_>>())
        })
        .filter(|(_, criteria)| !criteria.is_empty())
        .collect()
}
