//! JUnit: one test case for each task, because a task is what is run, repeated, voided and paired. Criteria share one world; counting them as tests would
//! inflate the numbers.
//!
//! What the agent did wrong is a failure, what the platform broke an error, what somebody stopped is skipped.

mod criteria;

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::{
    answers::{Attempt, Criterion, Results},
    links::Links,
    marks,
    text::{line, lines, tail, told},
};

type Logs = BTreeMap<String, String>;

/// How much of a name, a message and a description is written.
const NAME: usize = 300;
const MESSAGE: usize = 500;
const PROPERTY: usize = 10_000;
const DESCRIPTION: usize = 8 << 10;
/// How much of what an agent did is written of a task that failed: the last of it, in bytes.
const LOG: usize = 8 << 10;

/// What a test case is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// A task.
    Task,
    /// A criterion; each task is a suite.
    Criterion,
}

/// What the results are of.
pub(crate) struct Of<'a> {
    /// The benchmark with its version.
    pub(crate) benchmark: &'a str,
    /// The agent.
    pub(crate) agent: &'a str,
    /// The digest of the frozen definition.
    pub(crate) digest: &'a str,
    /// The runs with what came of each.
    pub(crate) runs: &'a [(String, Results)],
    /// The score over all runs.
    pub(crate) score: Option<f64>,
    /// The verdict of the gate, if there is one.
    pub(crate) verdict: Option<&'a str>,
    /// The scores on the axes, over all runs.
    pub(crate) axes: &'a [(String, f64)],
    /// The address of the server that has all of it.
    pub(crate) server: &'a str,
    /// The id of the gate, if there is one.
    pub(crate) gate: Option<&'a str>,
    /// What agents did or printed in task runs that failed, by their ids.
    pub(crate) logs: &'a BTreeMap<String, String>,
}

/// The task run whose log is told of a task: that of its worst attempt that failed.
pub(crate) fn told_of<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Option<&'a str> {
    worst(attempts)?.details.as_ref()?.task_run_id.as_deref()
}

/// The worst attempt of those that count and did not pass: by verdict first, because a critical miss fails a task whatever its score.
fn worst<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Option<&'a Attempt> {
    attempts
        .into_iter()
        .filter(|one| one.score.is_some() && !is_pass(one))
        .min_by(|one, other| {
            let is_partial = |one: &Attempt| one.verdict.as_deref() == Some("partial");
            let by_verdict = is_partial(one).cmp(&is_partial(other));
            let score = |one: &Attempt| one.score.unwrap_or_default();
            by_verdict.then(score(one).total_cmp(&score(other)))
        })
}

/// The report as XML.
pub(crate) fn write(of: &Of<'_>, level: Level) -> anyhow::Result<String> {
    let mut report = Report::new("proctor");
    // In the order of the first run.
    let mut order: Vec<&str> = Vec::new();
    let mut tasks: BTreeMap<&str, Vec<&Attempt>> = BTreeMap::new();
    for (_, results) in of.runs {
        for attempt in results.agents.iter().flat_map(|agent| &agent.attempts) {
            let of_task = tasks.entry(&attempt.task).or_default();
            if of_task.is_empty() {
                order.push(&attempt.task);
            }
            of_task.push(attempt);
        }
    }
    let tasks = order
        .into_iter()
        .filter_map(|task| Some((task, tasks.get(task)?)));
    let name = format!("{} {}", line(of.benchmark, NAME), line(of.agent, NAME));
    let slug = line(of.benchmark.split('@').next().unwrap_or_default(), NAME);
    match level {
        Level::Task => {
            let mut suite = suite_of(&name, of);
            for (_, results) in of.runs {
                let attempts = results.agents.iter().flat_map(|agent| &agent.attempts);
                add_journal_heads(&mut suite, attempts);
            }
            for (task, attempts) in tasks {
                suite.add_test_case(task_case(&slug, task, attempts, of));
            }
            finish(&mut suite);
            report.add_test_suite(suite);
        }
        Level::Criterion => {
            for (task, attempts) in tasks {
                let mut suite = suite_of(&format!("{name} {}", case_name(task, attempts)), of);
                add_journal_heads(&mut suite, attempts.iter().copied());
                for case in criteria::cases(&slug, task, attempts, of) {
                    suite.add_test_case(case);
                }
                suite.set_time(time(attempts));
                report.add_test_suite(suite);
            }
        }
    }
    as_xml(&report)
}

