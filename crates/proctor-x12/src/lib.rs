//! What is known about X12 005010 interchanges, as functions of bytes and data.
//!
//! * [`interchange`], [`segment`], [`delimiters`]: reading bytes, which are kept as evidence.
//! * [`schema`], [`syntax`]: what 270, 271, 276, 277, 278, 835 and 837 require, and whether a transaction has it.
//! * [`envelope`], [`acknowledgment`]: checks of the envelopes, and the TA1 and 999 that answer them.
//! * [`path`]: paths to elements, for assertions.
//! * [`build`]: writing interchanges.
//! * [`view`]: answers as JSON, for those who do not read X12.
//!
//! Nothing here does I/O, reads a clock or draws a number: times and control numbers are handed in, so
//! that the same input gives the same bytes. What a payer answers is `proctor-payer`'s.

pub mod acknowledgment;
pub mod build;
pub mod day;
pub mod delimiters;
pub mod envelope;
pub mod error;
pub mod interchange;
pub mod path;
pub mod schema;
pub mod segment;
pub mod syntax;
pub mod transaction_set;
pub mod view;
