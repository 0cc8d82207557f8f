//! Walks borrowed JSON along the steps of a compiled expression. Allocates nothing and clones nothing.

use serde_json::Value;

use super::plan::{Expression, Key, Literal, Path, Pick, Plan, Start, Step, Test};
use crate::definitions::DataType;
use crate::reference::Literal as LiteralReference;

/// A place in a resource and the type of what is there.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// The JSON, never an array.
    pub value: &'a Value,
    /// Its type.
    pub kind: DataType,
}

/// One result of an expression.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// Something in the resource.
    Node(Node<'a>),
    /// What a condition came to.
    Boolean(bool),
}

impl Expression {
    /// Calls `sink` with each result on a whole resource.
    pub fn each<'a>(&self, resource: &'a Value, sink: &mut dyn FnMut(Item<'a>)) {
        self.each_within(
            resource,
            Node {
                value: resource,
                kind: DataType::Resource,
            },
            sink,
        );
    }

    /// Calls `sink` with each result on an inner node of a resource.
    pub fn each_within<'a>(
        &self,
        resource: &'a Value,
        context: Node<'a>,
        sink: &mut dyn FnMut(Item<'a>),
    ) {
        let scope = Scope { resource, context };
        match &self.plan {
            Plan::Paths(paths) => scope.each(paths, &mut |node| sink(Item::Node(node))),
            Plan::Test(test) => sink(Item::Boolean(scope.holds(test))),
        }
    }

    /// Whether there is any result on an inner node of a resource.
    pub fn leads_somewhere(&self, resource: &Value, context: Node<'_>) -> bool {
        let mut found = false;
        self.each_within(resource, context, &mut |_| found = true);
        found
    }

    /// The places that the expression leads to; none for a condition.
    pub fn nodes<'a>(&self, resource: &'a Value) -> Vec<Node<'a>> {
        let mut found = Vec::new();
        self.each(resource, &mut |item| match item {
            Item::Node(node) => found.push(node),
            Item::Boolean(_) => {}
        });
        found
    }
}

/// What names in an expression refer to.
#[derive(Clone, Copy)]
struct Scope<'a> {
    resource: &'a Value,
    context: Node<'a>,
}

impl<'a> Scope<'a> {
    fn each(&self, paths: &[Path], sink: &mut dyn FnMut(Node<'a>)) {
        for path in paths {
            match &path.start {
                Start::Context => self.walk(self.context, &path.steps, sink),
                Start::Resource => self.walk(
                    Node {
                        value: self.resource,
                        kind: DataType::Resource,
                    },
                    &path.steps,
                    sink,
                ),
                Start::Pick(inner, pick) => {
                    if let Some(node) = self.pick(inner, *pick) {
                        self.walk(node, &path.steps, sink);
                    }
                }
            }
        }
    }

    fn pick(&self, paths: &[Path], pick: Pick) -> Option<Node<'a>> {
        let mut position = 0;
        let mut chosen = None;
        self.each(paths, &mut |node| {
            match pick {
                Pick::Index(index) if index == position => chosen = Some(node),
                Pick::Index(_) => {}
                Pick::Last => chosen = Some(node),
            }
            position += 1;
        });
        chosen
    }

