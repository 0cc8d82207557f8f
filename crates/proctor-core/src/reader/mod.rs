//! Reading a document member by member: every problem is collected, with its place, instead of stopping at the first.
//!
//! [`Notes`] collect the problems, a [`Node`] is a value with its place, an [`Object`] knows which of its members were asked for. A method that
//! cannot give what it is asked for has refused the value, so callers pass `None` on and read the rest, to find the rest of the problems. In the
//! end [`Notes::finish`] makes sure that nothing half-read is used.
//!
//! An explicit null is as good as a member that was left out. What is done with members that nobody asked for is up to the caller:
//! [`Object::finish`] refuses them; without it they are dropped.

mod wording;

use std::{cell::RefCell, collections::BTreeSet, fmt::Display, ops::RangeInclusive};

use serde_json::{Map, Value};

pub use self::wording::Wording;
use self::wording::{At, Wanted};
use crate::problem::{Problem, Problems, Span, join};

/// Where in a text the parts of a document stand.
pub trait Places {
    /// The place of the value that a path leads to, or of the last one on the way.
    fn of_value(&self, path: &str) -> Span;

    /// The place of the name of a member of the object that a path leads to.
    fn of_name(&self, path: &str, name: &str) -> Span;
}

/// What was noted while a document was read: problems, and whatever else its readers want to remember (`X`).
#[derive(Default)]
pub struct Notes<'p, X = ()> {
    wording: Wording,
    places: Option<&'p dyn Places>,
    problems: RefCell<Vec<Problem>>,
    extra: X,
}

impl<'p, X: Default> Notes<'p, X> {
    /// Nothing yet; problems will be worded like this.
    pub fn worded(wording: Wording) -> Self {
        Self {
            wording,
            ..Self::default()
        }
    }

    /// Nothing yet; problems will also say where in a text they are.
    pub fn with_places(wording: Wording, places: &'p dyn Places) -> Self {
        Self {
            places: Some(places),
            ..Self::worded(wording)
        }
    }
}

impl<X> Notes<'_, X> {
    /// What is wrong so far.
    pub fn problems(&self) -> Vec<Problem> {
        self.problems.borrow().clone()
    }

    /// Whether nothing is wrong so far.
    pub fn is_clean(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    /// What else was noted.
    pub fn extra(&self) -> &X {
        &self.extra
    }

    /// What was read, if nothing is wrong; otherwise everything that is.
    ///
    /// # Panics
    /// If there is neither: what is not read must have been refused.
    pub fn finish<T>(self, read: Option<T>) -> Result<T, Problems> {
        Problems::none_of(self.problems.into_inner())?;
        Ok(read.expect("whatever is not read is refused with a problem"))
    }

    fn refuse(&self, path: &str, message: String) {
        let span = self.places.map(|places| places.of_value(path));
        self.note(path, span, message);
    }

    fn note(&self, path: &str, span: Option<Span>, message: String) {
        self.problems.borrow_mut().push(Problem {
            span,
            ..Problem::error(path, message)
        });
    }
}

/// A value inside a document, and where it stands.
pub struct Node<'a, X = ()> {
    value: &'a Value,
    path: String,
    notes: &'a Notes<'a, X>,
}

// A derive would ask for a clone of `X`.
impl<X> Clone for Node<'_, X> {
    fn clone(&self) -> Self {
        Self {
            value: self.value,
            path: self.path.clone(),
            notes: self.notes,
        }
    }
}

impl<'a, X> Node<'a, X> {
    /// The whole document.
    pub const fn root(value: &'a Value, notes: &'a Notes<'a, X>) -> Self {
        Self {
            value,
            path: String::new(),
            notes,
        }
    }

    /// A part of the document.
    pub fn at(path: &str, value: &'a Value, notes: &'a Notes<'a, X>) -> Self {
        Self {
            value,
            path: path.to_owned(),
            notes,
        }
    }

