//! Scorers of tasks that are done in boxes: what each looks at, as its author defines it.
//!
//! Whether a definition can be run, and how, is not decided here.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::document::{Document, Readable};

/// What a scorer does.
#[derive(Clone, Debug, PartialEq)]
pub enum ScorerDefinition {
    /// It looks for a pattern in code.
    AstGrep(AstGrepScorer),
    /// It runs a script, which prints a score.
    BashScript(BashScriptScorer),
    /// It runs a command, whose status counts.
    Command(CommandScorer),
    /// It runs a script that somebody registered.
    Custom(CustomScorer),
    /// It runs a program in Python, which prints a score.
    PythonScript(PythonScriptScorer),
    /// It runs tests that it brings along.
    TestBased(TestBasedScorer),
}

/// Looks for a pattern in code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AstGrepScorer {
    /// Where.
    pub search_directory: String,
    /// What is looked for.
    pub pattern: String,
    /// In which language; whatever the files are in if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
}

/// Runs a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BashScriptScorer {
    /// For bash.
    pub bash_script: String,
}

/// Runs a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandScorer {
    /// For a shell.
    pub command: String,
}

/// Runs a script that somebody registered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomScorer {
    /// Under which type.
    pub custom_scorer_type: String,
    /// What it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scorer_params: Option<Map<String, Value>>,
    /// The script as it was registered when the definition was frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bash_script: Option<String>,
}

/// Runs a program in Python.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonScriptScorer {
    /// The program.
    pub python_script: String,
    /// Which versions of Python will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python_version_constraint: Option<String>,
    /// What it needs, as pip reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements_contents: Option<String>,
}

/// Runs tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestBasedScorer {
    /// What runs them.
    pub test_command: String,
    /// The files that are put into the box for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_files: Option<Vec<TestFile>>,
}

/// A file that is put into the box for a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFile {
    /// Where, below the working directory.
    pub file_path: String,
    /// What is in it.
    #[serde(default)]
    pub file_contents: String,
}

/// A definition of a scorer that cannot be read. Whoever runs scorers says what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a scorer: {0}")]
pub struct UnreadableScorer(String);

impl ScorerDefinition {
    /// The word by which definitions name the kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::AstGrep(_) => "ast_grep_scorer",
            Self::BashScript(_) => "bash_script_scorer",
            Self::Command(_) => "command_scorer",
            Self::Custom(_) => "custom_scorer",
            Self::PythonScript(_) => "python_script_scorer",
            Self::TestBased(_) => "test_based_scorer",
        }
    }
}

impl Readable for ScorerDefinition {
    type Problem = UnreadableScorer;

    fn read(document: &Value) -> Result<Self, UnreadableScorer> {
        fn of<T: DeserializeOwned>(
            document: &Value,
            kind: fn(T) -> ScorerDefinition,
        ) -> Result<ScorerDefinition, UnreadableScorer> {
            let read = T::deserialize(document);
            read.map(kind)
                .map_err(|error| UnreadableScorer(error.to_string()))
        }
        match document.get("type").and_then(Value::as_str) {
            Some("ast_grep_scorer") => of(document, Self::AstGrep),
            Some("bash_script_scorer") => of(document, Self::BashScript),
            Some("command_scorer") => of(document, Self::Command),
            Some("custom_scorer") => of(document, Self::Custom),
            Some("python_script_scorer") => of(document, Self::PythonScript),
            Some("test_based_scorer") => of(document, Self::TestBased),
            Some(other) => Err(UnreadableScorer(format!("'{other}' is not a kind"))),
            None => Err(UnreadableScorer("it has no type".to_owned())),
        }
    }

    fn write(&self) -> Value {
        let members = match self {
            Self::AstGrep(scorer) => serde_json::to_value(scorer),
            Self::BashScript(scorer) => serde_json::to_value(scorer),
            Self::Command(scorer) => serde_json::to_value(scorer),
            Self::Custom(scorer) => serde_json::to_value(scorer),
            Self::PythonScript(scorer) => serde_json::to_value(scorer),
            Self::TestBased(scorer) => serde_json::to_value(scorer),
        };
        let mut members = members.expect("a scorer has only string keys and finite numbers");
        members["type"] = self.kind().into();
        members
    }
}

impl Document<ScorerDefinition> {
    /// What it says, if it is a scorer that somebody registered.
    pub fn custom(&self) -> Option<&CustomScorer> {
        match self.get() {
            Ok(ScorerDefinition::Custom(scorer)) => Some(scorer),
            _ => None,
        }
    }

    /// Gives a custom scorer its script. Everything else stays as its author wrote it.
    pub fn set_custom_script(&mut self, script: &str) {
        if self.custom().is_some() {
            let mut document = self.to_value();
            document["bash_script"] = script.into();
            *self = Self::of(document);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_custom_scorer_gets_its_script_and_keeps_the_rest() {
        let custom = json!({"type": "custom_scorer", "custom_scorer_type": "mine", "note": 1});
        let mut document = Document::<ScorerDefinition>::of(custom);
        document.set_custom_script("echo score=1");
        assert_eq!(
            document.to_value(),
            json!({"type": "custom_scorer", "custom_scorer_type": "mine", "note": 1, "bash_script": "echo score=1"})
        );
        assert_eq!(
            document.custom().unwrap().bash_script.as_deref(),
            Some("echo score=1")
        );
        let command = json!({"type": "command_scorer", "command": "true"});
        let mut document = Document::<ScorerDefinition>::of(command.clone());
        document.set_custom_script("echo score=1");
        assert_eq!(document.to_value(), command);
    }
}
