//! Resolves the tree of an expression against the types of its root.

use super::ExpressionError;
use super::plan::{Expression, Key, Literal, Path, Pick, Plan, Start, Step, Test, TypeModel};
use super::syntax::{Tree, parse};
use crate::definitions::{DataType, Name};
use crate::primitive::text::excerpt;

/// An expression that was read and can be compiled for any number of root types.
pub(crate) struct Source<'t> {
    text: &'t str,
    tree: Tree,
}

impl<'t> Source<'t> {
    /// Reads the text of an expression.
    pub(crate) fn parse(text: &'t str) -> Result<Self, ExpressionError> {
        Ok(Self {
            text,
            tree: parse(text)?,
        })
    }

    /// Compiles for an inner node of one of the `context` types, in a resource of the type `root`.
    pub(crate) fn compile(
        &self,
        model: &impl TypeModel,
        root: Name,
        context: &[Name],
    ) -> Result<Expression, ExpressionError> {
        let compiler = Compiler {
            text: self.text,
            model,
            root,
        };
        if is_test(&self.tree) {
            let test = compiler.test(&self.tree, context)?;
            return Ok(Expression {
                plan: Plan::Test(test),
                result_types: vec!["boolean"],
            });
        }
        let drafts = compiler.paths(&self.tree, context)?;
        let mut result_types: Vec<Name> = drafts
            .iter()
            .flat_map(|draft| draft.types.iter().copied())
            .collect();
        result_types.sort_unstable();
        result_types.dedup();
        Ok(Expression {
            plan: Plan::Paths(finish(drafts)),
            result_types,
        })
    }
}

impl Expression {
    /// Compiles `text` for resources of the type `root`; parts of it that start with another type yield nothing.
    pub fn compile(
        text: &str,
        model: &impl TypeModel,
        root: Name,
    ) -> Result<Self, ExpressionError> {
        Source::parse(text)?.compile(model, root, &[root])
    }

    /// The types that results may have; empty if the expression can have none or leads where no type is known.
    pub fn result_types(&self) -> &[Name] {
        &self.result_types
    }

    /// Whether the expression can never yield anything for its root type.
    pub fn is_empty(&self) -> bool {
        matches!(&self.plan, Plan::Paths(paths) if paths.is_empty())
    }
}

fn is_test(tree: &Tree) -> bool {
    match tree {
        Tree::And(..) | Tree::Or(..) | Tree::Equal(..) | Tree::NotEqual(..) | Tree::Is(..) => true,
        Tree::Call(_, name, _) => matches!(
            name.as_str(),
            "exists" | "empty" | "not" | "hasExtension" | "is"
        ),
        Tree::Name(_)
        | Tree::This
        | Tree::Resource
        | Tree::Text(_)
        | Tree::Number(_)
        | Tree::Boolean(_)
        | Tree::Member(..)
        | Tree::Index(..)
        | Tree::As(..)
        | Tree::Union(..) => false,
    }
}

/// A path under construction.
struct Draft {
    start: Start,
    steps: Vec<DraftStep>,
    /// What the last step may lead to; empty where no type is known.
    types: Vec<Name>,
}

enum DraftStep {
    /// Follow whichever of these keys is there.
    Follow(Vec<(Key, Name)>),
    Done(Step),
}

impl Draft {
    fn from(start: Start, types: &[Name]) -> Self {
        Self {
            start,
            steps: Vec::new(),
            types: types.to_vec(),
        }
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(DraftStep::Done(step));
        self
    }
}

fn finish(drafts: Vec<Draft>) -> Box<[Path]> {
    drafts
        .into_iter()
        .map(|draft| Path {
            start: draft.start,
            steps: draft.steps.into_iter().map(finish_step).collect(),
        })
        .collect()
}

