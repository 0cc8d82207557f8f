//! What came of an agent in a run, before any table: one sentence, its axes, and why points were lost.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::{
    answers::{AgentResults, Attempt, Criterion, Summary},
    marks,
    text::line,
};

/// How long the bar of an axis is.
const BAR: usize = 20;

/// The score of an agent in one sentence.
pub(crate) fn sentence(agent: &AgentResults) -> String {
    let summary = &agent.summary;
    let mut said = match (summary.score, summary.low, summary.high) {
        (Some(score), Some(low), Some(high)) => format!(
            "{} % (95 % interval {} to {})",
            percent(score),
            percent(low),
            percent(high)
        ),
        (Some(score), ..) => format!("{} %", percent(score)),
        (None, ..) => "No score".to_owned(),
    };
    said += &format!(
        " over {}; {} of {} scored",
        tasks_and_attempts(agent),
        summary.scored,
        summary.planned
    );
    if summary.agent_faults > 0 {
        let faults = summary.agent_faults;
        said += &format!(", {faults} of them 0 by the agent's own fault");
    }
    let open = open(summary);
    if open > 0 {
        said += &format!(", {open} not over");
    }
    if summary.void > 0 {
        said += &format!(", {} void ({})", summary.void, causes(agent));
        if let (Some(worst), Some(best)) = (summary.worst, summary.best) {
            let which = if summary.void + open == 1 {
                "it"
            } else {
                "they"
            };
            said += &format!(
                ": between {} and {} whatever {which} would have been",
                percent(worst),
                percent(best)
            );
        }
    }
    said + "."
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// How many attempts are neither scored nor void.
fn open(summary: &Summary) -> u32 {
    summary
        .planned
        .saturating_sub(summary.scored)
        .saturating_sub(summary.void)
}

fn tasks_and_attempts(agent: &AgentResults) -> String {
    let mut attempts: BTreeMap<&str, usize> = BTreeMap::new();
    for attempt in &agent.attempts {
        *attempts.entry(&attempt.task).or_default() += 1;
    }
    let tasks = attempts.len();
    let noun = if tasks == 1 { "task" } else { "tasks" };
    let most = attempts.values().max().copied().unwrap_or_default();
    match attempts.values().all(|count| *count == most) {
        true => format!("{tasks} {noun} × {most}"),
        false => format!("{tasks} {noun}, {} attempts", agent.attempts.len()),
    }
}

/// What made attempts void: the cause, or every cause with its number.
fn causes(agent: &AgentResults) -> String {
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    let void = agent.attempts.iter().filter(|one| one.is_void());
    for attempt in void {
        *causes
            .entry(attempt.cause.as_deref().unwrap_or_default())
            .or_default() += 1;
    }
    let named = |cause: &str| line(&cause.replace('_', " "), 40);
    match causes.len() {
        0 => "cause not told".to_owned(),
        1 => causes.keys().map(|cause| named(cause)).collect(),
        _ => {
            let all: Vec<String> = causes
                .iter()
                .map(|(cause, count)| format!("{count} {}", named(cause)))
                .collect();
            all.join(", ")
        }
    }
}

/// How many attempts have each verdict: `61 ✔ pass · 22 ◐ partial · 3 ∅ void`.
pub(crate) fn counts(agent: &AgentResults) -> String {
    let mut counts: Vec<((&str, &str), usize)> = Vec::new();
    for (mark, word) in [
        (marks::PASS, "pass"),
        (marks::PARTIAL, "partial"),
        (marks::FAIL, "fail"),
        (marks::VOID, "void"),
        (marks::CANCELLED, "cancelled"),
        (marks::RUNNING, "not over"),
    ] {
        let of_kind = agent
            .attempts
            .iter()
            .filter(|one| marks::of_attempt(one).0 == mark);
        counts.push(((mark, word), of_kind.count()));
    }
    let said: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|((mark, word), count)| format!("{count} {mark} {word}"))
        .collect();
    said.join(" · ")
}

