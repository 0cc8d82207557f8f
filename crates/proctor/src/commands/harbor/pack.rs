//! Brings task directories to a server: packed so that the same content is the same bytes, and uploaded once.

use std::path::Path;

use anyhow::Context as _;
use proctor_benchmarks::Api;
use proctor_core::canonical::hex;
use proctor_engine::harbor::DirectoryTree;
use proctor_fleet::trees;
use proctor_harbor::{selection::Selection, tree::TaskTree as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::job_file::LocalTask;
use crate::exit::WrongUse;

/// After how many milliseconds an upload goes away by itself: a week. The server keeps the tasks of its jobs elsewhere.
const KEPT_MS: u64 = 7 * 24 * 3600 * 1000;

/// Uploads a task, unless the server has it; the path by which a job file names it.
pub(in crate::commands) async fn upload(api: &Api, task: &LocalTask) -> anyhow::Result<String> {
    let (directory, prefix) = (task.directory.clone(), task.name.clone());
    let packed = tokio::task::spawn_blocking(move || packed(&directory, &prefix)).await?;
    let packed = packed.with_context(|| task.directory.display().to_string())?;
    let digest = Sha256::digest(&packed);
    let name = format!("harbor-task-{}.tgz", hex(&digest));
    let id = upload_archive(api, &name, packed).await?;
    Ok(format!("object:{id}/{}", task.name))
}

/// Uploads an archive under a name that says what is in it, unless the server has it; the id of the object.
pub(crate) async fn upload_archive(
    api: &Api,
    name: &str,
    packed: Vec<u8>,
) -> anyhow::Result<String> {
    let listed = api
        .get(&format!("/v1/objects?name={name}&state=READ_ONLY"))
        .await?;
    let known = listed["objects"].as_array().into_iter().flatten();
    let mut known = known.filter(|object| object["name"] == name);
    match known.next().and_then(|object| object["id"].as_str()) {
        Some(id) => Ok(id.to_owned()),
        None => send(api, name, packed).await,
    }
}

async fn send(api: &Api, name: &str, bytes: Vec<u8>) -> anyhow::Result<String> {
    let body = json!({"name": name, "content_type": "tgz", "ttl_ms": KEPT_MS});
    let made = api.post("/v1/objects", &body).await?;
    let text = |member: &str| -> anyhow::Result<String> {
        let found = made[member].as_str();
        let found = found.with_context(|| format!("the server's answer has no '{member}'"))?;
        Ok(found.to_owned())
    };
    let (id, url) = (text("id")?, text("upload_url")?);
    let sent = reqwest::Client::new().put(url).body(bytes).send().await?;
    sent.error_for_status()
        .context("an archive cannot be uploaded")?;
    let path = format!("/v1/objects/{id}/complete");
    let _: Value = api.post(&path, &json!({})).await?;
    Ok(id)
}

/// A task directory as an archive, below a directory of its name, without what its ignore files leave out.
fn packed(directory: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    let tree = DirectoryTree::open(directory)?;
    let selection = Selection::of(&tree)?;
    let paths = tree.entries().keys().filter(|path| {
        let is_git = *path == ".git" || path.starts_with(".git/");
        !is_git && !selection.is_excluded(path)
    });
    let paths: Vec<String> = paths.cloned().collect();
    if name.is_empty() || name.contains('/') {
        return Err(WrongUse(format!("'{name}' is not the name of a task")).into());
    }
    let mut bytes = Vec::new();
    trees::pack(directory, name, &paths, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_is_the_same_archive_whatever_its_times() {
        let make = || {
            let task = tempfile::tempdir().unwrap();
            let write = |path: &str, text: &str| {
                let path = task.path().join(path);
                fs_err::create_dir_all(path.parent().unwrap()).unwrap();
                fs_err::write(path, text).unwrap();
            };
            write("task.toml", "");
            write("tests/test.sh", "true");
            write("tests/.harborignore", "notes\n");
            write("tests/notes", "mine");
            write(".git/HEAD", "x");
            task
        };
        let (one, other) = (make(), make());
        let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(5);
        let file = fs_err::File::options()
            .write(true)
            .open(other.path().join("task.toml"));
        file.unwrap().file().set_modified(later).unwrap();
        let first = packed(one.path(), "hello").unwrap();
        assert_eq!(first, packed(other.path(), "hello").unwrap());
        let into = tempfile::tempdir().unwrap();
        let root = into.path().join("tree");
        trees::unpack(first.as_slice(), &root, trees::LARGEST_TREE).unwrap();
        assert!(root.join("hello/tests/test.sh").is_file());
        assert!(!root.join("hello/tests/notes").exists());
        assert!(!root.join("hello/.git").exists());
        assert!(packed(one.path(), "../x").is_err());
    }
}
