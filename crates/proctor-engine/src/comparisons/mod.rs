//! Two agents over the same tasks: what they differ by, and whether a policy lets one of them through.
//!
//! Both are computed from what is on record, by `proctor-statistics`, and kept as they were answered with the digests of what they were made from.
//! Nothing here decides by itself what counts: an attempt counts as `core::results` says.
//!
//! The order is always the same: which runs are meant ([`select`]), whether they can be compared at all ([`comparable`]), what their attempts
//! came to ([`side`]), and only then a number.

mod comparable;
mod compare;
mod criteria;
mod gate;
mod look;
mod named;
mod report;
mod select;
mod side;

pub use self::{
    compare::NewComparison,
    gate::NewGate,
    look::{ComparedTask, LookedComparison, TaskOutcome},
    report::{
        AxisReport, ComparisonReport, CriterionFlip, DifferenceReport, FlipReport, GateReport,
        LineReport, SideReport, SideScore, TaskOnOneSide, ViolationReport, VoidReport,
    },
};
pub(crate) use self::{gate::kept as kept_gate, named::unknown_names, side::Side};

use proctor_statistics::Refusal;

/// Why two sides were not compared, or a gate not decided.
#[derive(Debug, thiserror::Error)]
pub enum ComparisonProblem {
    /// A side names a run that the organization does not have.
    #[error("no benchmark run '{run}'")]
    NoRun {
        /// The side, as the request calls it.
        side: &'static str,
        /// The run.
        run: String,
    },
    /// A run has not ended.
    #[error("the benchmark run {run} is not over: what has no result yet cannot be compared")]
    NotOver {
        /// The side, as the request calls it.
        side: &'static str,
        /// The run.
        run: String,
    },
    /// No completed run has these labels.
    #[error("no completed run of this benchmark has the labels {labels}")]
    NoLabelledRun {
        /// The side, as the request calls it.
        side: &'static str,
        /// The labels.
        labels: String,
    },
    /// A member asks for what these runs do not have.
    #[error("{message}")]
    Member {
        /// The member.
        member: String,
        /// What is wrong with it.
        message: String,
    },
    /// The sides are not of the same exam.
    #[error("not comparable: {}", .0.join("; "))]
    NotComparable(Vec<String>),
    /// The numbers do not allow an answer.
    #[error("{word}: {0}", word = .0.as_str())]
    Refused(#[from] Refusal),
}
