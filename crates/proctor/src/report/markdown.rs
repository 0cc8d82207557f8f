//! Markdown for step summaries and pull requests.

use super::{
    answers::{AgentResults, Comparison, Gate, Results, Summary},
    links::Links,
    marks,
    run::{bar, counts as verdicts, losses, sentence},
    tables::{axes_note, p_value, taken, why},
    text::{block, code, cut, line},
};

/// The most of a step summary: GitHub refuses what is above 1 MiB.
pub(crate) const LONGEST_SUMMARY: usize = 900 << 10;
/// The most of a comment: GitHub refuses what is above 65,536 characters.
pub(crate) const LONGEST_COMMENT: usize = 60_000;
const FLIPS_IN_SUMMARY: usize = 50;
const FLIPS_IN_COMMENT: usize = 20;
/// How many tasks of a run are listed.
const TASKS_IN_SUMMARY: usize = 500;
const LOSSES_IN_SUMMARY: usize = 20;
/// How many runs are linked.
const LINKED_RUNS: usize = 10;
const NAME: usize = 120;
const FINDING: usize = 300;

/// A comparison.
///
/// Without links if the server that has it ends with the command.
pub(crate) fn comparison(found: &Comparison, links: Option<Links<'_>>) -> String {
    let mut said = format!("### Proctor: {}\n\n", heading(found));
    said += &format!("{}\n\n", line(&found.sentence, 1000));
    said += &format!("{}\n\n", counts(found));
    for difference in &found.differences {
        said += &format!("> not the same exam: {}\n\n", code(difference, 500));
    }
    said += &axes(found);
    said += &flips(found, FLIPS_IN_SUMMARY);
    said += &apart(found);
    if let Some(links) = links {
        said += &pages(links, None, Some(&found.a.runs), &found.b.runs);
    }
    bounded(said, LONGEST_SUMMARY)
}

/// What came of a run.
pub(crate) fn results(
    run: &str,
    found: &Results,
    axes: &[(String, f64)],
    failed_only: bool,
) -> String {
    let mut said = String::new();
    for agent in &found.agents {
        let name = agent.name.as_deref().unwrap_or("agent");
        said += &format!(
            "### Proctor: {}\n\n{} · {} · {}\n\n",
            sentence(agent),
            code(run, NAME),
            code(name, NAME),
            verdicts(agent)
        );
        if !axes.is_empty() {
            said += &format!("| axis{} | | score |\n|---|---|---|\n", axes_note(agent));
            for (name, score) in axes {
                said += &format!("| {} | {} | {score:.3} |\n", code(name, NAME), bar(*score));
            }
            said.push('\n');
        }
        said += &lost(agent);
        said += &tasks(agent, failed_only);
    }
    bounded(said, LONGEST_SUMMARY)
}

/// A task run as it is told on a terminal.
pub(crate) fn task_run(id: &str, told: &str) -> String {
    let told = block(told.trim_end(), LONGEST_SUMMARY / 4);
    bounded(
        format!("### Proctor: task run {}\n\n{told}\n", code(id, NAME)),
        LONGEST_SUMMARY,
    )
}

fn lost(agent: &AgentResults) -> String {
    let losses = losses(agent);
    if losses.is_empty() {
        return String::new();
    }
    let mut said =
        "| why points were lost | times | criterion | found |\n|---|---|---|---|\n".to_owned();
    for one in losses.iter().take(LOSSES_IN_SUMMARY) {
        said += &format!(
            "| {:.1} pp | {} × | {} | {} |\n",
            100.0 * one.score,
            one.times,
            code(&one.what, NAME),
            code_or_nothing(&one.found)
        );
    }
    let more = losses.len().saturating_sub(LOSSES_IN_SUMMARY);
    if more > 0 {
        said += &format!("\nand {more} more reasons\n");
    }
    said + "\n"
}

fn tasks(agent: &AgentResults, failed_only: bool) -> String {
    let listed: Vec<_> = agent
        .attempts
        .iter()
        .filter(|one| !failed_only || one.verdict.as_deref() != Some("pass"))
        .collect();
    if listed.is_empty() {
        return String::new();
    }
    let mut said = "| task | verdict | score | why |\n|---|---|---|---|\n".to_owned();
    for attempt in listed.iter().take(TASKS_IN_SUMMARY) {
        let (mark, word) = marks::of_attempt(attempt);
        let score = attempt
            .score
            .map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"));
        said += &format!(
            "| {} | {mark} {word} | {score} | {} |\n",
            code(attempt.name(), NAME),
            code_or_nothing(&why(attempt))
        );
    }
    let more = listed.len().saturating_sub(TASKS_IN_SUMMARY);
    if more > 0 {
        said += &format!("\nand {more} more attempts\n");
    }
    said + "\n"
}

fn code_or_nothing(text: &str) -> String {
    match text.trim().is_empty() {
        true => String::new(),
        false => code(text, FINDING),
    }
}

