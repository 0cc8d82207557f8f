//! What boxes are shown of a task's directory: its tests or its solution, without what an ignore file leaves out and without links that
//! lead elsewhere in the task.
//!
//! It is put together once for each task and kept; boxes mount it.

use std::{
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::PoisonError,
};

use proctor_fleet::trees::{Taking, TreeStore};
use proctor_harbor::{
    selection::Selection,
    tree::{self, Resolved, TaskTree as _},
};

use super::{DirectoryTree, HarborWorkshop};

/// Scripts that are started by their paths, whatever their modes say.
const SCRIPTS: [&str; 2] = ["test.sh", "solve.sh"];

impl HarborWorkshop {
    /// The files below directories of a task, later ones over earlier ones, as one directory that a box can be shown.
    pub(crate) async fn assembled(
        &self,
        task: &str,
        directories: Vec<String>,
    ) -> io::Result<PathBuf> {
        let shown = || {
            self.inner
                .shown
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let key = (task.to_owned(), directories.clone());
        if let Some(known) = shown().get(&key) {
            return Ok(known.clone());
        }
        let (task, store) = (self.inner.trees.path(task), self.inner.assembled.clone());
        let assembled = tokio::task::spawn_blocking(move || assemble(&task, &directories, &store));
        let path = assembled.await.map_err(io::Error::other)??;
        shown().insert(key, path.clone());
        Ok(path)
    }
}

fn assemble(task: &Path, directories: &[String], store: &TreeStore) -> io::Result<PathBuf> {
    let files = DirectoryTree::open(task)?;
    let selection = Selection::of(&files)?;
    let staged = store.stage()?;
    let target = staged.path().join("tree");
    fs_err::create_dir(&target)?;
    for directory in directories {
        let prefix = format!("{directory}/");
        for path in selection.files(directory) {
            let Some(below) = path.strip_prefix(&prefix) else {
                continue;
            };
            put(&files, task, &path, &target.join(below))?;
        }
    }
    for script in SCRIPTS {
        let script = target.join(script);
        if script.is_file() {
            fs_err::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
        }
    }
    let kept = store.keep(&target, Taking::Moved);
    Ok(kept.map_err(io::Error::other)?.path)
}

/// Puts what a path of the task leads to somewhere else.
fn put(files: &DirectoryTree, task: &Path, path: &str, target: &Path) -> io::Result<()> {
    match tree::resolve(files, path) {
        Resolved::File(file) => {
            if let Some(parent) = target.parent() {
                fs_err::create_dir_all(parent)?;
            }
            if fs_err::symlink_metadata(target).is_ok() {
                fs_err::remove_file(target)?;
            }
            fs_err::copy(task.join(file), target)?;
            Ok(())
        }
        Resolved::Directory(directory) => {
            fs_err::create_dir_all(target)?;
            if directory == path || directory.is_empty() {
                return Ok(());
            }
            // A link: what it leads to is copied. That it does not lead round in circles was seen when the task was read.
            let prefix = format!("{directory}/");
            let inside: Vec<String> = files
                .entries()
                .range(prefix.clone()..)
                .map(|(inside, _)| inside.clone())
                .take_while(|inside| inside.starts_with(&prefix))
                .collect();
            for inside in inside {
                let below = inside[prefix.len()..].to_owned();
                put(files, task, &inside, &target.join(below))?;
            }
            Ok(())
        }
        Resolved::Missing | Resolved::Outside | Resolved::Circle => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn later_directories_lie_over_earlier_ones_and_ignored_files_are_left_out() {
        let data = tempfile::tempdir().unwrap();
        let task = data.path().join("task");
        let write = |path: &str, text: &str| {
            let path = task.join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        write("tests/test.sh", "of the task");
        write("tests/only.txt", "task");
        write("tests/.harborignore", "secret\n");
        write("tests/secret", "no");
        write("environment/shared/data", "shared");
        symlink("../environment/shared", task.join("tests/shared")).unwrap();
        write("steps/one/tests/test.sh", "of the step");
        let store = TreeStore::open(data.path().join("assembled")).unwrap();
        let directories = ["tests".to_owned(), "steps/one/tests".to_owned()];
        let path = assemble(&task, &directories, &store).unwrap();
        let read = |name: &str| fs_err::read_to_string(path.join(name)).unwrap();
        assert_eq!(read("test.sh"), "of the step");
        assert_eq!(read("only.txt"), "task");
        assert_eq!(read("shared/data"), "shared");
        assert!(!path.join("secret").exists());
        let script = fs_err::metadata(path.join("test.sh")).unwrap();
        assert_eq!(script.permissions().mode() & 0o777, 0o755);
        assert_eq!(assemble(&task, &directories, &store).unwrap(), path);
    }
}