/// The report of a gate that was not decided: one test case with an error.
pub(crate) fn refusal(run: &str, kind: &str, why: &str) -> anyhow::Result<String> {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_type(kind.to_owned());
    status.set_message(line(&format!("no verdict: {why}"), MESSAGE));
    status.set_description(lines(why, DESCRIPTION));
    let mut case = TestCase::new(format!("gate of {}", line(run, NAME)), status);
    case.set_classname("proctor");
    let mut suite = TestSuite::new("proctor gate");
    suite.add_test_case(case);
    let mut report = Report::new("proctor");
    report.add_test_suite(suite);
    as_xml(&report)
}

fn as_xml(report: &Report) -> anyhow::Result<String> {
    let xml = report
        .to_string()
        .context("the JUnit report cannot be written")?;
    Ok(without_skipped_suites(&xml))
}

/// The report without the number of skipped test cases at its top: published schemas know it of suites only.
fn without_skipped_suites(xml: &str) -> String {
    let top = xml
        .find("<testsuites")
        .and_then(|begin| Some((begin, begin + xml[begin..].find('>')?)));
    let Some((begin, end)) = top else {
        return xml.to_owned();
    };
    let (before, tag, after) = (&xml[..begin], &xml[begin..end], &xml[end..]);
    let attributes = tag
        .split(" skipped=\"")
        .enumerate()
        .map(|(place, part)| match place {
            0 => part,
            _ => part.split_once('"').map_or("", |(_, rest)| rest),
        });
    let tag: String = attributes.collect();
    format!("{before}{tag}{after}")
}

fn suite_of(name: &str, of: &Of<'_>) -> TestSuite {
    let mut suite = TestSuite::new(name.to_owned());
    let runs: Vec<&str> = of.runs.iter().map(|(run, _)| run.as_str()).collect();
    let mut properties = vec![
        ("proctor.run", runs.join(",")),
        ("proctor.digest", of.digest.to_owned()),
    ];
    if let Some(score) = of.score {
        properties.push(("proctor.score", score.to_string()));
    }
    if let Some(verdict) = of.verdict {
        properties.push(("proctor.verdict", verdict.to_owned()));
    }
    let links = Links::to(of.server);
    let urls: Vec<String> = runs.iter().map(|run| links.run(run)).collect();
    properties.push(match of.gate {
        Some(gate) => ("proctor.url", links.gate(gate)),
        None => ("proctor.url", urls.join(",")),
    });
    properties.push(("proctor.run-url", urls.join(",")));
    for (name, value) in properties {
        suite.add_property(Property::new(name, line(&value, PROPERTY)));
    }
    for (axis, score) in of.axes {
        let name = format!("proctor.axis.{}", line(axis, NAME));
        suite.add_property(Property::new(name, score.to_string()));
    }
    suite
}

/// By which link the journal of each frozen world ends: whoever has it can check the journal later.
fn add_journal_heads<'a>(suite: &mut TestSuite, attempts: impl Iterator<Item = &'a Attempt>) {
    for details in attempts.filter_map(|one| one.details.as_ref()) {
        if let (Some(task_run), Some(head)) = (&details.task_run_id, &details.journal_head) {
            let name = format!("proctor.journal-head.{}", line(task_run, NAME));
            suite.add_property(Property::new(name, line(head, NAME)));
        }
    }
}

fn finish(suite: &mut TestSuite) {
    let total: Duration = suite.test_cases.iter().filter_map(|case| case.time).sum();
    suite.set_time(total);
}

fn case_name(task: &str, attempts: &[&Attempt]) -> String {
    let name = attempts.first().map_or(task, |attempt| attempt.name());
    format!("{} ({task})", line(name, NAME))
}

