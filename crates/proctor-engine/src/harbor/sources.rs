//! Where the tasks of a job file are: archives that were uploaded, and directories that the server's settings name.
//!
//! Each task that a job takes is kept under the digest of its directory, so that nothing that happens to its source later reaches the job.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::TryStreamExt as _;
use proctor_core::{
    id::{
        Dialect,
        kinds::{ObjectId, OrganizationId},
    },
    problem::Problem,
};
use proctor_fleet::{
    objects::{self, ObjectError},
    trees::{self, LARGEST_TREE, StoredTree, Taking},
};
use proctor_harbor::{
    Warning,
    job::{DatasetEntry, JobConfig, TaskEntry, TaskPath, Where},
    task::Task,
};
use tokio_util::io::{StreamReader, SyncIoBridge};

use super::{
    DirectoryTree, HarborWorkshop,
    repositories::{CheckedOut, RegistryTask, in_registry, lfs_pointer},
};
use crate::error::EngineError;

/// How many invalid tasks of a data set are named.
const MOST_NAMED: usize = 20;
/// How many tasks a job may take.
const MOST_TASKS: usize = 10_000;

/// A task that a job takes.
pub(super) struct FoundTask {
    /// Its directory, as it is kept.
    pub(super) tree: StoredTree,
    /// What it says.
    pub(super) task: Task,
    /// Where it came from, as the job file says it.
    pub(super) from: String,
    /// The repository that it came from, with its commit.
    pub(super) origin: Option<Where>,
    /// The data set that it is from, if anybody said.
    pub(super) source: Option<String>,
}

/// What the paths of a job file lead to.
#[derive(Default)]
pub(super) struct FoundTasks {
    pub(super) tasks: Vec<FoundTask>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Warning>,
}

/// A directory of a source.
#[derive(Clone)]
struct Root {
    directory: PathBuf,
    taking: Taking,
    /// The commit, if it is of a repository.
    commit: Option<String>,
    /// Keeps what was unpacked until it has been looked at.
    _staged: Staged,
}

