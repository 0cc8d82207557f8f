//! Reading an assertion, with what authors are told about later: which templates are used, which values are expected, what can never hold. So a
//! check gets its part of the authoring help by being read.

use std::cell::RefCell;

pub(crate) use proctor_core::reader::left_out_or;
use proctor_core::{problem::Problem, reader};

use crate::template::{Reference, Template};

/// What is noted while an assertion is read.
pub(crate) type Notes = reader::Notes<'static, AuthoringNotes>;
/// A value inside an assertion, and where it stands.
pub type Node<'a> = reader::Node<'a, AuthoringNotes>;
/// An object inside an assertion.
pub type Object<'a> = reader::Object<'a, AuthoringNotes>;

/// What is noted besides why an assertion cannot be read.
#[derive(Debug, Default)]
pub struct AuthoringNotes {
    doubts: RefCell<Vec<Problem>>,
    references: RefCell<Vec<(String, Reference)>>,
    expected: RefCell<Vec<(String, String)>>,
}

impl AuthoringNotes {
    /// Why the assertion, though it can be read, can never hold, or should be looked at again.
    pub(crate) fn doubts(&self) -> Vec<Problem> {
        self.doubts.borrow().clone()
    }

    /// The templates in use, each with its place.
    pub(crate) fn references(&self) -> Vec<(String, Reference)> {
        self.references.borrow().clone()
    }

    /// The texts and numbers that are expected, each with its place.
    pub(crate) fn expected(&self) -> Vec<(String, String)> {
        self.expected.borrow().clone()
    }
}

/// What checks say of a value beside what every reader of documents can say.
pub trait AssertionNode {
    /// Says that the assertion can never hold.
    fn doubt(&self, message: impl Into<String>);

    /// Says what the author should look at again.
    fn caution(&self, message: impl Into<String>);

    /// Remembers a value that the author expects.
    fn note_expected(&self, text: &str);

    /// A text that may hold templates.
    fn template(&self) -> Option<Template>;
}

impl AssertionNode for Node<'_> {
    fn doubt(&self, message: impl Into<String>) {
        let mut doubts = self.extra().doubts.borrow_mut();
        doubts.push(Problem::error(self.path(), message));
    }

    fn caution(&self, message: impl Into<String>) {
        let mut doubts = self.extra().doubts.borrow_mut();
        doubts.push(Problem::warning(self.path(), message));
    }

    fn note_expected(&self, text: &str) {
        let mut expected = self.extra().expected.borrow_mut();
        expected.push((self.path().to_owned(), text.to_owned()));
    }

    fn template(&self) -> Option<Template> {
        let template = self.parsed(Template::parse)?;
        let mut references = self.extra().references.borrow_mut();
        let found = template.references();
        references.extend(found.map(|one| (self.path().to_owned(), one.clone())));
        Some(template)
    }
}
