//! Tasks and data sets in repositories: fetched by the server as code mounts are, at a commit that is recorded. Registry files name such tasks.

use std::{
    cmp::Ordering,
    io::Read as _,
    path::{Path, PathBuf},
};

use proctor_core::id::kinds::OrganizationId;
use proctor_fleet::GitError;
use proctor_harbor::job::Where;
use serde::Deserialize;

use super::{HarborWorkshop, sources::NoRoot};
use crate::error::EngineError;

/// How a file begins whose content is elsewhere.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// The versions that are taken of a data set when none is named, if it has one of them.
const NEWEST: [&str; 2] = ["head", "latest"];

/// The files of a repository at a commit.
pub(super) struct CheckedOut {
    pub(super) directory: PathBuf,
    pub(super) commit: String,
    _staged: tempfile::TempDir,
}

impl HarborWorkshop {
    /// The files of a repository at a commit, or at the head of its main branch.
    pub(super) async fn check_out(
        &self,
        organization: OrganizationId,
        url: &str,
        commit: Option<&str>,
    ) -> Result<CheckedOut, NoRoot> {
        let fault = |error: std::io::Error| NoRoot::Fault(EngineError::Fault(error.to_string()));
        let staged = self.inner.trees.stage().map_err(fault)?;
        let directory = staged.path().join("tree");
        let repositories = self.inner.blueprints.repositories();
        let checked_out = repositories.check_out(organization, url, commit, &directory);
        let commit = checked_out.await.map_err(|error| match error {
            GitError::Platform(error) => fault(error),
            other => NoRoot::Problem(other.to_string()),
        })?;
        Ok(CheckedOut {
            directory,
            commit,
            _staged: staged,
        })
    }
}

/// The first file below a directory whose content is elsewhere, if there is one.
pub(super) fn lfs_pointer(directory: &Path) -> std::io::Result<Option<String>> {
    let mut to_go = vec![directory.to_owned()];
    while let Some(inside) = to_go.pop() {
        for entry in fs_err::read_dir(&inside)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                to_go.push(entry.path());
            } else if kind.is_file() {
                let mut beginning = Vec::new();
                let file = fs_err::File::open(entry.path())?;
                file.take(LFS_POINTER.len() as u64)
                    .read_to_end(&mut beginning)?;
                if beginning == LFS_POINTER {
                    let path = entry.path();
                    let path = path.strip_prefix(directory).unwrap_or(&path);
                    return Ok(Some(path.display().to_string()));
                }
            }
        }
    }
    Ok(None)
}

/// A data set of a registry file.
#[derive(Deserialize)]
pub(super) struct RegistryDataset {
    name: String,
    #[serde(default)]
    version: Option<String>,
    /// Its tasks, in order.
    pub(super) tasks: Vec<RegistryTask>,
}

/// A task of a registry file.
#[derive(Deserialize)]
pub(super) struct RegistryTask {
    #[serde(default)]
    name: Option<String>,
    git_url: Option<String>,
    git_commit_id: Option<String>,
    path: String,
}

impl RegistryTask {
    /// What it is called.
    pub(super) fn name(&self) -> String {
        let last = self.path.trim_end_matches('/').rsplit('/').next();
        let name = self.name.as_deref().or(last);
        name.unwrap_or_default().to_owned()
    }

    /// Where it is; none if that is not in a repository.
    pub(super) fn from(&self) -> Option<Where> {
        Some(Where::Git {
            url: self.git_url.clone()?,
            commit: self.git_commit_id.clone(),
            below: self.path.trim_matches('/').to_owned(),
        })
    }
}

/// The data set of a registry file that a name and a version mean.
pub(super) fn in_registry(
    text: &str,
    name: &str,
    version: Option<&str>,
) -> Result<RegistryDataset, String> {
    let all: Vec<RegistryDataset> = serde_json::from_str(text)
        .map_err(|error| format!("the registry is not a list of data sets: {error}"))?;
    let mut named: Vec<RegistryDataset> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for dataset in all {
        match dataset.name == name {
            true => named.push(dataset),
            false => others.push(dataset.name),
        }
    }
    if named.is_empty() {
        others.dedup();
        others.truncate(5);
        let others = others.join(", ");
        return Err(format!(
            "the registry has no data set '{name}'; it has {others}"
        ));
    }
    let wanted = |dataset: &RegistryDataset| dataset.version.as_deref().map(str::to_owned);
    let place = match version {
        Some(version) => named
            .iter()
            .position(|one| wanted(one).as_deref() == Some(version)),
        None => {
            let mut newest = NEWEST.iter();
            let told = newest.find_map(|word| {
                named
                    .iter()
                    .position(|one| wanted(one).as_deref() == Some(*word))
            });
            told.or_else(|| {
                let mut places: Vec<usize> = (0..named.len()).collect();
                places.sort_by(|a, b| by_version(&wanted(&named[*a]), &wanted(&named[*b])));
                places.last().copied()
            })
        }
    };
    match place {
        Some(place) => Ok(named.swap_remove(place)),
        None => {
            let versions: Vec<String> = named.iter().filter_map(wanted).collect();
            let versions = versions.join(", ");
            Err(format!("'{name}' has no such version; it has {versions}"))
        }
    }
}

/// Versions by their numbers.
fn by_version(one: &Option<String>, other: &Option<String>) -> Ordering {
    let numbers = |version: &Option<String>| -> Vec<u64> {
        let version = version.as_deref().unwrap_or_default();
        let parts = version.split('.').map(|part| part.parse().unwrap_or(0));
        parts.collect()
    };
    numbers(one).cmp(&numbers(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = r#"[
        {"name": "bench", "version": "1.9", "tasks": [{"name": "a", "git_url": "https://x.org/r", "git_commit_id": "c", "path": "tasks/a"}]},
        {"name": "bench", "version": "1.10", "tasks": [{"path": "tasks/b/"}]},
        {"name": "other", "tasks": []}
    ]"#;

    #[test]
    fn a_name_means_its_newest_version_unless_one_is_named() {
        let newest = in_registry(REGISTRY, "bench", None).unwrap();
        assert_eq!(newest.version.as_deref(), Some("1.10"));
        assert_eq!(newest.tasks[0].name(), "b");
        assert_eq!(newest.tasks[0].from(), None, "not in a repository");
        let named = in_registry(REGISTRY, "bench", Some("1.9")).unwrap();
        let from = Where::Git {
            url: "https://x.org/r".to_owned(),
            commit: Some("c".to_owned()),
            below: "tasks/a".to_owned(),
        };
        assert_eq!(named.tasks[0].from(), Some(from));
        for (name, version) in [("none", None), ("bench", Some("2"))] {
            assert!(in_registry(REGISTRY, name, version).is_err());
        }
        assert!(in_registry("{}", "bench", None).is_err());
    }

    #[test]
    fn a_file_whose_content_is_elsewhere_is_found() {
        let tree = tempfile::tempdir().unwrap();
        fs_err::create_dir(tree.path().join("data")).unwrap();
        fs_err::write(tree.path().join("a"), "version").unwrap();
        assert_eq!(lfs_pointer(tree.path()).unwrap(), None);
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\n";
        fs_err::write(tree.path().join("data/large"), pointer).unwrap();
        assert_eq!(
            lfs_pointer(tree.path()).unwrap().as_deref(),
            Some("data/large")
        );
    }
}