fn finish_step(step: DraftStep) -> Step {
    match step {
        DraftStep::Done(step) => step,
        DraftStep::Follow(mut keys) if keys.len() == 1 => Step::Member(keys.remove(0).0),
        DraftStep::Follow(keys) => Step::Choice(keys.into_iter().map(|(key, _)| key).collect()),
    }
}

struct Compiler<'t, M> {
    text: &'t str,
    model: &'t M,
    root: Name,
}

impl<M: TypeModel> Compiler<'_, M> {
    fn paths(&self, tree: &Tree, context: &[Name]) -> Result<Vec<Draft>, ExpressionError> {
        match tree {
            Tree::Name(name) => Ok(self.start(name, context)),
            Tree::This => Ok(vec![Draft::from(Start::Context, context)]),
            Tree::Resource => Ok(vec![Draft::from(Start::Resource, &[self.root])]),
            Tree::Member(subject, name) => Ok(self
                .paths(subject, context)?
                .into_iter()
                .map(|draft| self.member(draft, name))
                .collect()),
            Tree::Index(subject, index) => {
                Ok(picked(self.paths(subject, context)?, Pick::Index(*index)))
            }
            Tree::As(subject, name) => self.narrowed(self.paths(subject, context)?, name),
            Tree::Union(left, right) => {
                let mut drafts = self.paths(left, context)?;
                drafts.extend(self.paths(right, context)?);
                Ok(drafts)
            }
            Tree::Call(subject, name, arguments) => {
                let subject = match subject {
                    Some(subject) => self.paths(subject, context)?,
                    None => vec![Draft::from(Start::Context, context)],
                };
                self.function(subject, name, arguments)
            }
            Tree::Text(_) | Tree::Number(_) | Tree::Boolean(_) => {
                Err(self.unsupported("a literal in place of a path"))
            }
            Tree::Is(..) | Tree::Equal(..) | Tree::NotEqual(..) | Tree::And(..) | Tree::Or(..) => {
                Err(self.unsupported("a condition in place of a path"))
            }
        }
    }

    /// A name that starts a path is the type of the root or of an ancestor, or an element of the context.
    fn start(&self, name: &str, context: &[Name]) -> Vec<Draft> {
        if name == self.root || matches!(name, "Resource" | "DomainResource") {
            return vec![Draft::from(Start::Resource, &[self.root])];
        }
        if name.starts_with(|first: char| first.is_ascii_uppercase()) {
            return Vec::new();
        }
        vec![self.member(Draft::from(Start::Context, context), name)]
    }

    fn member(&self, mut draft: Draft, name: &str) -> Draft {
        let mut keys: Vec<(Key, Name)> = Vec::new();
        for owner in &draft.types {
            let Some(element) = self.model.element(owner, name) else {
                continue;
            };
            for kind in element.types {
                let key = Key {
                    name: json_key(name, kind, element.choice),
                    kind: data_type(kind, element.system),
                };
                if !keys.iter().any(|(known, _)| known.name == key.name) {
                    keys.push((key, kind));
                }
            }
        }
        draft.types = keys.iter().map(|(_, kind)| *kind).collect();
        if keys.is_empty() {
            draft.then(Step::Member(Key {
                name: name.into(),
                kind: DataType::Other(""),
            }))
        } else {
            draft.steps.push(DraftStep::Follow(keys));
            draft
        }
    }

    /// Keeps of each path only what is of the named type; paths that cannot lead there disappear.
    fn narrowed(&self, drafts: Vec<Draft>, name: &str) -> Result<Vec<Draft>, ExpressionError> {
        let wanted = self.named_type(name)?;
        let mut kept = Vec::new();
        for mut draft in drafts {
            if draft.types.contains(&"Resource") {
                draft.types = vec![wanted];
                kept.push(draft.then(Step::ResourceOf(wanted)));
                continue;
            }
            draft.types.retain(|kind| is_a(kind, wanted));
            if let Some(DraftStep::Follow(keys)) = draft.steps.last_mut() {
                keys.retain(|(_, kind)| is_a(kind, wanted));
            }
            if !draft.types.is_empty() {
                kept.push(draft);
            }
        }
        Ok(kept)
    }

    fn function(
        &self,
        subject: Vec<Draft>,
        name: &str,
        arguments: &[Tree],
    ) -> Result<Vec<Draft>, ExpressionError> {
        match (name, arguments) {
            ("where", [criteria]) => subject
                .into_iter()
                .map(|draft| {
                    let test = self.test(criteria, &draft.types)?;
                    Ok(draft.then(Step::Where(test)))
                })
                .collect(),
            ("extension", [Tree::Text(url)]) => Ok(subject
                .into_iter()
                .map(|mut draft| {
                    draft.types = vec!["Extension"];
                    draft.then(Step::Extension(url.as_str().into()))
                })
                .collect()),
            ("ofType" | "as", [Tree::Name(kind)]) => self.narrowed(subject, kind),
            ("first", []) => Ok(picked(subject, Pick::Index(0))),
            ("last", []) => Ok(picked(subject, Pick::Last)),
            _ => Err(self.unsupported(&format!("`{name}()` with {} arguments", arguments.len()))),
        }
    }

    fn test(&self, tree: &Tree, context: &[Name]) -> Result<Test, ExpressionError> {
        match tree {
            Tree::Boolean(value) => Ok(Test::Constant(*value)),
            Tree::And(left, right) => Ok(Test::And(
                Box::new(self.test(left, context)?),
                Box::new(self.test(right, context)?),
            )),
            Tree::Or(left, right) => Ok(Test::Or(
                Box::new(self.test(left, context)?),
                Box::new(self.test(right, context)?),
            )),
            Tree::Equal(left, right) => {
                let (paths, literal) = self.sides(left, right, context)?;
                Ok(Test::Equal(paths, literal))
            }
            Tree::NotEqual(left, right) => {
                let (paths, literal) = self.sides(left, right, context)?;
                Ok(Test::NotEqual(paths, literal))
            }
            Tree::Is(subject, name) => self.type_test(subject, name, context),
            Tree::Call(subject, name, arguments) => {
                self.test_function(tree, subject.as_deref(), name, arguments, context)
            }
            Tree::Name(_)
            | Tree::This
            | Tree::Resource
            | Tree::Member(..)
            | Tree::Index(..)
            | Tree::As(..)
            | Tree::Union(..) => Ok(Test::True(finish(self.paths(tree, context)?))),
            Tree::Text(_) | Tree::Number(_) => {
                Err(self.unsupported("a literal in place of a condition"))
            }
        }
    }

    fn test_function(
        &self,
        whole: &Tree,
        subject: Option<&Tree>,
        name: &str,
        arguments: &[Tree],
        context: &[Name],
    ) -> Result<Test, ExpressionError> {
        let subject_paths = || match subject {
            Some(subject) => self.paths(subject, context),
            None => Ok(vec![Draft::from(Start::Context, context)]),
        };
        match (name, arguments) {
            ("exists", []) => Ok(Test::Exists(finish(subject_paths()?))),
            ("exists", [_]) => Ok(Test::Exists(finish(self.function(
                subject_paths()?,
                "where",
                arguments,
            )?))),
            ("empty", []) => Ok(Test::Not(Box::new(Test::Exists(finish(subject_paths()?))))),
            ("hasExtension", [_]) => Ok(Test::Exists(finish(self.function(
                subject_paths()?,
                "extension",
                arguments,
            )?))),
            ("not", []) => Ok(Test::Not(Box::new(match subject {
                Some(subject) => self.test(subject, context)?,
                None => Test::True(finish(subject_paths()?)),
            }))),
            ("is", [Tree::Name(kind)]) => {
                self.type_test(subject.unwrap_or(&Tree::This), kind, context)
            }
            _ => Ok(Test::True(finish(self.paths(whole, context)?))),
        }
    }

    /// `resolve() is T` asks the reference; any other `is` asks for the path narrowed to the type.
    fn type_test(
        &self,
        subject: &Tree,
        name: &str,
        context: &[Name],
    ) -> Result<Test, ExpressionError> {
        if let Tree::Call(reference, function, arguments) = subject
            && function == "resolve"
            && arguments.is_empty()
        {
            let paths = self.paths(reference.as_deref().unwrap_or(&Tree::This), context)?;
            return Ok(Test::ResolvesTo(finish(paths), self.named_type(name)?));
        }
        Ok(Test::Exists(finish(
            self.narrowed(self.paths(subject, context)?, name)?,
        )))
    }

    fn sides(
        &self,
        left: &Tree,
        right: &Tree,
        context: &[Name],
    ) -> Result<(Box<[Path]>, Literal), ExpressionError> {
        match (literal(left), literal(right)) {
            (None, Some(literal)) => Ok((finish(self.paths(left, context)?), literal)),
            (Some(literal), None) => Ok((finish(self.paths(right, context)?), literal)),
            _ => Err(self.unsupported("a comparison that is not between a path and a literal")),
        }
    }

    /// A type by its name; `DateTime` is read as `dateTime`, as one official parameter spells it.
    fn named_type(&self, name: &str) -> Result<Name, ExpressionError> {
        let uncapitalised = || {
            let mut characters = name.chars();
            characters
                .next()
                .map(|first| first.to_ascii_lowercase().to_string() + characters.as_str())
                .unwrap_or_default()
        };
        self.model
            .type_name(name)
            .or_else(|| self.model.type_name(&uncapitalised()))
            .ok_or_else(|| ExpressionError::UnknownType {
                expression: excerpt(self.text),
                name: name.to_owned(),
            })
    }

    fn unsupported(&self, what: &str) -> ExpressionError {
        ExpressionError::Unsupported {
            expression: excerpt(self.text),
            what: what.to_owned(),
        }
    }
}

