use serde_json::{Value, json};

use super::*;

const VECTORS: &str = include_str!("../../../../proctor-statistics/tests/vectors.json");

fn asked(value: &Value) -> Result<Answer, Refusal> {
    let request = Request::read("", value).expect("a request");
    request.and_then(|request| request.answer())
}

fn problem(value: &Value) -> String {
    match Request::read("", value) {
        Err(problems) => problems.to_string(),
        Ok(_) => String::new(),
    }
}

/// Whether two values are the same but for 1e-9.
fn is_close(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() <= 1e-9
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_close(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| other.get(name).is_some_and(|other| is_close(one, other)))
        }
        _ => one == other,
    }
}

#[test]
fn a_file_of_vectors_is_answered_as_it_expects() {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let questions = Questions::read(&file).unwrap();
    assert!(questions.is_list);
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(questions.requests.len(), vectors.len());
    for (vector, request) in vectors.iter().zip(questions.requests) {
        let name = &vector["name"];
        match request.and_then(|request| request.answer()) {
            Ok(answer) => {
                assert!(
                    is_close(&answer.json, &vector["expect"]),
                    "{name}: {}",
                    answer.json
                );
                assert!(!answer.words.is_empty(), "{name}");
            }
            Err(refusal) => assert_eq!(vector["refused"], refusal.as_str(), "{name}"),
        }
    }
}

#[test]
fn what_is_no_request_is_told_with_its_place() {
    let task = json!({"id": "t", "A": [1.0, 0.0]});
    for (value, said) in [
        (json!(3), "must be an object"),
        (json!({"op": "summary"}), "input: is required and missing"),
        (
            json!({"op": "sumary", "input": {}}),
            "op: 'sumary' is none of summary, compare, gate, more, pass_k, noise, leaderboard, holm, look",
        ),
        (
            json!({"op": "summary", "input": {}}),
            "input.tasks: is required and missing",
        ),
        (
            json!({"op": "summary", "input": {"tasks": [{"A": [1]}, {"id": 3, "A": 1}]}}),
            "input.tasks.0.id: is required and missing; input.tasks.1.id: must be a text; input.tasks.1.A: must be the list of an \
             agent's attempts, as every member of a task but id and cluster is",
        ),
        (
            json!({"op": "summary", "input": {"tasks": [task], "alpha": 5, "beta": 1}}),
            "input.alpha: must be a number above 0 and below 0.5; input.beta: is not known here; alpha, side, tasks are",
        ),
        (
            json!({"op": "gate", "input": {"tasks": [task], "rules": [{"kind": "change"}, {"kind": "never", "checked": 1.5, "violations": 0}]}}),
            "input.rules.0.at: is required and missing; input.rules.1.checked: must be a whole number",
        ),
        (
            json!({"op": "leaderboard", "input": {"tasks": [task], "agents": ["A", "A"]}}),
            "input.agents.1: must be another name than id, cluster and the other agents'",
        ),
    ] {
        assert_eq!(problem(&value), said, "{value}");
    }
}

#[test]
fn what_the_contract_refuses_is_a_refusal_and_not_a_problem() {
    let never = |checked: i64, violations: i64| json!({"kind": "never", "checked": checked, "violations": violations});
    let gate = |rule: Value| json!({"op": "gate", "input": {"rules": [rule]}});
    for (value, reason) in [
        (gate(never(-1, 0)), "bad_count"),
        (gate(never(1, 2)), "bad_count"),
        (json!({"op": "gate", "input": {"rules": []}}), "no_rules"),
        (
            json!({"op": "look", "input": {"round": -2, "rounds": 5}}),
            "bad_round",
        ),
        (
            json!({"op": "look", "input": {"round": 2, "rounds": 21}}),
            "bad_round",
        ),
        (
            json!({"op": "pass_k", "input": {"k": 0, "tasks": []}}),
            "bad_k",
        ),
        (
            json!({"op": "summary", "input": {"tasks": [{"id": "a", "A": [true]}, {"id": "a", "A": [1]}]}}),
            "bad_score",
        ),
        (
            json!({"op": "summary", "input": {"tasks": [{"id": "a", "A": [1]}, {"id": "a", "A": [2]}]}}),
            "duplicate_task",
        ),
    ] {
        assert_eq!(
            asked(&value).err().map(Refusal::as_str),
            Some(reason),
            "{value}"
        );
    }
}

#[test]
fn a_gate_ends_as_its_verdict_says() {
    let exit = |rule: Value| {
        let asked = asked(&json!({"op": "gate", "input": {"rules": [rule]}}));
        exit(&asked)
    };
    assert_eq!(
        exit(json!({"kind": "never", "checked": 60, "violations": 0})),
        Exit::Fine
    );
    assert_eq!(
        exit(json!({"kind": "never", "checked": 60, "violations": 1})),
        Exit::No
    );
    assert_eq!(
        exit(json!({"kind": "never", "checked": 60, "violations": 0, "unchecked": 1})),
        Exit::Inconclusive
    );
    assert_eq!(
        exit(json!({"kind": "never", "checked": 0, "violations": 1})),
        Exit::WrongUse
    );
}

#[test]
fn several_requests_may_be_a_list_or_follow_each_other() {
    let one = r#"{"op": "look", "input": {"round": 2, "rounds": 2}}"#;
    assert_eq!(parse(&format!("{one}\n{one}\n")).unwrap().len(), 2);
    let list: Value = serde_json::from_str(&format!("[{one}, {one}]")).unwrap();
    assert_eq!(Questions::read(&list).unwrap().requests.len(), 2);
    let broken = json!([serde_json::from_str::<Value>(one).unwrap(), {"op": "look", "input": {"round": "x", "rounds": 2}}]);
    let said = Questions::read(&broken).err().unwrap().to_string();
    assert_eq!(said, "1.input.round: must be a whole number");
    assert!(parse("").is_err());
    assert!(parse("{\"op\": NaN}").unwrap_err().contains("not JSON"));
}

#[test]
fn a_comparison_lists_what_changed_worst_first_and_shows_names_harmlessly() {
    let tasks: Vec<Value> = [
        ("up", 0.0, 1.0),
        ("down\u{1b}[2J", 1.0, 0.0),
        ("same", 1.0, 1.0),
    ]
    .iter()
    .map(|(id, a, b)| json!({"id": id, "A": [a, a], "B": [b, b]}))
    .collect();
    let answer = asked(&json!({"op": "compare", "input": {"tasks": tasks, "about": "suite"}}))
        .ok()
        .unwrap();
    let (down, up) = (
        answer.words.find("down").unwrap(),
        answer.words.find("up ").unwrap(),
    );
    assert!(down < up, "{}", answer.words);
    assert!(
        !answer.words.contains('\u{1b}') && !answer.words.contains("same 1"),
        "{}",
        answer.words
    );
}
