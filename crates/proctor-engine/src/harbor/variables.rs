//! Environment variables of Harbor's files: plain ones, and ones whose values are secrets of the organization.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::id::kinds::OrganizationId;
use proctor_harbor::template::Template;
use proctor_store::{Store, StoreError};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};

/// Environment variables whose templates are resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Variables {
    /// Those with a value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) plain: BTreeMap<String, String>,
    /// Those that hold a secret, by the secret's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) secrets: BTreeMap<String, String>,
}

impl Variables {
    /// This over more general ones.
    pub(crate) fn over(&self, general: &Self) -> Self {
        let mut both = general.clone();
        for (name, value) in &self.plain {
            both.secrets.remove(name);
            both.plain.insert(name.clone(), value.clone());
        }
        for (name, secret) in &self.secrets {
            both.plain.remove(name);
            both.secrets.insert(name.clone(), secret.clone());
        }
        both
    }

    /// Whether there is a variable of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.plain.contains_key(name) || self.secrets.contains_key(name)
    }

    /// All of them with their values, and the values that are secrets.
    pub(crate) async fn values(
        &self,
        store: &Store,
        organization: OrganizationId,
    ) -> Result<(BTreeMap<String, String>, Vec<String>), StoreError> {
        let (mut all, mut hidden) = (self.plain.clone(), Vec::new());
        for (name, secret) in &self.secrets {
            // One that was deleted since is not there.
            if let Some(value) = store.secret_value(organization, secret).await? {
                let value = value.expose_secret().to_owned();
                hidden.push(value.clone());
                all.insert(name.clone(), value);
            }
        }
        Ok((all, hidden))
    }
}

/// Resolves templates. Values come from the organization's secrets and never from the server's own environment.
pub(crate) struct Resolver {
    known: BTreeSet<String>,
    missing: BTreeSet<String>,
}

impl Resolver {
    /// Looks for every secret that the maps name.
    pub(crate) async fn of<'m>(
        store: &Store,
        organization: OrganizationId,
        maps: impl IntoIterator<Item = &'m BTreeMap<String, String>>,
    ) -> Result<Self, StoreError> {
        let wanted: BTreeSet<&str> = maps
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter_map(|value| Template::of(value))
            .map(|template| template.variable)
            .collect();
        let mut known = BTreeSet::new();
        for name in wanted {
            if store.secret(organization, name).await?.is_some() {
                known.insert(name.to_owned());
            }
        }
        Ok(Self {
            known,
            missing: BTreeSet::new(),
        })
    }

    /// The variables of a map; what is missing is remembered.
    pub(crate) fn resolve(&mut self, map: &BTreeMap<String, String>) -> Variables {
        let mut found = Variables::default();
        for (name, value) in map {
            let Some(template) = Template::of(value) else {
                found.plain.insert(name.clone(), value.clone());
                continue;
            };
            if self.known.contains(template.variable) {
                let secret = template.variable.to_owned();
                found.secrets.insert(name.clone(), secret);
            } else if let Some(default) = template.default {
                found.plain.insert(name.clone(), default.to_owned());
            } else {
                self.missing.insert(template.variable.to_owned());
            }
        }
        found
    }

    /// Everything that no secret has the name of.
    pub(crate) fn missing(self) -> BTreeSet<String> {
        self.missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn templates_are_secrets_or_defaults_and_the_rest_is_named() {
        let mut resolver = Resolver {
            known: ["KEY".to_owned()].into(),
            missing: BTreeSet::new(),
        };
        let found = resolver.resolve(&map(&[
            ("A", "${KEY}"),
            ("B", "${NONE:-else}"),
            ("C", "plain-$HOME"),
            ("D", "${HOME}"),
        ]));
        assert_eq!(found.secrets, map(&[("A", "KEY")]));
        assert_eq!(found.plain, map(&[("B", "else"), ("C", "plain-$HOME")]));
        let missing: Vec<String> = resolver.missing().into_iter().collect();
        assert_eq!(
            missing,
            ["HOME"],
            "the server's own environment is not read"
        );
    }

    #[test]
    fn nearer_variables_go_before() {
        let far = Variables {
            plain: map(&[("A", "1"), ("B", "1")]),
            secrets: map(&[("C", "KEY")]),
        };
        let near = Variables {
            plain: map(&[("C", "2")]),
            secrets: map(&[("A", "KEY")]),
        };
        let both = near.over(&far);
        assert_eq!(both.plain, map(&[("B", "1"), ("C", "2")]));
        assert_eq!(both.secrets, map(&[("A", "KEY")]));
    }
}
