//! Scorers of tasks that are done in boxes: what each looks at, as its author defines it.
//!
//! Which kinds there are, and whether a definition can be run, is not decided here: definitions are kept as they were written. What the domain
//! knows of them is which kind they name, and that scorers which somebody registered get their script when a definition is frozen.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The word by which definitions name a scorer that somebody registered.
const CUSTOM: &str = "custom_scorer";

/// What a scorer does, as it was written: a frozen definition is named by the digest of its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScorerDefinition(Value);

/// Why a scorer came to no result before it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotRun {
    /// It could not be prepared or started where it was to run. What the agent left there may be the reason.
    Here,
    /// It can be run nowhere: its definition cannot be read, or names what is not there. No agent has a part in that.
    Anywhere,
}

/// A scorer that runs a script which somebody registered.
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

impl From<Value> for ScorerDefinition {
    fn from(written: Value) -> Self {
        Self(written)
    }
}

impl ScorerDefinition {
    /// The definition as it was written.
    pub const fn as_value(&self) -> &Value {
        &self.0
    }

    /// The word by which it names its kind.
    pub fn kind(&self) -> Option<&str> {
        self.0.get("type")?.as_str()
    }

    /// What it says, if it is a scorer that somebody registered.
    pub fn custom(&self) -> Option<CustomScorer> {
        if self.kind() != Some(CUSTOM) {
            return None;
        }
        CustomScorer::deserialize(&self.0).ok()
    }

    /// Gives a custom scorer its script. Everything else stays as its author wrote it.
    pub fn set_custom_script(&mut self, script: &str) {
        if self.custom().is_some() {
            self.0["bash_script"] = script.into();
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
        let mut definition = ScorerDefinition::from(custom);
        definition.set_custom_script("echo score=1");
        assert_eq!(
            *definition.as_value(),
            json!({"type": "custom_scorer", "custom_scorer_type": "mine", "note": 1, "bash_script": "echo score=1"})
        );
        assert_eq!(
            definition.custom().unwrap().bash_script.as_deref(),
            Some("echo score=1")
        );
        let command = json!({"type": "command_scorer", "command": "true"});
        let mut definition = ScorerDefinition::from(command.clone());
        definition.set_custom_script("echo score=1");
        assert_eq!(*definition.as_value(), command);
    }
}
