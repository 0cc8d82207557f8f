//! The steps that a compiled expression consists of, each naming the JSON keys to follow.

use crate::definitions::{DataType, Name};

/// What an expression needs to know about types to find its way through JSON.
pub trait TypeModel {
    /// What the element `name` of the type `owner` may hold; `value`, not `value[x]`.
    fn element(&self, owner: &str, name: &str) -> Option<ElementTypes<'_>>;

    /// The name as the definitions hold it, if it is the name of a type.
    fn type_name(&self, name: &str) -> Option<Name>;
}

/// What an element may hold.
#[derive(Debug, Clone, Copy)]
pub struct ElementTypes<'m> {
    /// The possible types; more than one only for a choice.
    pub types: &'m [Name],
    /// Whether the JSON key ends in the name of the type.
    pub choice: bool,
    /// The code system that a code without system belongs to.
    pub system: Option<Name>,
}

/// An expression ready to be evaluated on resources of the type it was compiled for.
#[derive(Debug)]
pub struct Expression {
    pub(super) plan: Plan,
    pub(super) result_types: Vec<Name>,
}

#[derive(Debug)]
pub(super) enum Plan {
    Paths(Box<[Path]>),
    Test(Test),
}

#[derive(Debug)]
pub(super) struct Path {
    pub(super) start: Start,
    pub(super) steps: Box<[Step]>,
}

#[derive(Debug)]
pub(super) enum Start {
    Context,
    Resource,
    Pick(Box<[Path]>, Pick),
}

/// One item out of all that paths lead to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pick {
    Index(usize),
    Last,
}

#[derive(Debug)]
pub(super) enum Step {
    Member(Key),
    Choice(Box<[Key]>),
    Where(Test),
    /// Keeps resources of one type, where the definitions allow any.
    ResourceOf(Name),
    Extension(Box<str>),
}

/// A JSON key and the type of what stands under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: Box<str>,
    pub(super) kind: DataType,
}

#[derive(Debug)]
pub(super) enum Test {
    Constant(bool),
    Exists(Box<[Path]>),
    /// The paths lead to one item, which is `true`.
    True(Box<[Path]>),
    Equal(Box<[Path]>, Literal),
    NotEqual(Box<[Path]>, Literal),
    /// The paths lead to a reference to a resource of this type.
    ResolvesTo(Box<[Path]>, Name),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
}

#[derive(Debug, Clone)]
pub(super) enum Literal {
    Text(Box<str>),
    Number(f64),
    Boolean(bool),
}
