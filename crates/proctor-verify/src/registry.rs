//! The checks there are. A new one is a file in [`crate::checks`] and a line here.

use serde_json::Value;

use crate::{
    checks::{fhir, hl7, portal, sftp, voice, x12},
    outcome::Outcome,
    reader::{Node, Notes, Object},
    sight::Sight,
    template::{Failed, Scope},
};

/// Every check, in the order in which authors are told of them.
const CHECKS: &[Entry] = &[
    Entry::of::<fhir::ResourceState>(),
    Entry::of::<hl7::Structural>(),
    Entry::of::<portal::StateMatch>(),
    Entry::of::<sftp::FilePresent>(),
    Entry::of::<voice::Transcript>(),
    Entry::of::<x12::Response>(),
];

/// A kind of assertion: how it is read, and how it is checked.
///
/// A check is pure: the same world and scope give the same outcome, to the byte.
pub(crate) trait Check: Sized + Send + Sync + 'static {
    /// What `assert` says.
    const NAME: &'static str;

    /// Reads the members of an assertion but for `assert`. Whatever is wrong is refused through the
    /// members themselves, all of it, and the result is then `None`.
    fn read(assertion: &Object<'_>) -> Option<Self>;

    /// Looks at the world.
    fn run(&self, sight: &Sight<'_, '_>, scope: &Scope<'_>) -> Result<Outcome, Failed>;

    /// The evidence of a check that could not look.
    fn blank(&self) -> Value;
}

/// A check of any kind that was read.
pub(crate) trait Runs: Send + Sync {
    /// Looks at the world.
    fn outcome(&self, sight: &Sight<'_, '_>, scope: &Scope<'_>) -> Outcome;
}

impl<C: Check> Runs for C {
    fn outcome(&self, sight: &Sight<'_, '_>, scope: &Scope<'_>) -> Outcome {
        self.run(sight, scope)
            .unwrap_or_else(|Failed(why)| Outcome::nothing(why, self.blank()))
    }
}

struct Entry {
    name: &'static str,
    read: fn(&Object<'_>) -> Option<Box<dyn Runs>>,
}

impl Entry {
    const fn of<C: Check>() -> Self {
        Self {
            name: C::NAME,
            read: |assertion| Some(Box::new(C::read(assertion)?)),
        }
    }
}

/// Reads an assertion; none if it is not understood, and then `notes` say why.
pub(crate) fn read(assertion: &Value, notes: &Notes) -> Option<Box<dyn Runs>> {
    let object = Node::root(assertion, notes).object()?;
    let name = object.required("assert")?;
    let words: Vec<(&str, &Entry)> = CHECKS.iter().map(|entry| (entry.name, entry)).collect();
    let entry = name.word(&words)?;
    let check = (entry.read)(&object);
    object.finish();
    check.filter(|_| notes.problems().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_checks_have_one_name() {
        let mut names: Vec<&str> = CHECKS.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }
}
