//! Criteria become criterion runs: what is asked of a playground, checked when it is frozen.
//!
//! * [`Rubric`]: the criteria of a task, read once; [`Rubric::judge`] checks them on a world, as often as wanted.
//! * [`problems`]: everything that is wrong with an assertion, for its author; [`lint`] for a whole task.
//! * [`CheckRegistry`] lists the checks; each is a file in [`checks`], and [`check`] has what one is made of. docs/assertions.md tells authors about them.
//! * [`fill`], [`pick`]: templates and paths outside of assertions.
//! * [`expectation`], [`template`], [`json_path`]: what all checks share.
//!
//! Everything here is pure: the same frozen world, rubric and context give the same findings to the
//! byte. Nothing does I/O, reads a clock, or fails on what an author or an agent wrote: an assertion
//! that is not understood is a criterion that is not met.

mod capture;
mod checks;
mod compare;
mod decimal;
mod dependencies;
mod expectation;
mod fhir_paths;
mod fields;
mod filling;
mod found;
mod glob;
mod json_path;
mod lint;
mod matching;
mod outcome;
mod reader;
mod record;
mod registry;
mod rubric;
mod schema;
mod template;
mod text_judge;
mod ucum;

pub mod check {
    //! What a check is made of, also one outside of this crate.

    pub use crate::{
        outcome::Outcome,
        reader::{AssertionNode, AuthoringNotes, Node, Object},
        registry::Check,
        template::{Failed, Scope, Template},
    };
}

pub use capture::capture_problems;
pub use checks::events::read_pattern;
pub use dependencies::key_problems;
pub use filling::{fill, pick, unresolved};
pub use lint::{AskedRows, Remark, judge_problems, lint, lint_criterion, row_resources};
pub use proctor_core::problem::{Problem, Severity};
pub use registry::CheckRegistry;
pub use rubric::{Finding, Judgement, Rubric, judge, problems};
pub use template::Context;
pub use text_judge::{JudgeAnswer, JudgeAnswers, JudgeQuestion, JudgeVote};
