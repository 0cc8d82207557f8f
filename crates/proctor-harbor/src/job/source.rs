//! Where the tasks of a job come from.

use serde::{Deserialize, Serialize};

use crate::{
    pattern::matches_any,
    read::{DocumentNode, DocumentObject, flag, object_of, text, texts, whole},
};

/// How many names are shown when none matches.
const SHOWN: usize = 5;

/// A path to a task or a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskPath {
    /// In an archive that was uploaded.
    Object {
        /// The object.
        id: String,
        /// Where in it; empty for all of it.
        below: String,
    },
    /// In a directory that the server's settings name.
    Named {
        /// Its name.
        name: String,
        /// Where in it; empty for all of it.
        below: String,
    },
    /// On the machine of whoever wrote the file.
    Local(String),
}

impl TaskPath {
    /// What a path means.
    pub fn of(path: &str) -> Self {
        let split = |rest: &str| {
            let (first, below) = rest.split_once('/').unwrap_or((rest, ""));
            (first.to_owned(), below.trim_matches('/').to_owned())
        };
        if let Some(rest) = path.strip_prefix("object:") {
            let (id, below) = split(rest);
            return Self::Object { id, below };
        }
        if let Some(rest) = path.strip_prefix("tasks:") {
            let (name, below) = split(rest);
            return Self::Named { name, below };
        }
        Self::Local(path.to_owned())
    }

    /// The path as it is written.
    pub fn written(&self) -> String {
        let join = |scheme: &str, first: &str, below: &str| match below {
            "" => format!("{scheme}:{first}"),
            below => format!("{scheme}:{first}/{below}"),
        };
        match self {
            Self::Object { id, below } => join("object", id, below),
            Self::Named { name, below } => join("tasks", name, below),
            Self::Local(path) => path.clone(),
        }
    }
}

/// Where something comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// From a directory or an archive.
    Path(TaskPath),
    /// From a repository.
    Git {
        /// Its address.
        url: String,
        /// The commit; the head of its main branch without it.
        commit: Option<String>,
        /// Where in it; empty for all of it.
        below: String,
    },
    /// From a registry.
    Registry {
        /// What it is called there.
        name: String,
        /// Which version.
        version: Option<String>,
        /// Where the registry's file is.
        registry: Option<TaskPath>,
    },
}

/// A task of a job file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEntry {
    /// Where it comes from.
    pub from: Where,
    /// Which data set it belongs to, in the words of the file.
    pub source: Option<String>,
}

/// A data set of a job file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetEntry {
    /// Where it comes from.
    pub from: Where,
    /// Patterns of the tasks that are taken; all without any.
    pub include: Vec<String>,
    /// Patterns of the tasks that are not.
    pub exclude: Vec<String>,
    /// How many are taken at most.
    pub most: Option<usize>,
}

/// No task of a data set is left.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no task matches {filters}; {count} are there, such as {}", .examples.join(", "))]
pub struct NoTasks {
    /// The patterns.
    pub filters: String,
    /// How many tasks there are.
    pub count: usize,
    /// The names of some.
    pub examples: Vec<String>,
}

impl DatasetEntry {
    /// The places of the names that are taken, in order.
    pub fn choose(&self, names: &[String]) -> Result<Vec<usize>, NoTasks> {
        let is_in = |name: &str| self.include.is_empty() || matches_any(&self.include, name);
        let mut chosen: Vec<usize> = (0..names.len())
            .filter(|place| is_in(&names[*place]) && !matches_any(&self.exclude, &names[*place]))
            .collect();
        if chosen.is_empty() {
            let mut filters: Vec<String> = self.include.clone();
            filters.extend(self.exclude.iter().map(|pattern| format!("not {pattern}")));
            return Err(NoTasks {
                filters: match filters.is_empty() {
                    true => "the data set".to_owned(),
                    false => filters.join(", "),
                },
                count: names.len(),
                examples: names.iter().take(SHOWN).cloned().collect(),
            });
        }
        chosen.truncate(self.most.unwrap_or(usize::MAX));
        Ok(chosen)
    }
}

