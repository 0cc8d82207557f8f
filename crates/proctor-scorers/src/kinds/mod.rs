//! The kinds of scorers, one file each. A new one is a file here and a line in [`KINDS`].

mod ast_grep;
mod bash_script;
mod command;
mod custom;
mod python_script;
mod test_based;

use std::sync::Arc;

use async_trait::async_trait;

use crate::{bench::Bench, error::JudgeError, members::Members, scored::Finding};

/// Every kind, in the order in which authors are told of them.
const KINDS: &[Entry] = &[
    Entry::of::<ast_grep::AstGrep>(),
    Entry::of::<bash_script::BashScript>(),
    Entry::of::<command::Command>(),
    Entry::of::<custom::Custom>(),
    Entry::of::<python_script::PythonScript>(),
    Entry::of::<test_based::TestBased>(),
];

/// A kind of scorer: how it is read, and how it is run.
#[async_trait]
pub(crate) trait Kind: Sized + Send + Sync + 'static {
    /// What `type` says.
    const NAME: &'static str;

    /// Reads the members of a definition. Whatever is wrong is refused through them, all of it, and the result is then `None`.
    fn read(members: &Members<'_>) -> Option<Self>;

    /// Looks at what the agent left.
    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError>;

    /// The type of registered scorer that it refers to.
    fn custom_type(&self) -> Option<&str> {
        None
    }
}

/// A scorer of any kind.
#[async_trait]
pub(crate) trait Scores: Send + Sync {
    fn kind(&self) -> &'static str;
    fn custom_type(&self) -> Option<&str>;
    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError>;
}

#[async_trait]
impl<K: Kind> Scores for K {
    fn kind(&self) -> &'static str {
        K::NAME
    }

    fn custom_type(&self) -> Option<&str> {
        Kind::custom_type(self)
    }

    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        Kind::score(self, bench).await
    }
}

struct Entry {
    name: &'static str,
    read: fn(&Members<'_>) -> Option<Arc<dyn Scores>>,
}

impl Entry {
    const fn of<K: Kind>() -> Self {
        Self {
            name: K::NAME,
            read: |members| Some(Arc::new(K::read(members)?)),
        }
    }
}

/// Reads a scorer of whatever kind it says it is.
pub(crate) fn read(members: &Members<'_>) -> Option<Arc<dyn Scores>> {
    let name = members.text("type")?;
    match KINDS.iter().find(|entry| entry.name == name) {
        Some(entry) => (entry.read)(members),
        None => {
            let known: Vec<&str> = KINDS.iter().map(|entry| entry.name).collect();
            members.refuse(
                "type",
                format!("'{name}' is no scorer; {} are", known.join(", ")),
            );
            None
        }
    }
}
