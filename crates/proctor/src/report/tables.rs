//! What people read on a terminal or in a log: one sentence first, then tables.

use super::{
    answers::{AgentResults, Attempt, Comparison, Gate, Results, Side, score_in_words},
    marks,
    run::{bar, counts, losses, sentence},
    text::{line, told},
};
use crate::terminal::table;

/// How many tasks are listed.
const LISTED: usize = 30;
/// How many reasons for lost points are listed.
const LISTED_LOSSES: usize = 10;
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
            line(&told(&one.label, &one.details), FINDING)
        });
        rows.add_row([
            line(&flip.name, NAME),
            taken(flip.a, flip.passes_a),
            taken(flip.b, flip.passes_b),
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

/// The mean of a task with its mark, and how many attempts passed.
pub(super) fn taken(mean: f64, passes: (usize, usize)) -> String {
    let mark = marks::of_task(passes, mean);
    format!("{mark} {mean:.2} ({}/{})", passes.0, passes.1)
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

/// What came of a run: the sentence first, then its axes, why points were lost, and its tasks.
pub(crate) fn results(
    run: &str,
    found: &Results,
    axes: &[(String, f64)],
    failed_only: bool,
) -> String {
    let mut said = String::new();
    for agent in &found.agents {
        let name = agent.name.as_deref().unwrap_or("-");
        said += &format!("{}\n{run}  {}\n", sentence(agent), line(name, NAME));
        said += &format!("{}\n", counts(agent));
        if let Some(usage) = agent.usage {
            said += &format!("{}\n", usage.to_text());
        }
        said += &axis_bars(axes, agent);
        said += &lost(agent);
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
        match hidden {
            0 => {}
            1 => said += "1 passed task is not listed\n",
            hidden => said += &format!("{hidden} passed tasks are not listed\n"),
        }
    }
    said
}

/// What the numbers of the axes are, where they differ from the score in the sentence.
pub(super) fn axes_note(agent: &AgentResults) -> &'static str {
    match agent.summary.void {
        0 => "",
        _ => " (as the API counts: void = 0)",
    }
}

fn axis_bars(axes: &[(String, f64)], agent: &AgentResults) -> String {
    if axes.is_empty() {
        return String::new();
    }
    let mut rows = table(&["AXIS", "", "SCORE"]);
    for (name, score) in axes {
        rows.add_row([line(name, NAME), bar(*score), format!("{score:.3}")]);
    }
    format!("\naxes{}:\n{rows}\n", axes_note(agent))
}

fn lost(agent: &AgentResults) -> String {
    let losses = losses(agent);
    if losses.is_empty() {
        return String::new();
    }
    let mut rows = table(&["LOST", "TIMES", "CRITERION", "FOUND"]);
    for one in losses.iter().take(LISTED_LOSSES) {
        rows.add_row([
            format!("{:.1} pp", 100.0 * one.score),
            format!("{} ×", one.times),
            line(&one.what, NAME),
            line(&one.found, FINDING),
        ]);
    }
    let more = match losses.len().saturating_sub(LISTED_LOSSES) {
        0 => String::new(),
        more => format!("and {more} more\n"),
    };
    format!("\nwhy points were lost:\n{rows}\n{more}")
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
    let (mark, word) = marks::of_attempt(attempt);
    format!("{mark} {word}")
}

fn score(attempt: &Attempt) -> String {
    let score = attempt.score;
    score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"))
}

/// What an attempt lost its points by, or why it has none.
pub(super) fn why(attempt: &Attempt) -> String {
    if let Some(cause) = &attempt.cause {
        let reason = attempt.reason.as_deref().unwrap_or_default();
        return line(&told(cause, reason), FINDING);
    }
    let critical = attempt.critical_misses.as_deref().unwrap_or_default();
    let critical = (!critical.is_empty()).then(|| format!("CRITICAL {}", critical.join(", ")));
    let missed = attempt.criteria().iter().filter(|one| one.score < 1.0);
    let missed = missed.map(|one| {
        let axis = one
            .axis
            .as_deref()
            .map_or_else(String::new, |axis| format!(" [{axis}]"));
        told(
            &format!("{}{axis} {:.2}", one.label, one.score),
            &one.details,
        )
    });
    let all: Vec<String> = critical.into_iter().chain(missed).collect();
    line(&all.join("; "), FINDING)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found() -> Results {
        let criteria = |score: f64, details: &str| json!([{"label": "answer", "axis": "safety", "weight": 1.0, "score": score, "details": details}]);
        serde_json::from_value(json!({"agents": [{
            "name": "night-\u{1b}shift",
            "summary": {"score": 0.5, "low": 0.1, "high": 0.9, "planned": 4, "scored": 2, "void": 2, "agent_faults": 0, "worst": 0.25, "best": 0.75},
            "attempts": [
                {"task": "t1", "tries": 1, "score": 1.0, "verdict": "pass", "details": {"name": "one", "criteria": criteria(1.0, "")}},
                {"task": "t2", "tries": 1, "score": 0.0, "verdict": "fail", "critical_misses": ["answer"],
                 "details": {"name": "two", "criteria": criteria(0.0, "")}},
                {"task": "t3", "tries": 3, "cause": "infrastructure", "reason": "the box was lost"},
                {"task": "t4", "tries": 1, "cause": "cancelled"},
            ],
        }]}))
        .unwrap()
    }

    #[test]
    fn a_run_is_told_with_the_sentence_first() {
        let axes = [("safety".to_owned(), 0.25)];
        insta::assert_snapshot!(results("br_1", &found(), &axes, true));
    }

    #[test]
    fn nothing_ends_with_a_colon_and_nothing_else() {
        let told = results("br_1", &found(), &[], false);
        for line in told.lines().map(str::trim_end) {
            let is_heading = line == "why points were lost:";
            assert!(!line.ends_with(':') || is_heading, "{line}");
        }
        let ascii = marks::shown(told, true);
        assert!(ascii.is_ascii(), "{ascii}");
    }
}
