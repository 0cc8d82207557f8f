//! Rules for single values that report every wrong field at once.

use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer};

use crate::problem::{FieldErrors, Problem};

/// Collects what is wrong with a request while its fields are turned into domain values.
///
/// A method that finds a fault notes it and hands back an empty stand-in;
/// [`Checks::finish`] makes sure that no stand-in is ever used.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    errors: FieldErrors,
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

    /// Checks that a text looks like an address that mail could be sent to.
    pub(crate) fn email(&mut self, field: &str, value: &str) {
        if !value.is_empty() && !looks_like_email(value) {
            self.errors.add(
                field,
                "must be an e-mail address such as 'name@example.org'",
            );
        }
    }

    /// Notes a fault that the caller found.
    pub(crate) fn refuse(&mut self, field: &str, message: impl Into<String>) {
        self.errors.add(field, message);
    }

    /// Refuses when anything was wrong.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        self.errors.or_value(())
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
        self.errors.add(field, message);
        String::new()
    }
}

/// Keeps null apart from absent: `Some(None)` and `None`.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
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
