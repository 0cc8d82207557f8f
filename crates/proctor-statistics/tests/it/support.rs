//! Tasks from JSON, as the vectors write them.

use proctor_statistics::{Attempt, Attempts, Pair, Refusal, Task, Tasks};
use serde_json::Value;

fn attempt(value: &Value) -> Result<Attempt, Refusal> {
    match value {
        Value::Number(score) => Ok(Attempt::Scored(score.as_f64().unwrap_or(f64::NAN))),
        Value::String(cause) => match cause.as_str() {
            "agent_crash" | "agent_timeout" => Ok(Attempt::AgentFault),
            "infrastructure" | "scorer_error" | "cancelled" => Ok(Attempt::Void),
            _ => Err(Refusal::UnknownCause),
        },
        _ => Err(Refusal::BadScore),
    }
}

fn side(task: &Value, name: &str) -> Result<Option<Attempts>, Refusal> {
    let Some(attempts) = task.get(name) else {
        return Ok(None);
    };
    let attempts = attempts.as_array().unwrap().iter().map(attempt);
    let attempts: Vec<Attempt> = attempts.collect::<Result<_, _>>()?;
    Attempts::new(attempts).map(Some)
}

fn tasks<T>(
    input: &Value,
    read: impl Fn(&Value) -> Result<T, Refusal>,
) -> Result<Tasks<T>, Refusal> {
    let rows = input["tasks"].as_array().unwrap().iter().map(|task| {
        Ok(Task {
            id: task["id"].as_str().unwrap().to_owned(),
            cluster: task["cluster"].as_str().map(str::to_owned),
            data: read(task)?,
        })
    });
    Tasks::new(rows.collect::<Result<Vec<_>, Refusal>>()?)
}

/// The attempts of both sides.
pub(crate) fn pairs(input: &Value) -> Result<Tasks<Pair>, Refusal> {
    tasks(input, |task| {
        Ok(Pair {
            a: side(task, "A")?,
            b: side(task, "B")?,
        })
    })
}

/// The attempts of the first side.
pub(crate) fn run(input: &Value) -> Result<Tasks<Attempts>, Refusal> {
    Ok(tasks(input, |task| side(task, "A"))?.filter_map(Clone::clone))
}

/// The attempts of several agents.
pub(crate) fn board(
    input: &Value,
    agents: &[String],
) -> Result<Tasks<Vec<Option<Attempts>>>, Refusal> {
    tasks(input, |task| {
        agents.iter().map(|agent| side(task, agent)).collect()
    })
}

/// The attempts with these scores.
pub(crate) fn scored(scores: &[f64]) -> Attempts {
    Attempts::new(scores.iter().map(|score| Attempt::Scored(*score))).unwrap()
}

/// Pairs of tasks with these scores of each side.
pub(crate) fn paired(rows: &[(Vec<f64>, Vec<f64>)]) -> Tasks<Pair> {
    let tasks = rows.iter().enumerate().map(|(place, (a, b))| Task {
        id: format!("task-{place:04}"),
        cluster: None,
        data: Pair {
            a: Some(scored(a)),
            b: Some(scored(b)),
        },
    });
    Tasks::new(tasks).unwrap()
}
