//! The search of an assertion: what the author wrote, and what it asks the store.

use std::sync::{Arc, LazyLock};

use proctor_core::time::Timestamp;
use proctor_fhir_store::{
    Base, Seed, Settings, State,
    kind::ResourceKind,
    outcome::{IssueCode, Refusal},
    search::Hits,
};
use serde_json::Value;

use crate::{
    reader::{AssertionNode as _, Node},
    template::{Failed, Scope, Template, scalar_text},
};

/// The most resources that an assertion looks at.
pub(crate) const SEARCHED_MOST: usize = 1_000;

/// What would change which resources are shown instead of which match.
const FOR_PAGES: [&str; 12] = [
    "_count",
    "_elements",
    "_format",
    "_include",
    "_page_token",
    "_pretty",
    "_revinclude",
    "_summary",
    "_total",
    "_type",
    "_contained",
    "_containedType",
];

/// A search, perhaps with templates.
#[derive(Debug)]
pub(crate) struct Search {
    kind: ResourceKind,
    parameters: Vec<(String, Template)>,
}

/// A search with its templates filled.
pub(crate) struct Asked<'a> {
    pub(crate) kind: ResourceKind,
    pub(crate) parameters: Vec<(&'a str, String)>,
    now: Timestamp,
}

impl Search {
    /// Reads `{name: value, …}`; a list of values must all match.
    pub(crate) fn read(kind: Option<ResourceKind>, node: Option<Node<'_>>) -> Option<Self> {
        let mut parameters = Vec::new();
        let mut all_read = true;
        if let Some(node) = node {
            for (name, value) in node.object()?.members() {
                let values = match value.value() {
                    Value::Array(_) => value.list()?,
                    _ => vec![value],
                };
                for value in values {
                    match read_value(kind, name, &value) {
                        Some(template) => parameters.push((name.to_owned(), template)),
                        None => all_read = false,
                    }
                }
            }
        }
        let kind = kind.filter(|_| all_read)?;
        Some(Self { kind, parameters })
    }

    /// Fills the templates. A comma in a filled value is part of the value, not an "or".
    pub(crate) fn bind(&self, scope: &Scope<'_>) -> Result<Asked<'_>, Failed> {
        let parameters = self.parameters.iter().map(|(name, template)| {
            let value = template.text(scope, escape_filled);
            match value {
                Ok(value) => Ok((name.as_str(), value.into_owned())),
                Err(Failed(why)) => Err(Failed(format!("{name}: {why}"))),
            }
        });
        Ok(Asked {
            kind: self.kind,
            parameters: parameters.collect::<Result<_, _>>()?,
            now: scope.context.now,
        })
    }
}

fn read_value(kind: Option<ResourceKind>, name: &str, node: &Node<'_>) -> Option<Template> {
    let template = match node.value() {
        Value::Number(_) | Value::Bool(_) => {
            let text = scalar_text(node.value()).unwrap_or_default();
            Template::parse(&text).ok()
        }
        _ => node.template(),
    }?;
    let bare = name.split(':').next().unwrap_or_default();
    if FOR_PAGES.contains(&bare) {
        node.refuse("is about pages, not about which resources match: leave it out");
        return None;
    }
    if let Some(doubt) = kind.and_then(|kind| doubt(kind, name, &template)) {
        node.doubt(doubt);
    }
    Some(template)
}

/// What the store will say to a parameter that it does not understand. Where the value is not known
/// yet, only the name is looked at.
fn doubt(kind: ResourceKind, name: &str, template: &Template) -> Option<String> {
    static EMPTY: LazyLock<State> = LazyLock::new(|| {
        let settings = Settings::at("http://fhir.invalid");
        State::branch(Base::empty(), Arc::new(settings), Seed::from_number(0))
    });
    let value = template.fixed().unwrap_or("1");
    let criteria = [(name.to_owned(), value.to_owned())];
    let refusal = EMPTY
        .search_strictly(kind, &criteria, Timestamp::from_millis(0))
        .err()?;
    let is_about_name = refusal
        .issues
        .iter()
        .any(|issue| issue.code == IssueCode::NotSupported);
    (template.fixed().is_some() || is_about_name).then(|| in_words(&refusal))
}

fn in_words(refusal: &Refusal) -> String {
    let said: Vec<&str> = refusal
        .issues
        .iter()
        .map(|issue| issue.diagnostics.as_str())
        .collect();
    said.join("; ")
}

/// Escapes what would part a value in two; the `|` of `system|code` keeps its meaning.
fn escape_filled(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, ',' | '$' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

impl Asked<'_> {
    /// Searches; at most `count` resources come back, and the total of all.
    pub(crate) fn run(&self, store: &State, count: usize) -> Result<Hits, Failed> {
        self.run_without(None, store, count)
    }

    /// Searches without the parameter at `left_out`.
    pub(crate) fn run_without(
        &self,
        left_out: Option<usize>,
        store: &State,
        count: usize,
    ) -> Result<Hits, Failed> {
        let parameters = self.parameters.iter().enumerate();
        let mut criteria: Vec<(String, String)> = parameters
            .filter(|(place, _)| Some(*place) != left_out)
            .map(|(_, (name, value))| ((*name).to_owned(), value.clone()))
            .collect();
        criteria.push(("_count".to_owned(), count.to_string()));
        let answer = store.search_strictly(self.kind, &criteria, self.now);
        answer.map_err(|refusal| {
            Failed(format!(
                "the search for {} cannot be carried out: {}",
                self.in_words(),
                in_words(&refusal)
            ))
        })
    }

    /// What is searched for: `Appointment for Patient/ada with status booked`.
    pub(crate) fn in_words(&self) -> String {
        let mut said = self.kind.name().to_owned();
        let is_whose = |name: &str| matches!(name, "patient" | "subject");
        for (_, value) in self.narrowing().filter(|(name, _)| is_whose(name)) {
            said.push_str(&format!(" for {value}"));
        }
        let others = self.narrowing().filter(|(name, _)| !is_whose(name));
        let others: Vec<String> = others
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if !others.is_empty() {
            said.push_str(" with ");
            said.push_str(&others.join(" and "));
        }
        said
    }

    /// The parameters that narrow the search.
    pub(crate) fn narrowing(&self) -> impl Iterator<Item = (&str, &str)> {
        let parameters = self.parameters.iter();
        parameters
            .filter(|(name, _)| *name != "_sort")
            .map(|(name, value)| (*name, value.as_str()))
    }
}

impl<'a> Asked<'a> {
    /// The search for everything of a kind, at the same time.
    pub(crate) fn everything(kind: ResourceKind, like: &Asked<'a>) -> Self {
        Self {
            kind,
            parameters: Vec::new(),
            now: like.now,
        }
    }
}
