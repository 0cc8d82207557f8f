//! What a check is, and which there are. A new one is a file in [`crate::checks`] and a line here, or
//! [`CheckRegistry::with`] from outside.

use std::any::Any;

use proctor_core::id::kinds::CriterionId;
use proctor_simulation::exhibits::Exhibits;
use serde_json::{Value, json};

use crate::{
    checks::{disclosure, events, fhir, hl7, judge, portal, sftp, unchanged, voice, x12},
    outcome::Outcome,
    reader::{Node, Notes, Object},
    template::{Failed, Scope},
    text_judge::JudgeQuestion,
};

/// A kind of assertion: how it is read, and how it is checked.
///
/// A check is pure: the same world and scope give the same outcome, to the byte.
pub trait Check: Sized + Send + Sync + 'static {
    /// What `assert` says.
    const NAME: &'static str;

    /// Whether it asks what happened in the world, which is read only for those who do.
    const READS_RECORD: bool = false;

    /// What the check sees of a world: the evidence that it asks the exhibits for.
    type View<'w>;

    /// Looks at a world, once for all assertions of this kind.
    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w>;

    /// Reads the members of an assertion but for `assert`. Whatever is wrong is refused through the
    /// members themselves, all of it, and the result is then `None`.
    fn read(assertion: &Object<'_>) -> Option<Self>;

    /// A JSON Schema (2020-12) of the assertion, with an example: any object that names the check, if nothing is said. It knows shapes only;
    /// reading decides.
    fn schema() -> Value {
        json!({"type": "object", "properties": {"assert": {"const": Self::NAME}}})
    }

    /// Checks the assertion on what was seen.
    fn run(&self, view: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed>;

    /// The evidence of a check that could not look.
    fn blank(&self) -> Value;

    /// What a judge of free text would have to be asked for it; nothing for checks that need none.
    fn question(&self, _: CriterionId, _: &Exhibits<'_>, _: &Scope<'_>) -> Option<JudgeQuestion> {
        None
    }
}

/// The checks that a server knows, in the order in which authors are told of them.
#[derive(Clone)]
pub struct CheckRegistry {
    entries: Vec<Entry>,
}

impl CheckRegistry {
    /// The checks of this crate.
    pub fn shipped() -> Self {
        Self {
            entries: Vec::new(),
        }
        .with::<fhir::ResourceState>()
        .with::<hl7::Structural>()
        .with::<portal::StateMatch>()
        .with::<sftp::FilePresent>()
        .with::<voice::Transcript>()
        .with::<x12::Response>()
        .with::<unchanged::Unchanged>()
        .with::<events::Events>()
        .with::<disclosure::Disclosure>()
        .with::<x12::Request>()
        .with::<hl7::InboundMatch>()
        .with::<judge::Judge>()
    }

    /// The registry with one more check.
    ///
    /// # Panics
    ///
    /// If another check has its name.
    #[must_use]
    pub fn with<C: Check>(mut self) -> Self {
        let is_known = self.names().any(|name| name == C::NAME);
        assert!(!is_known, "two checks are called '{}'", C::NAME);
        self.entries.push(Entry::of::<C>());
        self
    }

    /// What `assert` may say.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|entry| entry.name)
    }

    /// The JSON Schemas of all assertions, each with the name of its check.
    pub fn schemas(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.entries
            .iter()
            .map(|entry| (entry.name, (entry.schema)()))
    }

    /// Reads an assertion; none if it is not understood, and then `notes` say why.
    pub(crate) fn read(&self, assertion: &Value, notes: &Notes) -> Option<Assertion> {
        let object = Node::root(assertion, notes).object()?;
        let name = object.required("assert")?;
        let entries = self.entries.iter();
        let words: Vec<(&str, Entry)> = entries.map(|entry| (entry.name, *entry)).collect();
        let entry = name.word(&words)?;
        let check = (entry.read)(&object);
        object.finish();
        let check = check.filter(|_| notes.problems().is_empty())?;
        Some(Assertion { entry, check })
    }
}

/// An assertion that was read.
pub(crate) struct Assertion {
    entry: Entry,
    check: Box<dyn Any + Send + Sync>,
}

impl Assertion {
    /// What `assert` says.
    pub(crate) fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Whether it asks what happened in the world.
    pub(crate) fn reads_record(&self) -> bool {
        self.entry.reads_record
    }

    /// What a judge of free text would have to be asked for it.
    pub(crate) fn question(
        &self,
        criterion: CriterionId,
        exhibits: &Exhibits<'_>,
        scope: &Scope<'_>,
    ) -> Option<JudgeQuestion> {
        (self.entry.question)(&*self.check, criterion, exhibits, scope)
    }

    /// What is found out about assertions of the same kind as this one.
    pub(crate) fn run_all(&self, exhibits: &Exhibits<'_>, asked: &[Asked<'_>]) -> Vec<Outcome> {
        (self.entry.run_all)(exhibits, asked)
    }
}

/// An assertion, and what it may name.
pub(crate) struct Asked<'a> {
    pub(crate) assertion: &'a Assertion,
    pub(crate) scope: Scope<'a>,
}

/// A check, without its type.
#[derive(Clone, Copy)]
struct Entry {
    name: &'static str,
    reads_record: bool,
    schema: fn() -> Value,
    read: fn(&Object<'_>) -> Option<Box<dyn Any + Send + Sync>>,
    run_all: fn(&Exhibits<'_>, &[Asked<'_>]) -> Vec<Outcome>,
    question: fn(&dyn Any, CriterionId, &Exhibits<'_>, &Scope<'_>) -> Option<JudgeQuestion>,
}

impl Entry {
    const fn of<C: Check>() -> Self {
        Self {
            name: C::NAME,
            reads_record: C::READS_RECORD,
            schema: C::schema,
            read: |assertion| Some(Box::new(C::read(assertion)?)),
            run_all: run_all::<C>,
            question: |check, criterion, exhibits, scope| {
                check
                    .downcast_ref::<C>()?
                    .question(criterion, exhibits, scope)
            },
        }
    }
}

fn run_all<C: Check>(exhibits: &Exhibits<'_>, asked: &[Asked<'_>]) -> Vec<Outcome> {
    let view = C::view(exhibits);
    let run = |asked: &Asked<'_>| {
        let check = asked.assertion.check.downcast_ref::<C>();
        let check = check.expect("an assertion is run by the check that read it");
        let outcome = check.run(&view, &asked.scope);
        outcome.unwrap_or_else(|Failed(why)| Outcome::nothing(why, check.blank()))
    };
    asked.iter().map(run).collect()
}
