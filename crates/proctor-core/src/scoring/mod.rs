//! Marks, axes and verdicts: how single scores become the score of a task and of a run.
//!
//! Every function here is pure, and none depends on the order of what it is given: sums are taken
//! over sorted terms, so that the same marks give the same bits.

mod critical;

use std::{cmp::Ordering, collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

use crate::numeral::Numeral;

pub use self::critical::CriticalMiss;

/// A number in `[0, 1]`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Score(f64);

impl Score {
    /// Nothing is right.
    pub const ZERO: Self = Self(0.0);
    /// Everything is right.
    pub const ONE: Self = Self(1.0);

    /// The score with this value.
    pub fn new(value: f64) -> Result<Self, BadScore> {
        // The range check also refuses NaN. Adding 0.0 turns -0.0 into 0.0.
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value + 0.0))
        } else {
            Err(BadScore(value))
        }
    }

    /// The value.
    pub const fn value(self) -> f64 {
        self.0
    }

    fn clamped(value: f64) -> Self {
        Self(value.clamp(0.0, 1.0))
    }
}

impl TryFrom<f64> for Score {
    type Error = BadScore;
    fn try_from(value: f64) -> Result<Self, BadScore> {
        Self::new(value)
    }
}

impl From<Score> for f64 {
    fn from(score: Score) -> f64 {
        score.0
    }
}

/// A number that is no score.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a score is a number from 0 to 1, not {0}")]
pub struct BadScore(f64);

/// How much a criterion counts: finite and not negative. It is written as its author wrote it.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    value: f64,
    /// How many digits its author wrote behind the point, if that is all there is to how it was written.
    decimals: Option<u8>,
}

impl Weight {
    /// What counts nothing.
    pub const NONE: Self = Self {
        value: 0.0,
        decimals: Some(0),
    };
    /// What counts once.
    pub const ONE: Self = Self {
        value: 1.0,
        decimals: Some(0),
    };

    /// The weight with this value.
    pub fn new(value: f64) -> Result<Self, BadWeight> {
        if value.is_finite() && value >= 0.0 {
            Ok(Self {
                value: value + 0.0,
                decimals: None,
            })
        } else {
            Err(BadWeight(value))
        }
    }

    /// The weight that an author wrote.
    pub fn written(number: &Number) -> Result<Self, BadWeight> {
        let weight = Self::new(number.as_f64().unwrap_or(f64::INFINITY))?;
        let text = number.to_string();
        let decimals = Numeral::read(&text)
            .filter(|numeral| numeral.exponent.is_none() && !numeral.is_negative)
            .and_then(|numeral| u8::try_from(numeral.fraction.len()).ok());
        let written = Self { decimals, ..weight };
        // Digits that a value does not keep are not made up.
        let is_same = written.text().is_some_and(|again| again == text);
        Ok(if is_same { written } else { weight })
    }

    /// The value.
    pub const fn value(self) -> f64 {
        self.value
    }

    fn text(self) -> Option<String> {
        let decimals = usize::from(self.decimals?);
        Some(format!("{:.decimals$}", self.value))
    }
}

/// Weights are the same if they count the same.
impl PartialEq for Weight {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialOrd for Weight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self {
            value: 1.0,
            decimals: None,
        }
    }
}

impl Serialize for Weight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = self.text().and_then(|text| text.parse::<Number>().ok());
        match written {
            Some(number) => number.serialize(serializer),
            None => serializer.serialize_f64(self.value),
        }
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(deserializer)?;
        Self::written(&number).map_err(serde::de::Error::custom)
    }
}

/// A number that is no weight.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a weight is a finite number of at least 0, not {0}")]
pub struct BadWeight(f64);

/// The axis of criteria that name none.
pub const DEFAULT_AXIS: &str = "__default__";

/// Refuses a name that authors may not give to an axis.
pub fn check_axis(name: &str) -> Result<(), ReservedAxis> {
    match name == DEFAULT_AXIS {
        true => Err(ReservedAxis),
        false => Ok(()),
    }
}

/// The name of an axis that is not the author's to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{DEFAULT_AXIS}' is the axis of criteria that name none: choose another name, or none")]
pub struct ReservedAxis;

