//! What search parameters find in a resource: typed, owned values that a store can keep and compare.
//!
//! Owns the shape of index values and how they are made from resources. Never compares them: [`crate::query`] does.

mod convert;
mod extract;
mod value;

pub use extract::extract;
pub(crate) use value::compared_code;
pub use value::{
    IdentifierType, IndexValue, NumberValue, Position, QuantityValue, ReferenceTarget,
    ReferenceValue, StringValue, TokenSystem, TokenValue,
};