/// The scores on the axes of a run, as the server tells them of it.
pub(crate) fn axes(run: &Value) -> Vec<(String, f64)> {
    let axes = run["axes"].as_object().into_iter().flatten();
    axes.filter_map(|(name, axis)| Some((name.clone(), axis["score"].as_f64()?)))
        .collect()
}

/// A score as a bar.
pub(crate) fn bar(score: f64) -> String {
    let full = (score.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(BAR - full))
}

/// Points that were lost for one reason.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lost {
    /// How much of the score, from 0 to 1.
    pub(crate) score: f64,
    /// In how many attempts.
    pub(crate) times: usize,
    /// The criterion that was missed, or what the agent did itself.
    pub(crate) what: String,
    /// What was found instead; values that differ between attempts are cut out.
    pub(crate) found: String,
}

/// Why points were lost, the most first: by criterion, then by what was found without its values.
pub(crate) fn losses(agent: &AgentResults) -> Vec<Lost> {
    let scored: Vec<&Attempt> = agent
        .attempts
        .iter()
        .filter(|one| one.score.is_some())
        .collect();
    let mut repeats: HashMap<&str, usize> = HashMap::new();
    for attempt in &scored {
        *repeats.entry(&attempt.task).or_default() += 1;
    }
    let mut groups: BTreeMap<(&str, String), Lost> = BTreeMap::new();
    for attempt in &scored {
        // The score is a mean over tasks of means over their attempts.
        let share = 1.0 / (repeats.len() * repeats[attempt.task.as_str()]) as f64;
        let mut add = |what, found: &str, lost: f64| {
            let group = groups
                .entry((what, without_values(found)))
                .or_insert_with(|| Lost {
                    score: 0.0,
                    times: 0,
                    what: String::from(what),
                    found: found.to_owned(),
                });
            group.score += lost * share;
            group.times += 1;
            if group.found != found {
                group.found = without_values(found);
            }
        };
        if let Some(cause) = attempt.cause.as_deref() {
            let lost = 1.0 - attempt.score.unwrap_or_default();
            add(cause, attempt.reason.as_deref().unwrap_or_default(), lost);
            continue;
        }
        let all: f64 = attempt.criteria().iter().map(|one| one.weight.abs()).sum();
        let missed = attempt.criteria().iter().filter(|one| one.score < 1.0);
        for one in missed {
            add(&one.label, &one.details, lost_by(one, all));
        }
    }
    let mut losses: Vec<Lost> = groups.into_values().collect();
    losses.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then(other.times.cmp(&one.times))
    });
    losses
}

fn lost_by(criterion: &Criterion, all: f64) -> f64 {
    match all > 0.0 {
        true => (1.0 - criterion.score) * criterion.weight.abs() / all,
        false => 0.0,
    }
}

