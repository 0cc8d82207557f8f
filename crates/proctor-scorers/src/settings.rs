//! How a scenario says in its metadata how it wants to be scored.

use std::collections::BTreeMap;

use proctor_core::problem::{Problem, Problems};

use crate::order::Mode;

/// The label that names the mode.
pub const MODE_KEY: &str = "proctor.scoring";

/// The label that names the artifacts, a path a line.
pub const ARTIFACTS_KEY: &str = "proctor.artifacts";

/// How a scenario wants to be scored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoringSettings {
    /// In which box.
    pub mode: Mode,
    /// What is taken over into a clean one.
    pub artifacts: Vec<String>,
}

impl ScoringSettings {
    /// What the labels of a scenario say; what they leave out is as usual.
    pub fn of_metadata(metadata: &BTreeMap<String, String>) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let mut refuse = |path: &str, message: String| {
            problems.push(Problem::error(path, message));
        };
        let mode = match metadata.get(MODE_KEY).map(|word| word.parse()) {
            None => Mode::default(),
            Some(Ok(mode)) => mode,
            Some(Err(unknown)) => {
                refuse(MODE_KEY, unknown.to_string());
                Mode::default()
            }
        };
        let artifacts: Vec<String> = metadata
            .get(ARTIFACTS_KEY)
            .map(|lines| {
                let lines = lines.lines().map(str::trim);
                lines
                    .filter(|line| !line.is_empty())
                    .map(str::to_owned)
                    .collect()
            })
            .unwrap_or_default();
        if mode == Mode::Artifacts && artifacts.is_empty() {
            refuse(
                ARTIFACTS_KEY,
                "must name at least one path, or there is nothing to score".to_owned(),
            );
        }
        Problems::none_of(problems)?;
        Ok(Self { mode, artifacts })
    }

    /// The labels that say this.
    pub fn to_metadata(&self) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::new();
        if self.mode != Mode::default() {
            metadata.insert(MODE_KEY.to_owned(), self.mode.to_string());
        }
        if !self.artifacts.is_empty() {
            metadata.insert(ARTIFACTS_KEY.to_owned(), self.artifacts.join("\n"));
        }
        metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_their_labels_and_back() {
        let settings = ScoringSettings {
            mode: Mode::Artifacts,
            artifacts: vec!["a.py".to_owned(), "src".to_owned()],
        };
        assert_eq!(
            ScoringSettings::of_metadata(&settings.to_metadata()),
            Ok(settings)
        );
        assert_eq!(
            ScoringSettings::of_metadata(&BTreeMap::new()),
            Ok(ScoringSettings::default())
        );
    }

    #[test]
    fn what_cannot_be_is_named() {
        let labels = |pairs: &[(&str, &str)]| {
            let owned = pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            ScoringSettings::of_metadata(&owned.collect())
                .unwrap_err()
                .to_string()
        };
        assert!(
            labels(&[(MODE_KEY, "loud")])
                .starts_with("proctor.scoring: 'loud' is no way of scoring")
        );
        assert!(
            labels(&[(MODE_KEY, "artifacts"), (ARTIFACTS_KEY, " \n")])
                .contains("at least one path")
        );
    }
}