/// What one criterion contributes.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// How right it is.
    pub score: Score,
    /// How much it counts.
    pub weight: Weight,
    /// The axis it counts on; `None` is [`DEFAULT_AXIS`].
    pub axis: Option<String>,
}

/// The weighted mean of one axis, and the weight behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AxisScore {
    /// The weighted mean.
    pub score: Score,
    /// The sum of the weights.
    pub weight: f64,
}

/// Scores by axis name.
pub type Axes = BTreeMap<String, AxisScore>;

/// The answer in one word. Ordered: `Fail < Partial < Pass`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing was right, or nothing was asked.
    Fail,
    /// Something was right.
    Partial,
    /// At least nine tenths were right.
    Pass,
}

/// What is needed to pass.
pub const PASS_MARK: f64 = 0.9;
/// Far above the error of any sum here, far below any difference that means something: a score
/// that is 0.9 but for rounding passes.
const ROUNDING: f64 = 1e-9;

impl Verdict {
    /// The verdict on a score.
    pub fn of(score: Score) -> Self {
        if score.0 >= PASS_MARK - ROUNDING {
            Self::Pass
        } else if score.0 > 0.0 {
            Self::Partial
        } else {
            Self::Fail
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fail => "fail",
            Self::Partial => "partial",
            Self::Pass => "pass",
        })
    }
}

/// A score with what explains it: of a task, or of a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scorecard {
    /// The one number.
    pub score: Score,
    /// The one word.
    pub verdict: Verdict,
    /// The number by axis.
    pub axes: Axes,
    /// The critical criteria that were missed. If there are any, the verdict is [`Verdict::Fail`] whatever the score.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub critical_misses: Vec<CriticalMiss>,
}

impl Scorecard {
    /// Zero on everything: what a task that timed out is worth.
    pub fn zero() -> Self {
        Self {
            score: Score::ZERO,
            verdict: Verdict::Fail,
            axes: Axes::new(),
            critical_misses: Vec::new(),
        }
    }

    /// The scorecard of a task from the marks of its criteria. Without criteria, or when all
    /// weights are zero, it is [`Score::ZERO`] and [`Verdict::Fail`].
    pub fn of_task(marks: &[Mark]) -> Self {
        let score = weighted_mean(marks.iter().map(|mark| (mark.score, mark.weight)));
        let mut by_axis: BTreeMap<&str, Vec<(Score, Weight)>> = BTreeMap::new();
        for mark in marks {
            let axis = mark.axis.as_deref().unwrap_or(DEFAULT_AXIS);
            by_axis
                .entry(axis)
                .or_default()
                .push((mark.score, mark.weight));
        }
        let axes = by_axis
            .into_iter()
            .map(|(axis, terms)| {
                let weight = sum(terms.iter().map(|(_, weight)| weight.value));
                (
                    axis.to_owned(),
                    AxisScore {
                        score: weighted_mean(terms.iter().copied()),
                        weight,
                    },
                )
            })
            .collect();
        Self {
            score,
            verdict: Verdict::of(score),
            axes,
            critical_misses: Vec::new(),
        }
    }

    /// The same scorecard with these critical criteria missed: score and axes stay what the formula says, the verdict is
    /// capped.
    #[must_use]
    pub fn with_critical_misses(mut self, misses: impl IntoIterator<Item = CriticalMiss>) -> Self {
        self.critical_misses.extend(misses);
        if !self.critical_misses.is_empty() {
            self.verdict = Verdict::Fail;
        }
        self
    }

