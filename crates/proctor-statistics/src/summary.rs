//! One run: how good it was, how sure that is, and what is missing.

use serde::Serialize;

use crate::{
    Alpha, Attempts, Refusal, Tasks,
    rerun::{Rerun, rerun},
    sums::mean,
    wilson::wilson,
};

/// The numbers of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The mean over tasks of the mean over their attempts that count.
    pub mean: f64,
    /// The standard error of the mean; none for a single cluster.
    pub se: Option<f64>,
    /// The degrees of freedom of that.
    pub df: Option<f64>,
    /// How many independent passes and failures would vary as much.
    pub n_eff: Option<f64>,
    /// The lower end of the interval for tasks like these.
    pub low: f64,
    /// The upper end of it.
    pub high: f64,
    /// How many tasks were planned.
    pub tasks: usize,
    /// How many of them have an attempt that counts.
    pub tasks_scored: usize,
    /// How many attempts were planned.
    pub planned: usize,
    /// How many of them count.
    pub scored: usize,
    /// How many count 0 because the agent ended them itself.
    pub agent_faults: usize,
    /// How many are void.
    pub void: usize,
    /// The mean if every void attempt were worth 0.
    pub worst: f64,
    /// The mean if every void attempt were worth 1.
    pub best: f64,
    /// The same for these very tasks, run again; none if too few of them have two attempts.
    pub rerun: Option<Rerun>,
}

/// Summarizes a run. Refused if nothing in it counts.
pub fn summarize(tasks: &Tasks<Attempts>, alpha: Alpha) -> Result<Summary, Refusal> {
    let rows = tasks.rows();
    let scored: Vec<(usize, &[f64])> = rows
        .iter()
        .map(|row| (row.cluster, row.data.scores()))
        .filter(|(_, scores)| !scores.is_empty())
        .collect();
    if scored.is_empty() {
        return Err(Refusal::NothingScored);
    }
    let means: Vec<f64> = scored.iter().map(|(_, scores)| mean(scores)).collect();
    let clusters: Vec<usize> = scored.iter().map(|(cluster, _)| *cluster).collect();
    let scores: Vec<&[f64]> = scored.iter().map(|(_, scores)| *scores).collect();
    let interval = wilson(&means, &clusters, alpha.half());
    let precision = interval.precision;
    let total =
        |count: fn(&Attempts) -> usize| -> usize { rows.iter().map(|row| count(&row.data)).sum() };
    Ok(Summary {
        mean: interval.mean,
        se: precision.map(|precision| precision.se),
        df: precision.map(|precision| precision.df),
        n_eff: precision.map(|precision| precision.effective),
        low: interval.low,
        high: interval.high,
        tasks: rows.len(),
        tasks_scored: scored.len(),
        planned: total(Attempts::planned),
        scored: total(|attempts| attempts.scores().len()),
        agent_faults: total(Attempts::agent_faults),
        void: total(Attempts::void),
        worst: mean_if_voids_were(tasks, 0.0),
        best: mean_if_voids_were(tasks, 1.0),
        rerun: rerun(&scores, alpha.half()).ok(),
    })
}

/// The mean over the tasks that have any attempt.
fn mean_if_voids_were(tasks: &Tasks<Attempts>, value: f64) -> f64 {
    let rows = tasks.rows().iter();
    let filled = rows.map(|row| row.data.scores_with_voids_as(Some(value)));
    let means: Vec<f64> = filled
        .filter(|scores| !scores.is_empty())
        .map(|scores| mean(&scores))
        .collect();
    mean(&means)
}
