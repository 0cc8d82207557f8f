//! A line about what must never happen.
//!
//! One violation fails at once: it is not a question of statistics. None in N checked attempts still leaves a rate that would have shown itself
//! with 95 %: 1 − 0.05^(1/N), about 3/N. That bound is printed beside a PASS, and a policy may ask for a highest rate.

use serde::Serialize;

use super::GateVerdict;
use crate::{Alpha, Refusal};

/// How often something that must never happen was looked for, and found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Never {
    /// Attempts that were checked; those of an agent that crashed or timed out are, because its world is frozen.
    pub checked: u64,
    /// How many of them violate it.
    pub violations: u64,
    /// Attempts that could not be checked.
    pub unchecked: u64,
    /// The rate that must be ruled out, if any.
    pub max_rate: Option<f64>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NeverResult {
    /// What the line says.
    pub verdict: GateVerdict,
    /// The rate that is ruled out; none after a violation.
    pub rate_below: Option<f64>,
    /// How many more attempts must be checked.
    pub more: u64,
}

impl Never {
    /// Decides at the level `alpha`.
    pub(super) fn check(self, alpha: Alpha) -> Result<NeverResult, Refusal> {
        if self.violations > self.checked {
            return Err(Refusal::BadCount);
        }
        if self
            .max_rate
            .is_some_and(|rate| !(rate > 0.0 && rate < 1.0))
        {
            return Err(Refusal::BadThreshold);
        }
        if self.violations > 0 {
            return Ok(NeverResult {
                verdict: GateVerdict::Fail,
                rate_below: None,
                more: 0,
            });
        }
        let log_alpha = libm::log(alpha.value());
        let rate_below = match self.checked {
            0 => 1.0,
            checked => -libm::expm1(log_alpha / checked as f64),
        };
        let needed = match self.max_rate {
            None => 1,
            // A hair less than a whole number is that number.
            Some(rate) => libm::ceil(log_alpha / libm::log1p(-rate) - 1e-9) as u64,
        };
        let more = needed.saturating_sub(self.checked).max(self.unchecked);
        Ok(NeverResult {
            verdict: if more > 0 {
                GateVerdict::Inconclusive
            } else {
                GateVerdict::Pass
            },
            rate_below: Some(rate_below),
            more,
        })
    }
}
