//! What a browser sends: the fields of a form.

use serde_json::Value;

/// The fields of a form, in order.
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    pub(super) fn read(body: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(body);
        Self(
            pairs
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// The first value of a field, without white space around it; empty when it is absent.
    pub(super) fn get(&self, name: &str) -> &str {
        let first = self.0.iter().find(|(field, _)| field == name);
        first.map_or("", |(_, value)| value.trim())
    }

    /// A text area with the line ends that people mean.
    pub(super) fn lines(&self, name: &str) -> String {
        self.get(name).replace("\r\n", "\n")
    }

    /// A field as the intake takes it: null when nothing was entered.
    pub(super) fn value(&self, name: &str) -> Value {
        match self.get(name) {
            "" => Value::Null,
            text => text.into(),
        }
    }
}

/// What is wrong with a form, for people.
#[derive(Default)]
pub(super) struct Shortcomings(Vec<Shortcoming>);

struct Shortcoming {
    field: String,
    label: String,
    problem: String,
}

impl Shortcomings {
    pub(super) fn add(&mut self, field: &str, label: &str, problem: impl Into<String>) {
        self.0.push(Shortcoming {
            field: field.to_owned(),
            label: label.to_owned(),
            problem: problem.into(),
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is wrong with a field; empty when nothing is.
    pub(super) fn of(&self, field: &str) -> &str {
        let first = self.0.iter().find(|one| one.field == field);
        first.map_or("", |one| &one.problem)
    }

    /// Everything that is wrong, by label.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.0.iter();
        all.map(|one| (one.label.as_str(), one.problem.as_str()))
    }
}
