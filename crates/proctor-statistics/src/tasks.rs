//! What is known of tasks: their attempts, and which of them belong together.

use std::{borrow::Cow, collections::HashMap};

use crate::{Refusal, sums::mean};

/// What came of one attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attempt {
    /// It was scored, from 0 to 1.
    Scored(f64),
    /// The agent ended it itself, by a crash or a time-out: it counts 0.
    AgentFault,
    /// It says nothing about the agent: it is left out, and counted.
    Void,
}

/// The attempts of one agent at one task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempts {
    scores: Vec<f64>,
    agent_faults: usize,
    void: usize,
}

impl Attempts {
    /// Counts attempts, in whatever order. A score outside of [0, 1] is refused.
    pub fn new(attempts: impl IntoIterator<Item = Attempt>) -> Result<Self, Refusal> {
        let mut counted = Self::default();
        for attempt in attempts {
            match attempt {
                // The range check also refuses what is not a number. Adding 0.0 turns -0.0 into 0.0.
                Attempt::Scored(score) if (0.0..=1.0).contains(&score) => {
                    counted.scores.push(score + 0.0);
                }
                Attempt::Scored(_) => return Err(Refusal::BadScore),
                Attempt::AgentFault => {
                    counted.scores.push(0.0);
                    counted.agent_faults += 1;
                }
                Attempt::Void => counted.void += 1,
            }
        }
        Ok(counted)
    }

    /// The scores that count, zeros for the agent's own faults included.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// How many count 0 because the agent ended them itself.
    pub const fn agent_faults(&self) -> usize {
        self.agent_faults
    }

    /// How many are void.
    pub const fn void(&self) -> usize {
        self.void
    }

    /// How many were planned.
    pub const fn planned(&self) -> usize {
        self.scores.len() + self.void
    }

    /// The mean of those that count, if any does.
    pub fn mean(&self) -> Option<f64> {
        (!self.scores.is_empty()).then(|| mean(&self.scores))
    }

    /// The scores, with each void attempt worth `value`, or left out.
    pub(crate) fn scores_with_voids_as(&self, value: Option<f64>) -> Cow<'_, [f64]> {
        match value {
            Some(value) if self.void > 0 => {
                let filling = std::iter::repeat_n(value, self.void);
                Cow::Owned(self.scores.iter().copied().chain(filling).collect())
            }
            Some(_) | None => Cow::Borrowed(&self.scores),
        }
    }
}

/// The attempts of two agents at one task. A side that the task was not planned for is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// The first agent, the baseline of a gate.
    pub a: Option<Attempts>,
    /// The second agent, the candidate of a gate.
    pub b: Option<Attempts>,
}

/// A task and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Task<T> {
    /// What tells it from others.
    pub id: String,
    /// What it has in common with others (a patient, a repository): tasks of one cluster are not independent of each other.
    pub cluster: Option<String>,
    /// What is known of it.
    pub data: T,
}

/// Tasks in the order of their ids, each there once.
#[derive(Clone, Debug, PartialEq)]
pub struct Tasks<T> {
    rows: Vec<Row<T>>,
}

/// A task with the number of its cluster; a task without one is a cluster by itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row<T> {
    pub(crate) id: String,
    pub(crate) cluster: usize,
    pub(crate) data: T,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<T> Tasks<T> {
    /// Takes tasks in whatever order. An id that is there twice is refused.
    pub fn new(tasks: impl IntoIterator<Item = Task<T>>) -> Result<Self, Refusal> {
        let mut tasks: Vec<Task<T>> = tasks.into_iter().collect();
        tasks.sort_by(|one, other| one.id.cmp(&other.id));
        if tasks.windows(2).any(|pair| pair[0].id == pair[1].id) {
            return Err(Refusal::DuplicateTask);
        }
        let mut named: HashMap<String, usize> = HashMap::new();
        let mut next = 0;
        let mut fresh = || {
            next += 1;
            next - 1
        };
        let rows = tasks.into_iter().map(|task| {
            let cluster = match task.cluster {
                None => fresh(),
                Some(name) => *named.entry(name).or_insert_with(&mut fresh),
            };
            Row {
                id: task.id,
                cluster,
                data: task.data,
            }
        });
        Ok(Self {
            rows: rows.collect(),
        })
    }

    /// The tasks for which `choose` finds something, with what it finds.
    #[must_use]
    pub fn filter_map<U>(&self, choose: impl Fn(&T) -> Option<U>) -> Tasks<U> {
        let rows = self.rows.iter().filter_map(|row| {
            Some(Row {
                id: row.id.clone(),
                cluster: row.cluster,
                data: choose(&row.data)?,
            })
        });
        Tasks {
            rows: rows.collect(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn rows(&self) -> &[Row<T>] {
        &self.rows
    }
}

impl Tasks<Pair> {
    /// The attempts of the first agent, at the tasks planned for it.
    #[must_use]
    pub fn side_a(&self) -> Tasks<Attempts> {
        self.filter_map(|pair| pair.a.clone())
    }

    /// The attempts of the second agent, at the tasks planned for it.
    #[must_use]
    pub fn side_b(&self) -> Tasks<Attempts> {
        self.filter_map(|pair| pair.b.clone())
    }

    /// The same with the agents swapped.
    #[must_use]
    pub fn swapped(&self) -> Self {
        self.filter_map(|pair| {
            Some(Pair {
                a: pair.b.clone(),
                b: pair.a.clone(),
            })
        })
    }
}
