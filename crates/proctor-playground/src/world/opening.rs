//! How a playground begins: its scenario happens at once, all of it or nothing.

use proctor_core::{environment::SimulatorType, time::Timestamp};
use proctor_simulation::{
    payload::pack,
    scenario::Step,
    simulator::{NotProvided, Provision},
};
use proctor_store::journal::{AppendError, NewEvent};
use serde_json::json;

use super::{
    Contents, OPENING, OpenError, Origin, PROVISION, Surroundings, World, current::Current, line,
};

/// Why a playground could not begin. Nothing of it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOpened {
    /// A step of the scenario cannot happen.
    #[error("step {number} of the scenario ({kind}): {problem}")]
    Step {
        /// Which step, counted from 1.
        number: usize,
        /// What it was to do.
        kind: &'static str,
        /// Why it cannot.
        problem: NotProvided,
    },
}

/// A scenario that happened in memory: it can happen.
pub struct Rehearsal {
    pub(super) origin: Origin,
    pub(super) contents: Contents,
    pub(super) events: Vec<NewEvent>,
}

impl Rehearsal {
    /// Lets the beginning of a scenario happen in memory at `now`. The same origin at the same time
    /// always gives the same world. Steps that come later must have a simulator that carries them out.
    pub fn of(origin: Origin, now: Timestamp) -> Result<Self, NotOpened> {
        let mut contents = Contents::branch(&origin);
        let scenario = &origin.scenario.steps;
        contents.timeline.begin(now);
        let opening = json!({
            "environment": origin.blueprint.digest(),
            "steps": scenario.len(),
        });
        let mut events = vec![NewEvent {
            at: now,
            kind: OPENING.into(),
            payload: opening.to_string().into_bytes(),
        }];
        for (number, step) in scenario.iter().enumerate() {
            let refuse = |problem| NotOpened::Step {
                number: number + 1,
                kind: step.kind(),
                problem,
            };
            let door = origin
                .blueprint
                .door_for(step)
                .ok_or_else(|| refuse(no_simulator(step)))?;
            if step.timing.is_some() {
                continue;
            }
            let (happened, at) = contents
                .provide(door, &Provision::Step(step), now)
                .map_err(refuse)?;
            events.push(NewEvent {
                at,
                kind: PROVISION.into(),
                payload: pack(line::of(door, &(happened.body)())),
            });
        }
        Ok(Self {
            origin,
            contents,
            events,
        })
    }
}

impl World {
    /// Begins the world as it was rehearsed, unless it has begun already: then it is as its journal
    /// tells, and nothing happens again.
    pub async fn begin(rehearsal: Rehearsal, around: &Surroundings) -> Result<Self, OpenError> {
        let Rehearsal {
            origin,
            contents,
            events,
        } = rehearsal;
        let place = events.len() as u64;
        match around.journal.append(origin.id, 0, events).await {
            Ok(_) => {
                let world = Self::closed(origin, around);
                let epoch = world.inner.recorder.begin_at(place).await;
                *world.write() = Current::of_journal(contents, epoch, None);
                Ok(world)
            }
            Err(AppendError::Conflict { .. } | AppendError::Sealed { .. }) => {
                Self::open(origin, around).await
            }
            Err(AppendError::Store(error)) => Err(OpenError::Journal(error)),
            Err(AppendError::Empty) => unreachable!("the opening itself is an event"),
        }
    }
}

fn no_simulator(step: &Step) -> NotProvided {
    let kinds: Vec<&str> = step.targets().iter().map(SimulatorType::as_str).collect();
    let named = match &step.simulator {
        Some(name) => format!(" named '{name}'"),
        None => String::new(),
    };
    NotProvided(format!(
        "the environment has no simulator of type {}{named}",
        kinds.join(" or ")
    ))
}
