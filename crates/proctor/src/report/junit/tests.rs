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
        axes: &[("safety".to_owned(), 0.25)],
        server: "https://proctor.example/",
        gate: Some("gate_1"),
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
           "details": {"name": format!("Task \u{1b}{task} <&>"), "task_run_id": "tr_1", "seconds": 1.5, "journal_head": "9f3c", "criteria": [
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
fn a_critical_miss_is_a_failure_whatever_the_score() {
    let mut missed = attempt("task_1", Some(0.5), Some("fail"), None);
    missed["critical_misses"] = json!(["wrong-patient"]);
    let xml = written(&json!([missed]), Level::Task);
    assert!(
        xml.contains(r#"<failure message="0 of 1 criteria; score 0.50; critical: wrong-patient" type="fail">"#),
        "{xml}"
    );
}

#[test]
fn the_worst_attempt_says_of_which_kind_a_failure_is() {
    let xml = written(
        &json!([
            attempt("task_1", Some(0.6), Some("partial"), None),
            attempt("task_1", Some(0.0), Some("fail"), Some("agent_timeout")),
        ]),
        Level::Task,
    );
    assert!(xml.contains(r#"type="agent_timeout""#), "{xml}");
}

#[test]
fn what_has_no_reason_has_no_empty_place_for_it() {
    let mut void = attempt("task_1", None, None, Some("infrastructure"));
    void["reason"] = json!(null);
    let xml = written(&json!([void]), Level::Task);
    assert!(xml.contains(r#"message="void, not counted""#), "{xml}");
}

#[test]
fn criteria_can_be_test_cases_of_all_attempts() {
    let mut crash = attempt("task_1", Some(0.0), Some("fail"), Some("agent_crash"));
    crash["details"]["criteria"] = json!([]);
    let xml = written(
        &json!([
            attempt("task_1", Some(1.0), Some("pass"), None),
            attempt("task_1", Some(0.5), Some("partial"), None),
            crash,
            attempt("task_1", None, None, Some("infrastructure")),
            attempt("task_2", None, None, Some("infrastructure")),
        ]),
        Level::Criterion,
    );
    insta::assert_snapshot!("junit_criteria", xml);
}

#[test]
fn a_critical_criterion_that_was_missed_is_a_failure_of_its_own_kind() {
    let mut one = attempt("task_1", Some(0.5), Some("fail"), None);
    one["details"]["criteria"][0]["critical"] = json!(true);
    let xml = written(&json!([one]), Level::Criterion);
    assert!(xml.contains(r#"type="fail""#), "{xml}");
}

#[test]
fn a_refusal_is_an_error() {
    let xml = refusal("br_1", "refused", "not comparable:\n  other <tasks>").unwrap();
    for expected in [
        r#"errors="1""#,
        r#"<testcase name="gate of br_1" classname="proctor">"#,
        r#"type="refused""#,
        "other &lt;tasks&gt;",
    ] {
        assert!(xml.contains(expected), "{expected} is not in {xml}");
    }
}
