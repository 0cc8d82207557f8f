//! What people read on a terminal or in a log: one sentence first, then tables.

use super::{
    answers::{Attempt, Comparison, Gate, Results, Side, score_in_words},
    text::line,
};
use crate::terminal::table;

/// How many tasks are listed.
const LISTED: usize = 30;
/// How much of a name or a finding is shown.
const NAME: usize = 60;
const FINDING: usize = 100;

/// A comparison.
pub(crate) fn comparison(found: &Comparison) -> String {
    let mut said = format!("{}\n\n", found.sentence);
    said += &side("A", &found.a);
    said += &side("B", &found.b);
    for difference in &found.differences {
        said += &format!("differs: {}\n", line(difference, 300));
    }
    for setting in &found.settings {
        let (a, b) = (setting.a.to_string(), setting.b.to_string());
        said += &format!(
            "{}: {} → {}\n",
            line(&setting.what, NAME),
            line(&a, NAME),
            line(&b, NAME)
        );
    }
    said += &axes(found);
    said += &flips(found);
    said += &apart(found);
    said
}

fn side(name: &str, side: &Side) -> String {
    let agent = side.agent.as_deref().unwrap_or("-");
    format!(
        "{name}  {}  {}  {}\n",
        line(agent, NAME),
        line(&side.benchmark, NAME),
        score_in_words(&side.summary)
    )
}

fn axes(found: &Comparison) -> String {
    let axes = found.axes.as_deref().unwrap_or_default();
    if axes.is_empty() {
        return String::new();
    }
    let mut rows = table(&["AXIS", "B − A", "FROM", "TO", "P (HOLM)", "TASKS"]);
    for axis in axes {
        let name = line(&axis.axis, NAME);
        match &axis.comparison {
            Some(numbers) => rows.add_row([
                name,
                format!("{:+.3}", numbers.difference),
                format!("{:+.3}", numbers.low),
                format!("{:+.3}", numbers.high),
                axis.p_holm.map_or_else(|| "-".to_owned(), p_value),
                numbers.tasks.to_string(),
            ]),
            None => rows.add_row([
                name,
                "-".into(),
                "-".into(),
                "-".into(),
                "-".into(),
                "0".into(),
            ]),
        };
    }
    format!("\n{rows}\n")
}

/// A p-value, which is never 0.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}

fn flips(found: &Comparison) -> String {
    if found.flips.is_empty() {
        return String::new();
    }
    let mut rows = table(&["TASK", "A", "B", "CHANGE", "CRITERION THAT FLIPPED"]);
    for flip in found.flips.iter().take(LISTED) {
        let criterion = flip.criteria.as_deref().unwrap_or_default().first();
        let criterion = criterion.map_or_else(String::new, |one| {
            line(&format!("{}: {}", one.label, one.details), FINDING)
        });
        rows.add_row([
            line(&flip.name, NAME),
            format!("{:.2} ({}/{})", flip.a, flip.passes_a.0, flip.passes_a.1),
            format!("{:.2} ({}/{})", flip.b, flip.passes_b.0, flip.passes_b.1),
            format!("{:+.2}", flip.difference),
            criterion,
        ]);
    }
    let more = found.flips_total.saturating_sub(LISTED);
    let more = match more {
        0 => String::new(),
        more => format!("and {more} more\n"),
    };
    format!("\nflips, worse first:\n{rows}\n{more}")
}

fn apart(found: &Comparison) -> String {
    let mut said = String::new();
    for void in found.void.iter().take(LISTED) {
        let causes: Vec<String> = void
            .causes
            .iter()
            .map(|(cause, count)| format!("{count} {cause}"))
            .collect();
        let side = void.side.to_uppercase();
        said += &format!(
            "void, {side}: {} ({})\n",
            line(&void.name, NAME),
            causes.join(", ")
        );
    }
    for one in found.unpaired.iter().take(LISTED) {
        let side = one.side.to_uppercase();
        said += &format!("only in {side}: {}\n", line(&one.name, NAME));
    }
    if said.is_empty() {
        said
    } else {
        format!("\n{said}")
    }
}

/// A gate.
pub(crate) fn gate(found: &Gate) -> String {
    let mut said = String::new();
    for sentence in &found.sentences {
        said += &format!("{}\n", line(sentence, 500));
    }
    said += &format!("\n{}  (gate {})\n", found.verdict.as_str(), found.id);
    if let Some(a) = &found.a {
        said += &side("A", a);
    }
    said += &side("B", &found.b);
    for difference in found.differences.iter().chain(&found.warnings) {
        said += &format!("note: {}\n", line(difference, 300));
    }
    if let Some(comparison) = &found.comparison {
        said += &flips(comparison);
        said += &apart(comparison);
    }
    said
}

/// What came of a run.
pub(crate) fn results(run: &str, found: &Results, failed_only: bool) -> String {
    let mut said = String::new();
    for agent in &found.agents {
        let name = agent.name.as_deref().unwrap_or("-");
        said += &format!(
            "{run}  {}  {}\n",
            line(name, NAME),
            score_in_words(&agent.summary)
        );
        let mut rows = table(&["TASK", "VERDICT", "SCORE", "TRIES", "WHY"]);
        let mut hidden = 0;
        for attempt in &agent.attempts {
            if failed_only && attempt.verdict.as_deref() == Some("pass") {
                hidden += 1;
                continue;
            }
            rows.add_row([
                line(attempt.name(), NAME),
                verdict(attempt),
                score(attempt),
                attempt.tries.to_string(),
                why(attempt),
            ]);
        }
        said += &format!("\n{rows}\n");
        if hidden > 0 {
            said += &format!("{hidden} passed tasks are not listed\n");
        }
    }
    said
}

/// An attempt in one line.
pub(crate) fn attempt(attempt: &Attempt) -> String {
    let said = format!(
        "{}  {}  {}  {}",
        verdict(attempt),
        score(attempt),
        line(attempt.name(), NAME),
        why(attempt)
    );
    said.trim_end().to_owned()
}

fn verdict(attempt: &Attempt) -> String {
    match &attempt.verdict {
        Some(verdict) => verdict.clone(),
        None if attempt.is_void() => "void".to_owned(),
        None => "-".to_owned(),
    }
}

fn score(attempt: &Attempt) -> String {
    let score = attempt.score;
    score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"))
}

/// What an attempt lost its points by, or why it has none.
fn why(attempt: &Attempt) -> String {
    if let Some(cause) = &attempt.cause {
        let reason = attempt.reason.as_deref().unwrap_or_default();
        return line(&format!("{cause}: {reason}"), FINDING);
    }
    let critical = attempt.critical_misses.as_deref().unwrap_or_default();
    let critical = match critical.is_empty() {
        true => String::new(),
        false => format!("CRITICAL {}; ", critical.join(", ")),
    };
    let missed = attempt.criteria().iter().filter(|one| one.score < 1.0);
    let missed: Vec<String> = missed
        .map(|one| {
            let axis = one
                .axis
                .as_deref()
                .map_or_else(String::new, |axis| format!(" [{axis}]"));
            format!("{}{axis} {:.2}: {}", one.label, one.score, one.details)
        })
        .collect();
    line(&format!("{critical}{}", missed.join("; ")), FINDING)
}
