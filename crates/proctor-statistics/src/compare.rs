//! Two runs: is one better than the other?

use serde::Serialize;

use crate::{
    About, Alpha, Pair, Refusal, TIE, Tasks,
    effect::{Effect, Guard, PairedScores, Voids, paired_scores, voids_of_both},
    sums::mean,
};

/// What two runs differ by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The mean over tasks of B − A.
    pub difference: f64,
    /// The mean of A over the tasks that both sides scored.
    pub mean_a: f64,
    /// The mean of B over the same tasks.
    pub mean_b: f64,
    /// The lower end of the interval around the difference.
    pub low: f64,
    /// The upper end of it.
    pub high: f64,
    /// The standard error.
    pub se: f64,
    /// The degrees of freedom of that.
    pub df: f64,
    /// How likely a difference this large is if there is none.
    pub p: f64,
    /// Whether two imaginary tasks were added, because too few differ.
    pub guarded: bool,
    /// How many tasks, or clusters of them, differ.
    pub differ: usize,
    /// How many tasks both sides scored.
    pub tasks: usize,
    /// At how many of them B is better.
    pub better: usize,
    /// At how many of them B is worse.
    pub worse: usize,
    /// At how many of them they are the same.
    pub same: usize,
    /// How many tasks were planned on one side only.
    pub unpaired: usize,
    /// How many tasks were planned on both sides, and have no score on one of them.
    pub left_out: usize,
    /// The void attempts of A at tasks that were planned on both sides.
    pub void_a: usize,
    /// The void attempts of B there.
    pub void_b: usize,
    /// The lower end if the voids of B were worth 0 and those of A 1.
    pub low_if_voids_worst: f64,
    /// The upper end if the voids of B were worth 1 and those of A 0.
    pub high_if_voids_best: f64,
}

/// Compares two runs. Refused if they have no scored task in common, or, about the suite, too few repeats.
pub fn compare(tasks: &Tasks<Pair>, about: About, alpha: Alpha) -> Result<Comparison, Refusal> {
    let both = paired_scores(tasks, Voids::LeftOut);
    if both.is_empty() {
        return Err(Refusal::NoCommonTasks);
    }
    let tail = alpha.half();
    let effect = Effect::of(&both, about, Guard::IfFewDiffer)?;
    let (low, high) = effect.bounds(tail);
    let (void_a, void_b) = voids_of_both(tasks);
    let (worst, best) = if void_a + void_b == 0 {
        (low, high)
    } else {
        let of = |voids| Effect::of(&paired_scores(tasks, voids), about, Guard::IfFewDiffer);
        (
            of(Voids::AgainstB)?.bounds(tail).0,
            of(Voids::ForB)?.bounds(tail).1,
        )
    };
    let differences: Vec<f64> = both.iter().map(PairedScores::difference).collect();
    let count = |is: fn(f64) -> bool| differences.iter().filter(|value| is(**value)).count();
    let planned = tasks.rows().iter();
    let planned_both = planned
        .filter(|row| row.data.a.is_some() && row.data.b.is_some())
        .count();
    let side_mean = |scores: fn(&PairedScores<'_>) -> f64| {
        let means: Vec<f64> = both.iter().map(scores).collect();
        mean(&means)
    };
    Ok(Comparison {
        difference: mean(&differences),
        mean_a: side_mean(|row| mean(&row.a)),
        mean_b: side_mean(|row| mean(&row.b)),
        low,
        high,
        se: effect.variance.sqrt(),
        df: effect.df,
        p: effect.two_sided_p(),
        guarded: effect.guarded,
        differ: effect.differing,
        tasks: both.len(),
        better: count(|difference| difference > TIE),
        worse: count(|difference| difference < -TIE),
        same: count(|difference| difference.abs() <= TIE),
        unpaired: tasks.len() - planned_both,
        left_out: planned_both - both.len(),
        void_a,
        void_b,
        low_if_voids_worst: low.min(worst),
        high_if_voids_best: high.max(best),
    })
}