/// What keeps something until it has been looked at.
#[derive(Clone)]
enum Staged {
    /// It stays anyway.
    Not,
    /// What was unpacked.
    Unpacked(#[expect(dead_code, reason = "it is removed when this goes")] Arc<tempfile::TempDir>),
    /// What was checked out.
    CheckedOut(#[expect(dead_code, reason = "it is removed when this goes")] Arc<CheckedOut>),
}

/// What was checked out for a job file, by repository and commit: a data set names the same one many times.
type CheckedOutOnce = HashMap<(String, Option<String>), Arc<CheckedOut>>;

/// Why a source leads to nothing: a message for whoever wrote the file, or a fault.
pub(super) enum NoRoot {
    Problem(String),
    Fault(EngineError),
}

impl From<String> for NoRoot {
    fn from(message: String) -> Self {
        Self::Problem(message)
    }
}

impl HarborWorkshop {
    /// Finds all tasks of a job file, and keeps those that it takes.
    pub(super) async fn find_tasks(
        &self,
        organization: OrganizationId,
        config: &JobConfig,
    ) -> Result<FoundTasks, EngineError> {
        let mut found = FoundTasks::default();
        let mut once = CheckedOutOnce::new();
        let mut tasks: Vec<(String, TaskEntry)> = Vec::new();
        for (number, entry) in config.tasks.iter().enumerate() {
            tasks.push((format!("tasks.{number}.path"), entry.clone()));
        }
        for (number, entry) in config.datasets.iter().enumerate() {
            let Where::Registry {
                registry: Some(_), ..
            } = &entry.from
            else {
                continue;
            };
            let place = format!("datasets.{number}");
            match self.in_registry(organization, entry).await {
                Ok(named) => tasks.extend(named.into_iter().map(|task| (place.clone(), task))),
                Err(NoRoot::Problem(message)) => {
                    found.problems.push(Problem::error(place, message));
                }
                Err(NoRoot::Fault(error)) => return Err(error),
            }
        }
        for (place, entry) in tasks {
            match self.root_of(organization, &entry.from, &mut once).await {
                Ok(root) => {
                    let name = name_of(&entry.from);
                    let from = written(&entry.from);
                    let origin = at_commit(&entry.from, &root, None);
                    let store = self.inner.trees.clone();
                    found = blocking(move || {
                        found.take_task(&store, &root, &place, &name, (from, origin, entry.source));
                        found
                    })
                    .await?;
                }
                Err(NoRoot::Problem(message)) => {
                    found.problems.push(Problem::error(place, message));
                }
                Err(NoRoot::Fault(error)) => return Err(error),
            }
        }
        for (number, entry) in config.datasets.iter().enumerate() {
            if let Where::Registry {
                registry: Some(_), ..
            } = &entry.from
            {
                continue;
            }
            let place = format!("datasets.{number}.path");
            match self.root_of(organization, &entry.from, &mut once).await {
                Ok(root) => {
                    let (entry, store) = (entry.clone(), self.inner.trees.clone());
                    let is_strict = config.proctor.strict_datasets;
                    found = blocking(move || {
                        found.take_dataset(&store, &root, &place, &entry, is_strict);
                        found
                    })
                    .await?;
                }
                Err(NoRoot::Problem(message)) => {
                    found.problems.push(Problem::error(place, message));
                }
                Err(NoRoot::Fault(error)) => return Err(error),
            }
        }
        if found.tasks.len() > MOST_TASKS {
            let message = format!("a job takes at most {MOST_TASKS} tasks");
            found.problems.push(Problem::error("datasets", message));
        }
        if found.tasks.is_empty() && found.problems.is_empty() {
            let message = "the job has no tasks: give tasks or datasets";
            found.problems.push(Problem::error("tasks", message));
        }
        Ok(found)
    }

    /// The directory that a source means.
    async fn root_of(
        &self,
        organization: OrganizationId,
        from: &Where,
        once: &mut CheckedOutOnce,
    ) -> Result<Root, NoRoot> {
        match from {
            Where::Path(TaskPath::Local(_)) => Err(NoRoot::Problem(
                "the server does not read paths; use proctor harbor run, an object (object:ID), or tasks:NAME".to_owned(),
            )),
            Where::Path(TaskPath::Named { name, below }) => {
                let known = &self.inner.settings.tasks;
                let directory = known.get(name).ok_or_else(|| {
                    let names: Vec<&str> = known.keys().map(String::as_str).collect();
                    match names.is_empty() {
                        true => format!("there is no directory of tasks '{name}': the server's setting harbor-tasks names none"),
                        false => format!("there is no directory of tasks '{name}'; there are {}", names.join(", ")),
                    }
                })?;
                Ok(Root {
                    directory: below_of(directory, below)?,
                    taking: Taking::Copied,
                    commit: None,
                    _staged: Staged::Not,
                })
            }
            Where::Path(TaskPath::Object { id, below }) => {
                self.unpacked(organization, id, below).await
            }
            Where::Git { url, commit, below } => {
                let key = (url.clone(), commit.clone());
                let checked_out = match once.get(&key) {
                    Some(known) => Arc::clone(known),
                    None => {
                        let made = self.check_out(organization, url, commit.as_deref()).await?;
                        let made = Arc::new(made);
                        once.insert(key, Arc::clone(&made));
                        made
                    }
                };
                let directory = below_of(&checked_out.directory, below)?;
                let pointer = lfs_pointer(&directory)
                    .map_err(|error| NoRoot::Fault(EngineError::Fault(error.to_string())))?;
                if let Some(path) = pointer {
                    let told = format!("{path} is a pointer of Git LFS, whose content is not fetched; upload the tasks as an object");
                    return Err(NoRoot::Problem(told));
                }
                Ok(Root {
                    directory,
                    taking: Taking::Copied,
                    commit: Some(checked_out.commit.clone()),
                    _staged: Staged::CheckedOut(checked_out),
                })
            }
            Where::Registry { name, .. } => Err(NoRoot::Problem(format!(
                "'{name}' is a name in a registry, and none is asked; give a path (object:ID or tasks:NAME), a repository, or a data set with registry_path"
            ))),
        }
    }

    /// An archive that was uploaded, unpacked.
    async fn unpacked(
        &self,
        organization: OrganizationId,
        id: &str,
        below: &str,
    ) -> Result<Root, NoRoot> {
        let fault = |error: io::Error| NoRoot::Fault(EngineError::Fault(error.to_string()));
        let object = ObjectId::from_wire(id, Dialect::Runloop)
            .map_err(|error| format!("'{id}' is not the id of an object: {error}"))?;
        let store = self.inner.fleet.store();
        let refused = |error: ObjectError| match error {
            ObjectError::Store(error) => NoRoot::Fault(error.into()),
            other => NoRoot::Problem(other.to_string()),
        };
        let object = objects::find(store, organization, object)
            .await
            .map_err(refused)?;
        let (_, bytes) = objects::open(store, &object).await.map_err(refused)?;
        let bytes = StreamReader::new(bytes.map_err(io::Error::other));
        let staged = self.inner.trees.stage().map_err(fault)?;
        let directory = staged.path().join("tree");
        let (into, id) = (directory.clone(), id.to_owned());
        let unpacked = tokio::task::spawn_blocking(move || {
            trees::unpack(SyncIoBridge::new(bytes), &into, LARGEST_TREE)
        });
        match unpacked.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(format!("the object {id}: {error}").into()),
            Err(error) => return Err(fault(io::Error::other(error))),
        }
        Ok(Root {
            directory: below_of(&directory, below)?,
            taking: Taking::Moved,
            commit: None,
            _staged: Staged::Unpacked(Arc::new(staged)),
        })
    }

    /// The tasks that a data set of a registry file chooses.
    async fn in_registry(
        &self,
        organization: OrganizationId,
        entry: &DatasetEntry,
    ) -> Result<Vec<TaskEntry>, NoRoot> {
        let Where::Registry {
            name,
            version,
            registry: Some(path),
        } = &entry.from
        else {
            return Ok(Vec::new());
        };
        let written = path.written();
        let (above, file) = written.rsplit_once('/').ok_or_else(|| {
            "registry_path must name a file: object:ID/registry.json or tasks:NAME/registry.json"
                .to_owned()
        })?;
        let above = Where::Path(TaskPath::of(above));
        let mut once = CheckedOutOnce::new();
        let root = self.root_of(organization, &above, &mut once).await?;
        let file = root.directory.join(file);
        let text = fs_err::read_to_string(&file)
            .map_err(|_| format!("there is no registry file at {written}"))?;
        let dataset = in_registry(&text, name, version.as_deref())?;
        let names: Vec<String> = dataset.tasks.iter().map(RegistryTask::name).collect();
        let chosen = entry.choose(&names).map_err(|none| none.to_string())?;
        let mut tasks = Vec::with_capacity(chosen.len());
        for place in chosen {
            let from = dataset.tasks[place].from().ok_or_else(|| {
                format!(
                    "the task {} of the registry is not in a repository",
                    names[place]
                )
            })?;
            let source = Some(name.clone());
            tasks.push(TaskEntry { from, source });
        }
        Ok(tasks)
    }
}

/// Where a task came from, if that is a repository: with the commit that was taken.
fn at_commit(from: &Where, root: &Root, child: Option<&str>) -> Option<Where> {
    let Where::Git { url, below, .. } = from else {
        return None;
    };
    let below = match child {
        Some(child) => format!("{below}/{child}").trim_matches('/').to_owned(),
        None => below.clone(),
    };
    Some(Where::Git {
        url: url.clone(),
        commit: root.commit.clone(),
        below,
    })
}

impl FoundTasks {
    /// Takes one task.
    fn take_task(
        &mut self,
        store: &trees::TreeStore,
        root: &Root,
        place: &str,
        name: &str,
        (from, origin, source): (String, Option<Where>, Option<String>),
    ) {
        let directory = match is_task(&root.directory) {
            true => root.directory.clone(),
            // One directory around it.
            false => match children(&root.directory) {
                Ok(children) if children.len() == 1 && is_task(&children[0]) => children[0].clone(),
                Ok(_) => return self.refuse(place, "there is no task.toml in it"),
                Err(error) => return self.refuse(place, &error.to_string()),
            },
        };
        match loaded(&directory, name) {
            Ok(task) => {
                self.keep(store, &directory, root.taking, task, (from, origin, source));
            }
            Err(problems) => {
                for problem in problems {
                    self.refuse(place, &problem);
                }
            }
        }
    }

