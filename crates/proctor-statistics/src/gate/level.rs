//! A line about how good B is by itself.

use super::Bounds;
use crate::{
    About, Alpha, Attempts, Refusal, Tasks, distributions::student_t, rerun::rerun, sums::mean,
    wilson::wilson,
};

/// An interval around the mean of B, and how likely so low a mean is if the truth is at the threshold.
struct Level {
    mean: f64,
    low: f64,
    high: f64,
    p_below: f64,
}

/// The bounds of B's mean.
pub(super) fn measure(
    tasks: &Tasks<Attempts>,
    at: f64,
    about: About,
    alpha: Alpha,
) -> Result<Bounds, Refusal> {
    if !(at > 0.0 && at < 1.0) {
        return Err(Refusal::BadThreshold);
    }
    let plain = level(tasks, None, at, about, alpha)?;
    let voids: usize = tasks.rows().iter().map(|row| row.data.void()).sum();
    let (low_voids, high_voids, p_best) = if voids == 0 {
        (plain.low, plain.high, plain.p_below)
    } else {
        let worst = level(tasks, Some(0.0), at, about, alpha)?;
        let best = level(tasks, Some(1.0), at, about, alpha)?;
        (worst.low, best.high, best.p_below)
    };
    Ok(Bounds {
        at,
        estimate: plain.mean,
        low: plain.low,
        high: plain.high,
        low_voids: plain.low.min(low_voids),
        high_voids: plain.high.max(high_voids),
        p_fail: plain.p_below.max(p_best),
        voids,
    })
}

fn level(
    tasks: &Tasks<Attempts>,
    voids_as: Option<f64>,
    at: f64,
    about: About,
    alpha: Alpha,
) -> Result<Level, Refusal> {
    let rows = tasks
        .rows()
        .iter()
        .map(|row| (row.cluster, row.data.scores_with_voids_as(voids_as)));
    let (clusters, scores): (Vec<usize>, Vec<_>) =
        rows.filter(|(_, scores)| !scores.is_empty()).unzip();
    if scores.is_empty() {
        return Err(Refusal::NothingScored);
    }
    let tail = alpha.value();
    match about {
        About::Suite => {
            let again = rerun(&scores, tail)?;
            Ok(Level {
                mean: again.mean,
                low: again.low,
                high: again.high,
                p_below: student_t::cdf((again.mean - at) / again.se, again.df),
            })
        }
        About::Tasks => {
            let means: Vec<f64> = scores.iter().map(|scores| mean(scores)).collect();
            let interval = wilson(&means, &clusters, tail);
            // The score test that the upper bound inverts: the variance is the one at the threshold.
            let p_below = interval.precision.map_or(1.0, |precision| {
                let se = (at * (1.0 - at) / precision.effective).sqrt();
                student_t::cdf((interval.mean - at) / se, precision.df)
            });
            Ok(Level {
                mean: interval.mean,
                low: interval.low,
                high: interval.high,
                p_below,
            })
        }
    }
}
