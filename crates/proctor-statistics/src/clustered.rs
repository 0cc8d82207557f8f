//! The mean of tasks that may be related, and how sure it is.
//!
//! Tasks about one patient succeed and fail together, so a hundred of them say less than a hundred about different patients. The CR2
//! variance takes the residuals of a cluster as one, and corrects for the residuals being smaller than the errors; the degrees of freedom
//! of Bell and McCaffrey say how little is known of that variance when clusters are few or of uneven size. Without clusters both are the
//! ordinary ones: s²/n and n − 1.

use crate::sums::{ExactSum, mean, sum};

/// A mean and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClusteredMean {
    pub(crate) mean: f64,
    pub(crate) clusters: usize,
    /// None for a single cluster: nothing is known of how clusters differ.
    pub(crate) spread: Option<Spread>,
}

/// The variance of a mean and the degrees of freedom of that variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) variance: f64,
    pub(crate) df: f64,
}

/// The mean of `values`, of which there is at least one, with the number of the cluster of each.
pub(crate) fn clustered_mean(values: &[f64], clusters: &[usize]) -> ClusteredMean {
    let n = values.len() as f64;
    let mean = mean(values);
    let highest = clusters.iter().max().map_or(0, |highest| highest + 1);
    let mut groups: Vec<(f64, ExactSum)> = vec![(0.0, ExactSum::default()); highest];
    for (value, cluster) in values.iter().zip(clusters) {
        let (size, residual) = &mut groups[*cluster];
        *size += 1.0;
        residual.add(value - mean);
    }
    groups.retain(|(size, _)| *size > 0.0);
    let spread = (groups.len() > 1).then(|| {
        let squares = groups.iter().map(|(size, residual)| {
            let residual = residual.value();
            residual * residual / (1.0 - size / n)
        });
        let variance = sum(squares) / (n * n);
        let adjusted = |size: &f64| size / (n * (1.0 - size / n).sqrt());
        let sizes = || groups.iter().map(|(size, _)| size);
        let total = sum(sizes().map(|size| adjusted(size).powi(2)));
        let diagonal = sum(sizes().map(|size| adjusted(size).powi(4)));
        let squared_sizes = sum(sizes().map(|size| size * size));
        let df =
            (1.0 / (n * n)) / (squared_sizes / n.powi(4) + (total * total - diagonal) / (n * n));
        Spread { variance, df }
    });
    ClusteredMean {
        mean,
        clusters: groups.len(),
        spread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_clusters_it_is_the_ordinary_variance() {
        let values = [0.0, 1.0, 1.0, 0.5, 0.25];
        let found = clustered_mean(&values, &[0, 1, 2, 3, 4]);
        let spread = found.spread.unwrap();
        assert!((spread.variance - crate::sums::variance(&values) / 5.0).abs() < 1e-15);
        assert!((spread.df - 4.0).abs() < 1e-12);
    }

    #[test]
    fn related_tasks_count_for_less() {
        let values = [0.0, 0.0, 1.0, 1.0];
        let apart = clustered_mean(&values, &[0, 1, 2, 3]).spread.unwrap();
        let together = clustered_mean(&values, &[7, 7, 3, 3]).spread.unwrap();
        assert!(together.variance > 1.9 * apart.variance);
        assert!(together.df < apart.df);
        assert_eq!(clustered_mean(&values, &[0; 4]).spread, None);
    }
}
