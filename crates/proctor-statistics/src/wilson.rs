//! The interval around one run: tasks like these.
//!
//! The Wilson interval is the one for shares that still holds near 0 and 1 and with few tasks: where every task passed it does not say
//! "100 % to 100 %". Scores are not mere passes and failures, though: repeats make them vary less, related tasks more. So the number of tasks is
//! replaced by the number of independent passes and failures that would vary as much (the *effective number*), and the normal quantile by
//! Student's t, because that number is estimated too. The estimate is mixed with one prior cluster's worth of "as many as there are
//! clusters", which keeps it from being infinite where all tasks agree.

use crate::{clustered::clustered_mean, distributions::student_t};

/// An interval around the mean of tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WilsonInterval {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// None for a single cluster, where the interval is everything.
    pub(crate) precision: Option<Precision>,
}

/// What an interval is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Precision {
    pub(crate) se: f64,
    pub(crate) df: f64,
    pub(crate) effective: f64,
}

/// The interval around the mean of `values`, at least one, that leaves `tail` beyond each end.
pub(crate) fn wilson(values: &[f64], clusters: &[usize], tail: f64) -> WilsonInterval {
    let estimate = clustered_mean(values, clusters);
    let mean = estimate.mean;
    let Some(spread) = estimate.spread else {
        return WilsonInterval {
            mean,
            low: 0.0,
            high: 1.0,
            precision: None,
        };
    };
    let (n, df) = (values.len() as f64, spread.df);
    let per_cluster = n / estimate.clusters as f64;
    // What the variance would be if scores were passes and failures of independent tasks.
    let of_shares = mean * (1.0 - mean) / (n - 1.0);
    let design = if of_shares < 1e-15 {
        per_cluster
    } else {
        spread.variance / of_shares
    };
    let design = (df * design + per_cluster) / (df + 1.0);
    let effective = n / design;
    let q = student_t::upper_quantile(tail, df);
    let shrink = 1.0 + q * q / effective;
    let centre = (mean + q * q / (2.0 * effective)) / shrink;
    let inside = (mean * (1.0 - mean)).max(0.0) / effective + q * q / (4.0 * effective * effective);
    let half = q * inside.sqrt() / shrink;
    WilsonInterval {
        mean,
        low: (centre - half).max(0.0),
        high: (centre + half).min(1.0),
        precision: Some(Precision {
            se: spread.variance.sqrt(),
            df,
            effective,
        }),
    }
}
