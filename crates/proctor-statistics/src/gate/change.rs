//! A line about the change from A to B.

use super::Bounds;
use crate::{
    About, Alpha, Pair, Refusal, Tasks,
    effect::{Effect, Guard, PairedScores, Voids, paired_scores, voids_of_both},
    sums::mean,
};

/// The bounds of B − A.
pub(super) fn measure(
    tasks: &Tasks<Pair>,
    at: f64,
    about: About,
    alpha: Alpha,
) -> Result<Bounds, Refusal> {
    // A margin of everything passes everybody: whoever writes -5 means five points, not five times the scale.
    if at.is_nan() || at.abs() >= 1.0 {
        return Err(Refusal::BadThreshold);
    }
    let both = paired_scores(tasks, Voids::LeftOut);
    if both.is_empty() {
        return Err(Refusal::NoCommonTasks);
    }
    let tail = alpha.value();
    let is_not_worse = about == About::Tasks && at < 0.0;
    let guard = if is_not_worse {
        Guard::Always
    } else {
        Guard::IfFewDiffer
    };
    let lower = |rows: &[PairedScores<'_>]| -> Result<f64, Refusal> {
        Ok(Effect::of(rows, about, guard)?.bounds(tail).0)
    };
    let plain = Effect::of(&both, about, Guard::IfFewDiffer)?;
    let (low, high) = (lower(&both)?, plain.bounds(tail).1);
    let (void_a, void_b) = voids_of_both(tasks);
    let voids = void_a + void_b;
    let (against, best) = if voids == 0 {
        (low, plain)
    } else {
        (
            lower(&paired_scores(tasks, Voids::AgainstB))?,
            Effect::of(
                &paired_scores(tasks, Voids::ForB),
                about,
                Guard::IfFewDiffer,
            )?,
        )
    };
    let differences: Vec<f64> = both.iter().map(PairedScores::difference).collect();
    Ok(Bounds {
        at,
        estimate: mean(&differences),
        low,
        high,
        low_voids: low.min(against),
        high_voids: high.max(best.bounds(tail).1),
        p_fail: plain.p_below(at).max(best.p_below(at)),
        voids,
    })
}
