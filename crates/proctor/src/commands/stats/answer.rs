//! What `proctor stats` answers: numbers for programs, sentences for people.

use std::fmt::Write as _;

use proctor_statistics::{
    Alpha, Comparison, Gate, GateVerdict, Line, Pair, Rank, Refusal, Tasks, compare, flips, gate,
    holm, how_many_more, leaderboard, look, noise, pass_k, summarize, words,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::request::{Request, Rule};
use crate::{exit::Exit, terminal};

/// The tasks that are shown of those that differ.
const FLIPS_SHOWN: usize = 20;

/// An answer for programs and people, and how the command ends with it.
pub(super) struct Answer {
    pub(super) json: Value,
    pub(super) words: String,
    pub(super) exit: Exit,
}

impl Answer {
    fn new(found: impl Serialize, words: String) -> Self {
        Self {
            json: json!(found),
            words,
            exit: Exit::Fine,
        }
    }
}

impl Request {
    /// Computes it.
    pub(super) fn answer(&self) -> Result<Answer, Refusal> {
        Ok(match self {
            Self::Summary { tasks, alpha } => {
                let found = summarize(tasks, *alpha)?;
                let words = words::summary(&found, *alpha);
                Answer::new(found, words)
            }
            Self::Compare {
                tasks,
                about,
                alpha,
            } => {
                let found = compare(tasks, *about, *alpha)?;
                let mut words = words::comparison(&found, *about, *alpha);
                words += &changed_tasks(tasks, &found);
                Answer::new(found, words)
            }
            Self::Gate {
                tasks,
                rules,
                alpha,
            } => answer_gate(tasks, rules, *alpha)?,
            Self::More { tasks, plan } => {
                let found = how_many_more(tasks, plan)?;
                Answer::new(found, words::more(&found, tasks.len(), None))
            }
            Self::PassK {
                tasks,
                k,
                at,
                alpha,
            } => {
                let found = pass_k(tasks, *k, *at, *alpha)?;
                Answer::new(found, words::pass_k(&found, *alpha))
            }
            Self::Noise { tasks, options } => {
                let found = noise(tasks, options)?;
                Answer::new(found, words::noise(&found))
            }
            Self::Leaderboard {
                tasks,
                agents,
                about,
                alpha,
            } => {
                let ranks = leaderboard(tasks, agents, *about, *alpha)?;
                let mut words = format!(
                    "Agents that share a letter cannot be told apart ({}).\n",
                    words::question(*about)
                );
                words += &board(&ranks);
                Answer::new(ranks, words)
            }
            Self::Holm { p_values } => {
                let corrected = holm(p_values);
                let lines: Vec<String> = corrected.iter().map(ToString::to_string).collect();
                Answer::new(corrected, lines.join("\n"))
            }
            Self::Look { round, rounds } => {
                let level = look(*round, *rounds)?.value();
                let words = format!(
                    "After round {round} of {rounds}, look at the one-sided level {level}."
                );
                Answer::new(level, words)
            }
        })
    }
}

fn answer_gate(tasks: &Tasks<Pair>, rules: &[Rule], alpha: Alpha) -> Result<Answer, Refusal> {
    let of_b = tasks.side_b();
    let lines: Vec<Line<'_>> = rules
        .iter()
        .map(|rule| match rule {
            Rule::Change { at, about } => Line::Change {
                tasks,
                at: *at,
                about: *about,
            },
            Rule::Level { at, about } => Line::Level {
                tasks: &of_b,
                at: *at,
                about: *about,
            },
            Rule::Never { never, .. } => Line::Never(*never),
        })
        .collect();
    let found: Gate = gate(&lines, alpha)?;
    let mut said = format!("{}\n", found.verdict.as_str());
    for ((rule, line), result) in rules.iter().zip(&lines).zip(&found.lines) {
        let name: &str = match rule {
            Rule::Never {
                name: Some(name), ..
            } => name,
            Rule::Never { name: None, .. } | Rule::Change { .. } | Rule::Level { .. } => {
                "what must never happen"
            }
        };
        let known = words::Known {
            baseline: "A",
            never: name,
            dollars_per_attempt: None,
        };
        let _ = writeln!(said, "  {}", words::line(line, result, known, alpha));
    }
    let exit = match found.verdict {
        GateVerdict::Pass => Exit::Fine,
        GateVerdict::Fail => Exit::No,
        GateVerdict::Inconclusive => Exit::Inconclusive,
    };
    Ok(Answer {
        exit,
        ..Answer::new(found, said)
    })
}

/// The tasks that differ, the worst first.
fn changed_tasks(tasks: &Tasks<Pair>, found: &Comparison) -> String {
    let flips = flips(tasks);
    if flips.is_empty() {
        return String::new();
    }
    let mut table = terminal::table(&["task", "A", "B", "B − A"]);
    for flip in flips.iter().take(FLIPS_SHOWN) {
        table.add_row([
            visible(&flip.id),
            format!("{:.2}", flip.mean_a),
            format!("{:.2}", flip.mean_b),
            format!("{:+.2}", flip.difference),
        ]);
    }
    let hidden = (found.better + found.worse).saturating_sub(FLIPS_SHOWN);
    match hidden {
        0 => format!("\n{table}"),
        more => format!("\n{table}\n and {more} more that differ"),
    }
}

fn board(ranks: &[Rank]) -> String {
    let mut table = terminal::table(&["rank", "agent", "mean", "letters"]);
    for rank in ranks {
        let place = match rank.rank_low == rank.rank_high {
            true => rank.rank_low.to_string(),
            false => format!("{}–{}", rank.rank_low, rank.rank_high),
        };
        table.add_row([
            place,
            visible(&rank.agent),
            format!("{:.1} %", 100.0 * rank.mean),
            rank.letters.clone(),
        ]);
    }
    table.to_string()
}

/// A name from somebody else, with what would move a terminal's cursor written out.
fn visible(name: &str) -> String {
    let written = name.chars().flat_map(|letter| match letter.is_control() {
        true => letter.escape_default().collect::<Vec<char>>(),
        false => vec![letter],
    });
    written.collect()
}
