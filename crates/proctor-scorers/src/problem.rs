//! What is wrong with a definition, and where.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, from the top of what was read: `test_files.0.file_path`; empty for all of it.
    pub path: String,
    /// What is wrong there, and what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// Everything that is wrong, at least one thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `value`, if there are no problems; otherwise those.
    ///
    /// # Panics
    /// If there is neither: what is not read must have been refused.
    pub(crate) fn or<T>(found: Vec<Problem>, value: Option<T>) -> Result<T, Self> {
        if found.is_empty() {
            Ok(value.expect("whatever is not read is refused with a problem"))
        } else {
            Err(Self(found))
        }
    }

    /// The problems, in the order of what was read.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}
