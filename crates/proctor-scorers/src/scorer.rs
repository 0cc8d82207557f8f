//! A scorer of any kind, read from its definition.

use std::{cell::RefCell, fmt, sync::Arc};

use proctor_core::{document::Document, scorer::ScorerDefinition};
use serde_json::Value;

use crate::{
    bench::Bench,
    error::JudgeError,
    kinds::{self, Scores},
    members::Members,
    problem::Problems,
    scored::Finding,
};

/// A scorer that was read and can be run.
#[derive(Clone)]
pub struct Scorer(Arc<dyn Scores>);

impl Scorer {
    /// Reads a definition as the API takes it; whatever is wrong with it is named.
    pub fn read(definition: &Value) -> Result<Self, Problems> {
        let problems = RefCell::default();
        let members = Members::of(definition, "", &problems);
        let kind = members.and_then(|members| kinds::read(&members));
        Problems::or(problems.into_inner(), kind.map(Self))
    }

    /// The scorer of a definition that is kept; whatever is wrong with it is named, also if it cannot be read.
    pub fn of(definition: &Document<ScorerDefinition>) -> Result<Self, Problems> {
        Self::read(&definition.to_value())
    }

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
    use serde_json::json;

    use super::*;
    use crate::problem::Problem;

    fn problems(definition: &Value) -> Vec<String> {
        match Scorer::read(definition) {
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
            assert_eq!(Scorer::read(&definition).unwrap().kind(), kind);
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
