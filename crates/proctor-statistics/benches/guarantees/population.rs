//! Made-up tasks and agents, from a seed.

use proctor_statistics::{Attempt, Attempts, Pair, Task, Tasks};

/// A small generator (SplitMix64), the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in [0, 1).
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether something of this chance happens.
    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        self.share() < chance
    }

    /// Scores of attempts that pass with this chance.
    pub(crate) fn scores(&mut self, chance: f64, attempts: usize) -> Vec<f64> {
        (0..attempts)
            .map(|_| f64::from(u8::from(self.happens(chance))))
            .collect()
    }

    /// The chance to pass a task: most are nearly always passed or nearly never.
    pub(crate) fn bimodal(&mut self) -> f64 {
        let place = self.share();
        if place < 0.45 {
            0.97
        } else if place < 0.80 {
            0.03
        } else {
            0.2 + 0.6 * self.share()
        }
    }

    /// The chance to pass a task of a suite that the agent has nearly mastered.
    pub(crate) fn saturated(&mut self) -> f64 {
        if self.happens(0.9) {
            0.99
        } else {
            0.2 + 0.6 * self.share()
        }
    }
}

/// The mean chance of [`Random::bimodal`].
pub(crate) const BIMODAL_MEAN: f64 = 0.45 * 0.97 + 0.35 * 0.03 + 0.2 * 0.5;
/// The mean chance of [`Random::saturated`].
pub(crate) const SATURATED_MEAN: f64 = 0.9 * 0.99 + 0.1 * 0.5;

/// Attempts with these scores.
pub(crate) fn attempts(scores: &[f64]) -> Attempts {
    let scored = scores.iter().map(|score| Attempt::Scored(*score));
    Attempts::new(scored).expect("scores are in range")
}

/// A task without a cluster.
pub(crate) fn task<T>(place: usize, data: T) -> Task<T> {
    Task {
        id: format!("task-{place:05}"),
        cluster: None,
        data,
    }
}

/// One run with these scores.
pub(crate) fn run(rows: &[Vec<f64>]) -> Tasks<Attempts> {
    let tasks = rows.iter().enumerate();
    let tasks = tasks.map(|(place, scores)| task(place, attempts(scores)));
    Tasks::new(tasks).expect("ids differ")
}

/// Two runs with these scores.
pub(crate) fn pairs(rows: &[(Vec<f64>, Vec<f64>)]) -> Tasks<Pair> {
    let tasks = rows.iter().enumerate().map(|(place, (a, b))| {
        let pair = Pair {
            a: Some(attempts(a)),
            b: Some(attempts(b)),
        };
        task(place, pair)
    });
    Tasks::new(tasks).expect("ids differ")
}

/// How often `happens` is true in `times` simulations.
pub(crate) fn share_of(times: u32, mut happens: impl FnMut() -> bool) -> f64 {
    let count = (0..times).filter(|_| happens()).count();
    count as f64 / f64::from(times)
}
