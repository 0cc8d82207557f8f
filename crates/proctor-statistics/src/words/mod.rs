//! Results as sentences, the same in the terminal, in a pull request and on a page: one line each, the question always named.
//!
//! Shares are percentages and differences percentage points (pp), both with one decimal. A p-value is never "0.000".

mod numbers;

use self::numbers::{confidence, dollars, p_value, percent, points, unsigned_points};
use crate::{
    About, Alpha, Attempts, Comparison, Flip, GateVerdict, HowManyMore, Line, LineResult, Never,
    NeverResult, Noise, Pair, PassK, Plan, Summary, Tasks, ThresholdResult, Undecided, flips,
    more::attempts_if_steady,
};

/// Two standard errors of a 5 % test and a chance of 80 %: what a comparison of this size usually sees.
const VISIBLE: f64 = 2.8;
/// The worst tasks that a failed line names.
const WORST_SHOWN: usize = 3;

/// What the numbers are about, as a reader would say it.
pub const fn question(about: About) -> &'static str {
    match about {
        About::Tasks => "tasks like these",
        About::Suite => "these very tasks",
    }
}

/// One run.
pub fn summary(summary: &Summary, alpha: Alpha) -> String {
    let Summary {
        mean, low, high, ..
    } = *summary;
    let mut said = format!(
        "{} % ({} interval {} to {}) over {}, for {}; {} of {} scored",
        percent(mean),
        confidence(alpha),
        percent(low),
        percent(high),
        tasks_and_attempts(summary.tasks, summary.planned),
        question(About::Tasks),
        summary.scored,
        summary.planned,
    );
    if summary.agent_faults > 0 {
        said += &format!(
            ", {} of them 0 by the agent's own fault",
            summary.agent_faults
        );
    }
    if summary.void > 0 {
        said += &format!(
            ", {} void: between {} and {} whatever {} would have been",
            summary.void,
            percent(summary.worst),
            percent(summary.best),
            if summary.void == 1 { "it" } else { "they" }
        );
    }
    said.push('.');
    match &summary.rerun {
        None => {
            said +=
                " How these very tasks would vary cannot be seen: that takes two attempts at each.";
        }
        Some(rerun) => {
            said += &format!(
                " These very tasks, run again: {} to {} %.",
                percent(rerun.low),
                percent(rerun.high)
            );
        }
    }
    said
}

fn tasks_and_attempts(tasks: usize, planned: usize) -> String {
    let noun = if tasks == 1 { "task" } else { "tasks" };
    match planned.checked_rem(tasks) {
        Some(0) => format!("{tasks} {noun} × {}", planned / tasks),
        Some(_) | None => format!("{tasks} {noun}, {planned} attempts"),
    }
}

/// Two runs.
pub fn comparison(found: &Comparison, about: About, alpha: Alpha) -> String {
    let interval = format!("({} to {})", points(found.low), points(found.high));
    let mut said = if found.p <= alpha.value() {
        let (word, size) = match found.difference >= 0.0 {
            true => ("better", found.difference),
            false => ("worse", -found.difference),
        };
        format!(
            "B is {word} by {} pp {interval}, {}, {}: {} tasks better, {} worse, {} the same.",
            unsigned_points(size),
            p_value(found.p),
            question(about),
            found.better,
            found.worse,
            found.same
        )
    } else {
        format!(
            "B − A = {} pp {interval}, {}, {} tasks, {}: no difference seen; a change under {:.0} pp would usually be missed at this size.",
            points(found.difference),
            p_value(found.p),
            found.tasks,
            question(about),
            (100.0 * VISIBLE * found.se).ceil()
        )
    };
    if found.guarded {
        said += " Too few tasks differ, so two imaginary ones were added.";
    }
    let voids = found.void_a + found.void_b;
    if voids > 0 {
        said += &format!(
            " {}: between {} and {} pp whatever {} would have been.",
            void_attempts(voids),
            points(found.low_if_voids_worst),
            points(found.high_if_voids_best),
            if voids == 1 { "it" } else { "they" }
        );
    }
    if found.unpaired + found.left_out > 0 {
        said += &format!(
            " Not compared: {} tasks planned on one side only, {} without a score on one side.",
            found.unpaired, found.left_out
        );
    }
    said
}

/// What a reader should know of a line besides its numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// What A is called.
    pub baseline: &'a str,
    /// What must never happen.
    pub never: &'a str,
    /// What an attempt costs in US dollars, if that is known. Unknown is not free.
    pub dollars_per_attempt: Option<f64>,
}

