//! Agents that jobs may name without registering them: each a name and a manifest file.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context as _;
use proctor_core::agent::AgentManifest;

use crate::{exit::WrongUse, settings::NamedAgent};

/// The manifests of the agents that the settings name. A file that is not right keeps the server from starting.
pub(crate) fn manifests(named: &[NamedAgent]) -> anyhow::Result<BTreeMap<String, AgentManifest>> {
    let mut manifests = BTreeMap::new();
    for NamedAgent { name, manifest } in named {
        let read = read(manifest).with_context(|| {
            let file = manifest.display();
            format!("the manifest {file} of the agent {name} is not right")
        })?;
        manifests.insert(name.clone(), read);
    }
    Ok(manifests)
}

fn read(file: &Path) -> anyhow::Result<AgentManifest> {
    let wrong = |message: String| WrongUse(message.trim_end().to_owned());
    let text = fs_err::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let document: serde_json::Value =
        toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let manifest = AgentManifest::read(&document);
    Ok(manifest.map_err(|problems| wrong(problems.to_string()))?)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_manifests_that_come_with_the_program_are_right() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agents");
        let mut names = Vec::new();
        for entry in fs_err::read_dir(directory).unwrap() {
            let manifest = entry.unwrap().path();
            if manifest
                .extension()
                .is_none_or(|extension| extension != "toml")
            {
                continue;
            }
            let name = manifest.file_stem().unwrap().to_string_lossy().into_owned();
            let named = [NamedAgent {
                name: name.clone(),
                manifest,
            }];
            let manifests = manifests(&named).unwrap();
            let command = &manifests[&name].command;
            assert!(
                command.contains("PROCTOR_PROBLEM_FILE"),
                "{name}: {command}"
            );
            names.push(name);
        }
        names.sort();
        for whole in ["claude-code", "codex", "openhands", "shell"] {
            let manifest = read(&Path::new(directory).join(format!("{whole}.toml"))).unwrap();
            assert!(manifest.install.is_some(), "{whole} is installed");
            assert!(!manifest.errors.is_empty(), "{whole} says why it fails");
            let is_alone = manifest.env.is_empty() && manifest.hosts.is_empty();
            assert_eq!(is_alone, whole == "shell", "{whole} and its model");
        }
        let known = [
            "claude-code",
            "codex",
            "gemini-cli",
            "goose",
            "opencode",
            "openhands",
            "shell",
        ];
        assert_eq!(names, known);
    }

    #[test]
    fn a_manifest_that_is_not_right_says_which_and_why() {
        let directory = tempfile::tempdir().unwrap();
        let told = |text: Option<&str>| {
            let manifest: PathBuf = directory.path().join("a.toml");
            if let Some(text) = text {
                fs_err::write(&manifest, text).unwrap();
            }
            let named = [NamedAgent {
                name: "a".to_owned(),
                manifest,
            }];
            format!("{:#}", manifests(&named).unwrap_err())
        };
        assert!(told(None).contains("No such file"));
        assert!(told(Some("command = ")).contains("a.toml of the agent a is not right"));
        assert!(told(Some("comand = 'x'")).contains("command: is required and missing"));
    }
}
