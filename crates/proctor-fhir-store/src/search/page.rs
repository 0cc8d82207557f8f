//! Places between the pages of a search, as links name them.
//!
//! A place is a version of a resource and a direction: "after this". Versions never change and rows
//! are never given away, so the place stays where it was when resources come, go or change.

use std::fmt;

use super::Found;
use crate::{index::Row, kind::ResourceKind, state::State};

/// Which side of a place the page lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    After,
    Before,
}

/// A place in the order of matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) side: Side,
    pub(crate) at: Found,
    /// The version whose values say where in a sorted order the place is.
    pub(crate) version: u32,
}

impl Position {
    /// The place beside a resource as it is now.
    pub(super) fn beside(state: &State, side: Side, at: Found) -> Self {
        Self {
            side,
            at,
            version: state.view(at.kind).newest(at.row).number,
        }
    }

    /// Reads a place from a link; nothing if it is no place in this store.
    pub(super) fn parse(state: &State, text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let side = match parts.next()? {
            "after" => Side::After,
            "before" => Side::Before,
            _ => return None,
        };
        let kind = ResourceKind::named(parts.next()?)?;
        let row: Row = parts.next()?.parse().ok()?;
        let version: u32 = parts.next()?.parse().ok()?;
        let view = state.view(kind);
        let known = row < view.row_end()
            && view
                .versions(row)
                .iter()
                .any(|known| known.number == version);
        (known && parts.next().is_none()).then_some(Self {
            side,
            at: Found { kind, row },
            version,
        })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::After => "after",
            Side::Before => "before",
        };
        let Found { kind, row } = self.at;
        write!(f, "{side}.{kind}.{row}.{}", self.version)
    }
}
