//! The members of a scorer's definition, as kinds of scorers read them.
//!
//! Clients send explicit nulls and members that nobody knows; both are as good as left out.

use proctor_core::reader::{Node, Object};

/// The members of a definition: every problem with them is collected, with its place.
pub type Members<'a> = Object<'a>;

/// What kinds of scorers ask of members: texts that a shell or a program is given, and lists of objects.
pub trait ReadMembers<'a> {
    /// A text that must be there and say something.
    fn text(&self, name: &'static str) -> Option<&'a str>;

    /// A text that may be left out.
    fn optional_text(&self, name: &'static str) -> Option<&'a str>;

    /// The objects of a list; nothing if it is left out.
    fn objects(&self, name: &'static str) -> Vec<Members<'a>>;
}

impl<'a> ReadMembers<'a> for Members<'a> {
    fn text(&self, name: &'static str) -> Option<&'a str> {
        let node = self.required(name)?;
        without_null(&node)?;
        node.filled_text()
    }

    fn optional_text(&self, name: &'static str) -> Option<&'a str> {
        without_null(&self.optional(name)?)
    }

    fn objects(&self, name: &'static str) -> Vec<Members<'a>> {
        let items = self.optional(name).map(|list| list.items());
        let items = items.unwrap_or_default();
        items.iter().filter_map(Node::object).collect()
    }
}

/// A text that can be an argument, a variable or a line of a script: none of those can hold a null character.
fn without_null<'a>(node: &Node<'a>) -> Option<&'a str> {
    let text = node.text()?;
    if text.contains('\0') {
        node.refuse("must not hold a null character");
        return None;
    }
    Some(text)
}
