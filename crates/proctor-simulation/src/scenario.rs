//! What happens in a playground beside what the agent does: the steps of a task's scenario.
//!
//! A simulator declares the steps that it carries out as [`StepKind`]s, each with an action of a type
//! of its own. Reading a step checks its shape; whether it can happen is known to the simulator that
//! carries it out. A step without a [`Timing`] happens before the agent comes, and all of these happen or
//! none does. The others happen later: after some time, or when something else happened.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use proctor_core::{
    environment::SimulatorType,
    problem::{Problem, Problems},
    time::parse_span,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{
    config::{ConfigProblems, without_root},
    record::RecordedEvent,
    schema::{about, text},
};

/// The longest time that a step may wait, in days.
const LONGEST_WAIT_DAYS: u64 = 366;
/// The most times that one step may happen.
const MOST_TIMES: u64 = 1_000;

/// One step of a scenario.
#[derive(Clone, Debug)]
pub struct Step {
    /// The simulator it is for, by name, where the environment has more than one of the type.
    pub simulator: Option<String>,
    /// When it happens; none for a step that happens before the agent comes.
    pub timing: Option<Timing>,
    kind: &'static str,
    targets: Vec<SimulatorType>,
    action: Arc<dyn Action>,
}

/// When a step happens that does not happen at the beginning.
#[derive(Clone, Debug)]
pub struct Timing {
    /// How long after the beginning, or after what it waits for.
    pub after: Duration,
    /// What it waits for; the beginning if nothing is said.
    pub when: Option<Arc<dyn EventPattern>>,
    /// How many events it answers to, if it waits for any.
    pub times: u32,
}

/// Says which events a step waits for.
pub trait EventPattern: fmt::Debug + Send + Sync {
    /// Whether an event is one of them.
    fn matches(&self, event: &RecordedEvent) -> bool;
}

/// Reads what a step waits for. Patterns are the ones that checks know, so whoever knows the checks reads them.
pub type ReadPattern = fn(&Value) -> Result<Arc<dyn EventPattern>, Problems>;

/// What a step does, as the simulator that declares the step understands it.
pub trait Action: Any + fmt::Debug + Send + Sync {}

impl<T: Any + fmt::Debug + Send + Sync> Action for T {}

/// Makes an action of the members of a step, or says everything that is wrong with them.
pub type ReadAction = fn(Map<String, Value>) -> Result<Arc<dyn Action>, Problems>;

/// A kind of step: what authors write as its `type`, and how the rest of it is read.
pub struct StepKind {
    /// The name, as authors write it.
    pub name: &'static str,
    /// Reads the members of the step but for `type` and `simulator`.
    pub read: ReadAction,
    /// The JSON Schema of those members: an object, with an example.
    pub schema: fn() -> Value,
    /// Its place where authors are told of all steps: those with a lower number come first.
    pub listed: u32,
}

