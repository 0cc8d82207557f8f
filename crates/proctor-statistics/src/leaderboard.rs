//! Several agents: who is better than whom?
//!
//! Ranks by the mean alone make news of noise. Here every pair is compared over the tasks that both took, all p-values are corrected
//! together by Holm, and a rank is an interval: one more than the number of agents that are surely better, up to all but those that are surely
//! worse. With six equal agents, some pair is told apart in at most one of twenty boards.

use serde::Serialize;

use crate::{
    About, Alpha, Attempts, Comparison, Pair, Refusal, Tasks, compare, holm::holm,
    letters::letters, sums::mean,
};

/// An agent on a leaderboard.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rank {
    /// The agent.
    pub agent: String,
    /// Its mean over the tasks it was scored on.
    pub mean: f64,
    /// The best rank it may have.
    pub rank_low: usize,
    /// The worst rank it may have.
    pub rank_high: usize,
    /// Agents that share a letter cannot be told apart.
    pub letters: String,
}

/// Two agents of several.
#[derive(Clone, Debug, PartialEq)]
pub struct PairResult {
    /// The place of the one with the higher mean, from the best.
    pub one: usize,
    /// The place of the other.
    pub other: usize,
    /// The first minus the second.
    pub comparison: Comparison,
    /// The p-value, corrected over all pairs.
    pub p_holm: f64,
    /// Whether they are told apart.
    pub apart: bool,
}

/// An agent by name, with its place among the columns and its mean.
struct Column<'a> {
    name: &'a str,
    place: usize,
    mean: f64,
}

/// The agents, the best first, equal ones by name. A task has the attempts of each agent in the order of `agents`.
fn ordered<'a>(
    tasks: &Tasks<Vec<Option<Attempts>>>,
    agents: &'a [String],
) -> Result<Vec<Column<'a>>, Refusal> {
    let columns = agents.iter().enumerate().map(|(place, name)| {
        let means: Vec<f64> = tasks
            .rows()
            .iter()
            .filter_map(|row| row.data.get(place)?.as_ref()?.mean())
            .collect();
        match means.is_empty() {
            true => Err(Refusal::NothingScored),
            false => Ok(Column {
                name,
                place,
                mean: mean(&means),
            }),
        }
    });
    let mut columns: Vec<Column<'a>> = columns.collect::<Result<_, _>>()?;
    columns.sort_by(|one, other| {
        let by_mean = other.mean.total_cmp(&one.mean);
        by_mean.then_with(|| one.name.cmp(other.name))
    });
    Ok(columns)
}

fn pairs(
    tasks: &Tasks<Vec<Option<Attempts>>>,
    columns: &[Column<'_>],
    about: About,
    alpha: Alpha,
) -> Result<Vec<PairResult>, Refusal> {
    let mut compared = Vec::new();
    for (one, better) in columns.iter().enumerate() {
        for (other, worse) in columns.iter().enumerate().skip(one + 1) {
            let pair = tasks.filter_map(|row| {
                let of = |column: &Column<'_>| row.get(column.place).cloned().flatten();
                Some(Pair {
                    a: of(worse),
                    b: of(better),
                })
            });
            compared.push((one, other, compare(&pair, about, alpha)?));
        }
    }
    let p_values: Vec<f64> = compared.iter().map(|(.., found)| found.p).collect();
    let results = compared.into_iter().zip(holm(&p_values));
    Ok(results
        .map(|((one, other, comparison), p_holm)| PairResult {
            one,
            other,
            comparison,
            p_holm,
            apart: p_holm <= alpha.value(),
        })
        .collect())
}

/// Compares every two of several agents: their names, the best first, and the pairs in that order.
pub fn compare_all(
    tasks: &Tasks<Vec<Option<Attempts>>>,
    agents: &[String],
    about: About,
    alpha: Alpha,
) -> Result<(Vec<String>, Vec<PairResult>), Refusal> {
    let columns = ordered(tasks, agents)?;
    let results = pairs(tasks, &columns, about, alpha)?;
    let names = columns.iter().map(|column| column.name.to_owned());
    Ok((names.collect(), results))
}

/// Ranks several agents. A task has the attempts of each agent in the order of `agents`.
pub fn leaderboard(
    tasks: &Tasks<Vec<Option<Attempts>>>,
    agents: &[String],
    about: About,
    alpha: Alpha,
) -> Result<Vec<Rank>, Refusal> {
    let columns = ordered(tasks, agents)?;
    let results = pairs(tasks, &columns, about, alpha)?;
    let count = columns.len();
    let mut apart = vec![false; count * count];
    let (mut better, mut worse) = (vec![0; count], vec![0; count]);
    for pair in results.iter().filter(|pair| pair.apart) {
        apart[pair.one * count + pair.other] = true;
        let difference = pair.comparison.difference;
        // Over their common tasks the order may be the other one.
        let (winner, loser) = match difference > 0.0 {
            true => (pair.one, pair.other),
            false => (pair.other, pair.one),
        };
        if difference != 0.0 {
            better[loser] += 1;
            worse[winner] += 1;
        }
    }
    let letters = letters(count, |one, other| apart[one * count + other]);
    let ranks = columns.iter().zip(letters).enumerate();
    Ok(ranks
        .map(|(place, (column, letters))| Rank {
            agent: column.name.to_owned(),
            mean: column.mean,
            rank_low: 1 + better[place],
            rank_high: count - worse[place],
            letters,
        })
        .collect())
}