fn picked(drafts: Vec<Draft>, pick: Pick) -> Vec<Draft> {
    if drafts.is_empty() {
        return drafts;
    }
    let types: Vec<Name> = drafts
        .iter()
        .flat_map(|draft| draft.types.iter().copied())
        .collect();
    vec![Draft::from(Start::Pick(finish(drafts), pick), &types)]
}

fn literal(tree: &Tree) -> Option<Literal> {
    match tree {
        Tree::Text(text) => Some(Literal::Text(text.as_str().into())),
        Tree::Number(digits) => digits.parse().ok().map(Literal::Number),
        Tree::Boolean(value) => Some(Literal::Boolean(*value)),
        _ => None,
    }
}

/// The key of an element in JSON: choices carry the capitalised name of the type that was chosen.
pub(crate) fn json_key(name: &str, kind: &str, choice: bool) -> Box<str> {
    if !choice {
        return name.into();
    }
    let mut key = String::with_capacity(name.len() + kind.len());
    key.push_str(name);
    let mut characters = kind.chars();
    key.extend(characters.next().map(|first| first.to_ascii_uppercase()));
    key.push_str(characters.as_str());
    key.into()
}

fn data_type(kind: Name, system: Option<Name>) -> DataType {
    match DataType::named(kind) {
        DataType::Code(_) => DataType::Code(system),
        other => other,
    }
}

/// Whether a value of the type `kind` is wanted where `wanted` is named: a specialisation is one of its base.
fn is_a(kind: &str, wanted: &str) -> bool {
    let base = match kind {
        "Age" | "Count" | "Distance" | "Duration" => "Quantity",
        "canonical" | "oid" | "url" | "uuid" => "uri",
        "code" | "id" | "markdown" => "string",
        "positiveInt" | "unsignedInt" => "integer",
        other => other,
    };
    kind == wanted || base == wanted
}
