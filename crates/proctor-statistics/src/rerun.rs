//! These very tasks, run again: only the noise of the attempts counts.
//!
//! Each task's variance between its own attempts says how far its mean would move in another run. The tasks' variances are added up, and
//! Satterthwaite's degrees of freedom say how well that sum is known. Two imaginary attempts that came out the other way are always added: without
//! them a suite that never flipped would claim to know everything.

use serde::Serialize;

use crate::{
    Refusal,
    distributions::student_t,
    sums::{mean, sum, variance},
};

/// How much the mean of these very tasks would move in another run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rerun {
    /// The mean over tasks.
    pub mean: f64,
    /// Its standard error.
    pub se: f64,
    /// The degrees of freedom of that.
    pub df: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// A sum over tasks of the variances of their means, and what Satterthwaite divides by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptNoise {
    pub(crate) total: f64,
    pub(crate) divisor: f64,
}

/// Each task's variance between its attempts. A task with one attempt takes the pooled one; where more than a fifth of the tasks have
/// only one, too little is known of the noise.
pub(crate) fn within_task_variances<S: AsRef<[f64]>>(tasks: &[S]) -> Result<Vec<f64>, Refusal> {
    let tasks = || tasks.iter().map(|scores| scores.as_ref());
    let repeated = || tasks().filter(|scores| scores.len() >= 2);
    let (all, repeats) = (tasks().count(), repeated().count());
    if (all - repeats) * 5 > all {
        return Err(Refusal::NeedsTwoAttempts);
    }
    let squares = sum(repeated().map(|scores| (scores.len() - 1) as f64 * variance(scores)));
    let freedom: usize = repeated().map(|scores| scores.len() - 1).sum();
    let pooled = squares / freedom as f64;
    Ok(tasks()
        .map(|scores| match scores.len() {
            0 | 1 => pooled,
            _ => variance(scores),
        })
        .collect())
}

/// The noise of the attempts of one agent.
pub(crate) fn attempt_noise<S: AsRef<[f64]>>(tasks: &[S]) -> Result<AttemptNoise, Refusal> {
    let variances = within_task_variances(tasks)?;
    let of_means: Vec<(f64, f64)> = variances
        .iter()
        .zip(tasks)
        .map(|(variance, scores)| {
            let attempts = scores.as_ref().len();
            let freedom = attempts.saturating_sub(1).max(1);
            (variance / attempts as f64, freedom as f64)
        })
        .collect();
    Ok(AttemptNoise {
        total: sum(of_means.iter().map(|(variance, _)| *variance)),
        divisor: sum(of_means
            .iter()
            .map(|(variance, freedom)| variance * variance / freedom)),
    })
}

/// Adds the two imaginary flips, each worth one attempt's share of a task's mean, and gives variance and degrees of freedom of the mean
/// over `tasks`.
pub(crate) fn with_imaginary_flips(noise: AttemptNoise, share: f64, tasks: usize) -> (f64, f64) {
    let flips = 2.0 * share * share;
    let total = noise.total + flips;
    let divisor = noise.divisor + flips * flips / 2.0;
    let n = tasks as f64;
    (total / (n * n), total * total / divisor)
}

/// The interval around the mean of `tasks`, at least one, each with at least one score, that leaves `tail` beyond each end.
pub(crate) fn rerun<S: AsRef<[f64]>>(tasks: &[S], tail: f64) -> Result<Rerun, Refusal> {
    let noise = attempt_noise(tasks)?;
    let shares: Vec<f64> = tasks
        .iter()
        .map(|scores| 1.0 / scores.as_ref().len() as f64)
        .collect();
    let (variance, df) = with_imaginary_flips(noise, mean(&shares), tasks.len());
    let means: Vec<f64> = tasks.iter().map(|scores| mean(scores.as_ref())).collect();
    let (mean, se) = (mean(&means), variance.sqrt());
    let half = student_t::upper_quantile(tail, df) * se;
    Ok(Rerun {
        mean,
        se,
        df,
        low: (mean - half).max(0.0),
        high: (mean + half).min(1.0),
    })
}
