//! Which tasks changed between two runs.

use serde::Serialize;

use crate::{Pair, TIE, Tasks, sums::mean};

/// A task that the two sides did not do equally well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flip {
    /// The task.
    pub id: String,
    /// The mean of A.
    pub mean_a: f64,
    /// The mean of B.
    pub mean_b: f64,
    /// B − A.
    pub difference: f64,
}

/// The tasks that differ, the worst for B first, equal ones by id.
pub fn flips(tasks: &Tasks<Pair>) -> Vec<Flip> {
    let mut flips: Vec<Flip> = tasks
        .rows()
        .iter()
        .filter_map(|row| {
            let scores = |side: &Option<crate::Attempts>| {
                let scores = side.as_ref()?.scores();
                (!scores.is_empty()).then(|| mean(scores))
            };
            let (mean_a, mean_b) = (scores(&row.data.a)?, scores(&row.data.b)?);
            Some(Flip {
                id: row.id.clone(),
                mean_a,
                mean_b,
                difference: mean_b - mean_a,
            })
        })
        .filter(|flip| flip.difference.abs() > TIE)
        .collect();
    // Stable: rows are in the order of ids.
    flips.sort_by(|one, other| one.difference.total_cmp(&other.difference));
    flips
}