    /// Takes those tasks of a data set that an entry chooses.
    fn take_dataset(
        &mut self,
        store: &trees::TreeStore,
        root: &Root,
        place: &str,
        entry: &DatasetEntry,
        is_strict: bool,
    ) {
        let directories = match dataset(&root.directory) {
            Ok(directories) => directories,
            Err(error) => return self.refuse(place, &error.to_string()),
        };
        let names: Vec<String> = directories.iter().map(|path| base_name(path)).collect();
        let chosen = match entry.choose(&names) {
            Ok(chosen) => chosen,
            Err(none) => return self.refuse(place, &none.to_string()),
        };
        let mut invalid = Vec::new();
        for number in chosen {
            let (directory, name) = (&directories[number], &names[number]);
            let from = format!("{}/{name}", written(&entry.from));
            match loaded(directory, name) {
                Ok(task) => {
                    let source = Some(name_of(&entry.from));
                    let origin = at_commit(&entry.from, root, Some(name));
                    self.keep(store, directory, root.taking, task, (from, origin, source));
                }
                Err(problems) => invalid.push((name, problems.join("; "))),
            }
        }
        let count = invalid.len();
        for (name, why) in invalid.into_iter().take(MOST_NAMED) {
            let told = format!("the task {name} is not valid: {why}");
            match is_strict {
                true => self.refuse(place, &told),
                false => self.warnings.push(Warning::new(place, told)),
            }
        }
        if count > MOST_NAMED {
            let told = format!("{} more tasks are not valid", count - MOST_NAMED);
            self.warnings.push(Warning::new(place, told));
        }
    }

