//! JUnit: one test case for each task, because a task is what is run, repeated, voided and paired. Criteria share one world; counting them as tests would
//! inflate the numbers.
//!
//! What the agent did wrong is a failure, what the platform broke an error, what somebody stopped is skipped.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::{
    answers::{Attempt, Criterion, Results},
    text::{line, lines, tail},
};

type Logs = BTreeMap<String, String>;

/// How much of a name, a message and a description is written.
const NAME: usize = 300;
const MESSAGE: usize = 500;
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
    /// What agents did or printed in task runs that failed, by their ids.
    pub(crate) logs: &'a BTreeMap<String, String>,
}

/// The task run whose log is told of a task: that of its first attempt that failed.
pub(crate) fn told_of<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Option<&'a str> {
    let mut attempts = attempts.into_iter();
    let failed = attempts.find(|one| one.score.is_some() && !is_pass(one))?;
    failed.details.as_ref()?.task_run_id.as_deref()
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
            for (task, attempts) in tasks {
                suite.add_test_case(task_case(&slug, task, attempts, of.logs));
            }
            finish(&mut suite);
            report.add_test_suite(suite);
        }
        Level::Criterion => {
            for (task, attempts) in tasks {
                let mut suite = suite_of(&format!("{name} {}", case_name(task, attempts)), of);
                for case in criterion_cases(&slug, task, attempts, of.logs) {
                    suite.add_test_case(case);
                }
                finish(&mut suite);
                report.add_test_suite(suite);
            }
        }
    }
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
    for (name, value) in properties {
        suite.add_property(Property::new(name, line(&value, NAME)));
    }
    suite
}

fn finish(suite: &mut TestSuite) {
    let total: Duration = suite.test_cases.iter().filter_map(|case| case.time).sum();
    suite.set_time(total);
}

fn case_name(task: &str, attempts: &[&Attempt]) -> String {
    let name = attempts.first().map_or(task, |attempt| attempt.name());
    format!("{} ({task})", line(name, NAME))
}

fn task_case(slug: &str, task: &str, attempts: &[&Attempt], logs: &Logs) -> TestCase {
    let passes = attempts.iter().filter(|one| is_pass(one)).count();
    let scored: Vec<&&Attempt> = attempts.iter().filter(|one| one.score.is_some()).collect();
    let mut case = TestCase::new(case_name(task, attempts), status(attempts, passes));
    case.set_classname(slug.to_owned());
    let seconds: f64 = attempts
        .iter()
        .filter_map(|one| one.details.as_ref()?.seconds)
        .sum();
    case.set_time(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    // Readers that follow the older schema to the letter know no properties of test cases: only repeats have them.
    if attempts.len() > 1 {
        case.add_property(Property::new("attempts", attempts.len().to_string()));
        case.add_property(Property::new("passes", passes.to_string()));
        let void = attempts.len() - scored.len();
        if void > 0 {
            case.add_property(Property::new("void", void.to_string()));
        }
        if passes > 0 && passes < scored.len() {
            case.add_property(Property::new("flaky", "true"));
        }
    }
    let log = told_of(attempts.iter().copied()).and_then(|task_run| logs.get(task_run));
    if let Some(log) = log {
        // Characters that XML does not have are told by their codes before the end of it is taken.
        case.set_system_out(tail(&lines(log, usize::MAX), LOG));
    }
    case
}

fn is_pass(attempt: &Attempt) -> bool {
    attempt.verdict.as_deref() == Some("pass")
}

fn status(attempts: &[&Attempt], passes: usize) -> TestCaseStatus {
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
    let worst = scored.iter().find(|one| !is_pass(one));
    let fault = worst.and_then(|one| one.cause.as_deref());
    let kind = match (fault, mean > 0.0) {
        (Some(cause), _) => cause,
        (None, true) => "partial",
        (None, false) => "fail",
    };
    let criteria = worst.map_or(&[][..], |one| one.criteria());
    let met = criteria.iter().filter(|one| one.score >= 1.0).count();
    let mut message = match scored.len() {
        1 if !criteria.is_empty() => {
            format!("{met} of {} criteria; score {mean:.2}", criteria.len())
        }
        1 => format!("score {mean:.2}"),
        attempts => format!("{passes} of {attempts} attempts passed; score {mean:.2}"),
    };
    if let Some(reason) = worst.and_then(|one| one.reason.as_deref()) {
        message += &format!("; {reason}");
    }
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind.to_owned());
    status.set_message(line(&message, MESSAGE));
    status.set_description(lines(&description(criteria), DESCRIPTION));
    status
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
    status.set_message(line(&format!("void: {reason}; not counted"), MESSAGE));
    status
}

