//! Where validation stands in a resource, without building any text until something is wrong there.

use std::fmt;

/// A place in a resource, linked to the one around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    name: &'p str,
    index: Option<usize>,
    /// The type that a choice was made for.
    of_type: Option<&'p str>,
}

impl<'p> Place<'p> {
    /// The resource itself.
    pub(super) fn root(name: &'p str) -> Self {
        Self {
            parent: None,
            name,
            index: None,
            of_type: None,
        }
    }

    /// An element of what is here.
    pub(super) fn child(&'p self, name: &'p str) -> Self {
        Self {
            parent: Some(self),
            name,
            index: None,
            of_type: None,
        }
    }

    /// The value of a choice, which FHIRPath knows by the name of the choice and the type of the value.
    pub(super) fn choice(&'p self, name: &'p str, of_type: &'p str) -> Self {
        Self {
            of_type: Some(of_type),
            ..self.child(name)
        }
    }

    /// One item of an element that repeats.
    pub(super) fn item(self, index: usize) -> Self {
        Self {
            index: Some(index),
            ..self
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(formatter, "{parent}.")?;
        }
        formatter.write_str(self.name)?;
        if let Some(of_type) = self.of_type {
            write!(formatter, ".ofType({of_type})")?;
        }
        match self.index {
            Some(index) => write!(formatter, "[{index}]"),
            None => Ok(()),
        }
    }
}
