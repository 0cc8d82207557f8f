//! Paths with what is expected there: read once, bound to a task run, compared with what was found.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::{
    compare::Manner,
    expectation::{Expectation, Test, said},
    found::Found,
    reader::{AssertionNode as _, Node, Object},
    template::{Failed, Scope},
};

/// A path and what is expected there, as the author wrote it.
#[derive(Debug)]
pub(crate) struct Field<P> {
    written: String,
    path: P,
    expected: Expectation,
}

/// A path and the test of what it leads to.
pub(crate) struct Wanted<'f, P> {
    pub(crate) written: &'f str,
    pub(crate) path: &'f P,
    pub(crate) test: Cow<'f, Test>,
}

/// How one sub-assertion went.
#[derive(Clone, Debug)]
pub(crate) struct FieldResult {
    path: String,
    expected: Value,
    actual: Value,
    pub(crate) passed: bool,
    words: String,
}

/// Reads `[{path, expected}, …]`; a list that was left out is empty.
pub(crate) fn read_fields<P, E: ToString>(
    node: Option<Node<'_>>,
    parse: impl Fn(&str) -> Result<P, E>,
) -> Option<Vec<Field<P>>> {
    let Some(node) = node else {
        return Some(Vec::new());
    };
    let fields: Vec<Option<Field<P>>> = node
        .list()?
        .iter()
        .map(|item| {
            let object = item.object()?;
            let path = object.required("path");
            let read = path.and_then(|node| {
                let path = node.parsed(&parse)?;
                Some((node.text()?.to_owned(), path))
            });
            let expected = match object.member("expected") {
                Some(node) => Expectation::read(&node),
                None => {
                    item.refuse("'expected' is required and missing; null means absent");
                    None
                }
            };
            object.finish();
            let ((written, path), expected) = (read?, expected?);
            Some(Field {
                written,
                path,
                expected,
            })
        })
        .collect();
    fields.into_iter().collect()
}

/// Says of each path in `[{path, expected}, …]` why it can never lead anywhere, where `why_not` knows.
pub(crate) fn doubt_paths(node: Option<&Node<'_>>, why_not: impl Fn(&str) -> Option<String>) {
    let items = node.filter(|node| node.value().is_array());
    for item in items.and_then(Node::list).iter().flatten() {
        if !item.value().is_object() {
            continue;
        }
        let path = item.object().and_then(|object| object.optional("path"));
        let Some(path) = path.filter(|path| path.value().is_string()) else {
            continue;
        };
        if let Some(why) = path.text().and_then(&why_not) {
            path.doubt(why);
        }
    }
}

/// Reads `{path: expected, …}`.
pub(crate) fn read_correlation<P, E: ToString>(
    object: &Object<'_>,
    parse: impl Fn(&str) -> Result<P, E>,
) -> Option<Vec<Field<P>>> {
    let fields: Vec<Option<Field<P>>> = object
        .members()
        .map(|(written, node)| {
            let path = parse(written)
                .map_err(|error| node.refuse(error.to_string()))
                .ok();
            let expected = Expectation::read(&node);
            Some(Field {
                written: written.to_owned(),
                path: path?,
                expected: expected?,
            })
        })
        .collect();
    fields.into_iter().collect()
}

impl<P> Field<P> {
    /// A path with what is expected there.
    pub(crate) fn new(written: String, path: P, expected: Expectation) -> Self {
        Self {
            written,
            path,
            expected,
        }
    }

    fn bind(&self, scope: &Scope<'_>) -> Result<Wanted<'_, P>, Failed> {
        let test = self.expected.bind(scope);
        let test = test.map_err(|Failed(why)| Failed(format!("{}: {why}", self.written)))?;
        Ok(Wanted {
            written: &self.written,
            path: &self.path,
            test,
        })
    }
}

/// Fills the templates of all fields.
pub(crate) fn bind<'f, P>(
    fields: &'f [Field<P>],
    scope: &Scope<'_>,
) -> Result<Vec<Wanted<'f, P>>, Failed> {
    fields.iter().map(|field| field.bind(scope)).collect()
}

impl<P> Wanted<'_, P> {
    /// Whether what was found is what is expected.
    pub(crate) fn holds(&self, found: &Found<'_>, manner: Manner) -> bool {
        self.test.holds(&found.present(), manner)
    }

    /// Compares what was found with what is expected.
    pub(crate) fn result(&self, found: &Found<'_>, manner: Manner) -> FieldResult {
        let actual = found.shown();
        let words = format!(
            "{} is {}, expected {}",
            self.written,
            said(&actual),
            self.test.in_words()
        );
        FieldResult {
            path: self.written.to_owned(),
            expected: self.test.shown.clone(),
            passed: self.holds(found, manner),
            actual,
            words,
        }
    }

    /// The result of looking at several things, each of which must be as expected; `failing` names
    /// those that are not.
    pub(crate) fn result_of_all(&self, actual: Vec<Value>, failing: &[&str]) -> FieldResult {
        let words = failing.first().map_or_else(String::new, |first| {
            let (count, all) = (failing.len(), actual.len());
            let expected = self.test.in_words();
            format!(
                "{} is not {expected} in {count} of {all}, such as {first}",
                self.written
            )
        });
        FieldResult {
            path: self.written.to_owned(),
            expected: self.test.shown.clone(),
            actual: actual.into(),
            passed: failing.is_empty(),
            words,
        }
    }

    /// The result when there is nothing to look at.
    pub(crate) fn nowhere(&self) -> FieldResult {
        FieldResult {
            path: self.written.to_owned(),
            expected: self.test.shown.clone(),
            actual: Value::Null,
            passed: false,
            words: format!("{} cannot be read", self.written),
        }
    }

    /// What is asked for, in a sentence: `status "booked"`.
    pub(crate) fn in_words(&self) -> String {
        format!("{} {}", self.written, self.test.as_attribute())
    }
}

impl FieldResult {
    /// The result of something that is not at a path: a count, a text inside.
    pub(crate) fn of(
        path: &str,
        expected: Value,
        actual: Value,
        passed: bool,
        words: String,
    ) -> Self {
        Self {
            path: path.to_owned(),
            expected,
            actual,
            passed,
            words,
        }
    }

    /// The result as evidence shows it.
    pub(crate) fn to_value(&self) -> Value {
        json!({
            "path": self.path,
            "expected": self.expected,
            "actual": self.actual,
            "passed": self.passed,
        })
    }
}

/// Results as evidence shows them.
pub(crate) fn to_list(results: &[FieldResult]) -> Value {
    results.iter().map(FieldResult::to_value).collect()
}

/// How many of them passed.
pub(crate) fn held(results: &[FieldResult]) -> usize {
    results.iter().filter(|result| result.passed).count()
}

/// The results of looking at `subject`, in words.
pub(crate) fn in_words(subject: &str, results: &[FieldResult]) -> String {
    const MOST: usize = 5;
    let failed: Vec<&str> = results
        .iter()
        .filter(|result| !result.passed)
        .map(|result| result.words.as_str())
        .collect();
    match (failed.len(), results.len()) {
        (0, 0) => format!("{subject} is there"),
        (0, 1) => format!("{subject} is as expected"),
        (0, all) => format!("{subject} is as expected in all {all} points"),
        (wrong, all) => {
            let mut said = failed[..wrong.min(MOST)].join("; ");
            if wrong > MOST {
                said.push_str(&format!("; and {} more", wrong - MOST));
            }
            if all == 1 {
                format!("{subject}: {said}")
            } else {
                format!("{subject}: {wrong} of {all} points are not as expected: {said}")
            }
        }
    }
}
