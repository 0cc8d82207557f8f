//! The gate: does a policy let this agent through?
//!
//! Each statistical line has a threshold, and two one-sided bounds at 5 %. PASS if the lower bound is above the threshold, FAIL if the upper
//! one is below it, INCONCLUSIVE otherwise: a gate that cannot tell says so, and says what would help.
//!
//! * PASS needs every line, so each of them may use its 5 %. FAIL needs one line, so the FAIL side is corrected by Holm: ten lines
//!   must not fail a good agent ten times as often.
//! * Void attempts can make a gate neither green nor red: PASS must also hold with B's voids as 0 and A's as 1, FAIL also with the reverse.
//! * A gate without lines, or without anything scored, is refused. It never passes.

mod change;
mod level;
mod never;

use serde::{Deserialize, Serialize};

pub use self::never::{Never, NeverResult};
use crate::{
    About, Alpha, Attempts, HowManyMore, Pair, Plan, Refusal, Tasks, holm::holm, how_many_more,
};

/// A line of a policy, with the tasks that it is about. Lines that are restricted to an axis or to tags have tasks of their own.
#[derive(Clone, Copy, Debug)]
pub enum Line<'a> {
    /// B − A must be above a threshold: below 0 "not worse by more than", from 0 on "better by".
    Change {
        /// The tasks.
        tasks: &'a Tasks<Pair>,
        /// The threshold, between −1 and 1.
        at: f64,
        /// Which question is asked.
        about: About,
    },
    /// The mean of B must be above a threshold.
    Level {
        /// The tasks of B.
        tasks: &'a Tasks<Attempts>,
        /// The threshold, between 0 and 1.
        at: f64,
        /// Which question is asked.
        about: About,
    },
    /// Something must never happen.
    Never(Never),
}

/// What a gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum GateVerdict {
    /// It is good enough.
    Pass,
    /// It is not good enough.
    Fail,
    /// The data do not say.
    Inconclusive,
}

impl GateVerdict {
    /// The word for people and programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }

    /// Whether it says yes or no.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Pass | Self::Fail)
    }

    /// The verdict over several: one FAIL fails, one INCONCLUSIVE leaves it open.
    fn over(verdicts: impl Iterator<Item = Self>) -> Self {
        verdicts.fold(Self::Pass, |all, one| match (all, one) {
            (Self::Fail, _) | (_, Self::Fail) => Self::Fail,
            (Self::Inconclusive, _) | (_, Self::Inconclusive) => Self::Inconclusive,
            (Self::Pass, Self::Pass) => Self::Pass,
        })
    }
}

/// Why a line is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Undecided {
    /// Void attempts could turn it: run them again.
    Voids,
    /// There are too few attempts or tasks.
    Noise,
}

/// What came of a line with a threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThresholdResult {
    /// The difference, or the mean of B.
    pub estimate: f64,
    /// The one-sided lower bound.
    pub low: f64,
    /// The one-sided upper bound.
    pub high: f64,
    /// The lower bound if every void attempt spoke against B.
    pub low_voids: f64,
    /// The upper bound if every void attempt spoke for B.
    pub high_voids: f64,
    /// How likely so low an estimate is if the truth is at the threshold; with the voids for B where that is more.
    pub p_fail: f64,
    /// How many attempts are void.
    pub voids: usize,
    /// The same after Holm's correction over all lines with a threshold.
    pub p_fail_holm: f64,
    /// What the line says.
    pub verdict: GateVerdict,
    /// Why it is open, if it is.
    pub why: Option<Undecided>,
    /// How many more attempts or tasks would settle it, if it is a change and open for want of data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<HowManyMore>,
}

/// What came of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LineResult {
    /// One with a threshold.
    Threshold(ThresholdResult),
    /// One of what must never happen.
    Never(NeverResult),
}

impl LineResult {
    /// What the line says.
    pub const fn verdict(&self) -> GateVerdict {
        match self {
            Self::Threshold(line) => line.verdict,
            Self::Never(line) => line.verdict,
        }
    }
}

/// What came of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// What it says as a whole.
    pub verdict: GateVerdict,
    /// What came of each line, in their order.
    #[serde(rename = "rules")]
    pub lines: Vec<LineResult>,
}

/// The bounds of a line, before it is known what the other lines say.
struct Bounds {
    at: f64,
    estimate: f64,
    low: f64,
    high: f64,
    low_voids: f64,
    high_voids: f64,
    p_fail: f64,
    voids: usize,
}

enum Measured {
    Threshold(Bounds),
    Never(NeverResult),
}

/// Decides by a policy, each bound at the one-sided level `alpha`.
pub fn gate(lines: &[Line<'_>], alpha: Alpha) -> Result<Gate, Refusal> {
    if lines.is_empty() {
        return Err(Refusal::NoRules);
    }
    let measured = lines.iter().map(|line| match *line {
        Line::Change { tasks, at, about } => {
            change::measure(tasks, at, about, alpha).map(Measured::Threshold)
        }
        Line::Level { tasks, at, about } => {
            level::measure(tasks, at, about, alpha).map(Measured::Threshold)
        }
        Line::Never(never) => never.check(alpha).map(Measured::Never),
    });
    let measured: Vec<Measured> = measured.collect::<Result<_, _>>()?;
    let p_values: Vec<f64> = measured
        .iter()
        .filter_map(|line| match line {
            Measured::Threshold(bounds) => Some(bounds.p_fail),
            Measured::Never(_) => None,
        })
        .collect();
    let fail_alpha = alpha.shared_by(p_values.len());
    let mut corrected = holm(&p_values).into_iter();
    let mut results = Vec::with_capacity(lines.len());
    for (line, measured) in lines.iter().zip(measured) {
        results.push(match measured {
            Measured::Never(result) => LineResult::Never(result),
            Measured::Threshold(bounds) => {
                let p_fail_holm = corrected.next().expect("one for each threshold");
                LineResult::Threshold(decide(line, &bounds, p_fail_holm, alpha, fail_alpha)?)
            }
        });
    }
    Ok(Gate {
        verdict: GateVerdict::over(results.iter().map(LineResult::verdict)),
        lines: results,
    })
}

fn decide(
    line: &Line<'_>,
    bounds: &Bounds,
    p_fail_holm: f64,
    alpha: Alpha,
    fail_alpha: f64,
) -> Result<ThresholdResult, Refusal> {
    let at = bounds.at;
    let verdict = if bounds.low_voids > at {
        GateVerdict::Pass
    } else if p_fail_holm <= alpha.value() {
        GateVerdict::Fail
    } else {
        GateVerdict::Inconclusive
    };
    let settled_without_voids = bounds.low > at || bounds.high < at;
    let why = match verdict {
        GateVerdict::Pass | GateVerdict::Fail => None,
        GateVerdict::Inconclusive if bounds.voids > 0 && settled_without_voids => {
            Some(Undecided::Voids)
        }
        GateVerdict::Inconclusive => Some(Undecided::Noise),
    };
    let more = match (line, why) {
        (Line::Change { tasks, about, .. }, Some(Undecided::Noise)) => {
            let plan = Plan {
                alpha,
                fail_alpha: Some(fail_alpha),
                ..Plan::new(at, *about)
            };
            Some(how_many_more(tasks, &plan)?)
        }
        _ => None,
    };
    Ok(ThresholdResult {
        estimate: bounds.estimate,
        low: bounds.low,
        high: bounds.high,
        low_voids: bounds.low_voids,
        high_voids: bounds.high_voids,
        p_fail: bounds.p_fail,
        voids: bounds.voids,
        p_fail_holm,
        verdict,
        why,
        more,
    })
}
