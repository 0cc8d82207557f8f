//! Resource types as small numbers, so that tables are arrays and comparisons are cheap.

use std::{fmt, sync::LazyLock};

use hashbrown::HashMap;
use proctor_fhir::definitions::SearchDefinitions;

/// One of the resource types that FHIR R4 defines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceKind(u8);

struct Table {
    names: Vec<&'static str>,
    by_name: HashMap<&'static str, ResourceKind>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let names: Vec<&'static str> = SearchDefinitions::r4().resource_types().to_vec();
    let by_name = names
        .iter()
        .enumerate()
        .map(|(place, name)| {
            let place = u8::try_from(place).expect("R4 defines fewer than 256 resource types");
            (*name, ResourceKind(place))
        })
        .collect();
    Table { names, by_name }
});

impl ResourceKind {
    /// The type of this name, if R4 has it.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.by_name.get(name).copied()
    }

    /// The name of the type.
    pub fn name(self) -> &'static str {
        TABLE.names[usize::from(self.0)]
    }

    /// All types, ordered by name.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::count()).map(|place| Self(u8::try_from(place).unwrap_or(u8::MAX)))
    }

    /// How many types there are.
    pub fn count() -> usize {
        TABLE.names.len()
    }

    /// The place of this type in an array of all.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_its_kind_are_the_same_thing() {
        assert!(ResourceKind::count() > 140);
        for kind in ResourceKind::all() {
            assert_eq!(ResourceKind::named(kind.name()), Some(kind));
        }
        assert_eq!(ResourceKind::named("Resource"), None);
        assert_eq!(ResourceKind::named("patient"), None);
    }
}