/// A line for each criterion.
fn description(criteria: &[Criterion]) -> String {
    let mut said = String::new();
    for one in criteria {
        let mark = match one.score {
            score if score >= 1.0 => "✔",
            score if score > 0.0 => "◐",
            _ => "✘",
        };
        let details = match one.details.is_empty() {
            true => String::new(),
            false => format!(": {}", line(&one.details, MESSAGE)),
        };
        said += &format!(
            "{mark} {} ({:.2}){details}\n",
            line(&one.label, NAME),
            one.weight
        );
    }
    said
}

/// The criteria of a task, each as a test case; a task without any is one.
fn criterion_cases(slug: &str, task: &str, attempts: &[&Attempt], logs: &Logs) -> Vec<TestCase> {
    let judged = attempts.iter().find(|one| !one.criteria().is_empty());
    let Some(judged) = judged else {
        return vec![task_case(slug, task, attempts, logs)];
    };
    let cases = judged.criteria().iter().map(|one| {
        let status = if one.score >= 1.0 {
            TestCaseStatus::success()
        } else {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(if one.score > 0.0 { "partial" } else { "fail" });
            status.set_message(line(
                &format!("score {:.2}: {}", one.score, one.details),
                MESSAGE,
            ));
            status
        };
        let mut case = TestCase::new(line(&one.label, NAME), status);
        case.set_classname(slug.to_owned());
        case
    });
    cases.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(attempts: &serde_json::Value, level: Level) -> String {
        written_with(attempts, level, &BTreeMap::new())
    }

    fn written_with(attempts: &serde_json::Value, level: Level, logs: &Logs) -> String {
        let results: Results = serde_json::from_value(json!({"agents": [{
            "name": "night-shift", "attempts": attempts,
            "summary": {"score": 0.5, "planned": 3, "scored": 2, "void": 1, "agent_faults": 0},
        }]}))
        .unwrap();
        let of = Of {
            benchmark: "critical-lab@3",
            agent: "night-shift",
            digest: "abc",
            runs: &[("br_1".to_owned(), results)],
            score: Some(0.5),
            verdict: None,
            logs,
        };
        write(&of, level).unwrap()
    }

    fn attempt(
        task: &str,
        score: Option<f64>,
        verdict: Option<&str>,
        cause: Option<&str>,
    ) -> serde_json::Value {
        json!({"task": task, "tries": 1, "score": score, "verdict": verdict, "cause": cause, "reason": cause.map(|_| "the box was lost"),
               "details": {"name": format!("Task \u{1b}{task} <&>"), "task_run_id": "tr_1", "seconds": 1.5, "criteria": [
                   {"label": "said it", "axis": null, "weight": 0.4, "score": score.unwrap_or(0.0), "details": "expected ]]> found \u{0}"}]}})
    }

    #[test]
    fn failures_errors_and_skips_are_told_apart() {
        let xml = written(
            &json!([
                attempt("task_1", Some(1.0), Some("pass"), None),
                attempt("task_2", Some(0.6), Some("partial"), None),
                attempt("task_3", None, None, Some("infrastructure")),
                attempt("task_4", None, None, Some("cancelled")),
                attempt("task_5", Some(0.0), Some("fail"), Some("agent_crash")),
            ]),
            Level::Task,
        );
        insta::assert_snapshot!("junit", xml);
    }

    #[test]
    fn only_what_failed_has_the_end_of_its_log() {
        let log = format!("{}the \u{1b}end", "x".repeat(10_000));
        let xml = written_with(
            &json!([
                attempt("task_1", Some(1.0), Some("pass"), None),
                attempt("task_2", Some(0.6), Some("partial"), None),
                attempt("task_3", None, None, Some("infrastructure")),
            ]),
            Level::Task,
            &BTreeMap::from([("tr_1".to_owned(), log)]),
        );
        assert_eq!(xml.matches("<system-out>").count(), 1, "{xml}");
        let (_, log) = xml.split_once("<system-out>").unwrap();
        let (log, _) = log.split_once("</system-out>").unwrap();
        assert!(log.ends_with("xthe &lt;U+001B&gt;end"), "{log}");
        assert!(log.starts_with('…') && log.len() < 9000, "{}", log.len());
    }

    #[test]
    fn repeats_are_one_test_case_with_properties() {
        let xml = written(
            &json!([
                attempt("task_1", Some(1.0), Some("pass"), None),
                attempt("task_1", Some(0.0), Some("fail"), None),
                attempt("task_1", None, None, Some("infrastructure")),
            ]),
            Level::Task,
        );
        for expected in [
            r#"tests="1""#,
            r#"name="attempts" value="3""#,
            r#"name="passes" value="1""#,
            r#"name="flaky""#,
            r#"name="void" value="1""#,
            "1 of 2 attempts passed; score 0.50",
        ] {
            assert!(xml.contains(expected), "{expected} is not in {xml}");
        }
    }

    #[test]
    fn criteria_can_be_test_cases() {
        let xml = written(
            &json!([attempt("task_1", Some(0.5), Some("partial"), None)]),
            Level::Criterion,
        );
        assert!(xml.contains(r#"<testcase name="said it""#), "{xml}");
    }
}