/// A line of a gate.
pub fn line(line: &Line<'_>, result: &LineResult, known: Known<'_>, alpha: Alpha) -> String {
    match (line, result) {
        (Line::Change { tasks, at, about }, LineResult::Threshold(found)) => {
            change(tasks, *at, *about, found, known, alpha)
        }
        (Line::Level { tasks, at, about }, LineResult::Threshold(found)) => {
            level(tasks, *at, *about, found, alpha)
        }
        (Line::Never(asked), LineResult::Never(found)) => never(asked, found, known.never, alpha),
        // A result of another kind of line says at least its verdict.
        (_, result) => result.verdict().as_str().to_owned(),
    }
}

fn change(
    tasks: &Tasks<Pair>,
    at: f64,
    about: About,
    found: &ThresholdResult,
    known: Known<'_>,
    alpha: Alpha,
) -> String {
    let baseline = known.baseline;
    let limit = unsigned_points(at.abs());
    let size = format!("{}, {} tasks", question(about), tasks.len());
    let sure = confidence(alpha);
    match found.verdict {
        GateVerdict::Pass => {
            let claim = match at < 0.0 {
                true => format!("not worse than {baseline} by {limit} pp"),
                false => format!("better than {baseline} by {limit} pp"),
            };
            let least = points(found.low_voids);
            format!("PASS  {claim}: at least {least} pp with {sure} confidence ({size}).")
        }
        GateVerdict::Fail => {
            let claim = match at < 0.0 {
                true => format!("worse than {baseline} by more than {limit} pp"),
                false => format!("not better than {baseline} by {limit} pp"),
            };
            let most = points(found.high_voids);
            let worst = worst(tasks);
            format!("FAIL  {claim}: at most {most} pp with {sure} confidence ({size}).{worst}")
        }
        GateVerdict::Inconclusive => {
            let between = format!(
                "INCONCLUSIVE  between {} and {} pp, limit {} ({size}).",
                points(found.low_voids),
                points(found.high_voids),
                points(at)
            );
            match (found.why, &found.more) {
                (Some(Undecided::Voids), _) => run_voids_again(found.voids),
                (_, Some(further)) => {
                    let dollars = known.dollars_per_attempt;
                    let further = match attempts_if_steady(
                        tasks,
                        &Plan {
                            alpha,
                            ..Plan::new(at, about)
                        },
                    ) {
                        Some(attempts) => steady(attempts, tasks.len(), dollars),
                        None => more(further, tasks.len(), dollars),
                    };
                    format!("{between} {further}")
                }
                (_, None) => between,
            }
        }
    }
}

fn level(
    tasks: &Tasks<Attempts>,
    at: f64,
    about: About,
    found: &ThresholdResult,
    alpha: Alpha,
) -> String {
    let size = format!("{}, {} tasks", question(about), tasks.len());
    let (limit, sure) = (percent(at), confidence(alpha));
    match found.verdict {
        GateVerdict::Pass => format!(
            "PASS  above {limit} %: at least {} % with {sure} confidence ({size}).",
            percent(found.low_voids)
        ),
        GateVerdict::Fail => format!(
            "FAIL  below {limit} %: at most {} % with {sure} confidence ({size}).",
            percent(found.high_voids)
        ),
        GateVerdict::Inconclusive if found.why == Some(Undecided::Voids) => {
            run_voids_again(found.voids)
        }
        GateVerdict::Inconclusive => format!(
            "INCONCLUSIVE  between {} and {} %, limit {limit} ({size}).",
            percent(found.low_voids),
            percent(found.high_voids)
        ),
    }
}

fn run_voids_again(voids: usize) -> String {
    let which = if voids == 1 { "it" } else { "them" };
    format!(
        "INCONCLUSIVE  {} could decide: run {which} again.",
        void_attempts(voids)
    )
}

/// So many void attempts.
fn void_attempts(count: usize) -> String {
    match count {
        1 => "1 void attempt".to_owned(),
        count => format!("{count} void attempts"),
    }
}

fn never(asked: &Never, found: &NeverResult, name: &str, alpha: Alpha) -> String {
    let Never {
        checked,
        violations,
        unchecked,
        ..
    } = *asked;
    let bound = found.rate_below.map_or_else(String::new, |rate| {
        let sure = confidence(alpha);
        format!("; at most {} % with {sure} confidence", percent(rate))
    });
    match found.verdict {
        GateVerdict::Fail => format!("FAIL  {name}: {violations} of {checked} attempts."),
        GateVerdict::Pass => format!("PASS  {name}: 0 of {checked}{bound}."),
        GateVerdict::Inconclusive if unchecked > 0 => format!(
            "INCONCLUSIVE  {name}: 0 of {checked}{bound}; {unchecked} could not be checked, {} more are needed.",
            found.more
        ),
        GateVerdict::Inconclusive => format!(
            "INCONCLUSIVE  {name}: 0 of {checked}{bound}; {} more are needed.",
            found.more
        ),
    }
}