    fn walk(&self, node: Node<'a>, steps: &[Step], sink: &mut dyn FnMut(Node<'a>)) {
        let Some((step, rest)) = steps.split_first() else {
            return sink(node);
        };
        match step {
            Step::Member(key) => self.follow(node, key, rest, sink),
            Step::Choice(keys) => keys
                .iter()
                .for_each(|key| self.follow(node, key, rest, sink)),
            Step::Where(test) => {
                if (Scope {
                    context: node,
                    ..*self
                })
                .holds(test)
                {
                    self.walk(node, rest, sink);
                }
            }
            Step::ResourceOf(name) => {
                if node.value.get("resourceType").and_then(Value::as_str) == Some(name) {
                    self.walk(node, rest, sink);
                }
            }
            Step::Extension(url) => {
                let extensions = node.value.get("extension").and_then(Value::as_array);
                for extension in extensions.into_iter().flatten() {
                    if extension.get("url").and_then(Value::as_str) == Some(url) {
                        self.walk(
                            Node {
                                value: extension,
                                kind: DataType::Extension,
                            },
                            rest,
                            sink,
                        );
                    }
                }
            }
        }
    }

    fn follow(&self, node: Node<'a>, key: &Key, rest: &[Step], sink: &mut dyn FnMut(Node<'a>)) {
        match node
            .value
            .as_object()
            .and_then(|object| object.get(&*key.name))
        {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for value in items.iter().filter(|value| !value.is_null()) {
                    self.walk(
                        Node {
                            value,
                            kind: key.kind,
                        },
                        rest,
                        sink,
                    );
                }
            }
            Some(value) => self.walk(
                Node {
                    value,
                    kind: key.kind,
                },
                rest,
                sink,
            ),
        }
    }

    fn holds(&self, test: &Test) -> bool {
        match test {
            Test::Constant(value) => *value,
            Test::Exists(paths) => self.any(paths, |_| true),
            Test::True(paths) => self.only(paths) == Some(&Value::Bool(true)),
            Test::Equal(paths, literal) => {
                self.only(paths).is_some_and(|value| equals(value, literal))
            }
            Test::NotEqual(paths, literal) => {
                self.any(paths, |_| true)
                    && !self.only(paths).is_some_and(|value| equals(value, literal))
            }
            Test::ResolvesTo(paths, name) => self.any(paths, |node| {
                referenced_type(self.resource, node.value) == Some(name)
            }),
            Test::Not(inner) => !self.holds(inner),
            Test::And(left, right) => self.holds(left) && self.holds(right),
            Test::Or(left, right) => self.holds(left) || self.holds(right),
        }
    }

    fn any(&self, paths: &[Path], accept: impl Fn(Node<'a>) -> bool) -> bool {
        let mut found = false;
        self.each(paths, &mut |node| found = found || accept(node));
        found
    }

    /// What paths lead to if it is one thing.
    fn only(&self, paths: &[Path]) -> Option<&'a Value> {
        let mut count = 0;
        let mut last = None;
        self.each(paths, &mut |node| {
            count += 1;
            last = Some(node.value);
        });
        last.filter(|_| count == 1)
    }
}

fn equals(value: &Value, literal: &Literal) -> bool {
    match (value, literal) {
        (Value::String(text), Literal::Text(wanted)) => **text == **wanted,
        (Value::Number(number), Literal::Number(wanted)) => number.as_f64() == Some(*wanted),
        (Value::Bool(value), Literal::Boolean(wanted)) => value == wanted,
        _ => false,
    }
}

/// The type of the resource that a `Reference` or a plain url points to, as far as the text says it.
fn referenced_type<'a>(resource: &'a Value, reference: &'a Value) -> Option<&'a str> {
    let text = match reference {
        Value::String(text) => Some(text.as_str()),
        _ => reference.get("reference").and_then(Value::as_str),
    };
    let by_text = text.and_then(|text| match text.strip_prefix('#') {
        Some(id) => contained_type(resource, id),
        None => LiteralReference::parse(text).map(|literal| literal.kind),
    });
    by_text.or_else(|| reference.get("type").and_then(Value::as_str))
}

fn contained_type<'a>(resource: &'a Value, id: &str) -> Option<&'a str> {
    if id.is_empty() {
        return resource.get("resourceType").and_then(Value::as_str);
    }
    let contained = resource.get("contained").and_then(Value::as_array)?;
    let target = contained
        .iter()
        .find(|candidate| candidate.get("id").and_then(Value::as_str) == Some(id))?;
    target.get("resourceType").and_then(Value::as_str)
}
