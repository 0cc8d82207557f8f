//! Searching: from the parameters of a query to rows, in order, page by page.
//!
//! * [`parameters`] reads what a query asks for, and says what it does not understand.
//! * [`tests`](mod@test) hold what a matching row must satisfy; [`chain`] makes tests that look through
//!   references, [`value_set`] finds the codes that a test may be about.
//! * [`select`] finds the rows: the most selective test is enumerated from the index, the others are
//!   checked row by row.
//! * [`order`] sorts and cuts a page out; [`page`] names places between pages.
//! * [`include`] follows references from a page; [`bundle`] writes it all down.

mod bundle;
mod chain;
mod include;
mod order;
mod page;
pub(crate) mod parameters;
mod run;
mod select;
mod test;
mod value_set;

pub(crate) use include::Include;
pub use run::{Hit, Hits};

use super::{
    index::Row,
    kind::ResourceKind,
    outcome::{IssueCode, Refusal},
};
use proctor_fhir::query::QueryError;

/// A resource that a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) kind: ResourceKind,
    pub(crate) row: Row,
}

/// A parameter that cannot be read refuses the search.
fn refuse(error: &QueryError) -> Box<Refusal> {
    let (code, parameter) = match error {
        QueryError::UnknownModifier { parameter, .. }
        | QueryError::ModifierNotAllowed { parameter, .. }
        | QueryError::ModifierNotSupported { parameter, .. } => {
            (IssueCode::NotSupported, parameter)
        }
        QueryError::InvalidValue { parameter, .. } => (IssueCode::Value, parameter),
    };
    Refusal::bad_request(code, error.to_string()).at(&format!("http.{parameter}"))
}
