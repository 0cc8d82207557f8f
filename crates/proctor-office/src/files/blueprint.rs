//! The files that every playground of an environment begins with.

use bytes::Bytes;
use proctor_core::{
    environment::{Dataset, DatasetType, Simulator},
    problem::{Problem, Problems},
    time::Timestamp,
};
use proctor_simulation::{
    config::{place_of, read_config},
    content::Content,
    schema::object,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::StoredFile;

use super::{MOST_BYTES_IN_FILE, path::FilePath, tree::Files};

/// What all playgrounds with these files share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blueprint {
    pub(super) files: Files,
}

/// A tree of files has nothing to configure yet.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {}

/// The JSON Schema of the configuration.
pub(super) fn config_schema() -> Value {
    object(&[], json!({}))
}

impl Blueprint {
    /// Reads the simulator's data sets.
    pub fn read(simulator: &Simulator) -> Result<Self, Problems> {
        let Config {} = read_config(&simulator.config)?;
        let mut files = Files::default();
        let mut problems = Vec::new();
        for dataset in &simulator.datasets {
            let place = place_of(dataset);
            for (name, entry) in entries(dataset)? {
                let added = entry.and_then(|(path, content)| {
                    // Seeded files have always been there.
                    let file = StoredFile {
                        content,
                        at: Timestamp::from_millis(0),
                        is_given: true,
                    };
                    files.add(&path, file)
                });
                if let Err(problem) = added {
                    problems.push(Problem::error(&place, format!("{name}: {problem}")));
                }
            }
        }
        Problems::none_of(problems)?;
        Ok(Self { files })
    }
}

/// One entry of a data set: the key as written, and the file that it stands for, or what is wrong.
type Entry<'d> = (&'d str, Result<(FilePath, Bytes), String>);

/// The files of a data set: `{"path": "text" | {"content": "text"} | {"content_base64": "…"}}`.
pub(super) fn entries(dataset: &Dataset) -> Result<Vec<Entry<'_>>, Problem> {
    let what = match (dataset.kind, &dataset.data) {
        (DatasetType::Files, Value::Object(files)) => {
            return Ok(files
                .iter()
                .map(|(name, value)| (name.as_str(), entry(name, value)))
                .collect());
        }
        (DatasetType::Files, _) => "must be an object with a file for each path".to_owned(),
        (kind, _) => format!(
            "a Files simulator takes data sets of type Files, not {}",
            kind.as_str()
        ),
    };
    Err(Problem::error(place_of(dataset), what))
}

fn entry(name: &str, value: &Value) -> Result<(FilePath, Bytes), String> {
    let path = FilePath::parse(name).map_err(|problem| problem.to_string())?;
    let content = match value {
        Value::String(text) => Content::Text(text.clone()),
        Value::Object(_) => Content::deserialize(value).map_err(|problem| problem.to_string())?,
        _ => {
            return Err("a file is a text, or an object with content or content_base64".to_owned());
        }
    };
    let content = content
        .bytes()
        .map_err(|problem| format!("content_base64: {problem}"))?;
    if content.len() > MOST_BYTES_IN_FILE {
        return Err(format!(
            "has {} bytes; a file has at most {MOST_BYTES_IN_FILE}",
            content.len()
        ));
    }
    Ok((path, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_simulation::rehearsal::{dataset, simulator};

    fn read(data: Value) -> Result<Blueprint, Problems> {
        let data = dataset(DatasetType::Files, data);
        Blueprint::read(&simulator("Files", Value::Null, vec![data]))
    }

    #[test]
    fn files_are_texts_or_bytes() {
        let blueprint = read(json!({
            "a.txt": "text",
            "b.txt": {"content": "more"},
            "c.bin": {"content_base64": "/wA="},
        }))
        .unwrap();
        let files: Vec<_> = blueprint
            .files
            .iter()
            .map(|(path, file)| (path, file.content.to_vec()))
            .collect();
        assert_eq!(
            files,
            [
                ("a.txt", b"text".to_vec()),
                ("b.txt", b"more".to_vec()),
                ("c.bin", vec![0xff, 0]),
            ]
        );
    }

    #[test]
    fn everything_wrong_with_a_data_set_is_said_at_once() {
        let told = read(json!({
            "../x": "escapes", "a": "file", "a/b": "below a file", "n": 5,
            "z": {"content_base64": "*"}, "y": {"contents": ""},
        }))
        .unwrap_err();
        insta::assert_snapshot!(told.to_string().replace("; ", "\n"));
    }

    #[test]
    fn other_data_and_unknown_settings_are_refused() {
        let members = dataset(DatasetType::Members, json!([]));
        let refused = Blueprint::read(&simulator("Files", Value::Null, vec![members]));
        assert!(refused.unwrap_err().to_string().contains("not Members"));
        let refused = Blueprint::read(&simulator("Files", json!({"size": 5}), vec![]));
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("'size' is not known here")
        );
        assert!(read(json!([])).is_err());
    }
}