    /// The scorecard of a task of these weights and axes that nothing was done about: zero, on every axis it has.
    pub fn missed<'a>(criteria: impl Iterator<Item = (Weight, Option<&'a str>)>) -> Self {
        let marks: Vec<Mark> = criteria
            .map(|(weight, axis)| Mark {
                score: Score::ZERO,
                weight,
                axis: axis.map(str::to_owned),
            })
            .collect();
        Self::of_task(&marks)
    }

    /// The scorecard of a run: the plain mean over what counts, or `None` when nothing does.
    /// Each axis is the mean over the tasks that have it, those that count zero included.
    pub fn of_run(tasks: &[Counted<'_>]) -> Option<Self> {
        let counted: Vec<&Counted<'_>> = tasks
            .iter()
            .filter(|task| !matches!(task, Counted::Not))
            .collect();
        if counted.is_empty() {
            return None;
        }
        let score = mean(counted.iter().map(|task| match task {
            Counted::Scored(card) => card.score.0,
            Counted::Zero(_) | Counted::Void | Counted::Not => 0.0,
        }));
        let mut by_axis: BTreeMap<&str, Vec<AxisScore>> = BTreeMap::new();
        for task in &counted {
            let axes = match task {
                Counted::Scored(card) => &card.axes,
                Counted::Zero(missed) => &missed.axes,
                Counted::Void | Counted::Not => continue,
            };
            for (axis, scored) in axes {
                by_axis.entry(axis).or_default().push(*scored);
            }
        }
        let axes = by_axis
            .into_iter()
            .map(|(axis, scored)| {
                let weight = sum(scored.iter().map(|one| one.weight));
                (
                    axis.to_owned(),
                    AxisScore {
                        score: mean(scored.iter().map(|one| one.score.0)),
                        weight,
                    },
                )
            })
            .collect();
        let missed = counted.iter().flat_map(|task| match task {
            Counted::Scored(card) => card.critical_misses.as_slice(),
            Counted::Zero(missed) => missed.critical_misses.as_slice(),
            Counted::Void | Counted::Not => &[],
        });
        let card = Self {
            score,
            verdict: Verdict::of(score),
            axes,
            critical_misses: Vec::new(),
        };
        Some(card.with_critical_misses(missed.take(critical::MOST_OF_A_RUN).cloned()))
    }
}

/// How one task run enters the score of its run, as the dialects prescribe it. Ours is [`crate::results`].
#[derive(Clone, Debug, PartialEq)]
pub enum Counted<'a> {
    /// With its score.
    Scored(&'a Scorecard),
    /// As a zero, in the mean and on each axis of this [missed](Scorecard::missed) task: its agent took too long, crashed, or
    /// was never scored.
    Zero(Scorecard),
    /// As a zero in the mean, which the dialects prescribe, and on no axis: the platform or the scorers broke it.
    Void,
    /// Not at all: it was cancelled.
    Not,
}

fn weighted_mean(terms: impl Iterator<Item = (Score, Weight)>) -> Score {
    let terms: Vec<(Score, Weight)> = terms.collect();
    let heaviest = terms
        .iter()
        .map(|(_, weight)| weight.value)
        .fold(0.0, f64::max);
    if heaviest == 0.0 {
        return Score::ZERO;
    }
    // Scaled by a power of two, which loses nothing: the sums stay finite whatever the weights.
    let exponent = heaviest.log2().floor().clamp(-1000.0, 1000.0);
    let scale = (-exponent).exp2();
    let total = sum(terms.iter().map(|(_, weight)| weight.value * scale));
    let reached = sum(terms
        .iter()
        .map(|(score, weight)| score.0 * (weight.value * scale)));
    Score::clamped(reached / total)
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Score {
    let values: Vec<f64> = values.collect();
    let count = values.len() as f64;
    Score::clamped(sum(values.into_iter()) / count)
}

/// The sum of non-negative numbers, the same for every order of them, never infinite, and with
/// the rounding of each step carried along (Neumaier), so that ten tenths are one.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for value in values {
        let next = sum + value;
        if next.is_infinite() {
            return f64::MAX;
        }
        lost += if sum >= value {
            (sum - next) + value
        } else {
            (value - next) + sum
        };
        sum = next;
    }
    sum + lost
}

/// Refuses weights that do not total 1 (± 0.001), as the Runloop dialect asks.
pub fn check_total_of_one(weights: &[Weight]) -> Result<(), BadTotal> {
    let total = sum(weights.iter().map(|weight| weight.value));
    if (total - 1.0).abs() <= 0.001 + ROUNDING {
        Ok(())
    } else {
        Err(BadTotal(total))
    }
}

/// Weights that should total 1 and do not.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the weights of all scoring functions must total 1, not {0}")]
pub struct BadTotal(f64);

#[cfg(test)]
mod tests;
