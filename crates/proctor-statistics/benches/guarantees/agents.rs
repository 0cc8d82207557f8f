//! Several agents, and what must not matter.

use proctor_statistics::{About, Alpha, Attempts, Pair, Task, Tasks, compare, leaderboard};

use crate::{
    Check,
    population::{Random, attempts, share_of, task},
};

const ALPHA: Alpha = Alpha::FIVE_PERCENT;

/// A board of agents with `k` attempts at each of `n` tasks; `skill` is taken from the chance of each.
pub(crate) fn board(
    random: &mut Random,
    agents: usize,
    n: usize,
    k: usize,
    skill: impl Fn(usize) -> f64,
) -> (Tasks<Vec<Option<Attempts>>>, Vec<String>) {
    let names = (0..agents).map(|agent| format!("agent-{agent}")).collect();
    let tasks = (0..n).map(|place| {
        let chance = random.bimodal();
        let sides = (0..agents)
            .map(|agent| Some(attempts(&random.scores(chance - skill(agent), k))))
            .collect();
        task(place, sides)
    });
    (Tasks::new(tasks).expect("ids differ"), names)
}

/// Six equal agents: any two that are told apart are told apart wrongly.
pub(crate) fn equal_agents() -> Vec<Check> {
    let mut random = Random::seeded(8);
    let wrong = share_of(1_000, || {
        let (tasks, names) = board(&mut random, 6, 40, 3, |_| 0.0);
        let ranks = leaderboard(&tasks, &names, About::Tasks, ALPHA).expect("all are scored");
        ranks.iter().any(|rank| rank.letters != "a")
    });
    vec![Check::share(
        "six equal agents, 40 × 3, 1,000 boards: more than one letter group",
        wrong,
        0.0..=6.0,
    )]
}

/// Tasks of clusters, some of them void, in a made-up order.
fn mixed(random: &mut Random) -> Vec<(Option<String>, Vec<f64>, Vec<f64>)> {
    (0..40)
        .map(|_| {
            let cluster = random
                .happens(0.5)
                .then(|| format!("{:.0}", 5.0 * random.share()));
            let (one, other) = (random.bimodal(), random.bimodal());
            (cluster, random.scores(one, 3), random.scores(other, 4))
        })
        .collect()
}

fn as_task(place: usize, row: &(Option<String>, Vec<f64>, Vec<f64>), turned: bool) -> Task<Pair> {
    let side = |scores: &[f64]| {
        let mut scores = scores.to_vec();
        if turned {
            scores.reverse();
        }
        Some(attempts(&scores))
    };
    Task {
        cluster: row.0.clone(),
        ..task(
            place,
            Pair {
                a: side(&row.1),
                b: side(&row.2),
            },
        )
    }
}

/// The same tasks and attempts in another order give the same bytes.
pub(crate) fn order() -> Vec<Check> {
    let mut random = Random::seeded(9);
    let differ = share_of(1_000, || {
        let rows = mixed(&mut random);
        let tasks = |turned: bool| {
            let mut tasks: Vec<Task<Pair>> = rows
                .iter()
                .enumerate()
                .map(|(place, row)| as_task(place, row, turned))
                .collect();
            if turned {
                tasks.reverse();
            }
            Tasks::new(tasks).expect("ids differ")
        };
        let bytes = |turned| {
            let found = compare(&tasks(turned), About::Tasks, ALPHA).expect("all are scored");
            serde_json::to_string(&found).expect("numbers")
        };
        bytes(false) != bytes(true)
    });
    vec![Check::share(
        "another order of tasks, attempts and rows, 1,000 times: other bytes",
        differ,
        0.0..=0.0,
    )]
}

/// Swapping the agents negates difference and interval, and keeps p.
pub(crate) fn swap() -> Vec<Check> {
    let mut random = Random::seeded(10);
    let differ = share_of(1_000, || {
        let rows = mixed(&mut random);
        let tasks = rows.iter().enumerate();
        let tasks = Tasks::new(tasks.map(|(place, row)| as_task(place, row, false)));
        let tasks = tasks.expect("ids differ");
        let of = |tasks| compare(tasks, About::Suite, ALPHA).expect("all are scored");
        let (one, other) = (of(&tasks), of(&tasks.swapped()));
        (one.difference, one.low, one.high, one.p)
            != (-other.difference, -other.high, -other.low, other.p)
    });
    vec![Check::share(
        "A and B swapped, 1,000 times: not the same negated",
        differ,
        0.0..=0.0,
    )]
}