/// Reads a task.
pub(super) fn task(node: &DocumentNode<'_>) -> Option<TaskEntry> {
    object_of(node, |object| {
        let path = text(object, "path");
        let name = text(object, "name");
        let reference = text(object, "ref");
        let url = text(object, "git_url");
        let commit = text(object, "git_commit_id");
        let source = text(object, "source");
        no_effect(object);
        let from = match (path, name, url) {
            (Some(_), Some(_), _) => refused(object, "'path' and 'name' exclude each other"),
            (None, None, _) => refused(object, "needs 'path' or 'name'"),
            (None, Some(_), Some(_)) => refused(object, "'git_url' needs 'path', not 'name'"),
            (Some(path), None, Some(url)) => Some(Where::Git {
                url,
                commit: commit.clone(),
                below: path.trim_matches('/').to_owned(),
            }),
            (Some(path), None, None) => Some(Where::Path(TaskPath::of(&path))),
            (None, Some(name), None) => Some(Where::Registry {
                name,
                version: reference.clone(),
                registry: None,
            }),
        };
        if commit.is_some() && !matches!(from, Some(Where::Git { .. })) {
            object.refuse("git_commit_id", "counts only together with git_url");
        }
        if reference.is_some() && !matches!(from, Some(Where::Registry { .. })) {
            object.refuse("ref", "counts only together with name");
        }
        from.map(|from| TaskEntry { from, source })
    })?
}

/// Reads a data set.
pub(super) fn dataset(node: &DocumentNode<'_>) -> Option<DatasetEntry> {
    object_of(node, |object| {
        let from = dataset_from(object);
        let include = texts(object, "task_names");
        let exclude = texts(object, "exclude_task_names");
        let most = whole(object, "n_tasks", 1..=1_000_000);
        no_effect(object);
        from.map(|from| DatasetEntry {
            from,
            include,
            exclude,
            most: most.and_then(|most| usize::try_from(most).ok()),
        })
    })?
}

fn dataset_from(object: &DocumentObject<'_>) -> Option<Where> {
    let path = text(object, "path");
    let name = text(object, "name");
    let version = text(object, "version");
    let reference = text(object, "ref");
    let repository = text(object, "repo");
    let url = text(object, "registry_url");
    let file = text(object, "registry_path");
    // The old form of both.
    let (old_url, old_file) = object
        .optional("registry")
        .and_then(|node| object_of(&node, |inner| (text(inner, "url"), text(inner, "path"))))
        .unwrap_or_default();
    let (url, file) = (url.or(old_url), file.or(old_file));
    if version.is_some() && reference.is_some() {
        object.refuse("ref", "and 'version' exclude each other");
    }
    if url.is_some() {
        object.refuse(
            "registry_url",
            "no registry is contacted; give registry_path",
        );
    }
    match (repository, path, name) {
        (Some(_), Some(_), Some(_)) | (None, Some(_), Some(_)) => {
            refused(object, "'path' and 'name' exclude each other")
        }
        (None, None, None) => refused(object, "needs 'path' or 'name'"),
        (Some(url), path, None) => Some(Where::Git {
            url,
            commit: reference,
            below: path.unwrap_or_default().trim_matches('/').to_owned(),
        }),
        (Some(_), None, Some(_)) => refused(
            object,
            "a named data set of a repository is not read; give its 'path'",
        ),
        (None, Some(path), None) => Some(Where::Path(TaskPath::of(&path))),
        (None, None, Some(name)) => Some(Where::Registry {
            name,
            version: version.or(reference),
            registry: file.as_deref().map(TaskPath::of),
        }),
    }
}

fn refused(object: &DocumentObject<'_>, message: &str) -> Option<Where> {
    object.node().refuse(message);
    None
}

/// Keys about a cache of downloads, which a server has no use for.
fn no_effect(object: &DocumentObject<'_>) {
    if flag(object, "overwrite") == Some(true)
        && let Some(node) = object.optional("overwrite")
    {
        crate::read::warn(&node, "has no effect: nothing is downloaded into a cache");
    }
    if let Some(node) = object.optional("download_dir") {
        crate::read::warn(&node, "has no effect: nothing is downloaded into a cache");
    }
}
