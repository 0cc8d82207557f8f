//! What happens in a playground before the agent comes: the steps of a task's scenario.
//!
//! A simulator declares the steps that it carries out as [`StepKind`]s, each with an action of a type
//! of its own. Reading a step checks its shape; whether it can happen is known to the simulator that
//! carries it out. All steps of a scenario happen, or none does.

use std::{any::Any, fmt, sync::Arc};

use proctor_core::{environment::SimulatorType, problem::Problem};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::config::read_value;

/// One step of a scenario.
#[derive(Clone, Debug)]
pub struct Step {
    /// The simulator it is for, by name, where the environment has more than one of the type.
    pub simulator: Option<String>,
    kind: &'static str,
    targets: Vec<SimulatorType>,
    action: Arc<dyn Action>,
}

/// What a step does, as the simulator that declares the step understands it.
pub trait Action: Any + fmt::Debug + Send + Sync {}

impl<T: Any + fmt::Debug + Send + Sync> Action for T {}

/// Makes an action of the members of a step.
pub type ReadAction = fn(Map<String, Value>) -> Result<Arc<dyn Action>, Problem>;

/// A kind of step: what authors write as its `type`, and how the rest of it is read.
pub struct StepKind {
    /// The name, as authors write it.
    pub name: &'static str,
    /// Reads the members of the step but for `type` and `simulator`.
    pub read: ReadAction,
    /// Its place where authors are told of all steps: those with a lower number come first.
    pub listed: u32,
}

impl Step {
    /// Reads a step: an object whose `type` names one of `kinds`, which come with the types of
    /// simulator that carry them out.
    pub fn read(
        value: &Value,
        kinds: &[(&'static StepKind, Vec<SimulatorType>)],
    ) -> Result<Self, Problem> {
        let Value::Object(map) = value else {
            return Err(Problem::error("", "a step is an object with a 'type'"));
        };
        let mut map = map.clone();
        let name = match map.remove("type") {
            Some(Value::String(name)) => name,
            Some(_) => return Err(Problem::error("type", "must be a text")),
            None => return Err(Problem::error("type", "is required")),
        };
        let simulator = match map.remove("simulator") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => return Err(Problem::error("simulator", "must be a text")),
        };
        let Some((kind, targets)) = kinds.iter().find(|(kind, _)| kind.name == name) else {
            return Err(unknown(&name, kinds));
        };
        Ok(Self {
            simulator,
            kind: kind.name,
            targets: targets.clone(),
            action: (kind.read)(map)?,
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

/// Reads the members of a step into a type whose members may all be missing.
pub fn read_fields<T: DeserializeOwned>(map: Map<String, Value>) -> Result<T, Problem> {
    read_value(&Value::Object(map))
}

/// A member that must be there.
pub fn required<T>(name: &str, value: Option<T>) -> Result<T, Problem> {
    value.ok_or_else(|| Problem::error(name, "is required"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Telegram {
        text: Option<String>,
    }

    static TELEGRAM: StepKind = StepKind {
        name: "telegram",
        read: |map| {
            let telegram: Telegram = read_fields(map)?;
            required("text", telegram.text.as_ref())?;
            Ok(Arc::new(telegram))
        },
        listed: 0,
    };

    fn read(value: &Value) -> Result<Step, Problem> {
        Step::read(
            value,
            &[(&TELEGRAM, vec![SimulatorType::named("Telegraph")])],
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
