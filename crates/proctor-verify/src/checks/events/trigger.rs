//! The same patterns as what a step of a scenario waits for.

use std::{collections::BTreeMap, sync::Arc};

use proctor_core::{
    id::kinds::TaskRunId,
    problem::{Problem, Problems},
};
use proctor_simulation::{record::RecordedEvent, scenario::EventPattern};
use serde_json::Value;
use uuid::Uuid;

use super::pattern::Pattern;
use crate::{
    reader::{Node, Notes},
    template::{Captured, Context, Scope},
    text_judge::JudgeAnswers,
};

/// A pattern that a step of a scenario waits for.
#[derive(Debug)]
struct Trigger(Pattern);

impl EventPattern for Trigger {
    fn matches(&self, event: &RecordedEvent) -> bool {
        // Nothing of it is a template, so it always binds.
        let context = Context {
            task_run: TaskRunId::from_uuid(Uuid::nil()),
            started_at: event.at,
            now: event.at,
        };
        let (captured, answers): (Captured, _) = (BTreeMap::new(), JudgeAnswers::default());
        let scope = Scope {
            entities: &[],
            input: None,
            context: &context,
            captured: &captured,
            answers: &answers,
        };
        let bound = self.0.bind(&scope);
        bound.is_ok_and(|bound| bound.is_like(event))
    }
}

/// Reads what a step of a scenario waits for: a pattern as the check `events` has it, without templates.
pub fn read_pattern(value: &Value) -> Result<Arc<dyn EventPattern>, Problems> {
    let notes = Notes::default();
    let node = Node::root(value, &notes);
    let pattern = Pattern::read(&node);
    let mut problems = notes.problems();
    problems.extend(notes.extra().doubts());
    let references = notes.extra().references();
    problems.extend(references.into_iter().map(|(path, reference)| {
        let message = format!("{reference} means nothing here: scenarios have no templates");
        Problem::error(path, message)
    }));
    if value.get("foreign_charts").is_some() {
        let message = "only a check can say whose charts these are";
        problems.push(Problem::error("foreign_charts", message));
    }
    if value.as_object().is_some_and(serde_json::Map::is_empty) {
        problems.push(Problem::error("", "matches every event: say which one"));
    }
    Problems::none_of(problems)?;
    match pattern {
        Some(pattern) => Ok(Arc::new(Trigger(pattern))),
        None => Err(Problem::error("", "is no pattern of events").into()),
    }
}

#[cfg(test)]
mod tests {
    use proctor_core::{environment::SimulatorType, id::kinds::EventId, time::Timestamp};
    use proctor_simulation::record::Actor;
    use serde_json::json;

    use super::*;

    fn order(text: &str) -> RecordedEvent {
        RecordedEvent {
            id: EventId::from_uuid(Uuid::nil()),
            simulator: SimulatorType::named("Hl7"),
            name: "Interface".to_owned(),
            kind: "hl7_outbound".to_owned(),
            direction: "outbound".to_owned(),
            payload: json!({"method": "POST", "path": "hl7/outbound", "status": 200, "message": text}),
            at: Timestamp::from_millis(0),
            actor: Actor::Agent,
        }
    }

    #[test]
    fn a_pattern_knows_the_operators_of_checks() {
        let pattern = json!({"protocol": "hl7", "method": "POST", "status": 200, "fields": {"message": {"$regex": "ORM"}}});
        let pattern = read_pattern(&pattern).unwrap();
        assert!(pattern.matches(&order("MSH|ORM^O01")));
        assert!(!pattern.matches(&order("MSH|ADT^A08")));
    }

    #[test]
    fn everything_wrong_with_a_pattern_is_named() {
        let told = |value: Value| read_pattern(&value).unwrap_err().to_string();
        assert!(told(json!({"protocl": "hl7", "status": {"$nope": 1}})).contains("protocl"));
        assert!(told(json!({"path": "fhir/{{ada.id}}"})).contains("no templates"));
        assert!(told(json!({"foreign_charts": {"about": ["ada"]}})).contains("foreign_charts"));
        assert!(told(json!({})).contains("matches every event"));
        assert!(!told(json!(5)).is_empty());
    }
}
