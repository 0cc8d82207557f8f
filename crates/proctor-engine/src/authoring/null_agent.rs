//! What a task's criteria say of an agent that does nothing.
//!
//! The world is made in memory, its scenario happens, and it is judged at once. Whatever is met
//! then was given away: it rewards nobody's work.

use std::sync::Arc;

use proctor_core::{
    definition::{Task, World},
    id::kinds::{TaskRunId, WorldId},
    time::Timestamp,
};
use proctor_playground::{
    environment::Blueprint,
    scenario::Step,
    seed::Seed,
    world::{NotOpened, Origin, Rehearsal},
};
use proctor_verify::{Context, Judgement, Rubric};
use serde_json::Value;
use uuid::Uuid;

/// Why a task cannot be tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTried {
    /// It is done in a devbox, where nothing can be rehearsed in memory.
    #[error("it is done in a devbox")]
    Devbox,
    /// A step of its scenario is not understood.
    #[error("step {} of the scenario: {problem}", number + 1)]
    BadStep {
        /// Which step, counted from 0.
        number: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A step of its scenario cannot happen.
    #[error(transparent)]
    NotOpened(#[from] NotOpened),
}

impl NotTried {
    /// The step at fault, counted from 0.
    pub fn step(&self) -> Option<usize> {
        match self {
            Self::Devbox => None,
            Self::BadStep { number, .. } => Some(*number),
            Self::NotOpened(NotOpened::Step { number, .. }) => Some(number - 1),
        }
    }
}

/// Judges a task that nobody worked on, in an environment made from `blueprint`, at the time `now`.
/// The same task at the same time always gives the same judgement.
pub fn without_agent(
    task: &Task,
    blueprint: &Arc<Blueprint>,
    now: Timestamp,
) -> Result<Judgement, NotTried> {
    let scenario = match &task.world {
        World::Playground { scenario, .. } => read_steps(scenario)?,
        World::Devbox { .. } => return Err(NotTried::Devbox),
    };
    let origin = Origin {
        id: WorldId::from_uuid(Uuid::nil()),
        blueprint: Arc::clone(blueprint),
        seed: Seed::from_bytes(task.id.bare().as_bytes()),
        base_url: "http://rehearsal.invalid".to_owned(),
    };
    let rehearsal = Rehearsal::of(origin, &scenario, now)?;
    let context = Context {
        task_run: TaskRunId::from_uuid(Uuid::nil()),
        started_at: now,
        now,
    };
    let exhibits = rehearsal.contents().exhibits(now);
    Ok(Rubric::compile(task).judge(&exhibits, &context))
}

fn read_steps(scenario: &[Value]) -> Result<Vec<Step>, NotTried> {
    let steps = scenario.iter().enumerate().map(|(number, step)| {
        Step::read(step).map_err(|bad| NotTried::BadStep {
            number,
            problem: bad.to_string(),
        })
    });
    steps.collect()
}
