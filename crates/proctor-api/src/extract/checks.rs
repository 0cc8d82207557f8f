//! Rules for single values that report every wrong field at once.

use std::{collections::BTreeMap, ops::RangeInclusive};

use proctor_core::problem::{Problem, Problems};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{error::ApiError, extract::shortened};

/// How deep a document of a client may be nested. What it is put into adds a few levels, and at 128
/// reading gives up.
const DEEPEST: usize = 100;

/// Collects what is wrong with a request while its fields are turned into domain values.
///
/// A method that finds a fault notes it and hands back an empty stand-in;
/// [`Checks::finish`] makes sure that no stand-in is ever used.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    problems: Vec<Problem>,
}

impl Checks {
    /// A text that must be there, with a length in characters.
    pub(crate) fn text(
        &mut self,
        field: &str,
        value: Option<String>,
        length: RangeInclusive<usize>,
    ) -> String {
        match value {
            Some(value) => self.given_text(field, value, length),
            None => self.fault(field, "is required"),
        }
    }

    /// A text that may be missing.
    pub(crate) fn optional_text(
        &mut self,
        field: &str,
        value: Option<String>,
        length: RangeInclusive<usize>,
    ) -> Option<String> {
        value.map(|value| self.given_text(field, value, length))
    }

    /// A text of an update: absent keeps what is there, null is no text.
    pub(crate) fn replaced_text(
        &mut self,
        field: &str,
        value: Option<Option<String>>,
        length: RangeInclusive<usize>,
    ) -> Option<String> {
        match value {
            None => None,
            Some(Some(value)) => Some(self.given_text(field, value, length)),
            Some(None) => Some(self.fault(field, "must not be null")),
        }
    }

    /// A value that must be there.
    pub(crate) fn required<T>(&mut self, field: &str, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.refuse(field, "is required");
        }
        value
    }

    /// A value of an update: absent keeps `old`, null is no value.
    pub(crate) fn replaced<T>(&mut self, field: &str, value: Option<Option<T>>, old: T) -> T {
        match value {
            None => old,
            Some(Some(value)) => value,
            Some(None) => {
                self.refuse(field, "must not be null");
                old
            }
        }
    }

    /// The value that a text names; the first of `all` stands in if it names none.
    pub(crate) fn named<T: Copy>(
        &mut self,
        field: &str,
        text: Option<String>,
        all: &[T],
        name: impl Fn(T) -> &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> T {
        let Some(text) = self.required(field, text) else {
            return all[0];
        };
        read(&text).unwrap_or_else(|| {
            let names: Vec<_> = all.iter().copied().map(name).collect();
            let message = format!("'{}' is none of {}", shortened(&text), names.join(", "));
            self.refuse(field, message);
            all[0]
        })
    }

    /// Checks that a number, if it is there, lies in `range`.
    pub(crate) fn within(&mut self, field: &str, value: Option<u32>, range: RangeInclusive<u32>) {
        if value.is_some_and(|value| !range.contains(&value)) {
            let (least, most) = (range.start(), range.end());
            self.refuse(
                field,
                format!("must be a whole number from {least} to {most}"),
            );
        }
    }

    /// Checks that a document can be kept.
    pub(crate) fn document(&mut self, field: &str, value: &Value) {
        if deeper_than(value, DEEPEST) {
            self.refuse(
                field,
                format!("must not be nested deeper than {DEEPEST} levels"),
            );
        }
    }

    /// Labels: not too many, each once, none blank.
    pub(crate) fn labels(&mut self, field: &str, labels: &[String], most: usize, longest: usize) {
        if labels.len() > most {
            self.refuse(field, format!("must have at most {most}"));
            return;
        }
        for (number, label) in labels.iter().enumerate() {
            let place = format!("{field}.{number}");
            self.given_text(&place, label.clone(), 1..=longest);
            if labels[..number].contains(label) {
                self.refuse(&place, format!("'{label}' is there twice"));
            }
        }
    }

    /// Checks that a text looks like an address that mail could be sent to.
    pub(crate) fn email(&mut self, field: &str, value: &str) {
        if !value.is_empty() && !looks_like_email(value) {
            self.refuse(
                field,
                "must be an e-mail address such as 'name@example.org'",
            );
        }
    }

    /// Notes a fault that the caller found.
    pub(crate) fn refuse(&mut self, field: &str, message: impl Into<String>) {
        self.problems.push(Problem::error(field, message));
    }

    /// Notes everything that is wrong with a document that stands at `field`.
    pub(crate) fn refuse_below(&mut self, field: &str, problems: Problems) {
        let problems = problems.into_vec().into_iter();
        self.problems
            .extend(problems.map(|problem| problem.below(field)));
    }

    /// Refuses when anything was wrong.
    pub(crate) fn finish(self) -> Result<(), ApiError> {
        match self.problems.is_empty() {
            true => Ok(()),
            false => Err(ApiError::validation(self.problems)),
        }
    }

    /// Refuses when anything was wrong, if that depends on what else there is: the same may be fine later.
    pub(crate) fn finish_for_now(self) -> Result<(), ApiError> {
        match self.problems.is_empty() {
            true => Ok(()),
            false => Err(ApiError::unmet(self.problems)),
        }
    }

    fn given_text(&mut self, field: &str, value: String, length: RangeInclusive<usize>) -> String {
        let (shortest, longest) = (*length.start(), *length.end());
        if shortest > 0 && value.trim().is_empty() {
            return self.fault(field, "must not be blank");
        }
        if value.chars().count() > longest {
            return self.fault(field, &format!("must have at most {longest} characters"));
        }
        // A NUL cannot be stored as text; other control characters hide in lists and logs.
        if value
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
        {
            return self.fault(field, "must not contain control characters");
        }
        value
    }

    fn fault(&mut self, field: &str, message: &str) -> String {
        self.refuse(field, message);
        String::new()
    }
}

