//! What an author should know, and what does not stop anything.

use std::{cell::RefCell, fmt};

use serde::{Deserialize, Serialize};

/// How similar a known key must be to be suggested, from 0 to 1.
const SIMILAR: f64 = 0.72;

/// Something that has no effect, or another one than its author may think.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Warning {
    /// Where, from the top of the document: `steps.0.timeout_sec`.
    pub path: String,
    /// What.
    pub message: String,
}

impl Warning {
    /// A warning.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }

    /// The same warning as seen from further up.
    #[must_use]
    pub fn below(self, path: &str) -> Self {
        Self {
            path: proctor_core::problem::join(path, &self.path),
            ..self
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

/// The warnings that were noted while a document was read.
#[derive(Default)]
pub(crate) struct Noted(RefCell<Vec<Warning>>);

impl Noted {
    pub(crate) fn push(&self, warning: Warning) {
        self.0.borrow_mut().push(warning);
    }

    pub(crate) fn all(&self) -> Vec<Warning> {
        self.0.borrow().clone()
    }
}

/// What is said of a key that nobody knows.
pub(crate) fn unknown_key(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("is unknown and ignored; did you mean {near}?"),
        None => "is unknown and ignored".to_owned(),
    }
}

/// The known word that is most like `word`, if one is like it at all.
pub(crate) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let word = word.to_lowercase();
    let mut best: Option<(f64, &'k str)> = None;
    for candidate in known {
        let mut likeness = strsim::normalized_damerau_levenshtein(&word, candidate);
        // `timeout` for `timeout_sec`: an abbreviation is near whatever its length says.
        if word.len() >= 3 && (candidate.starts_with(&word) || word.starts_with(candidate)) {
            likeness = likeness.max(SIMILAR);
        }
        if likeness >= SIMILAR && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_known_key_is_suggested() {
        let known = ["n_concurrent_trials", "timeout_sec", "user"];
        assert_eq!(
            nearest("n_concurent_trials", &known),
            Some("n_concurrent_trials")
        );
        assert_eq!(nearest("timeout", &known), Some("timeout_sec"));
        assert_eq!(nearest("flavour", &known), None);
        assert_eq!(
            unknown_key("usr", &known),
            "is unknown and ignored; did you mean user?"
        );
    }
}
