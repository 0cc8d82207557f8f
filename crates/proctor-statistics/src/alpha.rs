//! How often an answer may be wrong.

use serde::Serialize;

/// The share of wrong answers that is accepted, more than 0 and less than one half: 0.05 gives intervals of 95 %.
///
/// Half or more would be an interval that is wider on the wrong side, or none at all, so it cannot be written down.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Alpha(f64);

impl Alpha {
    /// One in twenty, the usual level.
    pub const FIVE_PERCENT: Self = Self(0.05);

    /// The level with this value, if it is one.
    pub fn new(value: f64) -> Option<Self> {
        (value > 0.0 && value < 0.5).then_some(Self(value))
    }

    /// The value.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// What lies beyond each end of a two-sided interval.
    pub(crate) fn half(self) -> f64 {
        self.0 / 2.0
    }

    /// The level of each of several questions that share this one.
    pub(crate) fn shared_by(self, questions: usize) -> f64 {
        self.0 / questions.max(1) as f64
    }
}

impl Default for Alpha {
    fn default() -> Self {
        Self::FIVE_PERCENT
    }
}
