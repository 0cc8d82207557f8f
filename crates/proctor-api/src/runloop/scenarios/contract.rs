//! The scoring contract of a scenario: names, weights and scorers.
//!
//! What each kind of scorer must say is up to [`ScorerKinds`]. A scorer is kept as it was given, but for members that its kind does not know.

use std::collections::BTreeSet;

use proctor_core::{
    scorer::ScorerDefinition,
    scoring::{Weight, check_total_of_one},
};
use proctor_scorers::ScorerKinds;
use proctor_store::scenarios::ScoringFunction;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::extract::{Checks, shortened};

/// What is checked when the agent is done.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScoringContract {
    /// The scorers; their weights total 1.
    #[schema(required)]
    pub(super) scoring_function_parameters: Option<Vec<ScoringFunctionBody>>,
}

/// A scorer with its name and weight.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScoringFunctionBody {
    /// Letters, digits, hyphens and underscores.
    #[schema(value_type = String, required, pattern = "^[A-Za-z0-9_-]+$")]
    pub(super) name: Option<String>,
    /// What it does; `type` says which kind it is.
    #[schema(value_type = Object, required)]
    pub(super) scorer: Option<Value>,
    /// How much it counts.
    #[schema(value_type = f64, required, minimum = 0)]
    pub(super) weight: Option<f64>,
}

/// The contract as it is kept; every fault is noted at its place below `field`.
pub(super) fn read(
    checks: &mut Checks,
    kinds: &ScorerKinds,
    field: &str,
    functions: Vec<ScoringFunctionBody>,
) -> Vec<ScoringFunction> {
    let mut read = Vec::with_capacity(functions.len());
    let mut weights = Vec::with_capacity(functions.len());
    let mut weights_are_good = true;
    let mut names = BTreeSet::new();
    for (number, function) in functions.into_iter().enumerate() {
        let place = format!("{field}.scoring_function_parameters.{number}");
        let name = checked_name(checks, &format!("{place}.name"), function.name);
        if !name.is_empty() && !names.insert(name.clone()) {
            // Results are told apart by these names.
            checks.refuse(
                &format!("{place}.name"),
                format!(
                    "'{}' is the name of an earlier scoring function",
                    shortened(&name)
                ),
            );
        }
        let scorer = scorer(checks, kinds, &format!("{place}.scorer"), function.scorer);
        let weight_at = format!("{place}.weight");
        let weight = checks
            .required(&weight_at, function.weight)
            .map(Weight::new)
            .transpose();
        let weight = match weight {
            Ok(weight) => weight,
            Err(bad) => {
                checks.refuse(&weight_at, bad.to_string());
                None
            }
        };
        weights_are_good &= weight.is_some();
        let weight = weight.unwrap_or_default();
        weights.push(weight);
        read.push(ScoringFunction {
            name,
            weight,
            scorer,
        });
    }
    if weights_are_good && let Err(bad) = check_total_of_one(&weights) {
        checks.refuse(
            &format!("{field}.scoring_function_parameters"),
            bad.to_string(),
        );
    }
    read
}

/// The custom types that a contract names, each once.
pub(super) fn custom_types(functions: &[ScoringFunction]) -> BTreeSet<String> {
    functions
        .iter()
        .filter_map(|function| function.scorer.custom())
        .map(|custom| custom.custom_scorer_type)
        .collect()
}

fn checked_name(checks: &mut Checks, place: &str, name: Option<String>) -> String {
    let name = checks.required(place, name).unwrap_or_default();
    let is_good = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if !name.chars().all(is_good) || name.len() > 200 {
        checks.refuse(
            place,
            "must be letters, digits, hyphens and underscores, at most 200",
        );
    } else if name.is_empty() {
        checks.refuse(place, "must not be blank");
    }
    name
}