fn deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => {
            levels == 0 || items.iter().any(|item| deeper_than(item, levels - 1))
        }
        Value::Object(members) => {
            levels == 0
                || members
                    .values()
                    .any(|member| deeper_than(member, levels - 1))
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => false,
    }
}

/// Keeps null apart from absent: `Some(None)` and `None`.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Texts by name, of which null is as good as left out.
pub(crate) fn texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let given: Option<BTreeMap<String, Option<String>>> = Option::deserialize(deserializer)?;
    Ok(given.map(|given| {
        let texts = given.into_iter();
        texts
            .filter_map(|(name, text)| Some((name, text?)))
            .collect()
    }))
}

/// Whether a text has the shape `local@domain.tld`. Only the receiver knows whether it exists.
fn looks_like_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let labels_are_good = domain.contains('.')
        && domain.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|c| c.is_alphanumeric() || c == '-')
        });
    let local_is_good = (1..=64).contains(&local.len())
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && !local
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || "@,;:<>()[]\\\"".contains(c));
    labels_are_good && local_is_good && text.len() <= 254
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_faults_are_told_at_once() {
        let mut checks = Checks::default();
        checks.text("a", None, 1..=5);
        checks.text("b", Some("  ".into()), 1..=5);
        checks.text("c", Some("ääääää".into()), 1..=5);
        checks.text("d", Some("nul\0".into()), 1..=5);
        checks.replaced_text("e", Some(None), 1..=5);
        checks.email("f", "nobody");
        let refused = checks.finish().unwrap_err();
        assert_eq!(
            refused.message(),
            "a: is required; b: must not be blank; c: must have at most 5 characters; \
             d: must not contain control characters; e: must not be null; \
             f: must be an e-mail address such as 'name@example.org'"
        );
    }

    #[test]
    fn numbers_labels_and_documents_have_bounds() {
        let nested =
            |levels: usize| (0..levels).fold(Value::Null, |inner, _| Value::from(vec![inner]));
        let mut checks = Checks::default();
        assert_eq!(checks.required::<u32>("a", None), None);
        assert_eq!(checks.replaced("b", Some(None), 5), 5);
        checks.within("c", Some(0), 1..=9);
        checks.document("d", &nested(101));
        checks.labels("e", &["x".to_owned(), " ".to_owned(), "x".to_owned()], 3, 9);
        checks.labels("f", &["x".to_owned(), "y".to_owned()], 1, 9);
        assert_eq!(
            checks.finish().unwrap_err().message(),
            "a: is required; b: must not be null; c: must be a whole number from 1 to 9; \
             d: must not be nested deeper than 100 levels; e.1: must not be blank; \
             e.2: 'x' is there twice; f: must have at most 1"
        );
        let mut checks = Checks::default();
        assert_eq!(checks.required("a", Some(1)), Some(1));
        assert_eq!(checks.replaced("b", Some(Some(1)), 5), 1);
        assert_eq!(checks.replaced("b", None, 5), 5);
        checks.within("c", Some(9), 1..=9);
        checks.within("c", None, 1..=9);
        checks.document("d", &nested(100));
        checks.labels("e", &["x".to_owned()], 1, 1);
        checks.finish().unwrap();
    }

    #[test]
    fn good_values_pass_unchanged() {
        let mut checks = Checks::default();
        assert_eq!(checks.text("a", Some(" ä b ".into()), 1..=5), " ä b ");
        assert_eq!(checks.optional_text("b", None, 1..=5), None);
        assert_eq!(checks.replaced_text("c", None, 1..=5), None);
        checks.finish().unwrap();
    }

    #[test]
    fn addresses_have_a_shape() {
        for good in [
            "a@b.co",
            "first.last+tag@sub.example.org",
            "o'neil@example.org",
            "user@münchen.example",
        ] {
            assert!(looks_like_email(good), "{good}");
        }
        for bad in [
            "", "a", "@b.co", "a@", "a@b", "a@b..co", "a@-b.co", "a b@c.co", "a@b@c.co", ".a@b.co",
            "a@b.co ", "<a@b.co>",
        ] {
            assert!(!looks_like_email(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_address_or_not(text in ".{0,80}") {
            let _ = looks_like_email(&text);
        }
    }
}
