//! A scoring contract: scoring functions with names and weights that make up the whole.

use proctor_core::{
    problem::Problems,
    reader::{Node, Notes},
    scoring::{Weight, check_total_of_one},
};
use serde_json::Value;

use crate::{
    kinds::ScorerKinds,
    members::{Members, ReadMembers as _},
    scorer::Scorer,
};

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

/// Reads a scoring contract with scorers of these kinds; whatever is wrong with it is named.
pub fn read_contract(
    kinds: &ScorerKinds,
    contract: &Value,
) -> Result<Vec<ScoringFunction>, Problems> {
    let notes = Notes::default();
    let members = Node::root(contract, &notes).object();
    let functions = members.and_then(|members| read(kinds, &members));
    notes.finish(functions)
}

fn read(kinds: &ScorerKinds, members: &Members<'_>) -> Option<Vec<ScoringFunction>> {
    members.required(FUNCTIONS)?;
    let functions = members.objects(FUNCTIONS);
    let read: Vec<(ScoringFunction, Weight)> = functions
        .iter()
        .filter_map(|function| read_function(kinds, function))
        .collect();
    if functions.is_empty() {
        members.refuse(FUNCTIONS, "must hold at least one scoring function");
    } else if read.len() == functions.len() {
        let weights: Vec<Weight> = read.iter().map(|(_, weight)| *weight).collect();
        if let Err(bad) = check_total_of_one(&weights) {
            members.refuse(FUNCTIONS, bad.to_string());
        }
    }
    Some(read.into_iter().map(|(function, _)| function).collect())
}

const FUNCTIONS: &str = "scoring_function_parameters";

fn read_function(kinds: &ScorerKinds, members: &Members<'_>) -> Option<(ScoringFunction, Weight)> {
    let name = members.text("name").filter(|name| {
        let right = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !right {
            members.refuse("name", "must be letters, digits, '_' and '-'");
        }
        right
    });
    let weight = members.required("weight").and_then(|weight| {
        Weight::new(weight.number()?)
            .inspect_err(|bad| weight.refuse(bad.to_string()))
            .ok()
    });
    let scorer = members
        .required("scorer")
        .and_then(|scorer| kinds.scorer(&scorer.object()?));
    let (name, weight) = (name?.to_owned(), weight?);
    let function = ScoringFunction {
        name,
        weight: weight.value(),
        scorer: scorer?,
    };
    Some((function, weight))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn function(name: &str, weight: f64) -> Value {
        json!({"name": name, "weight": weight, "scorer": {"type": "command_scorer", "command": "true"}})
    }

    fn said(functions: &Value) -> String {
        match read_contract(
            &ScorerKinds::builtin(),
            &json!({"scoring_function_parameters": functions}),
        ) {
            Ok(_) => String::new(),
            Err(problems) => problems.to_string(),
        }
    }

    #[test]
    fn weights_make_up_the_whole_but_for_rounding() {
        let total = |weights: &[f64]| {
            let named = weights.iter().enumerate();
            let functions: Vec<Value> = named
                .map(|(place, weight)| function(&format!("s{place}"), *weight))
                .collect();
            said(&json!(functions))
        };
        // A thousandth off is allowed, on both sides and as sums of decimals come out in binary; these are what the API takes.
        for good in [
            &[0.333, 0.667][..],
            &[0.4, 0.5995],
            &[0.334, 0.334, 0.333],
            &[0.333, 0.333, 0.333],
            &[0.5, 0.499],
            &[0.1; 10],
        ] {
            assert_eq!(total(good), "", "{good:?}");
        }
        assert_eq!(
            total(&[0.5, 0.25]),
            "scoring_function_parameters: the weights of all scoring functions must total 1, not 0.75"
        );
        assert_ne!(total(&[0.5, 0.502]), "");
        assert_ne!(total(&[0.5, 0.498]), "");
        assert_eq!(
            total(&[2.0, -1.0]),
            "scoring_function_parameters.1.weight: a weight is a finite number of at least 0, not -1"
        );
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
