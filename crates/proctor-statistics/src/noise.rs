//! How much a run varies by itself.
//!
//! The noise floor is what the same agent, run twice, differs by in one of twenty pairs of runs: a change below it is no news. The smallest visible
//! change is what a comparison of this size finds in four of five cases. The flakiness of a task is how often two of its attempts disagree.

use serde::Serialize;

use crate::{
    Alpha, Attempts, Refusal, Tasks,
    distributions::normal,
    pass_k::passes,
    sums::{mean, sum, variance},
};

/// What is asked of the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseOptions {
    /// How many attempts per task the compared runs have; as many as this one if none.
    pub attempts: Option<f64>,
    /// The level.
    pub alpha: Alpha,
    /// How often the smallest visible change is seen.
    pub power: f64,
    /// From which score on an attempt passes.
    pub at: f64,
}

impl Default for NoiseOptions {
    fn default() -> Self {
        Self {
            attempts: None,
            alpha: Alpha::FIVE_PERCENT,
            power: 0.8,
            at: 1.0,
        }
    }
}

/// How much a run varies by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Noise {
    /// How many tasks have two attempts or more.
    pub tasks: usize,
    /// The (harmonic) mean number of attempts.
    pub attempts: f64,
    /// How often two attempts at one task disagree, over tasks.
    pub flakiness: f64,
    /// How many tasks have attempts that disagree.
    pub flaky_tasks: usize,
    /// The standard error of the difference between two runs of the same agent.
    pub se_same_agent: f64,
    /// What two runs of the same agent differ by at most, in 19 of 20 cases.
    pub noise_floor: f64,
    /// The smallest change that is seen in four of five cases.
    pub smallest_change: f64,
}

/// Measures the noise of one run. Refused if no task has two attempts.
pub fn noise(tasks: &Tasks<Attempts>, options: &NoiseOptions) -> Result<Noise, Refusal> {
    let repeated: Vec<&[f64]> = tasks
        .rows()
        .iter()
        .map(|row| row.data.scores())
        .filter(|scores| scores.len() >= 2)
        .collect();
    if repeated.is_empty() {
        return Err(Refusal::NeedsTwoAttempts);
    }
    let n = repeated.len() as f64;
    let harmonic = || n / sum(repeated.iter().map(|scores| 1.0 / scores.len() as f64));
    let attempts = options.attempts.unwrap_or_else(harmonic);
    let variances: Vec<f64> = repeated.iter().map(|scores| variance(scores)).collect();
    let se = (2.0 * mean(&variances) / (n * attempts)).sqrt();
    let flakiness: Vec<f64> = repeated
        .iter()
        .map(|scores| {
            let (all, passed) = (scores.len() as f64, passes(scores, options.at) as f64);
            2.0 * passed * (all - passed) / (all * (all - 1.0))
        })
        .collect();
    let z = normal::upper_quantile(options.alpha.half());
    let z_power = normal::upper_quantile(1.0 - options.power);
    Ok(Noise {
        tasks: repeated.len(),
        attempts,
        flakiness: mean(&flakiness),
        flaky_tasks: flakiness.iter().filter(|flaky| **flaky > 0.0).count(),
        se_same_agent: se,
        noise_floor: z * se,
        smallest_change: (z + z_power) * se,
    })
}