    /// The value as it was written.
    pub const fn value(&self) -> &'a Value {
        self.value
    }

    /// Where it stands.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What else is noted while the document is read.
    pub const fn extra(&self) -> &'a X {
        &self.notes.extra
    }

    /// Says that the value is not right.
    pub fn refuse(&self, message: impl Into<String>) {
        self.notes.refuse(&self.path, message.into());
    }

    fn wrong_type(&self, wanted: Wanted) {
        self.refuse(self.notes.wording.wrong_type(wanted, self.value));
    }

    /// An object.
    pub fn object(&self) -> Option<Object<'a, X>> {
        let Value::Object(map) = self.value else {
            self.wrong_type(Wanted::Object);
            return None;
        };
        Some(Object {
            map,
            node: self.clone(),
            asked: RefCell::default(),
        })
    }

    /// The members of an object, whatever they are called; none if it is not one, and then it is refused.
    pub fn entries(&self) -> Vec<(&'a str, Self)> {
        self.object()
            .map_or_else(Vec::new, |object| object.members().collect())
    }

    /// A list.
    pub fn list(&self) -> Option<Vec<Self>> {
        let Value::Array(items) = self.value else {
            self.wrong_type(Wanted::List);
            return None;
        };
        let items = items.iter().enumerate();
        Some(
            items
                .map(|(place, item)| self.below(&place.to_string(), item))
                .collect(),
        )
    }

    /// The elements of a list; none if it is not one, and then it is refused.
    pub fn items(&self) -> Vec<Self> {
        self.list().unwrap_or_default()
    }

    /// A text.
    pub fn text(&self) -> Option<&'a str> {
        let text = self.value.as_str();
        if text.is_none() {
            self.wrong_type(Wanted::Text);
        }
        text
    }

    /// A text that says something.
    pub fn filled_text(&self) -> Option<&'a str> {
        let text = self.text()?;
        if text.trim().is_empty() {
            self.refuse("must not be empty");
            return None;
        }
        Some(text)
    }

    /// A text with so many characters. One that has others is refused, and given all the same: what refers to it is still looked at.
    pub fn text_of_length(&self, length: RangeInclusive<usize>) -> Option<&'a str> {
        let text = self.text()?;
        let count = text.chars().count();
        if count < *length.start() || text.trim().is_empty() && *length.start() > 0 {
            self.refuse("must not be empty");
        } else if count > *length.end() {
            self.refuse(format!("must have at most {} characters", length.end()));
        }
        Some(text)
    }

    /// A truth value.
    pub fn flag(&self) -> Option<bool> {
        let flag = self.value.as_bool();
        if flag.is_none() {
            self.wrong_type(Wanted::Flag);
        }
        flag
    }

    /// A number.
    pub fn number(&self) -> Option<f64> {
        let number = self.value.as_f64();
        if number.is_none() {
            self.wrong_type(Wanted::Number);
        }
        number
    }

    /// A number of things.
    pub fn amount(&self) -> Option<usize> {
        let amount = self.value.as_u64();
        let amount = amount.and_then(|amount| usize::try_from(amount).ok());
        if amount.is_none() {
            self.refuse("must be a whole number that is not negative");
        }
        amount
    }

    /// A whole number within `range`.
    pub fn whole<N: TryFrom<u64> + PartialOrd + Display>(
        &self,
        range: RangeInclusive<N>,
    ) -> Option<N> {
        let number = self.value.as_u64();
        let number = number.and_then(|number| N::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let (least, most) = range.into_inner();
            self.refuse(format!("must be a whole number from {least} to {most}"));
        }
        number
    }

    /// One of several words.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.refuse(format!("'{text}' is none of {}", known.join(", ")));
        }
        found.map(|(_, value)| *value)
    }

    /// What `parse` makes of the text, or its refusal.
    pub fn parsed<T, E: ToString>(&self, parse: impl FnOnce(&str) -> Result<T, E>) -> Option<T> {
        parse(self.text()?)
            .map_err(|error| self.refuse(error.to_string()))
            .ok()
    }

    fn below(&self, name: &str, value: &'a Value) -> Self {
        Self {
            value,
            path: join(&self.path, name),
            notes: self.notes,
        }
    }
}

/// An object inside a document, which remembers the members that were asked for.
pub struct Object<'a, X = ()> {
    map: &'a Map<String, Value>,
    node: Node<'a, X>,
    asked: RefCell<BTreeSet<&'static str>>,
}