impl StepKind {
    /// The JSON Schema (2020-12) of a whole step of this kind, with an example. Editors use it; what decides is how a step is read.
    pub fn whole_schema(&self) -> Value {
        let mut schema = (self.schema)();
        let nullable = |mut schema: Value| {
            schema["type"] = json!([schema["type"], "null"]);
            schema
        };
        let common = [
            ("type", json!({"const": self.name})),
            (
                "simulator",
                nullable(about(
                    "The name of the simulator, where there is more than one of the type.",
                    text(),
                )),
            ),
            (
                "after",
                about(
                    "How long after the start, or after what 'when' waits for: 120s, 2h, PT30M, or a number of seconds.",
                    json!({"type": ["string", "integer", "null"], "minimum": 0}),
                ),
            ),
            (
                "when",
                about(
                    "A pattern of events that the step waits for.",
                    json!({"type": ["object", "null"]}),
                ),
            ),
            (
                "times",
                about(
                    "How many events it answers to; 1 when left out.",
                    json!({"type": ["integer", "null"], "minimum": 1, "maximum": MOST_TIMES}),
                ),
            ),
        ];
        for (name, member) in common {
            schema["properties"][name] = member;
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let required: Vec<Value> = [json!("type")].into_iter().chain(required).collect();
        schema["required"] = required.into();
        if let Some(example) = schema.pointer_mut("/examples/0") {
            example["type"] = self.name.into();
        }
        schema
    }
}

impl Step {
    /// Reads a step: an object whose `type` names one of `kinds`, which come with the types of
    /// simulator that carry them out.
    pub fn read(
        value: &Value,
        kinds: &[(&'static StepKind, Vec<SimulatorType>)],
        patterns: Option<ReadPattern>,
    ) -> Result<Self, Problems> {
        let Value::Object(map) = value else {
            return Err(Problem::error("", "a step is an object with a 'type'").into());
        };
        let mut map = map.clone();
        let mut problems = Vec::new();
        let name = match map.remove("type") {
            Some(Value::String(name)) => name,
            Some(_) => return Err(Problem::error("type", "must be a text").into()),
            None => return Err(Problem::error("type", "is required").into()),
        };
        let simulator = match map.remove("simulator") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => {
                problems.push(Problem::error("simulator", "must be a text"));
                None
            }
        };
        let timing = Timing::take(&mut map, patterns, &mut problems);
        let Some((kind, targets)) = kinds.iter().find(|(kind, _)| kind.name == name) else {
            problems.insert(0, unknown(&name, kinds));
            return Err(Problems::of(problems));
        };
        let action = match (kind.read)(map) {
            Ok(action) => action,
            Err(wrong) => {
                problems.extend(wrong.into_vec());
                return Err(Problems::of(problems));
            }
        };
        Problems::none_of(problems)?;
        Ok(Self {
            simulator,
            timing,
            kind: kind.name,
            targets: targets.clone(),
            action,
        })
    }

    /// The name of what it does, as authors write it.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The types of simulator that can carry it out.
    pub fn targets(&self) -> &[SimulatorType] {
        &self.targets
    }

    /// What it does, if that is an `A`.
    pub fn action<A: Action>(&self) -> Option<&A> {
        let action: &dyn Any = &*self.action;
        action.downcast_ref()
    }
}

impl Timing {
    /// Takes the members that say when a step happens out of it, and notes what is wrong with them.
    fn take(
        map: &mut Map<String, Value>,
        patterns: Option<ReadPattern>,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let after = map.remove("after").filter(|value| !value.is_null());
        let when = map.remove("when").filter(|value| !value.is_null());
        let times = map.remove("times").filter(|value| !value.is_null());
        if times.is_some() && when.is_none() {
            problems.push(Problem::error("times", "is about 'when', which is missing"));
            return None;
        }
        if after.is_none() && when.is_none() {
            return None;
        }
        let after =
            after.and_then(|value| read_wait(&value).map_err(|bad| problems.push(bad)).ok());
        let times = times.map_or(Some(1), |value| {
            let times = value.as_u64();
            let times = times.filter(|times| (1..=MOST_TIMES).contains(times));
            let times = times.and_then(|times| u32::try_from(times).ok());
            if times.is_none() {
                let message = format!("must be a whole number from 1 to {MOST_TIMES}");
                problems.push(Problem::error("times", message));
            }
            times
        });
        let when = when.and_then(|value| match patterns.map(|read| read(&value)) {
            Some(Ok(pattern)) => Some(pattern),
            Some(Err(wrong)) => {
                let wrong = wrong.into_vec().into_iter();
                problems.extend(wrong.map(|problem| problem.below("when")));
                None
            }
            None => {
                let message = "steps cannot wait for events on this server";
                problems.push(Problem::error("when", message));
                None
            }
        });
        Some(Self {
            after: after.unwrap_or_default(),
            when,
            times: times.unwrap_or(1),
        })
    }
}

/// How long a step waits: a text such as `120s`, or a number of seconds.
pub fn read_wait(value: &Value) -> Result<Duration, Problem> {
    let read = match value {
        Value::String(text) => parse_span(text),
        Value::Number(_) => value.as_u64().map(Duration::from_secs),
        _ => None,
    };
    let longest = Duration::from_secs(LONGEST_WAIT_DAYS * 86_400);
    match read {
        Some(wait) if wait <= longest => Ok(wait),
        Some(_) => {
            let message = format!("must be at most {LONGEST_WAIT_DAYS} days");
            Err(Problem::error("after", message))
        }
        None => Err(Problem::error(
            "after",
            "must be a length of time, such as 120s, 2h or PT2H30M",
        )),
    }
}

/// Names all steps there are.
fn unknown(name: &str, kinds: &[(&'static StepKind, Vec<SimulatorType>)]) -> Problem {
    let names: Vec<&str> = kinds.iter().map(|(kind, _)| kind.name).collect();
    let all = match names.as_slice() {
        [] => "there are none".to_owned(),
        [one] => format!("the only step is {one}"),
        [first @ .., last] => format!("the steps are {} and {last}", first.join(", ")),
    };
    Problem::error("type", format!("'{name}' is no step; {all}"))
}

/// The members of a step while they are read: everything that is wrong with them is told at once.
pub struct StepFields {
    problems: Vec<Problem>,
}

impl StepFields {
    /// Reads members into a type whose members may all be missing. What has not its shape is noted, and missing in what is returned.
    pub fn read<T: DeserializeOwned + Default>(map: Map<String, Value>) -> (T, Self) {
        let (read, found) = ConfigProblems::read(&Value::Object(map));
        let problems = found.into_vec().into_iter().map(without_root).collect();
        (read, Self { problems })
    }

    /// A member that must be there.
    pub fn required<T>(&mut self, name: &str, value: Option<T>) -> Option<T> {
        // What is there and has not its shape is noted already.
        let is_told = self.problems.iter().any(|problem| {
            let first = problem.path.split('.').next();
            first == Some(name)
        });
        if value.is_none() && !is_told {
            self.refuse(name, "is required");
        }
        value
    }

    /// Notes what is wrong with a member.
    pub fn refuse(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(Problem::error(path, message));
    }

    /// The action, if nothing is wrong.
    pub fn finish<A: Action>(self, action: Option<A>) -> Result<Arc<dyn Action>, Problems> {
        Problems::none_of(self.problems)?;
        match action {
            Some(action) => Ok(Arc::new(action)),
            None => Err(Problem::error("", "is not complete").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Telegram {
        text: Option<String>,
    }

    static TELEGRAM: StepKind = StepKind {
        name: "telegram",
        read: |map| {
            let (telegram, mut fields) = StepFields::read::<Telegram>(map);
            fields.required("text", telegram.text.as_ref());
            fields.finish(Some(telegram))
        },
        schema: || json!({"type": "object"}),
        listed: 0,
    };

    #[derive(Debug)]
    struct OfKind(String);

    impl EventPattern for OfKind {
        fn matches(&self, event: &RecordedEvent) -> bool {
            event.kind == self.0
        }
    }

    #[test]
    fn a_step_may_come_later() {
        let at_once = read(&json!({"type": "telegram", "text": "Stop"})).unwrap();
        assert!(at_once.timing.is_none());
        let later =
            json!({"type": "telegram", "text": "Stop", "after": "2m", "when": "fax", "times": 3});
        let timing = read(&later).unwrap().timing.unwrap();
        assert_eq!((timing.after, timing.times), (Duration::from_secs(120), 3));
        assert!(timing.when.is_some());
        let told = |timing: Value| {
            let mut step = json!({"type": "telegram", "text": "Stop"});
            let members = timing.as_object().unwrap().clone();
            step.as_object_mut().unwrap().extend(members);
            read(&step).unwrap_err().to_string()
        };
        assert!(told(json!({"after": "soon"})).starts_with("after: must be a length of time"));
        assert_eq!(
            told(json!({"after": "400d"})),
            "after: must be at most 366 days"
        );
        assert_eq!(
            told(json!({"times": 2, "after": "1s"})),
            "times: is about 'when', which is missing"
        );
        assert_eq!(
            told(json!({"times": 0, "when": "fax"})),
            "times: must be a whole number from 1 to 1000"
        );
        assert_eq!(told(json!({"when": 5})), "when.kind: must be a text");
    }

    fn read(value: &Value) -> Result<Step, Problems> {
        Step::read(
            value,
            &[(&TELEGRAM, vec![SimulatorType::named("Telegraph")])],
            Some(|pattern| match pattern.as_str() {
                Some(kind) => Ok(Arc::new(OfKind(kind.to_owned()))),
                None => Err(Problem::error("kind", "must be a text").into()),
            }),
        )
    }

    #[test]
    fn a_step_has_the_action_of_whoever_declares_it() {
        let step = read(&json!({"type": "telegram", "text": "Stop", "simulator": "Post"})).unwrap();
        assert_eq!(step.kind(), "telegram");
        assert_eq!(step.targets(), [SimulatorType::named("Telegraph")]);
        assert_eq!(step.simulator.as_deref(), Some("Post"));
        let text = Some("Stop".to_owned());
        assert_eq!(step.action(), Some(&Telegram { text }));
        assert_eq!(step.action::<String>(), None);
    }

    #[test]
    fn what_is_wrong_is_said_by_field() {
        let told = |value| read(&value).unwrap_err().to_string();
        assert_eq!(told(json!(5)), "a step is an object with a 'type'");
        assert_eq!(told(json!({})), "type: is required");
        assert_eq!(told(json!({"type": 5})), "type: must be a text");
        assert_eq!(
            told(json!({"type": "smoke_signal"})),
            "type: 'smoke_signal' is no step; the only step is telegram"
        );
        assert_eq!(told(json!({"type": "telegram"})), "text: is required");
        assert!(told(json!({"type": "telegram", "text": 5})).starts_with("text: must be a text"));
        assert!(
            told(json!({"type": "telegram", "text": "x", "txt": "y"}))
                .contains("'txt' is none of text")
        );
    }
}
