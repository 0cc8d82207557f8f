//! Marks, axes and verdicts: how single scores become the score of a task and of a run.
//!
//! Every function here is pure, and none depends on the order of what it is given: sums are taken
//! over sorted terms, so that the same marks give the same bits.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

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

/// How much a criterion counts: finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Weight(f64);

impl Weight {
    /// The weight with this value.
    pub fn new(value: f64) -> Result<Self, BadWeight> {
        if value.is_finite() && value >= 0.0 {
            Ok(Self(value + 0.0))
        } else {
            Err(BadWeight(value))
        }
    }

    /// The value.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<f64> for Weight {
    type Error = BadWeight;
    fn try_from(value: f64) -> Result<Self, BadWeight> {
        Self::new(value)
    }
}

impl From<Weight> for f64 {
    fn from(weight: Weight) -> f64 {
        weight.0
    }
}

/// A number that is no weight.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a weight is a finite number of at least 0, not {0}")]
pub struct BadWeight(f64);

/// The axis of criteria that name none.
pub const DEFAULT_AXIS: &str = "__default__";

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
}

impl Scorecard {
    /// Zero on everything: what a task that timed out is worth.
    pub fn zero() -> Self {
        Self {
            score: Score::ZERO,
            verdict: Verdict::Fail,
            axes: Axes::new(),
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
                let weight = sum(terms.iter().map(|(_, weight)| weight.0));
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
        }
    }

    /// The scorecard of a run: the plain mean over what counts, or `None` when nothing does.
    /// Each axis is the mean over the tasks that have it.
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
            Counted::Zero | Counted::Not => 0.0,
        }));
        let mut by_axis: BTreeMap<&str, Vec<AxisScore>> = BTreeMap::new();
        for task in &counted {
            if let Counted::Scored(card) = task {
                for (axis, scored) in &card.axes {
                    by_axis.entry(axis).or_default().push(*scored);
                }
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
        Some(Self {
            score,
            verdict: Verdict::of(score),
            axes,
        })
    }
}

/// How one task run enters the mean of its run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Counted<'a> {
    /// With its score.
    Scored(&'a Scorecard),
    /// As a zero: it timed out, failed, or was never scored.
    Zero,
    /// Not at all: it was cancelled.
    Not,
}

fn weighted_mean(terms: impl Iterator<Item = (Score, Weight)>) -> Score {
    let terms: Vec<(Score, Weight)> = terms.collect();
    let heaviest = terms.iter().map(|(_, weight)| weight.0).fold(0.0, f64::max);
    if heaviest == 0.0 {
        return Score::ZERO;
    }
    // Scaled by a power of two, which loses nothing: the sums stay finite whatever the weights.
    let exponent = heaviest.log2().floor().clamp(-1000.0, 1000.0);
    let scale = (-exponent).exp2();
    let total = sum(terms.iter().map(|(_, weight)| weight.0 * scale));
    let reached = sum(terms
        .iter()
        .map(|(score, weight)| score.0 * (weight.0 * scale)));
    Score::clamped(reached / total)
}

