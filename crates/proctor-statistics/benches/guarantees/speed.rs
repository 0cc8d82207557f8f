//! What it costs.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use proctor_statistics::{About, Alpha, Line, Plan, compare, gate, how_many_more, leaderboard};

use crate::{
    Check, agents,
    population::{Random, pairs},
};

/// The median time of a call.
fn median(times: usize, mut call: impl FnMut()) -> Duration {
    let mut all: Vec<Duration> = (0..times)
        .map(|_| {
            let begun = Instant::now();
            call();
            begun.elapsed()
        })
        .collect();
    all.sort_unstable();
    all[times / 2]
}

/// Compare, gate and how-many-more at 200 × 5, for both questions.
pub(crate) fn comparison() -> Vec<Check> {
    let mut random = Random::seeded(11);
    let rows: Vec<_> = (0..200)
        .map(|_| {
            let chance = random.bimodal();
            (random.scores(chance, 5), random.scores(chance, 5))
        })
        .collect();
    let tasks = pairs(&rows);
    let of = |about: About| {
        let time = median(200, || {
            // A margin that is not settled, so that the gate also asks how many more.
            let at = -0.01;
            let line = Line::Change {
                tasks: &tasks,
                at,
                about,
            };
            black_box(compare(&tasks, about, Alpha::FIVE_PERCENT)).expect("all are scored");
            black_box(gate(&[line], Alpha::FIVE_PERCENT)).expect("all are scored");
            black_box(how_many_more(&tasks, &Plan::new(at, about))).expect("all are scored");
        });
        let what = format!(
            "compare + gate + how many more, 200 × 5, {}",
            about.as_str()
        );
        Check::figure(what, 1e3 * time.as_secs_f64(), 0.0..=10.0, "ms")
    };
    vec![of(About::Tasks), of(About::Suite)]
}

/// A board of ten agents.
pub(crate) fn board() -> Vec<Check> {
    let mut random = Random::seeded(12);
    let (tasks, names) = agents::board(&mut random, 10, 200, 5, |agent| 0.02 * agent as f64);
    let time = median(50, || {
        let ranks = leaderboard(&tasks, &names, About::Tasks, Alpha::FIVE_PERCENT);
        black_box(ranks).expect("all are scored");
    });
    vec![Check::figure(
        "board of 10 agents × 200 × 5",
        1e3 * time.as_secs_f64(),
        0.0..=100.0,
        "ms",
    )]
}
