//! What checks may look at: the part of a world's state that counts.
//!
//! Every simulator shows what it has, as evidence of a type of its own; a check asks for the evidence
//! that it understands by that type. So neither this file nor any other knows which kinds of evidence
//! there are. Rows are the plain form that several simulators share.

use std::{
    any::{Any, TypeId},
    borrow::Cow,
    collections::BTreeMap,
};

use proctor_core::time::Timestamp;
use serde_json::Value;

/// Everything in a world that checks may look at.
pub struct Exhibits<'w> {
    /// When the world is looked at: the moment it was frozen, if it was.
    pub now: Timestamp,
    /// Rows by the name of their resource (`prior_auth_requests`, `faxes`, `messages`, …), oldest first.
    pub rows: BTreeMap<&'w str, Vec<StateRow<'w>>>,
    shown: BTreeMap<TypeId, Vec<Shown<'w>>>,
}

/// One piece of evidence, with the name under which it was shown.
struct Shown<'w> {
    name: &'w str,
    evidence: &'w (dyn Any + Send + Sync),
}

impl<'w> Exhibits<'w> {
    /// Nothing yet, looked at at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now,
            rows: BTreeMap::new(),
            shown: BTreeMap::new(),
        }
    }

    /// Shows evidence, oldest first. Showing none says that there could have been some, which a check
    /// reports differently from a playground without such a simulator.
    pub fn show<T: Any + Send + Sync>(&mut self, evidence: impl IntoIterator<Item = &'w T>) {
        self.show_named(evidence.into_iter().map(|one| ("", one)));
    }

    /// Shows evidence that has names, such as files by their paths.
    pub fn show_named<T: Any + Send + Sync>(
        &mut self,
        evidence: impl IntoIterator<Item = (&'w str, &'w T)>,
    ) {
        let evidence = evidence.into_iter();
        let shown = evidence.map(|(name, evidence)| Shown { name, evidence });
        self.shown
            .entry(TypeId::of::<T>())
            .or_default()
            .extend(shown);
    }

    /// All evidence of a type, in the order in which it was shown; nothing if no simulator of the
    /// playground shows such evidence.
    pub fn evidence<T: Any>(&self) -> Option<Vec<&'w T>> {
        let named = self.named_evidence()?;
        Some(named.into_iter().map(|(_, evidence)| evidence).collect())
    }

    /// The same with the names under which it was shown.
    pub fn named_evidence<T: Any>(&self) -> Option<Vec<(&'w str, &'w T)>> {
        let shown = self.shown.get(&TypeId::of::<T>())?.iter();
        let evidence = shown.filter_map(|one| {
            let evidence: &'w dyn Any = one.evidence;
            Some((one.name, evidence.downcast_ref()?))
        });
        Some(evidence.collect())
    }
}

/// One row of a simulator's state.
#[derive(Clone, Debug)]
pub struct StateRow<'w> {
    /// What names it.
    pub key: Cow<'w, str>,
    /// Its fields.
    pub fields: Cow<'w, Value>,
    /// When it last changed.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_found_by_its_type() {
        let (words, numbers) = (["one".to_owned(), "two".to_owned()], [1_u8, 2]);
        let mut exhibits = Exhibits::at(Timestamp::from_millis(0));
        assert_eq!(exhibits.evidence::<String>(), None);
        exhibits.show(&words[..1]);
        exhibits.show(&numbers[..0]);
        exhibits.show_named([("second", &words[1])]);
        assert_eq!(exhibits.evidence(), Some(vec![&words[0], &words[1]]));
        let named = exhibits.named_evidence();
        assert_eq!(named, Some(vec![("", &words[0]), ("second", &words[1])]));
        assert_eq!(exhibits.evidence::<u8>(), Some(Vec::new()));
        assert_eq!(exhibits.evidence::<u16>(), None);
    }
}