/// Why there is no verdict.
pub(crate) fn refusal(why: &str) -> String {
    format!("### Proctor: no verdict\n\n{}\n", block(why, 2000))
}

/// A gate, as a step summary.
pub(crate) fn gate(found: &Gate, links: Links<'_>) -> String {
    bounded(gate_with(found, links, FLIPS_IN_SUMMARY), LONGEST_SUMMARY)
}

/// A gate, as a comment that is found again by its last line.
pub(crate) fn comment(found: &Gate, links: Links<'_>, marker: &str) -> String {
    let body = gate_with(found, links, FLIPS_IN_COMMENT);
    let room = LONGEST_COMMENT - marker.chars().count() - 2;
    format!("{}\n\n{marker}", bounded(body, room).trim_end())
}

fn gate_with(found: &Gate, links: Links<'_>, most_flips: usize) -> String {
    let agent = found.b.agent.as_deref().unwrap_or("agent");
    let against = found.a.as_ref().map_or_else(String::new, |a| {
        format!(" against {}", code(&a.chosen_by, NAME))
    });
    let mut said = format!(
        "### Proctor: {} · {} · {}{against}\n\n",
        found.verdict.as_str(),
        code(&found.b.benchmark, NAME),
        code(agent, NAME)
    );
    said += &format!("{}\n\n", scores(found));
    said += "| line | verdict | |\n|---|---|---|\n";
    for one in &found.lines {
        let sentence = one.sentence.trim_start_matches(one.verdict.as_str()).trim();
        said += &format!(
            "| {} | {} | {} |\n",
            code(&one.asks, NAME),
            one.verdict.as_str(),
            code(sentence, 400)
        );
    }
    said.push('\n');
    for extra in found.sentences.iter().skip(found.lines.len()) {
        said += &format!("{}\n\n", line(extra, 500));
    }
    for note in found.differences.iter().chain(&found.warnings) {
        said += &format!("> {}\n\n", code(note, 500));
    }
    if let Some(comparison) = &found.comparison {
        said += &format!("{}\n\n", line(&comparison.sentence, 1000));
        said += &format!("{}\n\n", counts(comparison));
        said += &axes(comparison);
        said += &flips(comparison, most_flips);
        said += &apart(comparison);
    }
    let a = found.a.as_ref().map(|a| a.runs.as_slice());
    said += &pages(links, Some(&found.id), a, &found.b.runs);
    said
}

/// Links to the pages of a gate, its runs, and what compares them.
fn pages(links: Links<'_>, gate: Option<&str>, a: Option<&[String]>, b: &[String]) -> String {
    let mut told = Vec::new();
    if let Some(gate) = gate {
        told.push(format!("[gate {}]({})", code(gate, 60), links.gate(gate)));
    }
    let runs = b.iter().take(LINKED_RUNS);
    told.extend(runs.map(|run| format!("[run {}]({})", code(run, 60), links.run(run))));
    if let Some(address) = a.and_then(|a| links.compare(a, b)) {
        told.push(format!("[compare]({address})"));
    }
    format!("{}\n", told.join(" · "))
}

fn heading(found: &Comparison) -> String {
    let numbers = &found.comparison;
    let word = match (numbers.p <= 0.05, numbers.difference >= 0.0) {
        (false, _) => "no difference can be seen",
        (true, true) => "B is better",
        (true, false) => "B is worse",
    };
    let of = code(&found.b.benchmark, NAME);
    let agent = code(found.b.agent.as_deref().unwrap_or("B"), NAME);
    format!(
        "{word} · {of} · {agent} against {}",
        code(&found.a.chosen_by, NAME)
    )
}

/// The score now and before, and what is missing: always there.
fn scores(found: &Gate) -> String {
    let now = score(&found.b.summary);
    let void = found.b.summary.void + found.a.as_ref().map_or(0, |a| a.summary.void);
    let before = found
        .a
        .as_ref()
        .map_or_else(String::new, |a| format!(", {} before", score(&a.summary)));
    let summary = &found.b.summary;
    format!(
        "{now} now{before}; {} of {} attempts scored, {} of them 0 by the agent's own fault, **{void} void, not counted**",
        summary.scored, summary.planned, summary.agent_faults
    )
}

fn score(summary: &Summary) -> String {
    match (summary.score, summary.low, summary.high) {
        (Some(score), Some(low), Some(high)) => format!("{score:.3} ({low:.3} … {high:.3})"),
        (Some(score), _, _) => format!("{score:.3}"),
        (None, ..) => "no score".to_owned(),
    }
}

