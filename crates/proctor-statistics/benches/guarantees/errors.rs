//! How often answers are wrong, and how often a real change is found.

use proctor_statistics::{
    About, Alpha, Comparison, GateVerdict, Line, Pair, Task, Tasks, compare, gate, summarize,
};

use crate::{
    Check,
    population::{BIMODAL_MEAN, Random, SATURATED_MEAN, attempts, pairs, run, share_of},
};

const ALPHA: Alpha = Alpha::FIVE_PERCENT;

fn compared(tasks: &Tasks<Pair>, about: About) -> Comparison {
    compare(tasks, about, ALPHA).expect("every task is scored twice or more")
}

fn is_different(tasks: &Tasks<Pair>, about: About) -> bool {
    compared(tasks, about).p <= ALPHA.value()
}

/// Two runs of one agent: a difference is always wrong.
pub(crate) fn same_agent_twice() -> Vec<Check> {
    let of = |about: About, bound| {
        let mut random = Random::seeded(1);
        let wrong = share_of(10_000, || {
            let rows: Vec<_> = (0..50)
                .map(|_| {
                    let chance = random.bimodal();
                    (random.scores(chance, 3), random.scores(chance, 3))
                })
                .collect();
            is_different(&pairs(&rows), about)
        });
        let what = format!(
            "same agent twice, 50 × 3, 10,000 times: said to differ, {}",
            about.as_str()
        );
        Check::share(what, wrong, bound)
    };
    vec![of(About::Tasks, 4.0..=6.0), of(About::Suite, 3.0..=6.0)]
}

/// How often the interval of one run holds the truth.
pub(crate) fn coverage() -> Vec<Check> {
    let of = |what: &str, n: usize, k: usize, truth: f64, chance: fn(&mut Random) -> f64, bound| {
        let mut random = Random::seeded(2);
        let covered = share_of(10_000, || {
            let rows: Vec<Vec<f64>> = (0..n)
                .map(|_| {
                    let chance = chance(&mut random);
                    random.scores(chance, k)
                })
                .collect();
            let found = summarize(&run(&rows), ALPHA).expect("every task is scored");
            found.low <= truth && truth <= found.high
        });
        Check::share(what, covered, bound)
    };
    vec![
        of(
            "coverage of one run's interval, 50 × 3",
            50,
            3,
            BIMODAL_MEAN,
            Random::bimodal,
            93.5..=96.5,
        ),
        of(
            "coverage of one run's interval, saturated, 20 × 1",
            20,
            1,
            SATURATED_MEAN,
            Random::saturated,
            92.0..=100.0,
        ),
    ]
}

/// Some tasks are broken outright, so many that B is exactly the margin worse: a PASS is wrong.
pub(crate) fn false_pass() -> Vec<Check> {
    let (margin, mut random) = (0.05, Random::seeded(3));
    let wrong = share_of(10_000, || {
        let rows: Vec<_> = (0..20)
            .map(|_| {
                let chance = random.saturated();
                let broken = random.happens(margin / SATURATED_MEAN);
                let of_b = if broken { 0.0 } else { chance };
                (random.scores(chance, 5), random.scores(of_b, 5))
            })
            .collect();
        let tasks = pairs(&rows);
        let line = Line::Change {
            tasks: &tasks,
            at: -margin,
            about: About::Tasks,
        };
        let found = gate(&[line], ALPHA).expect("every task is scored");
        found.verdict == GateVerdict::Pass
    });
    vec![Check::share(
        "false PASS at a margin of 5 pp, saturated, 20 × 5, tasks broken outright",
        wrong,
        0.0..=6.0,
    )]
}

/// How far whole clusters go up or down.
#[derive(Clone, Copy)]
enum Shift {
    /// Anything up to 25 pp.
    Uniform,
    /// A sum of twelve shares: nearly normal, with a standard deviation of 10 pp.
    Normal,
    /// Exactly 20 pp, by a coin.
    Coin,
}

impl Shift {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Uniform => 0.5 * (random.share() - 0.5),
            Self::Normal => 0.1 * ((0..12).map(|_| random.share()).sum::<f64>() - 6.0),
            Self::Coin => 0.2 * if random.happens(0.5) { 1.0 } else { -1.0 },
        }
    }
}

/// Whole clusters go up or down, with a mean of zero: a difference is wrong.
///
/// The four largest clusters hold more than half of the tasks. The promise of 7 % is for effects that are spread out, as those of patients and repositories are; what
/// CR2 with Bell–McCaffrey's degrees of freedom gives depends on the tails of a sum of sixteen terms of which four decide. A coin is the hardest shape, and is shown beside it.
pub(crate) fn clusters() -> Vec<Check> {
    let of = |what: &str, shift, bound| {
        let what = format!("16 very uneven clusters (1 to 25), K = 3, {what}: said to differ");
        Check::share(what, uneven_clusters(shift), bound)
    };
    vec![
        of("effects up to 25 pp", Shift::Uniform, 0.0..=7.0),
        of("normal effects of 10 pp", Shift::Normal, 0.0..=7.0),
        of(
            "effects of 20 pp by a coin (no promise)",
            Shift::Coin,
            0.0..=9.0,
        ),
    ]
}

fn uneven_clusters(shift: Shift) -> f64 {
    const SIZES: [usize; 16] = [1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 25];
    let mut random = Random::seeded(4);
    share_of(10_000, || {
        let mut tasks = Vec::new();
        for (cluster, size) in SIZES.into_iter().enumerate() {
            let effect = shift.draw(&mut random);
            for place in 0..size {
                let chance = 0.3 + 0.4 * random.share();
                let (a, b) = (random.scores(chance, 3), random.scores(chance + effect, 3));
                tasks.push(Task {
                    id: format!("{cluster}-{place}"),
                    cluster: Some(cluster.to_string()),
                    data: Pair {
                        a: Some(attempts(&a)),
                        b: Some(attempts(&b)),
                    },
                });
            }
        }
        is_different(&Tasks::new(tasks).expect("ids differ"), About::Tasks)
    })
}

/// Every task is worse: how often is it found?
pub(crate) fn power() -> Vec<Check> {
    let of = |what: &str, n: usize, drop: f64, bound| {
        let mut random = Random::seeded(5);
        let found = share_of(4_000, || {
            let rows: Vec<_> = (0..n)
                .map(|_| {
                    // Every task can lose as much.
                    let chance = random.bimodal().max(0.03 + drop);
                    (random.scores(chance, 3), random.scores(chance - drop, 3))
                })
                .collect();
            let found = compared(&pairs(&rows), About::Tasks);
            found.p <= ALPHA.value() && found.difference < 0.0
        });
        Check::share(what, found, bound)
    };
    vec![
        of(
            "power, 50 × 3, every task 10 pp worse",
            50,
            0.10,
            72.0..=100.0,
        ),
        of(
            "power, 200 × 3, every task 5 pp worse",
            200,
            0.05,
            80.0..=100.0,
        ),
    ]
}
