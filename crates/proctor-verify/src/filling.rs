//! Templates and paths outside of assertions, by the same rules.

use proctor_core::environment::Entity;
use serde_json::Value;

use crate::{
    json_path::JsonPath,
    template::{Captured, Context, Failed, Reference, Scope, Template},
    text_judge::JudgeAnswers,
};

/// The text with its templates filled from entities and the task run; a text that is one template
/// becomes the value itself.
pub fn fill(text: &str, entities: &[Entity], context: &Context) -> Result<Value, String> {
    let scope = Scope {
        entities,
        input: None,
        context,
        captured: &Captured::new(),
        answers: &JudgeAnswers::default(),
    };
    let template = Template::parse(text)?;
    template.value(&scope).map_err(|Failed(why)| why)
}

/// Why the templates of a text cannot be filled from these entities; `is_known` names keys whose
/// values come later.
pub fn unresolved(
    text: &str,
    entities: &[Entity],
    is_known: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let template = Template::parse(text)?;
    for reference in template.references() {
        if let Reference::Entity(key, _) = reference
            && is_known(key)
        {
            continue;
        }
        reference
            .of_entity(entities, None)
            .map_err(|why| format!("{reference} does not resolve: {why}"))?;
    }
    Ok(())
}

/// What a JSON path leads to: one value, or with `*` the first of several.
pub fn pick<'v>(root: &'v Value, path: &str) -> Result<Option<&'v Value>, String> {
    Ok(JsonPath::parse(path)?.all(root).into_iter().next())
}

#[cfg(test)]
mod tests {
    use proctor_core::{
        id::kinds::{EntityId, TaskRunId},
        time::Timestamp,
    };
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn entities() -> Vec<Entity> {
        vec![Entity {
            id: EntityId::from_uuid(Uuid::from_u128(1)),
            kind: "Patient".to_owned(),
            key: "ada".to_owned(),
            data: json!({"mrn": 12345}),
        }]
    }

    #[test]
    fn texts_are_filled_by_the_rules_of_assertions() {
        let context = Context {
            task_run: TaskRunId::from_uuid(Uuid::from_u128(1)),
            started_at: Timestamp::from_millis(0),
            now: Timestamp::from_millis(0),
        };
        let fill = |text| fill(text, &entities(), &context);
        assert_eq!(fill("{{ada.mrn}}"), Ok(json!(12345)));
        assert_eq!(fill("MRN {{ada.mrn}}"), Ok(json!("MRN 12345")));
        assert!(fill("{{bob.mrn}}").is_err());
    }

    #[test]
    fn what_comes_later_needs_no_value_yet() {
        let unresolved = |text| unresolved(text, &entities(), |key| key == "order_id");
        assert_eq!(unresolved("{{ada.mrn}} {{order_id}}"), Ok(()));
        assert!(unresolved("{{ada.name}}").is_err());
        assert!(unresolved("{{bob}}").is_err());
    }

    #[test]
    fn a_path_picks_one_value() {
        let answer = json!({"entry": [{"id": 1}, {"id": 2}]});
        assert_eq!(pick(&answer, "entry.1.id"), Ok(Some(&json!(2))));
        assert_eq!(pick(&answer, "entry.*.id"), Ok(Some(&json!(1))));
        assert_eq!(pick(&answer, "entry.9.id"), Ok(None));
        assert!(pick(&answer, "").is_err());
    }
}