fn counts(found: &Comparison) -> String {
    let numbers = &found.comparison;
    let void = numbers.void_a + numbers.void_b;
    format!(
        "{} tasks compared · {} better · {} worse · {} the same · {} void {} · difference {:+.3} ({:+.3} … {:+.3}), p {}, about {}",
        numbers.tasks,
        numbers.better,
        numbers.worse,
        numbers.same,
        void,
        if void == 1 { "attempt" } else { "attempts" },
        numbers.difference,
        numbers.low,
        numbers.high,
        p_value(numbers.p),
        found.about
    )
}

fn axes(found: &Comparison) -> String {
    let axes = found.axes.as_deref().unwrap_or_default();
    if axes.is_empty() {
        return String::new();
    }
    let mut said = "| axis | B − A | 95 % | p (Holm) |\n|---|---|---|---|\n".to_owned();
    for axis in axes {
        let name = code(&axis.axis, NAME);
        said += &match &axis.comparison {
            Some(numbers) => format!(
                "| {name} | {:+.3} | {:+.3} … {:+.3} | {} |\n",
                numbers.difference,
                numbers.low,
                numbers.high,
                axis.p_holm.map_or_else(|| "-".to_owned(), p_value)
            ),
            None => format!("| {name} | - | - | - |\n"),
        };
    }
    said.push('\n');
    said
}

fn flips(found: &Comparison, most: usize) -> String {
    if found.flips.is_empty() {
        return String::new();
    }
    let mut said =
        "| worse first | before | now | criterion that flipped |\n|---|---|---|---|\n".to_owned();
    for flip in found.flips.iter().take(most) {
        let criterion = flip.criteria.as_deref().unwrap_or_default().first();
        let criterion = criterion.map_or_else(String::new, |one| {
            let change = |score: Option<f64>| {
                score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}"))
            };
            let said = format!(
                "{} {} → {} {}",
                code(&one.label, NAME),
                change(one.a),
                change(one.b),
                code_or_nothing(&one.details)
            );
            said.trim_end().to_owned()
        });
        said += &format!(
            "| {} | {} | {} | {criterion} |\n",
            code(&flip.name, NAME),
            taken(flip.a, flip.passes_a),
            taken(flip.b, flip.passes_b),
        );
    }
    let more = found
        .flips_total
        .saturating_sub(most.min(found.flips.len()));
    if more > 0 {
        said += &format!("\nand {more} more tasks that changed\n");
    }
    said.push('\n');
    said
}

fn apart(found: &Comparison) -> String {
    let mut said = String::new();
    for void in found.void.iter().take(FLIPS_IN_SUMMARY) {
        let causes: Vec<String> = void
            .causes
            .iter()
            .map(|(cause, count)| format!("{count} {}", line(cause, 40)))
            .collect();
        said += &format!(
            "- void in {}: {} ({})\n",
            void.side.to_uppercase(),
            code(&void.name, NAME),
            causes.join(", ")
        );
    }
    let more = found.void.len().saturating_sub(FLIPS_IN_SUMMARY);
    if more > 0 {
        said += &format!("- and {more} more tasks with void attempts\n");
    }
    if !found.unpaired.is_empty() {
        said += &format!(
            "- {} tasks are on one side only and not compared\n",
            found.unpaired.len()
        );
    }
    if said.is_empty() {
        said
    } else {
        format!("{said}\n")
    }
}

/// The text, cut at the end of a line if it is longer than its host takes.
fn bounded(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let notice = "\n\n… cut: the rest is longer than this place takes; `proctor compare --json` has all of it\n";
    let room = most - notice.len();
    // Cut by characters first, so that no letter is torn.
    let mut kept = cut(&text, room);
    while kept.len() > room {
        kept.pop();
    }
    if let Some(end) = kept.rfind('\n') {
        kept.truncate(end);
    }
    kept + notice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_in_markdown_that_no_name_can_leave() {
        let found: Results = serde_json::from_value(serde_json::json!({"agents": [{
            "name": "@admin", "summary": {"score": 0.0, "planned": 1, "scored": 1, "void": 0, "agent_faults": 0},
            "attempts": [{"task": "t", "tries": 1, "score": 0.0, "verdict": "fail", "details": {"name": "a|b #12", "criteria": [
                {"label": "said <b>", "axis": null, "weight": 1.0, "score": 0.0, "details": ""}]}}],
        }]}))
        .unwrap();
        let said = results("br_1", &found, &[("safety".to_owned(), 0.5)], true);
        insta::assert_snapshot!(said);
        let text = task_run("tr_1", "```\nleft\n");
        assert!(text.contains("````text\n```\nleft\n````"), "{text}");
    }

    #[test]
    fn a_long_text_is_cut_at_a_line_and_says_so() {
        let text = "a line of ünïcode\n".repeat(10_000);
        let cut = bounded(text, 2_000);
        assert!(cut.len() <= 2_000);
        assert!(cut.contains("… cut: the rest"));
        assert!(cut.starts_with("a line of ünïcode\n"));
        assert_eq!(bounded("short".to_owned(), 2_000), "short");
    }
}
