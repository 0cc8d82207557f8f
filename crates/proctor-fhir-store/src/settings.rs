//! What the owner of a store may choose.

/// What happens to a resource that breaks the rules of its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// It is refused, unless the client asks with `Prefer: validation=none`.
    #[default]
    Enforced,
    /// It is refused, whatever the client prefers.
    Always,
    /// It is stored.
    Off,
}

/// The configuration of a store. None of it is part of the state: the same journal may be served
/// under another address.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address of the store without a trailing slash, as clients reach it.
    pub base_url: String,
    /// What happens to invalid resources.
    pub validation: Validation,
    /// How many matches a page has when the client does not say.
    pub default_count: usize,
    /// How many matches a page has at most.
    pub max_count: usize,
    /// How many entries a batch or transaction has at most.
    pub max_entries: usize,
    /// How many resources a page may bring along through includes.
    pub max_included: usize,
}

impl Settings {
    /// The usual choices for a store at `base_url`.
    pub fn at(base_url: impl Into<String>) -> Self {
        let mut base_url: String = base_url.into();
        while base_url.ends_with('/') {
            base_url.pop();
        }
        Self {
            base_url,
            validation: Validation::Enforced,
            default_count: 100,
            max_count: 1_000,
            max_entries: 10_000,
            max_included: 10_000,
        }
    }
}