impl<'a, X> Object<'a, X> {
    /// The object as a value with its place.
    pub const fn node(&self) -> &Node<'a, X> {
        &self.node
    }

    /// Its members as they were written.
    pub const fn map(&self) -> &'a Map<String, Value> {
        self.map
    }

    /// A member, also if it is null.
    pub fn member(&self, name: &'static str) -> Option<Node<'a, X>> {
        self.asked.borrow_mut().insert(name);
        self.map.get(name).map(|value| self.node.below(name, value))
    }

    /// A member that may be left out; null is as good as that.
    pub fn optional(&self, name: &'static str) -> Option<Node<'a, X>> {
        self.member(name).filter(|node| !node.value.is_null())
    }

    /// A member that must be there.
    pub fn required(&self, name: &'static str) -> Option<Node<'a, X>> {
        let found = self.optional(name);
        if found.is_none() {
            match self.node.notes.wording.missing(name) {
                (At::Member, message) => self.refuse(name, message),
                (At::Object, message) => self.node.refuse(message),
            }
        }
        found
    }

    /// Every member, whatever its name.
    pub fn members(&self) -> impl Iterator<Item = (&'a str, Node<'a, X>)> + use<'a, '_, X> {
        let members = self.map.iter();
        members.map(|(name, value)| (name.as_str(), self.node.below(name, value)))
    }

    /// The members that were asked for so far and are there: without those that nobody knows, and without explicit nulls.
    pub fn asked_for(&self) -> Map<String, Value> {
        let asked = self.asked.borrow();
        let members = self.map.iter();
        let known = members
            .filter(|(name, value)| asked.contains(name.as_str()) && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()));
        known.collect()
    }

    /// The members that nobody asked for, and the names that were asked for.
    pub fn not_asked_for(&self) -> (Vec<&'a str>, Vec<&'static str>) {
        let asked = self.asked.borrow();
        let names = self.map.keys().map(String::as_str);
        let unknown = names.filter(|name| !asked.contains(name)).collect();
        (unknown, asked.iter().copied().collect())
    }

    /// Says what is wrong with a member, whether or not it is there.
    pub fn refuse(&self, name: &str, message: impl Into<String>) {
        let path = join(&self.node.path, name);
        self.node.notes.refuse(&path, message.into());
    }

    /// Refuses every member that nobody asked for.
    pub fn finish(&self) {
        let asked = self.asked.borrow();
        let known: Vec<&str> = asked.iter().copied().collect();
        let notes = self.node.notes;
        for name in self
            .map
            .keys()
            .filter(|name| !asked.contains(name.as_str()))
        {
            match notes.wording.unknown(name, &known) {
                (At::Member, message) => self.refuse(name, message),
                (At::Object, message) => {
                    let path = &self.node.path;
                    let span = notes.places.map(|places| places.of_name(path, name));
                    notes.note(path, span, message);
                }
            }
        }
    }
}

/// What a member says when it is there and right: `Some(None)` when it was left out, `None` when it was refused.
pub fn left_out_or<'a, X, T>(
    node: Option<Node<'a, X>>,
    read: impl FnOnce(&Node<'a, X>) -> Option<T>,
) -> Option<Option<T>> {
    match node {
        None => Some(None),
        Some(node) => read(&node).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads a person: everything is asked for, whatever was wrong before.
    fn person(node: &Node<'_>) -> Option<(String, u32)> {
        let object = node.object()?;
        let name = object.required("name").and_then(|name| name.filled_text());
        let age = object.required("age").and_then(|age| age.whole(0..=150));
        object.optional("friends").map(|friends| {
            let friends = friends.items();
            friends.iter().filter_map(Node::text).count()
        });
        object.optional("alive").and_then(|alive| alive.flag());
        object.optional("weight").and_then(|weight| weight.number());
        object.finish();
        Some((name?.to_owned(), age?))
    }

    fn problems(wording: Wording, value: &Value) -> String {
        let notes = Notes::worded(wording);
        let read = person(&Node::root(value, &notes));
        match notes.finish(read) {
            Ok(_) => String::new(),
            Err(problems) => problems.to_string(),
        }
    }

    #[test]
    fn everything_that_is_wrong_is_named_at_once_with_its_place() {
        let right = json!({"name": "Ada", "age": 36, "friends": null, "weight": 60.5});
        let wrong = json!({"name": " ", "age": 1.5, "friends": ["Eve", 3], "alive": 1, "hat": 1});
        for wording in [Wording::Document, Wording::Request, Wording::File] {
            assert_eq!(problems(wording, &right), "");
        }
        assert_eq!(
            problems(Wording::Document, &wrong),
            "name: must not be empty; age: must be a whole number from 0 to 150; friends.1: must be a text; \
             alive: must be true or false; hat: is not known here; age, alive, friends, name, weight are"
        );
        assert_eq!(
            problems(Wording::File, &wrong),
            "name: must not be empty; age: must be a whole number from 0 to 150; friends.1: must be a text \
             (in quotes where it looks like something else), and is a number; alive: must be true or false, and is a \
             number; 'hat' is unknown here; known are age, alive, friends, name, weight"
        );
    }

    #[test]
    fn what_is_missing_is_said_in_the_words_of_who_reads_it() {
        for (wording, said) in [
            (
                Wording::Document,
                "name: is required and missing; age: is required and missing",
            ),
            (Wording::Request, "name: is required; age: is required"),
            (Wording::File, "'name' is required; 'age' is required"),
        ] {
            assert_eq!(problems(wording, &json!({"age": null})), said);
        }
        assert_eq!(problems(Wording::Document, &json!(3)), "must be an object");
        assert_eq!(
            problems(Wording::File, &json!([])),
            "must be a map, and is a list"
        );
    }
}
