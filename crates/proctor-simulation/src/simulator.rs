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

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
};

use proctor_core::{
    environment::Dataset,
    problem::{Problem, Problems, in_plain_words, join},
    time::Timestamp,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

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

/// More problems than anybody reads at once are not looked for.
const MOST_PROBLEMS: usize = 100;

/// How a simulator reads its configuration. Everything that has not its shape is named, however deep it stands.
pub fn read_config<T: DeserializeOwned + Default>(config: &Value) -> Result<T, Problems> {
    if config.is_null() {
        return Ok(T::default());
    }
    let mut problems = Vec::new();
    let mut unread = Unread {
        settings: config.clone(),
        taken: BTreeMap::new(),
        gone: BTreeMap::new(),
    };
    let read = loop {
        match serde_path_to_error::deserialize::<_, T>(&unread.settings) {
            Ok(read) => break read,
            Err(error) => {
                let message = error.inner().to_string();
                let passed = unread.pass(error.path(), &message);
                if passed.is_own {
                    problems.push(Problem::error(passed.place, in_plain_words(&message)));
                }
                if !passed.goes_on || problems.len() == MOST_PROBLEMS {
                    break T::default();
                }
            }
        }
    };
    Problems::none_of(problems).map(|()| read)
}

/// What is still to be read of a configuration, once what is wrong in it is passed over. Places are as the author wrote them.
struct Unread {
    settings: Value,
    /// What was taken out of what stands at a place: the names of members.
    taken: BTreeMap<String, BTreeSet<String>>,
    /// How many of the first members of the list at a place are no longer in it.
    gone: BTreeMap<String, usize>,
}

/// What was passed over.
struct Passed {
    place: String,
    /// Whether it is wrong by itself, whatever was passed over before.
    is_own: bool,
    /// Whether there is more to read.
    goes_on: bool,
}

impl Unread {
    /// Takes the innermost value that a path leads to out of what is still to be read.
    fn pass(&mut self, path: &Path, message: &str) -> Passed {
        let mut place = "config".to_owned();
        let mut around = "config".to_owned();
        let mut last = None;
        let mut value = Some(&mut self.settings);
        // Where the value stands that holds the last step of the path: looked up again at the end, because it cannot be kept.
        let mut steps = Vec::new();
        for segment in path.iter() {
            let next = match (segment, value.take()) {
                (
                    Segment::Map { key } | Segment::Enum { variant: key },
                    Some(Value::Object(map)),
                ) => map
                    .get_mut(key)
                    .map(|inner| (Inward::Member(key.clone()), key.clone(), inner)),
                (Segment::Seq { index }, Some(Value::Array(list))) => {
                    let written = index + self.gone.get(&place).copied().unwrap_or_default();
                    list.get_mut(*index)
                        .map(|inner| (Inward::Item(*index), written.to_string(), inner))
                }
                _ => None,
            };
            let Some((step, name, inner)) = next else {
                break;
            };
            around.clone_from(&place);
            place = join(&place, &name);
            last = Some(name);
            steps.push(step);
            value = Some(inner);
        }
        // Without what was taken out of it, something may be missing that is not.
        let is_own = match self.taken.get(&place) {
            None => true,
            Some(taken) => missing_member(message).is_some_and(|name| !taken.contains(name)),
        };
        let goes_on = match (steps.pop(), last) {
            (Some(step), Some(name)) => {
                self.take(&steps, step, &around);
                self.taken.entry(around).or_default().insert(name);
                true
            }
            _ => false,
        };
        Passed {
            place,
            is_own,
            goes_on,
        }
    }

    /// Takes out what stands one step behind `steps`, at the place `around`.
    fn take(&mut self, steps: &[Inward], step: Inward, around: &str) {
        let mut holder = &mut self.settings;
        for step in steps {
            let inner = match step {
                Inward::Member(name) => holder.get_mut(name),
                Inward::Item(index) => holder.get_mut(index),
            };
            match inner {
                Some(inner) => holder = inner,
                None => return,
            }
        }
        match (holder, step) {
            (Value::Object(map), Inward::Member(name)) => {
                map.remove(&name);
            }
            (Value::Array(list), Inward::Item(index)) if index < list.len() => {
                // Those before it are right: reading stops at the first that is not.
                list.drain(..=index);
                *self.gone.entry(around.to_owned()).or_default() += index + 1;
            }
            _ => {}
        }
    }
}

/// One step into a document.
enum Inward {
    Member(String),
    Item(usize),
}

/// The member that is missing, if that is what a message says.
fn missing_member(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Config {
        beds: u8,
        rooms: Vec<Room>,
        ward: Option<String>,
        desk: Option<Desk>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Desk {
        phone: u32,
        clerk: String,
        shifts: Vec<Vec<u8>>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Room {
        number: u8,
    }

    #[test]
    fn everything_that_is_wrong_with_a_configuration_is_named_at_once() {
        let wrong = json!({
            "beds": "two",
            "color": "green",
            "rooms": [{"number": 1}, {"number": "two"}, {"number": 3}, {"number": -4}, {}],
            "ward": 7,
        });
        let problems = read_config::<Config>(&wrong).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|one| one.path.as_str()).collect();
        let expected = [
            "config.beds",
            "config.color",
            "config.rooms.1.number",
            "config.rooms.3.number",
            "config.rooms.4",
            "config.ward",
        ];
        assert_eq!(places, expected, "{problems}");
    }

    #[test]
    fn what_is_wrong_inside_of_a_setting_does_not_hide_what_else_is_wrong_there() {
        let desk =
            json!({"phone": -1, "color": "green", "shifts": [[1, 2], [3, "x", 5, 600], "y", []]});
        let wrong = json!({"desk": desk, "ward": 7});
        let problems = read_config::<Config>(&wrong).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|one| one.path.as_str()).collect();
        let expected = [
            "config.desk.color",
            "config.desk.phone",
            "config.desk.shifts.1.1",
            "config.desk.shifts.1.3",
            "config.desk.shifts.2",
            "config.ward",
        ];
        assert_eq!(places, expected, "{problems}");
        // Numbers are told in other words where they are kept as they were written.
        let plain = "config.desk.shifts.1.1: invalid type: string \"x\", expected a whole number from 0 to 255";
        assert!(problems.to_string().contains(plain), "{problems}");
    }

    #[test]
    fn what_is_missing_beside_something_wrong_is_named_too() {
        let lacking = json!({"desk": {"phone": 1, "shifts": "none"}});
        let problems = read_config::<Config>(&lacking).unwrap_err();
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let expected = [
            "config.desk.shifts: invalid type: string \"none\", expected a sequence",
            "config.desk: missing field `clerk`",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_configuration_that_is_no_object_is_one_problem() {
        let problems = read_config::<Config>(&json!("beds")).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(places, ["config"]);
        assert_eq!(
            read_config::<Config>(&json!({"beds": 2})).unwrap(),
            Config {
                beds: 2,
                ..Config::default()
            }
        );
        assert_eq!(
            read_config::<Config>(&Value::Null).unwrap(),
            Config::default()
        );
    }
}
