//! Every vector of the contract: numbers to 1e-9, verdicts and refusals exactly.

use proctor_statistics::{
    About, Alpha, Line, Never, NoiseOptions, Refusal, compare, gate, holm, leaderboard, look,
    noise, pass_k, summarize,
};
use serde_json::{Value, json};

use crate::support::{board, pairs, run};

const VECTORS: &str = include_str!("../vectors.json");

fn about(value: &Value) -> About {
    match value["about"].as_str() {
        Some("suite") => About::Suite,
        Some("tasks") | None => About::Tasks,
        Some(other) => panic!("{other} is no question"),
    }
}

fn answer(op: &str, input: &Value) -> Result<Value, Refusal> {
    let alpha = input["alpha"]
        .as_f64()
        .and_then(Alpha::new)
        .unwrap_or_default();
    Ok(match op {
        "summary" => json!(summarize(&run(input)?, alpha)?),
        "compare" => json!(compare(&pairs(input)?, about(input), alpha)?),
        "gate" => answer_gate(input, alpha)?,
        "pass_k" => {
            let k = u32::try_from(input["k"].as_u64().unwrap()).unwrap();
            json!(pass_k(&run(input)?, k, 1.0, alpha)?)
        }
        "noise" => json!(noise(&run(input)?, &NoiseOptions::default())?),
        "leaderboard" => {
            let agents: Vec<String> = serde_json::from_value(input["agents"].clone()).unwrap();
            let tasks = board(input, &agents)?;
            json!(leaderboard(&tasks, &agents, about(input), alpha)?)
        }
        "holm" => {
            let p_values: Vec<f64> = serde_json::from_value(input["p"].clone()).unwrap();
            json!(holm(&p_values))
        }
        "look" => {
            let number = |name: &str| u32::try_from(input[name].as_u64().unwrap()).unwrap();
            json!(look(number("round"), number("rounds"))?)
        }
        other => panic!("nobody knows {other}"),
    })
}

fn answer_gate(input: &Value, alpha: Alpha) -> Result<Value, Refusal> {
    let tasks = pairs(input)?;
    let of_b = tasks.side_b();
    let lines: Vec<Line<'_>> = input["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| match rule["kind"].as_str().unwrap() {
            "change" => Line::Change {
                tasks: &tasks,
                at: rule["at"].as_f64().unwrap(),
                about: about(rule),
            },
            "level" => Line::Level {
                tasks: &of_b,
                at: rule["at"].as_f64().unwrap(),
                about: about(rule),
            },
            "never" => Line::Never(Never {
                checked: rule["checked"].as_u64().unwrap(),
                violations: rule["violations"].as_u64().unwrap(),
                unchecked: rule["unchecked"].as_u64().unwrap_or(0),
                max_rate: rule["max_rate"].as_f64(),
            }),
            other => panic!("{other} is no kind of line"),
        })
        .collect();
    Ok(json!(gate(&lines, alpha)?))
}

/// What differs between two values, by more than 1e-9 where they are numbers.
fn differences(path: &str, found: &Value, expected: &Value, into: &mut Vec<String>) {
    match (found, expected) {
        (Value::Number(one), Value::Number(other)) => {
            let off = (one.as_f64().unwrap() - other.as_f64().unwrap()).abs();
            if off.is_nan() || off > 1e-9 {
                into.push(format!("{path}: {one}, not {other}"));
            }
        }
        (Value::Object(one), Value::Object(other)) => {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                match (one.get(name), other.get(name)) {
                    (Some(one), Some(other)) => {
                        differences(&format!("{path}.{name}"), one, other, into);
                    }
                    (one, other) => into.push(format!("{path}.{name}: {one:?}, not {other:?}")),
                }
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (place, (one, other)) in one.iter().zip(other).enumerate() {
                differences(&format!("{path}.{place}"), one, other, into);
            }
        }
        _ if found == expected => {}
        _ => into.push(format!("{path}: {found}, not {expected}")),
    }
}

#[test]
fn every_vector_comes_out_as_the_contract_says() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let vectors = vectors["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 55);
    let mut wrong = Vec::new();
    for vector in vectors {
        let (name, op) = (&vector["name"], vector["op"].as_str().unwrap());
        let found = match answer(op, &vector["input"]) {
            Ok(found) => found,
            Err(refusal) => json!({"refused": refusal.as_str()}),
        };
        let expected = match vector.get("refused") {
            Some(refused) => json!({"refused": refused}),
            None => vector["expect"].clone(),
        };
        differences(name.as_str().unwrap(), &found, &expected, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
