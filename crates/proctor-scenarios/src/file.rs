//! Our own files of scenarios, in YAML.
//!
//! ```yaml
//! name: Small repairs
//! scorers:                       # custom scorers that the scenarios below use
//!   cases: |
//!     … a script that prints score=NUMBER …
//! scenarios:
//!   - name: median
//!     problem_statement: stats.py computes the median wrongly. Repair it.
//!     working_directory: /home/user/work
//!     setup: [ … commands that make the box ready … ]
//!     scoring: {mode: artifacts, artifacts: [stats.py], time_limit_seconds: 60}
//!     scorers:
//!       - {name: answers, weight: 1, scorer: {type: python_script_scorer, python_script: … }}
//!     reference: |
//!       … a patch or commands …
//! ```

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::problem::{Problem, Problems, in_words};
use proctor_scorers::{Mode, ScoringSettings};
use serde::Deserialize;
use serde_json::Value;

use crate::scenario::{Scenario, ScenarioSet};

/// Why a text is no file of scenarios.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    /// It is not written as such a file is.
    #[error("{0}")]
    Unreadable(String),
    /// Something in it cannot be.
    #[error("{}", in_words(.0))]
    Wrong(Vec<Problem>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    scorers: BTreeMap<String, String>,
    scenarios: Vec<ScenarioForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioForm {
    name: String,
    problem_statement: String,
    #[serde(default)]
    additional_context: Option<Value>,
    #[serde(default)]
    working_directory: Option<String>,
    #[serde(default)]
    blueprint_id: Option<String>,
    #[serde(default)]
    setup: Vec<String>,
    #[serde(default)]
    scoring: ScoringForm,
    scorers: Vec<Value>,
    #[serde(default)]
    reference: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    required_environment_variables: Vec<String>,
    #[serde(default)]
    required_secret_names: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScoringForm {
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    artifacts: Vec<String>,
    #[serde(default)]
    time_limit_seconds: Option<u32>,
}

/// Reads a file; whatever is wrong with its scenarios is named.
pub fn read_file(text: &str) -> Result<ScenarioSet, BadFile> {
    let form: FileForm =
        serde_saphyr::from_str(text).map_err(|error| BadFile::Unreadable(error.to_string()))?;
    let mut problems = Vec::new();
    let mut scenarios = Vec::new();
    let mut names = BTreeSet::new();
    for (place, scenario) in form.scenarios.into_iter().enumerate() {
        let mut refuse = |path: &str, message: String| {
            let place = format!("scenarios.{place}");
            problems.push(Problem::error(path, message).below(&place));
        };
        if !names.insert(scenario.name.clone()) {
            refuse(
                "name",
                format!("there is another scenario '{}'", scenario.name),
            );
        }
        let mode = match scenario.scoring.mode.as_deref().map(str::parse::<Mode>) {
            None => Mode::default(),
            Some(Ok(mode)) => mode,
            Some(Err(unknown)) => {
                refuse("scoring.mode", unknown.to_string());
                Mode::default()
            }
        };
        let scenario = Scenario {
            name: scenario.name,
            problem_statement: scenario.problem_statement,
            additional_context: scenario.additional_context,
            working_directory: scenario.working_directory,
            launch_commands: scenario.setup,
            blueprint_id: scenario.blueprint_id,
            scoring_functions: scenario.scorers,
            settings: ScoringSettings {
                mode,
                artifacts: scenario.scoring.artifacts,
            },
            scorer_timeout_sec: scenario.scoring.time_limit_seconds,
            reference_output: scenario.reference,
            metadata: scenario.metadata,
            required_environment_variables: scenario.required_environment_variables,
            required_secret_names: scenario.required_secret_names,
        };
        let mut all = |found: &Problems| {
            for problem in found.iter() {
                refuse(&problem.path, problem.message.clone());
            }
        };
        if let Err(found) = ScoringSettings::of_metadata(&scenario.settings.to_metadata()) {
            all(&found);
        }
        match scenario.scorers() {
            Err(found) => all(&found),
            Ok(functions) => {
                for function in functions {
                    if let Some(kind) = function.scorer.custom_type()
                        && !form.scorers.contains_key(kind)
                    {
                        refuse(
                            "scorers",
                            format!("there is no scorer '{kind}' in this file"),
                        );
                    }
                }
            }
        }
        scenarios.push(scenario);
    }
    if !problems.is_empty() {
        return Err(BadFile::Wrong(problems));
    }
    Ok(ScenarioSet {
        name: form.name,
        description: form.description,
        custom: form.scorers,
        scenarios,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
name: Two
description: Small ones
scorers:
  mine: echo score=1
scenarios:
  - name: one
    problem_statement: Do it.
    additional_context: {hint: 3, share: 0.25}
    working_directory: /home/user/work
    setup: ['mkdir -p /home/user/work']
    scoring: {mode: artifacts, artifacts: [a.py, b], time_limit_seconds: 60}
    scorers:
      - {name: a, weight: 0.5, scorer: {type: command_scorer, command: 'true'}}
      - {name: b, weight: 0.5, scorer: {type: custom_scorer, custom_scorer_type: mine}}
    reference: echo done > a.py
    metadata: {topic: files}
    required_secret_names: [TOKEN]
  - name: two
    problem_statement: Do that.
    scorers:
      - {name: a, weight: 1, scorer: {type: bash_script_scorer, bash_script: echo score=1}}
";

    #[test]
    fn a_file_becomes_parameters_of_the_api() {
        let set = read_file(FILE).unwrap();
        let parameters: Vec<Value> = set.scenarios.iter().map(Scenario::to_parameters).collect();
        insta::assert_snapshot!(format!("{:#}", Value::from(parameters)));
        assert_eq!(set.custom["mine"], "echo score=1");
    }

    #[test]
    fn everything_that_is_wrong_is_named_with_its_place() {
        let text = FILE
            .replace("mode: artifacts", "mode: loud")
            .replace("custom_scorer_type: mine", "custom_scorer_type: other")
            .replace("name: two", "name: one")
            .replace("weight: 1,", "weight: 0.5,");
        let said = read_file(&text).unwrap_err().to_string();
        assert_eq!(
            said,
            "scenarios.0.scoring.mode: 'loud' is no way of scoring; live, quiet, clone and artifacts are; \
             scenarios.0.scorers: there is no scorer 'other' in this file; \
             scenarios.1.name: there is another scenario 'one'; \
             scenarios.1.scoring_function_parameters: the weights of all scoring functions must total 1, not 0.5"
        );
        let said = read_file("name: x\nscenarioss: []")
            .unwrap_err()
            .to_string();
        assert!(said.contains("scenarioss"), "{said}");
    }
}
