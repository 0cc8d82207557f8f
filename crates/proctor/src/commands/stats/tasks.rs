//! Tasks as `proctor stats` reads them: `{"id", "cluster"?, AGENT: [score or cause, …]}`.

use std::{cell::OnceCell, collections::HashSet};

use proctor_core::{
    reader::{self, Object},
    task_run::Cause,
};
use proctor_statistics::{Attempt, Attempts, Refusal, Task, Tasks};
use serde_json::Value;

/// The first refusal that was met while reading.
pub(super) type Refused = OnceCell<Refusal>;
pub(super) type Node<'a> = reader::Node<'a, Refused>;

/// Remembers a refusal, unless there was one before.
pub(super) fn note(node: &Node<'_>, refusal: Refusal) {
    let _ = node.extra().set(refusal);
}

/// The members of a task that are not an agent's attempts.
const RESERVED: [&str; 2] = ["id", "cluster"];

/// Whether an agent cannot have this name, because tasks have another member of it.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// The tasks of a request with the attempts of these agents, in their order. Other agents are not looked at.
pub(super) fn read_tasks(
    input: &Object<'_, Refused>,
    agents: &[&str],
) -> Option<Tasks<Vec<Option<Attempts>>>> {
    let list = input.required("tasks")?;
    let mut seen = HashSet::new();
    let rows: Vec<Option<Task<_>>> = list
        .list()?
        .iter()
        .map(|node| read_task(node, agents, &mut seen))
        .collect();
    let rows: Vec<Task<_>> = rows.into_iter().collect::<Option<_>>()?;
    Some(Tasks::new(rows).unwrap_or_else(|refusal| {
        note(&list, refusal);
        Tasks::default()
    }))
}

fn read_task<'a>(
    node: &Node<'a>,
    agents: &[&str],
    seen: &mut HashSet<&'a str>,
) -> Option<Task<Vec<Option<Attempts>>>> {
    let object = node.object()?;
    let id = object.required("id").and_then(|id| id.text());
    if id.is_some_and(|id| !seen.insert(id)) {
        note(node, Refusal::DuplicateTask);
    }
    let cluster = reader::left_out_or(object.optional("cluster"), Node::text);
    let mut attempts: Vec<Option<Attempts>> = vec![None; agents.len()];
    let others = object.members().filter(|(name, _)| !is_reserved(name));
    for (name, member) in others.filter(|(_, member)| !member.value().is_null()) {
        let Value::Array(values) = member.value() else {
            member.refuse(
                "must be the list of an agent's attempts, as every member of a task but id and cluster is",
            );
            continue;
        };
        for (place, _) in agents
            .iter()
            .enumerate()
            .filter(|(_, agent)| **agent == name)
        {
            attempts[place] = Some(read_attempts(&member, values));
        }
    }
    Some(Task {
        id: id?.to_owned(),
        cluster: cluster?.map(str::to_owned),
        data: attempts,
    })
}

fn read_attempts(node: &Node<'_>, values: &[Value]) -> Attempts {
    let attempts: Result<Vec<Attempt>, Refusal> = values.iter().map(read_attempt).collect();
    attempts.and_then(Attempts::new).unwrap_or_else(|refusal| {
        note(node, refusal);
        Attempts::default()
    })
}

/// A score, or the word of a cause.
fn read_attempt(value: &Value) -> Result<Attempt, Refusal> {
    match value {
        Value::Number(score) => {
            let score = score.as_f64().ok_or(Refusal::BadScore)?;
            match (0.0..=1.0).contains(&score) {
                true => Ok(Attempt::Scored(score)),
                false => Err(Refusal::BadScore),
            }
        }
        Value::String(word) => {
            let cause = Cause::ALL.into_iter().find(|cause| cause.as_str() == word);
            let cause = cause.ok_or(Refusal::UnknownCause)?;
            Ok(if cause.is_void() {
                Attempt::Void
            } else {
                Attempt::AgentFault
            })
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(Refusal::BadScore),
    }
}
