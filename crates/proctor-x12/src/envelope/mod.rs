//! Checks of the envelopes around transactions: the interchange (answered by a TA1) and its groups
//! and transaction sets (answered by a 999).

mod group;
mod interchange;

pub use group::{GroupFault, GroupReport, TransactionFault, TransactionReport, check_groups};
pub use interchange::{InterchangeNote, check_interchange};
