//! What is taken out of an export: values of entities that their author marked secret, and the credentials of the run's worlds.

use std::{collections::BTreeSet, sync::Arc};

use proctor_core::environment::Entity;
use proctor_playground::environment::Blueprint;
use serde_json::Value;

use crate::{html, run_model::RunModel, state::WebState};

/// What stands instead.
const REDACTED: &str = "[redacted]";
/// Shorter values are in too much other text.
const SHORTEST: usize = 3;

/// The values that are taken out, the longest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Redaction {
    values: Vec<String>,
    pub(super) is_on: bool,
}

impl Redaction {
    /// Nothing is taken out.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// What is taken out of a run.
    pub(super) fn of(state: &WebState, model: &RunModel) -> Self {
        let mut values = BTreeSet::new();
        let mut known: Vec<&Arc<Blueprint>> = Vec::new();
        for task in &model.prepared.benchmark.tasks {
            task.entities
                .iter()
                .for_each(|entity| secrets_of(entity, &mut values));
            let prepared = model.prepared.task(task.id);
            let playground = prepared.ok().and_then(|(_, task)| task.playground.as_ref());
            let blueprint = playground.map(|playground| &playground.blueprint);
            // Tasks mostly share one.
            let is_known =
                |blueprint: &&Arc<Blueprint>| known.iter().any(|one| Arc::ptr_eq(one, blueprint));
            if let Some(blueprint) = blueprint.filter(|one| !is_known(one)) {
                known.push(blueprint);
                let run = model.run.id;
                let credentials = state.engine().run_credentials(run, blueprint, "");
                credentials
                    .iter()
                    .for_each(|one| credentials_of(one, &mut values));
            }
        }
        Self::values(values)
    }

    fn values(values: BTreeSet<String>) -> Self {
        let mut values: Vec<String> = values.into_iter().collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self {
            values,
            is_on: true,
        }
    }

    /// A text without them.
    pub(super) fn text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for value in &self.values {
            if out.contains(value.as_str()) {
                out = out.replace(value.as_str(), REDACTED);
            }
        }
        out
    }

    /// A drawn page without them: as text of a page is written, and as JSON on a page is.
    pub(super) fn page(&self, mut page: String) -> String {
        for value in &self.values {
            let json = Value::from(value.as_str()).to_string();
            let json = json.trim_matches('"');
            for written in [html::text(value).to_string(), html::text(json).to_string()] {
                if page.contains(&written) {
                    page = page.replace(&written, REDACTED);
                }
            }
        }
        page
    }

    /// Takes them out of a document.
    pub(super) fn value(&self, value: &mut Value) {
        if self.values.is_empty() {
            return;
        }
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Number(number) if self.values.contains(&number.to_string()) => {
                *value = Value::from(REDACTED);
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.value(member)),
            _ => {}
        }
    }
}

/// What an author marked: an entity of the kind `secret`, one whose data says `"secret": true`, or members named in `"secret": […]`.
fn secrets_of(entity: &Entity, values: &mut BTreeSet<String>) {
    let mark = &entity.data["secret"];
    if entity.kind.eq_ignore_ascii_case("secret") || mark == &Value::Bool(true) {
        leaves(&entity.data, values);
    }
    for name in mark.as_array().into_iter().flatten() {
        if let Some(name) = name.as_str() {
            leaves(&entity.data[name], values);
        }
    }
}

fn credentials_of(value: &Value, values: &mut BTreeSet<String>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        let is_secret = ["secret", "password", "token"]
            .iter()
            .any(|word| name.contains(word) && !name.ends_with("_url"));
        match is_secret {
            true => leaves(member, values),
            false => credentials_of(member, values),
        }
    }
}

fn leaves(value: &Value, values: &mut BTreeSet<String>) {
    let mut add = |text: String| {
        if text.chars().count() >= SHORTEST {
            values.insert(text);
        }
    };
    match value {
        Value::String(text) => add(text.clone()),
        Value::Number(number) => add(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, values)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, values)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proctor_core::id::kinds::EntityId;
    use serde_json::json;

    use super::*;

    fn entity(kind: &str, data: Value) -> Entity {
        Entity {
            id: EntityId::from_uuid(uuid::Uuid::nil()),
            kind: kind.to_owned(),
            key: "k".to_owned(),
            data,
        }
    }

    #[test]
    fn what_is_marked_secret_is_taken_out_of_texts_documents_and_pages() {
        let mut values = BTreeSet::new();
        secrets_of(
            &entity(
                "patient",
                json!({"name": "Ada", "ssn": "123-45-6789", "secret": ["ssn"]}),
            ),
            &mut values,
        );
        secrets_of(&entity("secret", json!({"pin": 98765})), &mut values);
        secrets_of(
            &entity(
                "person",
                json!({"word": "a<b\"c", "secret": true, "x": "no"}),
            ),
            &mut values,
        );
        secrets_of(&entity("patient", json!({"name": "Bob"})), &mut values);
        credentials_of(
            &json!({"client_secret": "s3cr3t", "token_url": "http://x", "nested": {"password": "hunter2"}}),
            &mut values,
        );
        let redaction = Redaction::values(values);
        assert_eq!(
            redaction.text("Ada 123-45-6789 hunter2 98765 Bob"),
            "Ada [redacted] [redacted] [redacted] Bob"
        );
        let mut document = json!({"a": ["123-45-6789"], "n": 98765, "kept": "http://x"});
        redaction.value(&mut document);
        assert_eq!(
            document,
            json!({"a": ["[redacted]"], "n": "[redacted]", "kept": "http://x"})
        );
        let page = redaction.page(format!(
            "<p>{}</p><pre>{}</pre>",
            html::text("a<b\"c"),
            html::json(&json!({"w": "a<b\"c"}))
        ));
        assert!(!page.contains("a&lt;b"), "{page}");
    }
}