/// A finding without what changes from attempt to attempt: what is in quotes, and words with digits.
fn without_values(found: &str) -> String {
    let mut plain = String::with_capacity(found.len());
    let mut rest = found;
    while let Some(letter) = rest.chars().next() {
        let is_quote = matches!(letter, '"' | '\'' | '`');
        let begins_word = !plain.ends_with(char::is_alphanumeric);
        let quoted = rest[letter.len_utf8()..].find(letter);
        if let (true, true, Some(end)) = (is_quote, begins_word, quoted) {
            plain.push('…');
            rest = &rest[2 * letter.len_utf8() + end..];
            continue;
        }
        let word = rest
            .find(|letter: char| !(letter.is_alphanumeric() || "_-./^".contains(letter)))
            .unwrap_or(rest.len());
        if word == 0 {
            plain.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        match rest[..word].contains(|letter: char| letter.is_ascii_digit()) {
            true => plain.push('…'),
            false => plain.push_str(&rest[..word]),
        }
        rest = &rest[word..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(attempts: &Value, void: u32) -> AgentResults {
        let planned = attempts.as_array().unwrap().len();
        serde_json::from_value(json!({
            "name": "night-shift", "attempts": attempts,
            "summary": {"score": 0.724, "low": 0.639, "high": 0.796, "planned": planned, "scored": planned - void as usize, "void": void,
                        "agent_faults": 0, "worst": 0.71, "best": 0.73},
        }))
        .unwrap()
    }

    fn missed(task: &str, details: &str) -> Value {
        json!({"task": task, "tries": 1, "score": 0.5, "verdict": "partial", "details": {"name": task, "criteria": [
            {"label": "was sent", "axis": null, "weight": 1.0, "score": 0.0, "details": details},
            {"label": "was said", "axis": null, "weight": 1.0, "score": 1.0, "details": ""}]}})
    }

    fn void(task: &str, cause: &str) -> Value {
        json!({"task": task, "tries": 2, "cause": cause})
    }

    #[test]
    fn a_run_is_one_sentence_with_the_causes_of_its_voids() {
        let one = agent(
            &json!([
                missed("a", ""),
                missed("a", ""),
                missed("b", ""),
                void("b", "infrastructure")
            ]),
            1,
        );
        assert_eq!(
            sentence(&one),
            "72.4 % (95 % interval 63.9 to 79.6) over 2 tasks × 2; 3 of 4 scored, 1 void (infrastructure): \
             between 71.0 and 73.0 whatever it would have been."
        );
        assert_eq!(counts(&one), "3 ◐ partial · 1 ∅ void");
        let several = agent(
            &json!([
                missed("a", ""),
                void("b", "infrastructure"),
                void("c", "scorer_error"),
                void("c", "infrastructure")
            ]),
            3,
        );
        assert_eq!(
            sentence(&several),
            "72.4 % (95 % interval 63.9 to 79.6) over 3 tasks, 4 attempts; 1 of 4 scored, 3 void (2 infrastructure, 1 scorer error): \
             between 71.0 and 73.0 whatever they would have been."
        );
    }

    #[test]
    fn a_run_without_a_score_says_so() {
        let mut none = agent(&json!([void("a", "infrastructure")]), 1);
        none.summary = Summary {
            planned: 2,
            void: 1,
            ..Summary::default()
        };
        assert_eq!(
            sentence(&none),
            "No score over 1 task × 1; 0 of 2 scored, 1 not over, 1 void (infrastructure)."
        );
    }

    #[test]
    fn equal_findings_with_other_values_are_one_group() {
        let mut crash = json!({"task": "d", "tries": 1, "score": 0.0, "verdict": "fail", "cause": "agent_crash"});
        crash["reason"] = json!("exit code 2");
        let one = agent(
            &json!([
                missed("a", "no ServiceRequest for 'Ada' with 12 mg"),
                missed("b", "no ServiceRequest for 'Bob' with 7 mg"),
                missed("c", "never said \"allergies\""),
                crash,
            ]),
            0,
        );
        let found = losses(&one);
        let found: Vec<(usize, &str, &str)> = found
            .iter()
            .map(|one| (one.times, one.what.as_str(), one.found.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (2, "was sent", "no ServiceRequest for … with … mg"),
                (1, "agent_crash", "exit code 2"),
                (1, "was sent", "never said \"allergies\""),
            ]
        );
        let lost: f64 = losses(&one).iter().map(|one| one.score).sum();
        assert!(
            (lost - 0.625).abs() < 1e-9,
            "all that is missing of 1: {lost}"
        );
    }

    #[test]
    fn values_are_cut_out_and_words_stay() {
        for (found, plain) in [
            ("MSH-9 expected ORM^O01", "… expected …"),
            (
                "it's what the agent didn't say",
                "it's what the agent didn't say",
            ),
            ("'open", "'open"),
            ("é 'ü' x", "é … x"),
            ("", ""),
        ] {
            assert_eq!(without_values(found), plain, "{found}");
        }
    }

    #[test]
    fn a_bar_is_as_full_as_its_score() {
        assert_eq!(bar(0.5), format!("{}{}", "█".repeat(10), "░".repeat(10)));
        assert_eq!(bar(1.7), "█".repeat(20));
        assert_eq!(
            axes(&json!({"axes": {"safety": {"score": 0.5, "weight": 2.0}}})),
            [("safety".to_owned(), 0.5)]
        );
        assert!(axes(&json!({"axes": null})).is_empty());
    }
}
