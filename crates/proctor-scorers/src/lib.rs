//! Scorers of coding tasks: programs and patterns that look at what an agent left in a box, and say how good it is.
//!
//! This crate owns the six kinds of scorers ([`Scorer`]), the rules by which output becomes a score ([`output`]), and the
//! four [`Mode`]s, which say in which box a scorer runs and what of the agent's it meets there. It knows nothing of HTTP,
//! of stored records or of runs, and it must never believe anything but what comes through a scorer's own pipe.
//!
//! ```text
//! judge ── mode: which box ── Bench ── kinds/…: one scorer ── Scored
//!          live, quiet, clone, artifacts      bash, command, tests, python, custom, ast-grep
//! ```
//!
//! Verifiers of Harbor tasks are run by [`verifier::verify`], as sealed programs of a box.
//!
//! A new kind of scorer is a file in `kinds` and a line in [`ScorerKinds::builtin`]; one that lives elsewhere is added with [`ScorerKinds::with`].

mod bench;
pub mod code;
pub mod contract;
mod error;
mod judge;
mod kinds;
mod members;
mod modes;
pub mod order;
pub mod output;
pub mod python_version;
pub mod scored;
mod scorer;
pub mod settings;
mod shell;
pub mod verifier;

pub use bench::{Bench, Ended, Ran, Script};
pub use contract::{ScoringFunction, read_contract};
pub use error::JudgeError;
pub use judge::{judge, rejudge};
pub use kinds::{Kind, ScorerKinds};
pub use members::{Members, ReadMembers};
pub use order::{JudgeOrder, Mode, Redaction, UnknownMode};
pub use scored::{Finding, Judgement, NoResult, Scored, ScoredState};
pub use scorer::Scorer;
pub use settings::ScoringSettings;
