//! Looking after every round, and running as many more as was said.

use proctor_statistics::{About, Alpha, GateVerdict, Line, LineResult, Pair, Tasks, gate, look};

use crate::{
    Check,
    population::{Random, pairs},
};

const MARGIN: f64 = 0.05;

fn not_worse(tasks: &Tasks<Pair>, alpha: Alpha) -> (GateVerdict, Option<u32>) {
    let line = Line::Change {
        tasks,
        at: -MARGIN,
        about: About::Suite,
    };
    let found = gate(&[line], alpha).expect("every task is scored twice or more");
    let more = match &found.lines[0] {
        LineResult::Threshold(line) => line.more,
        LineResult::Never(_) => None,
    };
    let attempts = more.and_then(|more| more.if_equal.attempts_per_task);
    (found.verdict, attempts)
}

/// Ten planned rounds of 50 tasks, B worse by `drop`: what is said in the end, and after how many rounds.
fn planned_rounds(random: &mut Random, drop: f64) -> (GateVerdict, u32) {
    const ROUNDS: u32 = 10;
    let chances: Vec<f64> = (0..50).map(|_| random.bimodal().max(0.03 + drop)).collect();
    let mut rows: Vec<(Vec<f64>, Vec<f64>)> = vec![(Vec::new(), Vec::new()); chances.len()];
    for round in 1..=ROUNDS {
        for (chance, (a, b)) in chances.iter().zip(&mut rows) {
            a.extend(random.scores(*chance, 1));
            b.extend(random.scores(chance - drop, 1));
        }
        let Ok(level) = look(round, ROUNDS) else {
            continue;
        };
        let (verdict, _) = not_worse(&pairs(&rows), level);
        if verdict != GateVerdict::Inconclusive {
            return (verdict, round);
        }
    }
    (GateVerdict::Inconclusive, ROUNDS)
}

/// How often planned rounds end wrongly, and how soon they end.
pub(crate) fn looks() -> Vec<Check> {
    const TIMES: u32 = 3_000;
    let mut random = Random::seeded(6);
    // At the margin itself both PASS and FAIL are wrong.
    let ends: Vec<_> = (0..TIMES)
        .map(|_| planned_rounds(&mut random, MARGIN).0)
        .collect();
    let share = |verdict| {
        let those = ends.iter().filter(|end| **end == verdict).count();
        those as f64 / f64::from(TIMES)
    };
    let rounds: u32 = (0..TIMES).map(|_| planned_rounds(&mut random, 0.0).1).sum();
    vec![
        Check::share(
            "looks after every round, R = 10, n = 50: false PASS",
            share(GateVerdict::Pass),
            0.0..=6.0,
        ),
        Check::share(
            "looks after every round, R = 10, n = 50: false FAIL",
            share(GateVerdict::Fail),
            0.0..=6.0,
        ),
        Check::figure(
            "looks after every round, R = 10, n = 50: mean rounds when equal",
            f64::from(rounds) / f64::from(TIMES),
            0.0..=7.2,
            "rounds",
        ),
    ]
}

/// Runs as many more attempts as the gate asks for if nothing changed, when nothing changed: how often is it settled then?
pub(crate) fn if_equal() -> Vec<Check> {
    let mut random = Random::seeded(7);
    let (mut open, mut settled) = (0u32, 0u32);
    for _ in 0..4_000 {
        let chances: Vec<f64> = (0..50).map(|_| random.bimodal()).collect();
        let mut rows: Vec<_> = chances
            .iter()
            .map(|chance| (random.scores(*chance, 3), random.scores(*chance, 3)))
            .collect();
        let (_, Some(more)) = not_worse(&pairs(&rows), Alpha::FIVE_PERCENT) else {
            continue;
        };
        open += 1;
        for (chance, (a, b)) in chances.iter().zip(&mut rows) {
            a.extend(random.scores(*chance, more as usize));
            b.extend(random.scores(*chance, more as usize));
        }
        let (verdict, _) = not_worse(&pairs(&rows), Alpha::FIVE_PERCENT);
        settled += u32::from(verdict != GateVerdict::Inconclusive);
    }
    vec![Check::share(
        format!("`if_equal` at 50 × 3: settled when nothing changed, of {open} that were open"),
        f64::from(settled) / f64::from(open),
        75.0..=90.0,
    )]
}