/// How long the agent took over all attempts.
fn time(attempts: &[&Attempt]) -> Duration {
    let seconds: f64 = attempts
        .iter()
        .filter_map(|one| one.details.as_ref()?.seconds)
        .sum();
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn task_case(slug: &str, task: &str, attempts: &[&Attempt], of: &Of<'_>) -> TestCase {
    let passes = attempts.iter().filter(|one| is_pass(one)).count();
    let scored: Vec<&&Attempt> = attempts.iter().filter(|one| one.score.is_some()).collect();
    let mut case = TestCase::new(
        case_name(task, attempts),
        status(attempts, passes, of.server),
    );
    case.set_classname(slug.to_owned());
    case.set_time(time(attempts));
    // Readers that follow the older schema to the letter know no properties of test cases: only repeats have them.
    if attempts.len() > 1 {
        let void = attempts.len() - scored.len();
        add_repeats(&mut case, attempts.len(), passes, void);
    }
    add_log(&mut case, attempts, of.logs);
    case
}

fn add_repeats(case: &mut TestCase, attempts: usize, passes: usize, void: usize) {
    case.add_property(Property::new("attempts", attempts.to_string()));
    case.add_property(Property::new("passes", passes.to_string()));
    if void > 0 {
        case.add_property(Property::new("void", void.to_string()));
    }
    if passes > 0 && passes < attempts - void {
        case.add_property(Property::new("flaky", "true"));
    }
}

/// The end of what the agent did in the worst attempt, if the task failed.
fn add_log(case: &mut TestCase, attempts: &[&Attempt], logs: &Logs) {
    let log = told_of(attempts.iter().copied()).and_then(|task_run| logs.get(task_run));
    if let Some(log) = log {
        // Characters that XML does not have are told by their codes before the end of it is taken.
        case.set_system_out(tail(&lines(log, usize::MAX), LOG));
    }
}

fn is_pass(attempt: &Attempt) -> bool {
    attempt.verdict.as_deref() == Some("pass")
}

fn status(attempts: &[&Attempt], passes: usize, server: &str) -> TestCaseStatus {
    let scored: Vec<&Attempt> = attempts
        .iter()
        .copied()
        .filter(|one| one.score.is_some())
        .collect();
    if scored.is_empty() {
        return without_score(attempts);
    }
    if passes == scored.len() {
        return TestCaseStatus::success();
    }
    let mean = scored.iter().filter_map(|one| one.score).sum::<f64>() / scored.len() as f64;
    let worst = worst(scored.iter().copied());
    let kind = worst.map_or("fail", kind);
    let criteria = worst.map_or(&[][..], |one| one.criteria());
    let met = criteria.iter().filter(|one| one.score >= 1.0).count();
    let mut message = match scored.len() {
        1 if !criteria.is_empty() => {
            format!("{met} of {} criteria; score {mean:.2}", criteria.len())
        }
        1 => format!("score {mean:.2}"),
        attempts => format!("{passes} of {attempts} attempts passed; score {mean:.2}"),
    };
    let critical = worst.and_then(|one| one.critical_misses.as_deref());
    let critical = critical.filter(|missed| !missed.is_empty());
    if let Some(missed) = critical {
        message += &format!("; critical: {}", missed.join(", "));
    }
    if let Some(reason) = worst.and_then(|one| one.reason.as_deref()) {
        message += &format!("; {reason}");
    }
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind.to_owned());
    status.set_message(line(&message, MESSAGE));
    let mut said = lines(&description(criteria), DESCRIPTION);
    if let Some(url) = worst.and_then(|one| url(one, server)) {
        said += &format!("{url}\n");
    }
    status.set_description(said);
    status
}

/// Of which kind the failure of an attempt is.
fn kind(attempt: &Attempt) -> &str {
    match (attempt.cause.as_deref(), attempt.verdict.as_deref()) {
        (Some(cause), _) => cause,
        (None, Some("partial")) => "partial",
        (None, _) => "fail",
    }
}

/// Where an attempt can be looked at.
fn url(attempt: &Attempt, server: &str) -> Option<String> {
    let task_run = attempt.details.as_ref()?.task_run_id.as_deref()?;
    Some(line(&Links::to(server).task_run(task_run), NAME))
}

/// A task of which no attempt says anything about the agent.
fn without_score(attempts: &[&Attempt]) -> TestCaseStatus {
    let causes: Vec<&str> = attempts
        .iter()
        .filter_map(|one| one.cause.as_deref())
        .collect();
    if !causes.is_empty() && causes.iter().all(|cause| *cause == "cancelled") {
        let mut status = TestCaseStatus::skipped();
        status.set_message("cancelled".to_owned());
        return status;
    }
    let broken = attempts
        .iter()
        .find(|one| one.cause.as_deref() != Some("cancelled"));
    let cause = broken
        .and_then(|one| one.cause.as_deref())
        .unwrap_or("not_over");
    let reason = broken
        .and_then(|one| one.reason.as_deref())
        .unwrap_or_default();
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_type(cause.to_owned());
    let message = match reason.is_empty() {
        true => "void, not counted".to_owned(),
        false => format!("void: {reason}; not counted"),
    };
    status.set_message(line(&message, MESSAGE));
    status
}

/// A line for each criterion.
fn description(criteria: &[Criterion]) -> String {
    let mut said = String::new();
    for one in criteria {
        let name = format!(
            "{} {} ({:.2})",
            marks::of_score(one.score),
            line(&one.label, NAME),
            one.weight
        );
        said += &format!("{}\n", told(&name, &line(&one.details, MESSAGE)));
    }
    said
}

#[cfg(test)]
mod tests;
