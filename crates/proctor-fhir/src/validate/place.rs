//! Where validation stands in a resource, without building any text until something is wrong there.

use std::fmt;

/// A place in a resource, linked to the one around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    name: &'p str,
    index: Option<usize>,
}

impl<'p> Place<'p> {
    /// The resource itself.
    pub(super) fn root(name: &'p str) -> Self {
        Self {
            parent: None,
            name,
            index: None,
        }
    }

    /// An element of what is here.
    pub(super) fn child(&'p self, name: &'p str) -> Self {
        Self {
            parent: Some(self),
            name,
            index: None,
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
        match self.index {
            Some(index) => write!(formatter, "[{index}]"),
            None => Ok(()),
        }
    }
}
