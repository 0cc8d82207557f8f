//! Criteria as test cases: what every attempt of a task found about each of them.

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus};

use super::{MESSAGE, NAME, Of, add_log, add_repeats, kind, task_case, url};
use crate::report::{
    answers::{Attempt, Criterion},
    text::{line, told},
};

/// A criterion with what each attempt that was judged scored on it.
struct Judged<'a> {
    first: &'a Criterion,
    all: Vec<(&'a Attempt, &'a Criterion)>,
}

/// The criteria of a task, each as a test case over all attempts that were judged, and one for each attempt that the agent ended itself. A task of which
/// no attempt was judged is one test case.
pub(super) fn cases(slug: &str, task: &str, attempts: &[&Attempt], of: &Of<'_>) -> Vec<TestCase> {
    let judged = judged(attempts);
    if judged.is_empty() {
        return vec![task_case(slug, task, attempts, of)];
    }
    let void = attempts.iter().filter(|one| one.score.is_none()).count();
    let mut cases: Vec<TestCase> = judged
        .iter()
        .map(|one| criterion_case(one, void, of.server))
        .collect();
    let ended = attempts
        .iter()
        .enumerate()
        .filter_map(|(place, one)| Some((place + 1, one, one.cause.as_deref()?)));
    for (number, attempt, cause) in ended.filter(|(_, one, _)| one.score.is_some()) {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(kind(attempt).to_owned());
        let reason = attempt.reason.as_deref().unwrap_or_default();
        let score = format!("score {:.2}", attempt.score.unwrap_or_default());
        status.set_message(line(&told(&score, reason), MESSAGE));
        cases.push(TestCase::new(
            line(&format!("attempt {number}: {cause}"), NAME),
            status,
        ));
    }
    for case in &mut cases {
        case.set_classname(slug.to_owned());
    }
    // Once, not with every criterion.
    let failed = cases
        .iter_mut()
        .find(|case| matches!(case.status, TestCaseStatus::NonSuccess { .. }));
    if let Some(case) = failed {
        add_log(case, attempts, of.logs);
    }
    cases
}

/// The criteria in the order of the first attempt that has them.
fn judged<'a>(attempts: &[&'a Attempt]) -> Vec<Judged<'a>> {
    let mut all: Vec<Judged<'a>> = Vec::new();
    for attempt in attempts.iter().copied().filter(|one| one.score.is_some()) {
        for criterion in attempt.criteria() {
            let name = |one: &Criterion| (one.criterion_id.clone(), one.label.clone());
            let known = all
                .iter_mut()
                .find(|one| name(one.first) == name(criterion));
            match known {
                Some(known) => known.all.push((attempt, criterion)),
                None => all.push(Judged {
                    first: criterion,
                    all: vec![(attempt, criterion)],
                }),
            }
        }
    }
    all
}

fn criterion_case(judged: &Judged<'_>, void: usize, server: &str) -> TestCase {
    let times = judged.all.len();
    let met = judged
        .all
        .iter()
        .filter(|(_, one)| one.score >= 1.0)
        .count();
    let mut case = TestCase::new(line(&judged.first.label, NAME), status(judged, met, server));
    if times + void > 1 {
        add_repeats(&mut case, times + void, met, void);
    }
    case
}

fn status(judged: &Judged<'_>, met: usize, server: &str) -> TestCaseStatus {
    let times = judged.all.len();
    let worst = judged
        .all
        .iter()
        .filter(|(_, one)| one.score < 1.0)
        .min_by(|(_, one), (_, other)| one.score.total_cmp(&other.score));
    let Some((attempt, worst)) = worst else {
        return TestCaseStatus::success();
    };
    let mean = judged.all.iter().map(|(_, one)| one.score).sum::<f64>() / times as f64;
    let score = match times {
        1 => format!("score {mean:.2}"),
        times => format!("met in {met} of {times} attempts; score {mean:.2}"),
    };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    // Missing a critical criterion fails the task, whatever else was met.
    status.set_type(match worst.score > 0.0 && !worst.critical {
        true => "partial",
        false => "fail",
    });
    status.set_message(line(&told(&score, &worst.details), MESSAGE));
    if let Some(url) = url(attempt, server) {
        status.set_description(url);
    }
    status
}