fn mean(values: impl Iterator<Item = f64>) -> Score {
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
    let total = sum(weights.iter().map(|weight| weight.0));
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mark(score: f64, weight: f64, axis: Option<&str>) -> Mark {
        Mark {
            score: Score::new(score).unwrap(),
            weight: Weight::new(weight).unwrap(),
            axis: axis.map(str::to_owned),
        }
    }

    #[test]
    fn a_task_score_is_the_weighted_mean() {
        let card = Scorecard::of_task(&[
            mark(1.0, 3.0, Some("safety")),
            mark(0.5, 1.0, Some("quality")),
            mark(0.0, 1.0, None),
        ]);
        assert_eq!(card.score.value(), 0.7);
        assert_eq!(card.verdict, Verdict::Partial);
        insta::assert_json_snapshot!(card);
    }

    #[test]
    fn nine_of_ten_tenths_pass() {
        let mut marks = vec![mark(1.0, 0.1, None); 9];
        marks.push(mark(0.0, 0.1, None));
        assert_eq!(Scorecard::of_task(&marks).verdict, Verdict::Pass);

        let cards: Vec<Scorecard> = (0..10)
            .map(|place| Scorecard::of_task(&[mark(if place == 0 { 0.0 } else { 1.0 }, 0.1, None)]))
            .collect();
        let counted: Vec<Counted<'_>> = cards.iter().map(Counted::Scored).collect();
        assert_eq!(Scorecard::of_run(&counted).unwrap().verdict, Verdict::Pass);

        let sum_of_tenths = (0..9).fold(0.0, |sum, _| sum + 0.1);
        assert!(
            sum_of_tenths < 0.9,
            "the case is about a sum that falls short by rounding"
        );
        assert_eq!(
            Verdict::of(Score::new(sum_of_tenths).unwrap()),
            Verdict::Pass
        );
        assert_eq!(Verdict::of(Score::new(0.899_99).unwrap()), Verdict::Partial);
    }

    #[test]
    fn nothing_asked_is_a_fail() {
        assert_eq!(Scorecard::of_task(&[]), Scorecard::zero());
        let weightless = Scorecard::of_task(&[mark(1.0, 0.0, None), mark(1.0, 0.0, Some("a"))]);
        assert_eq!(
            (weightless.score, weightless.verdict),
            (Score::ZERO, Verdict::Fail)
        );
        assert_eq!(
            weightless.axes[DEFAULT_AXIS],
            AxisScore {
                score: Score::ZERO,
                weight: 0.0
            }
        );
    }

    #[test]
    fn numbers_that_are_no_weights_or_scores_are_refused() {
        for bad in [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.1,
            -f64::MIN_POSITIVE,
        ] {
            assert!(Weight::new(bad).is_err(), "{bad}");
            assert!(Score::new(bad).is_err(), "{bad}");
        }
        assert!(Score::new(1.000_001).is_err());
        assert!(serde_json::from_str::<Weight>("-1").is_err());
        assert!(serde_json::from_str::<Score>("1.5").is_err());
        assert_eq!(
            Weight::new(-0.0).unwrap().value().to_bits(),
            0.0f64.to_bits()
        );
    }

    #[test]
    fn extreme_weights_stay_finite() {
        let card = Scorecard::of_task(&[mark(1.0, f64::MAX, None), mark(0.0, f64::MAX, None)]);
        assert_eq!(card.score.value(), 0.5);
        assert!(card.axes[DEFAULT_AXIS].weight.is_finite());
        assert_eq!(
            Scorecard::of_task(&[mark(1.0, f64::MIN_POSITIVE, None)]).score,
            Score::ONE
        );
    }

    #[test]
    fn a_run_counts_zeros_and_leaves_out_what_was_cancelled() {
        let full = Scorecard::of_task(&[mark(1.0, 2.0, Some("safety"))]);
        let half = Scorecard::of_task(&[mark(0.5, 1.0, Some("quality"))]);
        let run = Scorecard::of_run(&[
            Counted::Scored(&full),
            Counted::Scored(&half),
            Counted::Zero,
            Counted::Not,
        ])
        .unwrap();
        assert_eq!(run.score.value(), 0.5);
        assert_eq!(
            run.axes["safety"],
            AxisScore {
                score: Score::ONE,
                weight: 2.0
            }
        );
        assert_eq!(run.axes["quality"].score.value(), 0.5);
        assert_eq!(Scorecard::of_run(&[Counted::Not]), None);
        assert_eq!(Scorecard::of_run(&[]), None);
    }

    #[test]
    fn a_total_of_one_has_a_tolerance() {
        let weights = |values: &[f64]| {
            values
                .iter()
                .map(|v| Weight::new(*v).unwrap())
                .collect::<Vec<_>>()
        };
        assert!(check_total_of_one(&weights(&[0.1; 10])).is_ok());
        assert!(check_total_of_one(&weights(&[0.333, 0.333, 0.333])).is_ok());
        assert!(check_total_of_one(&weights(&[0.5, 0.502])).is_err());
        assert!(check_total_of_one(&weights(&[])).is_err());
    }

    fn any_mark() -> impl Strategy<Value = Mark> {
        let weight = prop_oneof![Just(0.0), 0.0..10.0f64, Just(1e300), Just(1e-300)];
        let axis = prop::option::of(prop_oneof![
            Just("safety".to_owned()),
            Just("quality".to_owned())
        ]);
        (0.0..=1.0f64, weight, axis).prop_map(|(score, weight, axis)| Mark {
            axis,
            ..mark(score, weight, None)
        })
    }

    proptest! {
        #[test]
        fn the_order_of_criteria_does_not_matter(
            (marks, shuffled) in prop::collection::vec(any_mark(), 0..12)
                .prop_flat_map(|marks| (Just(marks.clone()), Just(marks).prop_shuffle()))
        ) {
            prop_assert_eq!(Scorecard::of_task(&marks), Scorecard::of_task(&shuffled));
        }

        #[test]
        fn scores_stay_between_zero_and_one(marks in prop::collection::vec(any_mark(), 0..12)) {
            let card = Scorecard::of_task(&marks);
            prop_assert!((0.0..=1.0).contains(&card.score.value()));
            for axis in card.axes.values() {
                prop_assert!((0.0..=1.0).contains(&axis.score.value()));
                prop_assert!(axis.weight.is_finite());
            }
            let run = Scorecard::of_run(&[Counted::Scored(&card), Counted::Zero]).unwrap();
            prop_assert!(run.score <= card.score);
        }

        #[test]
        fn the_verdict_is_monotone_in_the_score(a in 0.0..=1.0f64, b in 0.0..=1.0f64) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(Verdict::of(Score::new(low).unwrap()) <= Verdict::of(Score::new(high).unwrap()));
        }

        #[test]
        fn a_better_mark_never_lowers_the_score(
            marks in prop::collection::vec(any_mark(), 1..8), place: prop::sample::Index,
        ) {
            let before = Scorecard::of_task(&marks).score;
            let mut better = marks.clone();
            let place = place.index(marks.len());
            better[place].score = Score::ONE;
            prop_assert!(Scorecard::of_task(&better).score.value() >= before.value() - 1e-12);
        }

        #[test]
        fn scores_survive_the_wire_to_the_bit(value in 0.0..=1.0f64) {
            let score = Score::new(value).unwrap();
            let read: Score = serde_json::from_str(&serde_json::to_string(&score).unwrap()).unwrap();
            prop_assert_eq!(read.value().to_bits(), score.value().to_bits());
        }
    }
}