/// A scorer as it is kept. One that could not be run is refused now, not when an agent has done its work.
fn scorer(
    checks: &mut Checks,
    kinds: &ScorerKinds,
    place: &str,
    given: Option<Value>,
) -> ScorerDefinition {
    let unreadable = ScorerDefinition::from(Value::Null);
    let Some(given) = checks.required(place, given) else {
        return unreadable;
    };
    checks.document(place, &given);
    let named = given.get("type").and_then(Value::as_str);
    let known = kinds.names();
    let why_not = match named {
        None => Some(format!("is required: one of {}", known.join(", "))),
        Some(kind) if known.contains(&kind) => None,
        Some(other) => Some(format!(
            "'{}' is none of {}",
            shortened(other),
            known.join(", ")
        )),
    };
    if let Some(message) = why_not {
        checks.refuse(&format!("{place}.type"), message);
        return unreadable;
    }
    kinds.accept(&given).unwrap_or_else(|problems| {
        checks.refuse_below(place, problems);
        unreadable
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(functions: Value) -> String {
        let functions: Vec<ScoringFunctionBody> = serde_json::from_value(functions).unwrap();
        let mut checks = Checks::default();
        read(&mut checks, &ScorerKinds::builtin(), "c", functions);
        match checks.finish() {
            Ok(()) => "fine".to_owned(),
            Err(problem) => problem
                .message()
                .replace("c.scoring_function_parameters", "c"),
        }
    }

    fn command(name: &str, weight: f64) -> Value {
        json!({"name": name, "weight": weight, "scorer": {"type": "command_scorer", "command": "true"}})
    }

    #[test]
    fn weights_total_one_within_a_thousandth() {
        assert_eq!(told(json!([command("a", 1.0)])), "fine");
        assert_eq!(
            told(json!([
                command("a", 0.333),
                command("b", 0.333),
                command("c", 0.333)
            ])),
            "fine"
        );
        assert!(told(json!([command("a", 0.5)])).contains("must total 1, not 0.5"));
        assert!(told(json!([])).contains("must total 1"));
        assert!(told(json!([command("a", -1.0), command("b", 2.0)])).contains("c.0.weight"));
    }

    #[test]
    fn names_are_plain() {
        for good in ["a", "cmd-zero", "A_1"] {
            assert_eq!(told(json!([command(good, 1.0)])), "fine", "{good}");
        }
        for bad in ["", " ", "a b", "ä", "a/b"] {
            assert!(
                told(json!([command(bad, 1.0)])).starts_with("c.0.name"),
                "{bad}"
            );
        }
    }

    #[test]
    fn each_name_is_there_once() {
        assert_eq!(
            told(json!([
                command("a", 0.5),
                command("b", 0.25),
                command("a", 0.25)
            ])),
            "c.2.name: 'a' is the name of an earlier scoring function"
        );
    }

    #[test]
    fn each_kind_says_what_it_needs() {
        let one = |scorer: Value| told(json!([{"name": "a", "weight": 1, "scorer": scorer}]));
        assert!(one(json!({})).starts_with("c.0.scorer.type: is required"));
        assert!(one(json!({"type": "luck"})).contains("'luck' is none of"));
        assert_eq!(
            one(json!({"type": "bash_script_scorer"})),
            "c.0.scorer.bash_script: is required"
        );
        assert_eq!(
            one(json!({"type": "ast_grep_scorer", "pattern": "$A"})),
            "c.0.scorer.search_directory: is required"
        );
        assert_eq!(
            one(json!({"type": "test_based_scorer", "test_command": "pytest", "test_files": null})),
            "fine"
        );
        assert_eq!(
            one(json!({"type": "command_scorer", "command": 5})),
            "c.0.scorer.command: must be a text"
        );
        assert_eq!(
            one(json!({"type": "test_based_scorer", "test_files": [{}, 3]})),
            "c.0.scorer.test_command: is required; c.0.scorer.test_files.0.file_path: is required; \
             c.0.scorer.test_files.1: must be an object"
        );
    }

    #[test]
    fn what_could_not_be_run_is_refused() {
        let one = |scorer: Value| told(json!([{"name": "a", "weight": 1, "scorer": scorer}]));
        let escapes = json!([{"file_path": "ok.py"}, {"file_path": "../up.py"}]);
        for (scorer, place) in [
            (
                json!({"type": "bash_script_scorer", "bash_script": ""}),
                "bash_script",
            ),
            (
                json!({"type": "ast_grep_scorer", "search_directory": ".", "pattern": "$A", "lang": "klingon"}),
                "lang",
            ),
            (
                json!({"type": "python_script_scorer", "python_script": "print(1)", "python_version_constraint": "new"}),
                "python_version_constraint",
            ),
            (
                json!({"type": "python_script_scorer", "python_script": "print(1)", "python_version_constraint": ">=3.12,<3.10"}),
                "python_version_constraint",
            ),
            (
                json!({"type": "test_based_scorer", "test_command": "true", "test_files": escapes}),
                "test_files.1.file_path",
            ),
        ] {
            let told = one(scorer);
            assert!(told.starts_with(&format!("c.0.scorer.{place}: ")), "{told}");
        }
    }

    #[test]
    fn unknown_members_are_dropped_and_numbers_keep_their_digits() {
        let given = json!([{"name": "a", "weight": 1, "scorer": {"type": "custom_scorer",
            "custom_scorer_type": "mine", "scorer_params": {"limit": 1.10}, "new": true}}]);
        let given = given.to_string().replace("1.1}", "1.10}");
        let functions: Vec<ScoringFunctionBody> = serde_json::from_str(&given).unwrap();
        let mut checks = Checks::default();
        let kept = read(&mut checks, &ScorerKinds::builtin(), "c", functions);
        checks.finish().unwrap();
        assert_eq!(custom_types(&kept), BTreeSet::from(["mine".to_owned()]));
        let kept = kept[0].scorer.as_value().to_string();
        assert!(kept.contains("1.10"), "{kept}");
        assert!(!kept.contains("new"), "{kept}");
    }
}
