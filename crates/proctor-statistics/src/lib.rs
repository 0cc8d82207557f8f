//! What scores mean: the interval around one run, the comparison of two or more, the gate that decides over a release, and how many
//! attempts are enough.
//!
//! Everything here is a closed form of what it is given: no resampling, no randomness, no clock, no I/O. The same scores give the same
//! bits on every machine and in every order of tasks and attempts. Every number is right to 1e-9.
//!
//! # Three rules
//!
//! * **The unit is the task.** Attempts are averaged per task, and tasks (or clusters of related tasks, such as all tasks about one
//!   patient) are what is counted. Ten attempts at one task are not ten independent observations; intervals that treat them so cover
//!   67 to 93 % where they promise 95 %.
//! * **Two questions** ([`About`]). *Tasks like these*: the tasks are a sample of what the agent will meet, one attempt each is enough.
//!   *These very tasks, run again*: the suite is all that counts, only the noise of the attempts is left, and it takes two attempts to see it.
//! * **Nothing is silently 0 or left out.** A void attempt ([`Attempt::Void`]) leaves the mean, is counted, and is bounded: what if it had
//!   been 0, or 1. An interval never has width zero: where the data say nothing about their own noise, two imaginary observations do.
//!
//! # Where to find what
//!
//! | question | function | method |
//! |---|---|---|
//! | how good is this run? | [`summarize`] | Wilson interval with an effective number of tasks and a t quantile |
//! | is B better than A? | [`compare()`] | paired t over tasks (CR2, Bell–McCaffrey), or Satterthwaite t over the attempts' noise |
//! | may it be released? | [`gate()`] | one-sided bounds against the thresholds of a policy; FAIL is corrected by Holm |
//! | how many more attempts would settle it? | [`how_many_more`] | conditional power |
//! | may I look after every round? | [`look`] | O'Brien–Fleming levels |
//! | does it pass at least once, or always? | [`pass_k()`] | unbiased pass@k and pass^k |
//! | how much does it vary by itself? | [`noise()`] | flakiness and the noise floor |
//! | who is best? | [`leaderboard()`] | all pairs, Holm, letters and rank intervals |
//!
//! What cannot be answered is a [`Refusal`], never a number.

mod alpha;
mod clustered;
mod compare;
mod distributions;
mod effect;
mod flips;
mod gate;
mod holm;
mod leaderboard;
mod letters;
mod looks;
mod more;
mod noise;
mod pass_k;
mod refusal;
mod rerun;
mod summary;
mod sums;
mod tasks;
mod wilson;
pub mod words;

pub use self::{
    alpha::Alpha,
    compare::{Comparison, compare},
    effect::About,
    flips::{Flip, flips},
    gate::{
        Gate, GateVerdict, Line, LineResult, Never, NeverResult, ThresholdResult, Undecided, gate,
    },
    holm::holm,
    leaderboard::{PairResult, Rank, compare_all, leaderboard},
    looks::look,
    more::{Further, HowManyMore, Plan, how_many_more},
    noise::{Noise, NoiseOptions, noise},
    pass_k::{PassK, Rate, pass_k},
    refusal::Refusal,
    rerun::Rerun,
    summary::{Summary, summarize},
    tasks::{Attempt, Attempts, Pair, Task, Tasks},
};

/// Smaller differences between scores are ties: far above the rounding of any mean, far below any difference that means something.
pub const TIE: f64 = 1e-9;
