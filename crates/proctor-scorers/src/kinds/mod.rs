//! The kinds of scorers, one file each. A new one is a file here and a line in [`ScorerKinds::builtin`].

mod ast_grep;
mod bash_script;
mod command;
mod custom;
mod python_script;
mod test_based;

use std::sync::Arc;

use async_trait::async_trait;
use proctor_core::{
    problem::Problems,
    reader::{Node, Notes, Wording},
    scorer::ScorerDefinition,
};
use serde_json::{Map, Value};

use crate::{
    bench::Bench,
    error::JudgeError,
    members::{Members, ReadMembers as _},
    scored::Finding,
    scorer::Scorer,
};

/// A kind of scorer: how it is read, and how it is run.
#[async_trait]
pub trait Kind: Sized + Send + Sync + 'static {
    /// What `type` says.
    const NAME: &'static str;

    /// Reads the members of a definition. Whatever is wrong is refused through them, all of it, and the result is then `None`.
    fn read(members: &Members<'_>) -> Option<Self>;

    /// The members as they are kept. Unless a kind says otherwise, that is what it asks for: members that it does not know and explicit
    /// nulls are dropped.
    fn kept(members: &Members<'_>) -> Map<String, Value> {
        members.asked_for()
    }

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

#[derive(Clone, Copy)]
struct Entry {
    name: &'static str,
    read: fn(&Members<'_>) -> Option<Arc<dyn Scores>>,
    kept: fn(&Members<'_>) -> Map<String, Value>,
}

impl Entry {
    fn of<K: Kind>() -> Self {
        Self {
            name: K::NAME,
            read: |members| Some(Arc::new(K::read(members)?)),
            kept: K::kept,
        }
    }
}

/// The kinds of scorers that a server knows: those of this crate, and whatever is added to them.
#[derive(Clone)]
pub struct ScorerKinds(Vec<Entry>);

impl Default for ScorerKinds {
    fn default() -> Self {
        Self::builtin()
    }
}

impl ScorerKinds {
    /// Every kind of this crate, in the order in which authors are told of them.
    pub fn builtin() -> Self {
        Self(vec![
            Entry::of::<ast_grep::AstGrep>(),
            Entry::of::<bash_script::BashScript>(),
            Entry::of::<command::Command>(),
            Entry::of::<custom::Custom>(),
            Entry::of::<python_script::PythonScript>(),
            Entry::of::<test_based::TestBased>(),
        ])
    }

    /// The same and one more. It takes the place of one that has its name.
    #[must_use]
    pub fn with<K: Kind>(mut self) -> Self {
        self.0.retain(|entry| entry.name != K::NAME);
        self.0.push(Entry::of::<K>());
        self
    }

    /// What `type` may say.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|entry| entry.name).collect()
    }

    /// Reads a definition; whatever is wrong with it is named.
    pub fn read(&self, definition: &Value) -> Result<Scorer, Problems> {
        let notes = Notes::default();
        let members = Node::root(definition, &notes).object();
        let scorer = members.and_then(|members| self.scorer(&members));
        notes.finish(scorer)
    }

    /// The definition that a client gives, as it is kept; whatever is wrong with it is named in the words of requests. So what is kept can
    /// be run.
    pub fn accept(&self, given: &Value) -> Result<ScorerDefinition, Problems> {
        let notes = Notes::worded(Wording::Request);
        let members = Node::root(given, &notes).object();
        let kept = members.and_then(|members| {
            let entry = self.entry(&members)?;
            (entry.read)(&members)?;
            let mut kept = (entry.kept)(&members);
            kept.insert("type".to_owned(), entry.name.into());
            Some(ScorerDefinition::from(Value::Object(kept)))
        });
        notes.finish(kept)
    }

    /// The scorer of whatever kind the members say it is.
    pub(crate) fn scorer(&self, members: &Members<'_>) -> Option<Scorer> {
        let entry = self.entry(members)?;
        (entry.read)(members).map(Scorer::from)
    }

    fn entry(&self, members: &Members<'_>) -> Option<&Entry> {
        let name = members.text("type")?;
        let entry = self.0.iter().find(|entry| entry.name == name);
        if entry.is_none() {
            let known = self.names().join(", ");
            members.refuse("type", format!("'{name}' is no scorer; {known} are"));
        }
        entry
    }
}

impl std::fmt::Debug for ScorerKinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ScorerKinds").field(&self.names()).finish()
    }
}
