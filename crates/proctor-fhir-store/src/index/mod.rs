//! Columns: for one search parameter of one resource type, which rows have which values.
//!
//! A [`frozen::FrozenColumn`] belongs to a base and never changes; a [`live::LiveColumn`] belongs to
//! the overlay of one playground. Both keep their values in the order of [`Key`], in which
//! what a search asks for mostly lies together: [`probe`] says where.

pub(crate) mod frozen;
mod key;
pub(crate) mod live;
pub(crate) mod probe;

pub(crate) use key::{Key, keys_of};

/// The number of a resource within its type: rows of the base first, then new ones as they come.
pub(crate) type Row = u32;