    fn keep(
        &mut self,
        store: &trees::TreeStore,
        directory: &Path,
        taking: Taking,
        task: Task,
        (from, origin, source): (String, Option<Where>, Option<String>),
    ) {
        match store.keep(directory, taking) {
            Ok(tree) if self.tasks.iter().any(|known| known.tree == tree) => {
                let told = "is the same task as another one; it is taken once";
                self.warnings.push(Warning::new(from, told));
            }
            Ok(tree) => self.tasks.push(FoundTask {
                tree,
                task,
                from,
                origin,
                source,
            }),
            Err(error) => self.refuse(&from, &error.to_string()),
        }
    }

    fn refuse(&mut self, place: &str, message: &str) {
        self.problems.push(Problem::error(place, message));
    }
}

/// Does what waits for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EngineError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| EngineError::Fault(error.to_string()))
}

/// Reads a task, or says everything that is wrong with it.
fn loaded(directory: &Path, name: &str) -> Result<Task, Vec<String>> {
    use proctor_harbor::task::BadTask;
    let tree = DirectoryTree::open(directory).map_err(|error| vec![error.to_string()])?;
    Task::load(&tree, name).map_err(|error| match error {
        BadTask::Invalid(problems) => problems.iter().map(ToString::to_string).collect(),
        other @ BadTask::Unreadable(_) => vec![other.to_string()],
    })
}

fn is_task(directory: &Path) -> bool {
    directory.join("task.toml").is_file()
}

/// The directories in a directory, in order, but for hidden ones.
fn children(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut children = Vec::new();
    for child in fs_err::read_dir(directory)? {
        let child = child?;
        let is_hidden = child.file_name().to_string_lossy().starts_with('.');
        if child.file_type()?.is_dir() && !is_hidden {
            children.push(child.path());
        }
    }
    children.sort();
    Ok(children)
}

/// The tasks of a data set: one task, the tasks in a directory, or one directory around either.
fn dataset(root: &Path) -> io::Result<Vec<PathBuf>> {
    if is_task(root) {
        return Ok(vec![root.to_owned()]);
    }
    let inside = children(root)?;
    let tasks = |children: &[PathBuf]| -> Vec<PathBuf> {
        let tasks = children.iter().filter(|child| is_task(child));
        tasks.cloned().collect()
    };
    let found = tasks(&inside);
    match &inside[..] {
        [around] if found.is_empty() => Ok(tasks(&children(around)?)),
        _ => Ok(found),
    }
}

/// A path below a directory that does not lead out of it, also not through links.
fn below_of(directory: &Path, below: &str) -> Result<PathBuf, String> {
    let missing = || format!("there is no directory '{below}' in it");
    if below.split('/').any(|part| part == "..") {
        return Err(format!("'{below}' leads out of it"));
    }
    let root = fs_err::canonicalize(directory).map_err(|_| missing())?;
    let path = fs_err::canonicalize(directory.join(below)).map_err(|_| missing())?;
    match path.starts_with(&root) && path.is_dir() {
        true => Ok(path),
        false => Err(missing()),
    }
}

fn base_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.unwrap_or_default().into_owned()
}

/// What a task is called that says nothing of it itself.
fn name_of(from: &Where) -> String {
    let path = written(from);
    let last = path.rsplit(['/', ':']).find(|part| !part.is_empty());
    last.unwrap_or("task").to_owned()
}

fn written(from: &Where) -> String {
    match from {
        Where::Path(path) => path.written(),
        Where::Git { url, below, .. } => format!("{url}/{below}"),
        Where::Registry { name, .. } => name.clone(),
    }
}
