//! Texts with holes: `{{entity.name.family}}`, `{{patient.mrn}}`, `{{task_run.started_at}}`.
//!
//! A hole names a value of one of the task's entities (`entity` is the criterion's own) or of the task
//! run. A text that is nothing but one hole takes the value as it is, number or text; in a longer text
//! the value is written out. `\{{` stands for two braces.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use proctor_core::{environment::Entity, id::kinds::TaskRunId, time::Timestamp};
use serde_json::Value;

use crate::{json_path::JsonPath, text_judge::JudgeAnswers};

/// What is known about the task run that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Which task run.
    pub task_run: TaskRunId,
    /// When the agent got it.
    pub started_at: Timestamp,
    /// When its world was frozen: what searches mean by now.
    pub now: Timestamp,
}

/// What holes are filled from.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// What the task is about.
    pub entities: &'a [Entity],
    /// What the criterion means by `entity`.
    pub input: Option<&'a Entity>,
    /// The task run.
    pub context: &'a Context,
    /// What the task captures from the world.
    pub(crate) captured: &'a Captured,
    /// What judges of free text answered.
    pub(crate) answers: &'a JudgeAnswers,
}

/// What a task captures, by name: the value, or why there is none.
pub(crate) type Captured = BTreeMap<String, Result<Value, String>>;

/// What templates call the values that a task captures.
pub(crate) const CAPTURED: &str = "captured";

/// Why a check could not look: the finding in words, score 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed(pub String);

/// A text that may have holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(Reference),
}

/// What a hole names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// A value of the task run.
    TaskRun(TaskRunValue),
    /// A value of the criterion's own entity.
    Input(Option<JsonPath>),
    /// A value of the entity with this key.
    Entity(String, Option<JsonPath>),
}

/// A value of the task run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskRunValue {
    /// Its id.
    Id,
    /// When it was started.
    StartedAt,
}

impl Template {
    /// Reads a text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(place) = rest.find("{{") {
            if let Some(before) = rest[..place].strip_suffix('\\') {
                plain.push_str(before);
                plain.push_str("{{");
                rest = &rest[place + 2..];
                continue;
            }
            plain.push_str(&rest[..place]);
            let (inside, after) = rest[place + 2..].split_once("}}").ok_or_else(|| {
                "a template that begins with {{ must end with }}; \\{{ stands for two braces"
                    .to_owned()
            })?;
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Hole(Reference::parse(inside.trim())?));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { pieces })
    }

    /// The text, when it has no holes.
    pub fn fixed(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// What its holes name.
    pub(crate) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Hole(reference) => Some(reference),
        })
    }

    /// The text with its holes filled, each through `escape`.
    pub fn text(
        &self,
        scope: &Scope<'_>,
        escape: impl Fn(&str) -> String,
    ) -> Result<Cow<'_, str>, Failed> {
        if let Some(text) = self.fixed() {
            return Ok(Cow::Borrowed(text));
        }
        let mut filled = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Hole(reference) => {
                    let value = reference.resolve(scope)?;
                    let text = scalar_text(&value);
                    let text = text.ok_or_else(|| reference.failed("it is null, no text"))?;
                    filled.push_str(&escape(&text));
                }
            }
        }
        Ok(Cow::Owned(filled))
    }

    /// The value: of a text that is one hole, what the hole names; else the filled text.
    pub fn value(&self, scope: &Scope<'_>) -> Result<Value, Failed> {
        match self.pieces.as_slice() {
            [Piece::Hole(reference)] => Ok(reference.resolve(scope)?.into_owned()),
            _ => Ok(self.text(scope, str::to_owned)?.into_owned().into()),
        }
    }
}

