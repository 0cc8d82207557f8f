//! The shape that every simulator has.
//!
//! A [`Machine`] decides what to answer without changing anything, and names the changes that
//! follow; the changes alone make the next state. So a request that changes nothing is the same
//! code as one that does, a refused request cannot leave anything half done, and replaying the
//! recorded changes gives the same state.
//!
//! A machine reads no clock, draws no random number and does no I/O. Ids, numbers and passwords
//! follow from its [`Seed`](crate::seed::Seed); the time comes with the request.
//!
//! A simulator is a folder with its machine and its [plugin](crate::registry::SimulatorPlugin).

use std::any::Any;

use proctor_core::{environment::Dataset, problem::Problem, time::Timestamp};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    machine::AnyMachine,
    record::Write,
    scenario::{Action, Step},
};

/// A simulated service as a state machine.
pub trait Machine: Send + Sync + 'static {
    /// One thing that can happen to the state. Its JSON form is kept in journals: fields are added,
    /// never renamed.
    type Change: Serialize + DeserializeOwned + Send + 'static;

    /// What to answer, and what follows from the request.
    fn decide(&self, request: &Request, around: &Around<'_>) -> Decision<Self::Change>;

    /// What follows when the playground's owner puts something in: a step of a scenario, or data.
    fn provide(
        &self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Provided<Self::Change>, NotProvided>;

    /// Lets a change happen. It was decided on this very state, so it cannot fail.
    fn evolve(&mut self, change: Self::Change);

    /// What a change is to people: which thing is another now, or was sent. It is asked about the state before the change.
    /// What somebody else did, such as an answer that came in, is left out. A simulator that says nothing has its changes
    /// counted without names.
    fn writes(&self, change: &Self::Change) -> Vec<Write> {
        let change = serde_json::to_value(change).unwrap_or_default();
        vec![Write::unnamed(change)]
    }

    /// Shows what checks may look at.
    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>);

    /// What an agent needs to use the service, as members of one object; addresses begin with
    /// `prefix`, the path of the playground.
    fn credentials(&self, prefix: &str) -> Value;

    /// What other machines of the playground may look into, if anything.
    fn shared(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }
}

/// What a machine may see of the world around it.
#[derive(Clone, Copy)]
pub struct Around<'w> {
    /// The time now. It never runs backwards in a playground.
    pub now: Timestamp,
    before: &'w [Box<dyn AnyMachine>],
    after: &'w [Box<dyn AnyMachine>],
}

impl<'w> Around<'w> {
    /// What the machine between `before` and `after` sees, in the order of the playground.
    pub fn between(
        now: Timestamp,
        before: &'w [Box<dyn AnyMachine>],
        after: &'w [Box<dyn AnyMachine>],
    ) -> Self {
        Self { now, before, after }
    }

    /// What a machine sees that is the only one of its playground.
    pub fn alone(now: Timestamp) -> Self {
        Self::between(now, &[], &[])
    }

    /// What the first other machine that shares a `T` lets this one look into.
    pub fn shared<T: Any>(&self) -> Option<&'w T> {
        let mut others = self.before.iter().chain(self.after);
        others.find_map(|machine| {
            let shared: &dyn Any = machine.shared()?;
            shared.downcast_ref()
        })
    }
}

/// What a machine decided about a request.
pub struct Decision<C> {
    /// The answer.
    pub response: Response,
    /// What is remembered of the request.
    pub event: Recorded,
    /// What it changes, in order; nothing for a request that only looks or was refused.
    pub changes: Vec<C>,
}

/// What is remembered of something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What kind of thing: `hl7_outbound`, `portal_request`, ….
    pub kind: &'static str,
    /// Who began it.
    pub direction: Direction,
    /// Everything about it: what was asked, answered, and stored.
    pub payload: Value,
}

/// Which way something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the simulated outside to the agent.
    Inbound,
    /// From the agent to the simulated outside.
    Outbound,
}

impl Direction {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Outbound => "outbound",
        }
    }
}

/// Something that the owner of a playground puts into it.
#[derive(Clone, Copy, Debug)]
pub enum Provision<'a> {
    /// A step of a task's scenario.
    Step(&'a Step),
    /// All of a data set.
    Load(&'a Dataset),
    /// What a data set brought is taken out again; what was changed since stays.
    Unload(&'a Dataset),
}

impl Provision<'_> {
    /// What a step does, if this is one and that is an `A`.
    pub fn action<A: Action>(&self) -> Option<&A> {
        match self {
            Self::Step(step) => step.action(),
            Self::Load(_) | Self::Unload(_) => None,
        }
    }
}

/// What follows from a provision.
pub struct Provided<C> {
    /// What is remembered of it.
    pub event: Recorded,
    /// What it changes, in order.
    pub changes: Vec<C>,
}

/// Why something cannot be put in, in words for the author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotProvided(pub String);

impl NotProvided {
    /// For what this kind of simulator never takes.
    pub fn not_mine(provision: &Provision<'_>, simulator: &str) -> Self {
        let what = match provision {
            Provision::Step(step) => format!("the step '{}'", step.kind()),
            Provision::Load(dataset) | Provision::Unload(dataset) => {
                format!("a data set of type {}", dataset.kind.as_str())
            }
        };
        Self(format!("{what} is nothing for a {simulator} simulator"))
    }
}

impl From<Problem> for NotProvided {
    fn from(problem: Problem) -> Self {
        Self(problem.to_string())
    }
}

impl<C> Decision<C> {
    /// A request that changes nothing.
    pub fn look(response: Response, event: Recorded) -> Self {
        Self {
            response,
            event,
            changes: Vec::new(),
        }
    }
}
