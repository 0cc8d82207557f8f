//! The difference between two agents, and how sure it is.
//!
//! *Tasks like these*: the differences per task are what is counted, so what makes a task hard for both cancels out. If fewer than six
//! tasks (or clusters) differ, no test can reach 5 % (2 · ½⁵ > 0.05), and the t interval, which does not know that, would: so two imaginary
//! tasks are added, one won outright by each side. They are always added where a gate asks for "not worse": a small suite cannot
//! prove safety by not meeting a rare failure. The ordinary t bound there is wrong up to 34 % of the time where 5 % are promised.
//!
//! *These very tasks*: see [`crate::rerun`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    Pair, Refusal, TIE, Tasks,
    clustered::{Spread, clustered_mean},
    distributions::student_t,
    rerun::{AttemptNoise, attempt_noise, with_imaginary_flips},
    sums::mean,
};

/// With fewer differing units no exact test can reach 5 %.
const FEW: usize = 6;
/// A variance below this is rounding.
const NO_VARIANCE: f64 = 1e-18;

/// Which of two questions is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum About {
    /// Tasks like these: they are a sample. One attempt each is enough.
    #[default]
    Tasks,
    /// These very tasks, run again: only the attempts vary. It takes two of them.
    Suite,
}

impl About {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Suite => "suite",
        }
    }
}

/// What void attempts are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voids {
    LeftOut,
    /// Those of A as 1, those of B as 0.
    AgainstB,
    /// Those of A as 0, those of B as 1.
    ForB,
}

/// When the imaginary tasks are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    IfFewDiffer,
    Always,
}

/// The scores of a task on both sides, at least one on each.
pub(crate) struct PairedScores<'a> {
    pub(crate) cluster: usize,
    pub(crate) a: Cow<'a, [f64]>,
    pub(crate) b: Cow<'a, [f64]>,
}

impl PairedScores<'_> {
    /// B − A.
    pub(crate) fn difference(&self) -> f64 {
        mean(&self.b) - mean(&self.a)
    }
}

/// The tasks with a score on both sides.
pub(crate) fn paired_scores(tasks: &Tasks<Pair>, voids: Voids) -> Vec<PairedScores<'_>> {
    let (void_a, void_b) = match voids {
        Voids::LeftOut => (None, None),
        Voids::AgainstB => (Some(1.0), Some(0.0)),
        Voids::ForB => (Some(0.0), Some(1.0)),
    };
    tasks
        .rows()
        .iter()
        .filter_map(|row| {
            let (a, b) = (row.data.a.as_ref()?, row.data.b.as_ref()?);
            let paired = PairedScores {
                cluster: row.cluster,
                a: a.scores_with_voids_as(void_a),
                b: b.scores_with_voids_as(void_b),
            };
            (!paired.a.is_empty() && !paired.b.is_empty()).then_some(paired)
        })
        .collect()
}

/// The void attempts of each side, at tasks that were planned for both.
pub(crate) fn voids_of_both(tasks: &Tasks<Pair>) -> (usize, usize) {
    let planned = tasks.rows().iter().filter_map(|row| {
        let (a, b) = (row.data.a.as_ref()?, row.data.b.as_ref()?);
        Some((a.void(), b.void()))
    });
    planned.fold((0, 0), |(all_a, all_b), (a, b)| (all_a + a, all_b + b))
}

/// An estimate of B − A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effect {
    pub(crate) centre: f64,
    pub(crate) variance: f64,
    pub(crate) df: f64,
    /// How many tasks, or clusters of them, differ.
    pub(crate) differing: usize,
    /// Whether the imaginary tasks were added.
    pub(crate) guarded: bool,
}

impl Effect {
    /// Estimates it from at least one task.
    pub(crate) fn of(
        rows: &[PairedScores<'_>],
        about: About,
        guard: Guard,
    ) -> Result<Self, Refusal> {
        let differences: Vec<f64> = rows.iter().map(PairedScores::difference).collect();
        let clusters: Vec<usize> = rows.iter().map(|row| row.cluster).collect();
        let differing = differing_clusters(&differences, &clusters);
        match about {
            About::Suite => Self::of_suite(rows, &differences, differing),
            About::Tasks => Ok(Self::of_tasks(differences, clusters, differing, guard)),
        }
    }

    fn of_tasks(
        mut differences: Vec<f64>,
        mut clusters: Vec<usize>,
        differing: usize,
        guard: Guard,
    ) -> Self {
        let plain = clustered_mean(&differences, &clusters);
        let enough = guard == Guard::IfFewDiffer && differing >= FEW;
        if let Some(Spread { variance, df }) = plain.spread
            && enough
            && variance >= NO_VARIANCE
        {
            return Self {
                centre: plain.mean,
                variance,
                df,
                differing,
                guarded: false,
            };
        }
        let fresh = clusters.iter().max().map_or(0, |highest| highest + 1);
        differences.extend([1.0, -1.0]);
        clusters.extend([fresh, fresh + 1]);
        let guarded = clustered_mean(&differences, &clusters);
        let Spread { variance, df } = guarded
            .spread
            .expect("the two imaginary tasks are clusters of their own");
        Self {
            centre: guarded.mean,
            variance,
            df,
            differing,
            guarded: true,
        }
    }

    fn of_suite(
        rows: &[PairedScores<'_>],
        differences: &[f64],
        differing: usize,
    ) -> Result<Self, Refusal> {
        let a: Vec<&[f64]> = rows.iter().map(|row| &*row.a).collect();
        let b: Vec<&[f64]> = rows.iter().map(|row| &*row.b).collect();
        let (of_a, of_b) = (attempt_noise(&a)?, attempt_noise(&b)?);
        let shares: Vec<f64> = rows
            .iter()
            .map(|row| 0.5 * (1.0 / row.a.len() as f64 + 1.0 / row.b.len() as f64))
            .collect();
        let noise = AttemptNoise {
            total: of_a.total + of_b.total,
            divisor: of_a.divisor + of_b.divisor,
        };
        let (variance, df) = with_imaginary_flips(noise, mean(&shares), rows.len());
        Ok(Self {
            centre: mean(differences),
            variance,
            df,
            differing,
            guarded: false,
        })
    }

    /// The interval that leaves `tail` beyond each end.
    pub(crate) fn bounds(&self, tail: f64) -> (f64, f64) {
        let half = student_t::upper_quantile(tail, self.df) * self.variance.sqrt();
        (
            (self.centre - half).max(-1.0),
            (self.centre + half).min(1.0),
        )
    }

    /// How likely an effect this far from 0 is, on either side, if there is none.
    pub(crate) fn two_sided_p(&self) -> f64 {
        let t = self.centre / self.variance.sqrt();
        let p = 2.0 * student_t::upper_tail(t.abs(), self.df);
        // However strong the evidence, it is never certainty.
        p.clamp(f64::MIN_POSITIVE, 1.0)
    }

    /// How likely an effect this far below `threshold` is, if it is at the threshold.
    pub(crate) fn p_below(&self, threshold: f64) -> f64 {
        student_t::cdf((self.centre - threshold) / self.variance.sqrt(), self.df)
    }
}

fn differing_clusters(differences: &[f64], clusters: &[usize]) -> usize {
    let mut differing: Vec<usize> = differences
        .iter()
        .zip(clusters)
        .filter(|(difference, _)| difference.abs() > TIE)
        .map(|(_, cluster)| *cluster)
        .collect();
    differing.sort_unstable();
    differing.dedup();
    differing.len()
}
