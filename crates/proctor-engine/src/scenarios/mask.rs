//! Hides the values of secrets in text that people will read.

use secrecy::{ExposeSecret as _, SecretString};

const HIDDEN: &str = "***";

/// The values that must not be seen.
pub(crate) struct Mask(Vec<SecretString>);

impl Mask {
    /// Hides these values; the longest first, because one may be part of another.
    pub(crate) fn of<'a>(values: impl Iterator<Item = &'a SecretString>) -> Self {
        let mut values: Vec<SecretString> = values
            .filter(|value| !value.expose_secret().trim().is_empty())
            .cloned()
            .collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.expose_secret().len()));
        Self(values)
    }

    /// The text without the values.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, value| {
            text.replace(value.expose_secret(), HIDDEN)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_left_not_even_in_part() {
        let values: Vec<SecretString> = ["hush", "hush-hush", " ", ""]
            .into_iter()
            .map(|value| value.to_owned().into())
            .collect();
        let mask = Mask::of(values.iter());
        assert_eq!(mask.hide("a hush-hush b hush c"), "a *** b *** c");
        assert_eq!(mask.hide("nothing here"), "nothing here");
    }
}
