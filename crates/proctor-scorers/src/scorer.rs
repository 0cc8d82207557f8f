//! A scorer of any kind, read from its definition.

use std::{fmt, sync::Arc};

use crate::{bench::Bench, error::JudgeError, kinds::Scores, scored::Finding};

/// A scorer that was read and can be run.
#[derive(Clone)]
pub struct Scorer(Arc<dyn Scores>);

impl Scorer {
    /// The word that definitions name the kind by.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// The type of registered scorer that this one refers to, if it is a custom one.
    pub fn custom_type(&self) -> Option<&str> {
        self.0.custom_type()
    }

    pub(crate) async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        self.0.score(bench).await
    }
}

impl From<Arc<dyn Scores>> for Scorer {
    fn from(kind: Arc<dyn Scores>) -> Self {
        Self(kind)
    }
}

impl fmt::Debug for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scorer").field(&self.kind()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proctor_core::problem::Problem;
    use serde_json::{Value, json};

    use crate::ScorerKinds;

    fn problems(definition: &Value) -> Vec<String> {
        match ScorerKinds::builtin().read(definition) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(Problem::to_string).collect(),
        }
    }

    #[test]
    fn every_kind_is_read() {
        for (definition, kind) in [
            (
                json!({"type": "ast_grep_scorer", "pattern": "print($A)", "search_directory": ".", "lang": "python"}),
                "ast_grep_scorer",
            ),
            (
                json!({"type": "bash_script_scorer", "bash_script": "echo score=1"}),
                "bash_script_scorer",
            ),
            (
                json!({"type": "command_scorer", "command": "true"}),
                "command_scorer",
            ),
            (
                json!({"type": "custom_scorer", "custom_scorer_type": "mine", "scorer_params": null}),
                "custom_scorer",
            ),
            (
                json!({"type": "python_script_scorer", "python_script": "print(1)",
                       "python_version_constraint": ">=3.9", "requirements_contents": null}),
                "python_script_scorer",
            ),
            (
                json!({"type": "test_based_scorer", "test_command": "true",
                       "test_files": [{"file_path": "a/b.py", "file_contents": ""}], "unknown": 1}),
                "test_based_scorer",
            ),
        ] {
            assert_eq!(
                ScorerKinds::builtin().read(&definition).unwrap().kind(),
                kind
            );
        }
    }

    #[test]
    fn what_was_stored_by_earlier_versions_is_understood() {
        let stored = include_str!("../../proctor-core/tests/stored_definition.json");
        let stored: Value = serde_json::from_str(stored).unwrap();
        let tasks = stored["tasks"].as_array().unwrap();
        let criteria = tasks.last().unwrap()["criteria"].as_array().unwrap();
        let read = criteria.iter().map(|criterion| {
            let scorer = ScorerKinds::builtin().read(&criterion["check"]["scorer"]);
            let kind = scorer.ok().map(|scorer| scorer.kind());
            (criterion["label"].as_str().unwrap(), kind)
        });
        assert_eq!(
            read.collect::<Vec<_>>(),
            [
                ("ast", Some("ast_grep_scorer")),
                ("ast-any", Some("ast_grep_scorer")),
                ("bash", Some("bash_script_scorer")),
                ("command", Some("command_scorer")),
                ("custom", Some("custom_scorer")),
                ("custom-unregistered", Some("custom_scorer")),
                ("python", Some("python_script_scorer")),
                ("python-plain", Some("python_script_scorer")),
                ("tests", Some("test_based_scorer")),
                ("tests-none", Some("test_based_scorer")),
                ("unknown-member", Some("command_scorer")),
                ("nulls", Some("custom_scorer")),
                ("unknown-kind", None),
                ("incomplete", None),
                ("wrong-type", None),
                ("no-object", None),
                ("nothing", None),
                ("empty", None),
            ]
        );
    }

    #[test]
    fn a_definition_is_kept_without_nulls_and_members_that_its_kind_does_not_have() {
        let kept = |given: Value| ScorerKinds::builtin().accept(&given).unwrap();
        for (given, expected) in [
            (
                json!({"type": "command_scorer", "command": "true", "since": "later"}),
                json!({"type": "command_scorer", "command": "true"}),
            ),
            (
                json!({"type": "ast_grep_scorer", "pattern": "$A", "search_directory": ".", "lang": null}),
                json!({"type": "ast_grep_scorer", "pattern": "$A", "search_directory": "."}),
            ),
            // The registered script is put there when the scenario is frozen.
            (
                json!({"type": "custom_scorer", "custom_scorer_type": "mine", "bash_script": "true", "scorer_params": {"a": null}}),
                json!({"type": "custom_scorer", "custom_scorer_type": "mine", "scorer_params": {"a": null}}),
            ),
            (
                json!({"type": "test_based_scorer", "test_command": "true", "test_files": [
                    {"file_path": "a", "file_contents": null, "mode": 7}, {"file_path": "b", "file_contents": "x"}]}),
                json!({"type": "test_based_scorer", "test_command": "true", "test_files": [
                    {"file_path": "a", "file_contents": ""}, {"file_path": "b", "file_contents": "x"}]}),
            ),
            (
                json!({"type": "test_based_scorer", "test_command": "true", "test_files": null}),
                json!({"type": "test_based_scorer", "test_command": "true"}),
            ),
        ] {
            assert_eq!(*kept(given).as_value(), expected);
        }
    }

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
        assert_eq!(problems(&json!([])), ["must be an object"]);
        assert_eq!(problems(&json!({})), ["type: is required and missing"]);
        assert_eq!(
            problems(&json!({"type": "magic"})),
            [
                "type: 'magic' is no scorer; ast_grep_scorer, bash_script_scorer, command_scorer, custom_scorer, \
                 python_script_scorer, test_based_scorer are"
            ]
        );
        assert_eq!(
            problems(&json!({"type": "bash_script_scorer", "bash_script": " "})),
            ["bash_script: must not be empty"]
        );
        assert_eq!(
            problems(&json!({"type": "command_scorer", "command": 7})),
            ["command: must be a text"]
        );
        assert_eq!(
            problems(&json!({"type": "test_based_scorer", "test_files": [
                {"file_path": "../up", "file_contents": "x"},
                {"file_contents": "x"},
                {"file_path": "/etc/x", "file_contents": "x"},
                {"file_path": "ok"},
                3,
            ]})),
            [
                "test_files.4: must be an object",
                "test_command: is required and missing",
                "test_files.0.file_path: must be a path below the working directory",
                "test_files.1.file_path: is required and missing",
                "test_files.2.file_path: must be a path below the working directory",
            ]
        );
        assert_eq!(
            problems(
                &json!({"type": "python_script_scorer", "python_version_constraint": "newest"})
            ),
            [
                "python_script: is required and missing",
                "python_version_constraint: 'newest' is no version of Python; say '>=3.10,<3.13', '==3.12.*' or '3.12'"
            ]
        );
        assert_eq!(
            problems(&json!({"type": "custom_scorer", "scorer_params": [1]})),
            [
                "custom_scorer_type: is required and missing",
                "scorer_params: must be an object"
            ]
        );
        assert_eq!(
            problems(&json!({"type": "ast_grep_scorer", "pattern": "a", "search_directory": ".", "lang": "klingon"}))
                .len(),
            1
        );
    }

    #[test]
    fn a_null_character_is_refused_where_a_shell_would_stumble() {
        assert_eq!(
            problems(&json!({"type": "command_scorer", "command": "a\u{0}b"})),
            ["command: must not hold a null character"]
        );
    }
}
