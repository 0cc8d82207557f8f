//! The backends that this program knows, by name.

use std::{path::PathBuf, sync::Arc};

use crate::{backend::Backend, egress::OwnServer, error, local};

/// What every backend is opened with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where a backend may keep its files. Two processes must not share it.
    pub data: PathBuf,
    /// Whether every limit on a disk is to be exact, where the host and the backend can.
    pub exact_disks: bool,
    /// What all devboxes may have together; what is not said follows from the machine.
    pub totals: local::TotalLimits,
    /// What a backend that keeps the output of programs in files enciphers them with.
    pub output_secret: Option<local::OutputSecret>,
    /// The server itself, for boxes that may ask it.
    pub server: OwnServer,
}

/// How to open one kind of backend.
#[derive(Clone, Copy)]
pub struct Factory {
    /// Its name in configuration.
    pub name: &'static str,
    /// One sentence for people who choose.
    pub about: &'static str,
    /// Opens it.
    pub open: fn(&Settings) -> error::Result<Arc<dyn Backend>>,
}

impl std::fmt::Debug for Factory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Factory")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The backends that can be chosen.
#[derive(Clone, Debug)]
pub struct Registry {
    factories: Vec<Factory>,
}

/// A name that no backend has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no devbox backend '{name}'; known are: {}", known.join(", "))]
pub struct UnknownBackend {
    /// The name.
    pub name: String,
    /// The names that would have done.
    pub known: Vec<&'static str>,
}

impl Registry {
    /// Every backend of this crate: one line each.
    pub fn builtin() -> Self {
        Self {
            factories: vec![local::FACTORY],
        }
    }

    /// Adds a backend that lives elsewhere.
    #[must_use]
    pub fn with(mut self, factory: Factory) -> Self {
        self.factories.push(factory);
        self
    }

    /// The backend of that name.
    pub fn get(&self, name: &str) -> Result<&Factory, UnknownBackend> {
        let mut factories = self.factories.iter();
        factories
            .find(|factory| factory.name == name)
            .ok_or_else(|| UnknownBackend {
                name: name.to_owned(),
                known: self.factories.iter().map(|factory| factory.name).collect(),
            })
    }

    /// All of them.
    pub fn factories(&self) -> &[Factory] {
        &self.factories
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_local_backend_is_registered_and_others_can_be_added() {
        let registry = Registry::builtin().with(Factory {
            name: "other",
            ..local::FACTORY
        });
        assert!(registry.get("local").is_ok());
        assert!(registry.get("other").is_ok());
        assert_eq!(
            registry.get("docker").unwrap_err().to_string(),
            "there is no devbox backend 'docker'; known are: local, other"
        );
        assert_eq!(registry.factories().len(), 2);
    }
}
