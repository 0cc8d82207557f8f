//! A scoring contract: scoring functions with names and weights that make up the whole.

use std::cell::RefCell;

use serde_json::Value;

use crate::{members::Members, problem::Problems, scorer::Scorer};

/// How far the weights may be off from making up the whole.
pub const WEIGHT_TOLERANCE: f64 = 0.001;

/// A scorer with the name and the weight that a definition gives it.
#[derive(Clone, Debug)]
pub struct ScoringFunction {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// How much it counts.
    pub weight: f64,
    /// What looks.
    pub scorer: Scorer,
}

/// Reads a scoring contract as the API takes it; whatever is wrong with it is named.
pub fn read_contract(contract: &Value) -> Result<Vec<ScoringFunction>, Problems> {
    let problems = RefCell::default();
    let functions = Members::of(contract, "", &problems).and_then(|members| read(&members));
    Problems::or(problems.into_inner(), functions)
}

fn read(members: &Members<'_>) -> Option<Vec<ScoringFunction>> {
    members.required(FUNCTIONS)?;
    let functions = members.objects(FUNCTIONS);
    let read: Vec<ScoringFunction> = functions.iter().filter_map(read_function).collect();
    let total: f64 = read.iter().map(|function| function.weight).sum();
    if functions.is_empty() {
        members.refuse(FUNCTIONS, "must hold at least one scoring function");
    } else if read.len() == functions.len() && (total - 1.0).abs() > WEIGHT_TOLERANCE {
        members.refuse(FUNCTIONS, format!("the weights total {total}, not 1"));
    }
    Some(read)
}

const FUNCTIONS: &str = "scoring_function_parameters";

fn read_function(members: &Members<'_>) -> Option<ScoringFunction> {
    let name = members.text("name").filter(|name| {
        let right = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !right {
            members.refuse("name", "must be letters, digits, '_' and '-'");
        }
        right
    });
    let weight = members.number("weight").filter(|weight| {
        let right = weight.is_finite() && *weight >= 0.0;
        if !right {
            members.refuse("weight", "must be a number that is not negative");
        }
        right
    });
    let scorer = members
        .object("scorer")
        .and_then(|scorer| crate::kinds::read(&scorer));
    Some(ScoringFunction {
        name: name?.to_owned(),
        weight: weight?,
        scorer: Scorer::from(scorer?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn function(name: &str, weight: f64) -> Value {
        json!({"name": name, "weight": weight, "scorer": {"type": "command_scorer", "command": "true"}})
    }

    fn said(functions: &Value) -> String {
        match read_contract(&json!({"scoring_function_parameters": functions})) {
            Ok(_) => String::new(),
            Err(problems) => problems.to_string(),
        }
    }

    #[test]
    fn weights_make_up_the_whole_but_for_rounding() {
        assert_eq!(
            said(&json!([function("a", 0.333), function("b", 0.667)])),
            ""
        );
        assert_eq!(
            said(&json!([function("a", 0.4), function("b", 0.5995)])),
            ""
        );
        assert_eq!(
            said(&json!([function("a", 0.5), function("b", 0.25)])),
            "scoring_function_parameters: the weights total 0.75, not 1"
        );
        assert!(said(&json!([function("a", 2.0), function("b", -1.0)])).contains("not negative"));
    }

    #[test]
    fn names_and_scorers_are_checked_with_their_place() {
        assert_eq!(
            said(&json!([{"name": "a b", "weight": 1.0, "scorer": {"type": "command_scorer"}}])),
            "scoring_function_parameters.0.name: must be letters, digits, '_' and '-'; \
             scoring_function_parameters.0.scorer.command: is required and missing"
        );
        assert_eq!(
            said(&json!([])),
            "scoring_function_parameters: must hold at least one scoring function"
        );
    }
}