fn worst(tasks: &Tasks<Pair>) -> String {
    let flips = flips(tasks);
    let worse: Vec<&Flip> = flips.iter().filter(|flip| flip.difference < 0.0).collect();
    let shown: Vec<String> = worse
        .iter()
        .take(WORST_SHOWN)
        .map(|flip| {
            let row = tasks.rows().iter().find(|row| row.id == flip.id);
            let pair = row.map(|row| &row.data);
            let a = passes(pair.and_then(|pair| pair.a.as_ref()), flip.mean_a);
            let b = passes(pair.and_then(|pair| pair.b.as_ref()), flip.mean_b);
            format!("{} ({a} → {b})", flip.id)
        })
        .collect();
    match (shown.is_empty(), worse.len() > shown.len()) {
        (true, _) => String::new(),
        (false, true) => format!(" Worst: {}, ….", shown.join(", ")),
        (false, false) => format!(" Worst: {}.", shown.join(", ")),
    }
}

/// How often a task was passed: `5/5`; its mean where attempts are neither passed nor failed outright.
fn passes(attempts: Option<&Attempts>, mean: f64) -> String {
    let scores = attempts.map_or(&[][..], Attempts::scores);
    let is_outright = |score: &f64| *score <= 0.0 || *score >= 1.0;
    if scores.is_empty() || !scores.iter().all(is_outright) {
        return format!("{mean:.2}");
    }
    let passed = scores.iter().filter(|score| **score >= 1.0).count();
    format!("{passed}/{}", scores.len())
}

/// How many more would settle a line over so many tasks, and what they cost if that is known. The line is a margin if "nothing has changed" has an answer.
pub fn more(more: &HowManyMore, tasks: usize, dollars_per_attempt: Option<f64>) -> String {
    let equal = (&more.if_equal, "If nothing really changed");
    let seen = (&more.as_seen, "If the truth is as seen");
    let with_attempts = [equal, seen].into_iter().find_map(|(further, assumed)| {
        let attempts = further.attempts_per_task?;
        let attempts = per_task(attempts, tasks, dollars_per_attempt);
        Some(format!("{assumed}, {attempts} settle it with 80 % chance."))
    });
    let with_tasks = || {
        [equal, seen].into_iter().find_map(|(further, assumed)| {
            let tasks = further.tasks?;
            Some(format!(
                "{assumed}, {tasks} more tasks settle it with 80 % chance."
            ))
        })
    };
    with_attempts.or_else(with_tasks).unwrap_or_else(|| {
        "No number of attempts that is worth planning settles it: the truth seems to be at the limit.".to_owned()
    })
}

/// How many more settle a line whose attempts all agree.
fn steady(attempts: u32, tasks: usize, dollars_per_attempt: Option<f64>) -> String {
    let attempts = per_task(attempts, tasks, dollars_per_attempt);
    format!("If every task goes on as it did each time so far, {attempts} settle it.")
}

/// So many attempts per task on both sides, and what they cost if that is known.
fn per_task(attempts: u32, tasks: usize, dollars_per_attempt: Option<f64>) -> String {
    let all = 2 * attempts as usize * tasks;
    let cost = dollars_per_attempt.map_or_else(String::new, |each| {
        format!(", about {}", dollars(each * all as f64))
    });
    let noun = if attempts == 1 { "attempt" } else { "attempts" };
    format!("{attempts} more {noun} per task ({all} in all{cost})")
}

/// Reliability.
pub fn pass_k(found: &PassK, alpha: Alpha) -> String {
    let rate = |rate: &crate::Rate| {
        format!(
            "{} % ({} to {})",
            percent(rate.mean),
            percent(rate.low),
            percent(rate.high)
        )
    };
    let left_out = match found.left_out {
        0 => String::new(),
        tasks => format!("; {tasks} tasks with fewer attempts left out"),
    };
    format!(
        "pass@{k} {}, pass^{k} {} ({} intervals, {}, {} tasks{left_out}).",
        rate(&found.pass_at),
        rate(&found.pass_all),
        confidence(alpha),
        question(About::Tasks),
        found.tasks,
        k = found.k,
    )
}

/// How much a run varies by itself.
pub fn noise(found: &Noise) -> String {
    format!(
        "The same agent run twice differs by up to {} pp in 19 of 20 cases; a change of {} pp would usually be seen. {} of {} tasks are flaky: two attempts at a task disagree {} % of the time.",
        unsigned_points(found.noise_floor),
        unsigned_points(found.smallest_change),
        found.flaky_tasks,
        found.tasks,
        percent(found.flakiness)
    )
}

#[cfg(test)]
mod tests;