/// A scalar as text; none for null and for what has parts.
pub(crate) fn scalar_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Borrowed(number.as_str())),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Reference {
    fn parse(inside: &str) -> Result<Self, String> {
        let (name, path) = match inside.split_once('.') {
            Some((name, path)) => (name, Some(path)),
            None => (inside, None),
        };
        let wrong = |why: &str| format!("the template {{{{{inside}}}}} {why}");
        if name.is_empty() {
            return Err(wrong(
                "names nothing; write {{entity.…}}, {{KEY.…}} or {{task_run.…}}",
            ));
        }
        if name == "task_run" {
            return match path {
                Some("id") => Ok(Self::TaskRun(TaskRunValue::Id)),
                Some("started_at") => Ok(Self::TaskRun(TaskRunValue::StartedAt)),
                _ => Err(wrong("names no value of a task run: id and started_at are")),
            };
        }
        let path = path.map(JsonPath::parse).transpose();
        let path = path.map_err(|error| wrong(&format!("has no path: {error}")))?;
        if path.as_ref().is_some_and(JsonPath::is_any) {
            return Err(wrong("must name one value, so it may not hold *"));
        }
        Ok(match name {
            "entity" => Self::Input(path),
            key => Self::Entity(key.to_owned(), path),
        })
    }

    /// The value that it names.
    pub(crate) fn resolve<'a>(&self, scope: &Scope<'a>) -> Result<Cow<'a, Value>, Failed> {
        let value = match self {
            Self::TaskRun(TaskRunValue::Id) => {
                return Ok(Cow::Owned(scope.context.task_run.to_string().into()));
            }
            Self::TaskRun(TaskRunValue::StartedAt) => {
                return Ok(Cow::Owned(scope.context.started_at.to_string().into()));
            }
            Self::Input(_) | Self::Entity(..) => match self.captured(scope.entities) {
                Some(name) => match scope.captured.get(name) {
                    Some(Ok(value)) => Ok(value),
                    Some(Err(why)) => Err(why.clone()),
                    None => Err(format!("the task captures no '{name}'")),
                },
                None => self.of_entity(scope.entities, scope.input),
            },
        };
        value.map(Cow::Borrowed).map_err(|why| self.failed(&why))
    }

    /// The name of the capture that it means, if it means one: an entity called `captured` goes first.
    pub(crate) fn captured(&self, entities: &[Entity]) -> Option<&str> {
        match self {
            Self::Entity(key, path) if key == CAPTURED => {
                let is_entity = entities.iter().any(|one| one.key == CAPTURED);
                let name = path.as_ref().map_or("", JsonPath::as_str);
                (!is_entity).then_some(name)
            }
            Self::Entity(..) | Self::Input(_) | Self::TaskRun(_) => None,
        }
    }

    /// The value of an entity that it names, or why there is none; null for values of the task run,
    /// which are not known before there is one.
    pub(crate) fn of_entity<'a>(
        &self,
        entities: &'a [Entity],
        input: Option<&'a Entity>,
    ) -> Result<&'a Value, String> {
        let (entity, path) = match self {
            Self::TaskRun(_) => return Ok(&Value::Null),
            Self::Input(path) => (
                input.ok_or("the criterion has no input entity among those of the task")?,
                path,
            ),
            Self::Entity(key, path) => (
                entities.iter().find(|one| one.key == *key).ok_or_else(|| {
                    let keys: Vec<&str> = entities.iter().map(|one| one.key.as_str()).collect();
                    if keys.is_empty() {
                        format!("the task has no entities, so there is no '{key}'")
                    } else {
                        format!("the task has no entity '{key}', only {}", keys.join(", "))
                    }
                })?,
                path,
            ),
        };
        let value = match path {
            None => &entity.data,
            Some(path) => path
                .one(&entity.data)
                .ok_or_else(|| format!("the entity '{}' has no '{path}'", entity.key))?,
        };
        if value.is_array() || value.is_object() {
            return Err("it is no single text, number or truth value".to_owned());
        }
        Ok(value)
    }

    fn failed(&self, why: &str) -> Failed {
        Failed(format!("the template {self} does not resolve: {why}"))
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, path) = match self {
            Self::TaskRun(TaskRunValue::Id) => return f.write_str("{{task_run.id}}"),
            Self::TaskRun(TaskRunValue::StartedAt) => {
                return f.write_str("{{task_run.started_at}}");
            }
            Self::Input(path) => ("entity", path),
            Self::Entity(key, path) => (key.as_str(), path),
        };
        match path {
            Some(path) => write!(f, "{{{{{name}.{path}}}}}"),
            None => write!(f, "{{{{{name}}}}}"),
        }
    }
}
