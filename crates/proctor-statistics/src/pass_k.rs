//! Does it pass at least once in k attempts, or every time?
//!
//! pass@k is for work where somebody picks the attempt that worked, pass^k for work where each one counts. Both are computed without bias from K
//! recorded attempts of which c passed: pass@k = 1 − C(K−c, k)/C(K, k) and pass^k = C(c, k)/C(K, k). Raising the observed rate
//! to a power would be wrong: for few attempts it says too much.

use serde::Serialize;

use crate::{Alpha, Attempts, Refusal, TIE, Tasks, wilson::wilson};

/// A share of tasks, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// The mean over tasks.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of it.
    pub high: f64,
}

/// How reliably a run passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PassK {
    /// How many attempts are asked about.
    pub k: u32,
    /// How many tasks have that many.
    pub tasks: usize,
    /// How many have fewer, and are left out.
    pub left_out: usize,
    /// The chance that at least one of k passes.
    pub pass_at: Rate,
    /// The chance that all of k pass.
    pub pass_all: Rate,
}

/// How often at least one, and how often all, of `k` attempts pass; an attempt passes with a score of at least `at`.
pub fn pass_k(tasks: &Tasks<Attempts>, k: u32, at: f64, alpha: Alpha) -> Result<PassK, Refusal> {
    if k < 1 {
        return Err(Refusal::BadK);
    }
    let enough = || {
        tasks
            .rows()
            .iter()
            .filter(|row| row.data.scores().len() >= k as usize)
    };
    let clusters: Vec<usize> = enough().map(|row| row.cluster).collect();
    if clusters.is_empty() {
        return Err(Refusal::TooFewAttempts);
    }
    let counts: Vec<(usize, usize)> = enough()
        .map(|row| (row.data.scores().len(), passes(row.data.scores(), at)))
        .collect();
    let rate = |of_task: fn(usize, usize, usize) -> f64| {
        let rates: Vec<f64> = counts
            .iter()
            .map(|(attempts, passes)| of_task(*attempts, *passes, k as usize))
            .collect();
        let interval = wilson(&rates, &clusters, alpha.half());
        Rate {
            mean: interval.mean,
            low: interval.low,
            high: interval.high,
        }
    };
    Ok(PassK {
        k,
        tasks: clusters.len(),
        left_out: tasks.len() - clusters.len(),
        pass_at: rate(|attempts, passes, k| 1.0 - all_among(attempts - passes, attempts, k)),
        pass_all: rate(|attempts, passes, k| all_among(passes, attempts, k)),
    })
}

/// How many of the scores pass.
pub(crate) fn passes(scores: &[f64], at: f64) -> usize {
    scores.iter().filter(|score| **score >= at - TIE).count()
}

/// The chance that `k` of `all` attempts, drawn without putting back, are among a certain `some` of them: C(some, k)/C(all, k), without
/// its huge numbers.
fn all_among(some: usize, all: usize, k: usize) -> f64 {
    if some < k {
        return 0.0;
    }
    (0..k)
        .map(|drawn| (some - drawn) as f64 / (all - drawn) as f64)
        .product()
}
