//! A task directory as this crate sees it: paths, what stands at them, and small files as bytes.

use std::{collections::BTreeMap, io};

use sha2::{Digest as _, Sha256};

/// How many links a path may lead through.
const MOST_LINKS: usize = 40;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File {
        /// How many bytes it has.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Link {
        /// What is written in it.
        target: String,
    },
}

/// The files of a task.
pub trait TaskTree {
    /// Everything below the task's directory by its path: relative, with slashes, without `.` and `..`. Parents need not be there.
    fn entries(&self) -> &BTreeMap<String, Entry>;

    /// The bytes of a file, which is not a link.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// The SHA-256 of a file, which is not a link.
    fn sha256(&self, path: &str) -> io::Result<[u8; 32]> {
        Ok(Sha256::digest(self.read(path)?).into())
    }
}

/// A task directory in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryTree {
    entries: BTreeMap<String, Entry>,
    contents: BTreeMap<String, Vec<u8>>,
}

impl MemoryTree {
    /// A directory without anything in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a file.
    #[must_use]
    pub fn with(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.add_file(path, content.into());
        self
    }

    /// The same with a link.
    #[must_use]
    pub fn with_link(mut self, path: &str, target: &str) -> Self {
        let target = target.to_owned();
        self.add_parents(path);
        self.entries.insert(path.to_owned(), Entry::Link { target });
        self
    }

    /// Adds a file with the directories that lead to it.
    pub fn add_file(&mut self, path: &str, content: Vec<u8>) {
        self.add_parents(path);
        let size = content.len() as u64;
        self.entries.insert(path.to_owned(), Entry::File { size });
        self.contents.insert(path.to_owned(), content);
    }

    fn add_parents(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            let parent = path[..at].to_owned();
            self.entries.entry(parent).or_insert(Entry::Directory);
        }
    }
}

impl TaskTree for MemoryTree {
    fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let content = self.contents.get(path);
        content
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Where a path leads when its links are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// To a file of the task.
    File(String),
    /// To a directory of the task; empty for the task's own.
    Directory(String),
    /// To nothing.
    Missing,
    /// Out of the task.
    Outside,
    /// Round in circles.
    Circle,
}

/// Follows the links of a path.
pub fn resolve(tree: &dyn TaskTree, path: &str) -> Resolved {
    let mut to_go: Vec<String> = parts(path).rev().map(str::to_owned).collect();
    let mut here: Vec<String> = Vec::new();
    let mut links = 0;
    while let Some(part) = to_go.pop() {
        match part.as_str() {
            "." => continue,
            ".." => {
                if here.pop().is_none() {
                    return Resolved::Outside;
                }
                continue;
            }
            _ => here.push(part),
        }
        match tree.entries().get(&here.join("/")) {
            Some(Entry::Link { target }) => {
                links += 1;
                if links > MOST_LINKS {
                    return Resolved::Circle;
                }
                if target.starts_with('/') {
                    return Resolved::Outside;
                }
                here.pop();
                to_go.extend(parts(target).rev().map(str::to_owned));
            }
            Some(Entry::File { .. }) if !to_go.is_empty() => return Resolved::Missing,
            Some(_) => {}
            None if is_implied(tree, &here.join("/")) => {}
            None => return Resolved::Missing,
        }
    }
    let path = here.join("/");
    match tree.entries().get(&path) {
        Some(Entry::File { .. }) => Resolved::File(path),
        _ => Resolved::Directory(path),
    }
}

/// Whether something stands below a path at which nothing was noted.
fn is_implied(tree: &dyn TaskTree, path: &str) -> bool {
    let below = format!("{path}/");
    let mut after = tree.entries().range(below.clone()..);
    after
        .next()
        .is_some_and(|(next, _)| next.starts_with(&below))
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// Whether a path leads to a file.
pub fn is_file(tree: &dyn TaskTree, path: &str) -> bool {
    matches!(resolve(tree, path), Resolved::File(_))
}

/// Whether a path leads to a directory.
pub fn is_directory(tree: &dyn TaskTree, path: &str) -> bool {
    matches!(resolve(tree, path), Resolved::Directory(_))
}

/// The bytes of a file, found through links; none if there is none.
pub fn read(tree: &dyn TaskTree, path: &str) -> io::Result<Option<Vec<u8>>> {
    match resolve(tree, path) {
        Resolved::File(path) => tree.read(&path).map(Some),
        _ => Ok(None),
    }
}

/// The paths below a directory, in order.
pub fn below<'t>(
    tree: &'t dyn TaskTree,
    directory: &str,
) -> impl Iterator<Item = (&'t str, &'t Entry)> + use<'t> {
    let prefix = format!("{directory}/");
    let from = tree.entries().range(prefix.clone()..);
    from.map(|(path, entry)| (path.as_str(), entry))
        .take_while(move |(path, _)| path.starts_with(&prefix))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tree() -> MemoryTree {
        MemoryTree::new()
            .with("a/file", "x")
            .with_link("a/up", "../b")
            .with("b/other", "y")
            .with_link("out", "../../etc/passwd")
            .with_link("absolute", "/etc/passwd")
            .with_link("circle", "circle")
            .with_link("broken", "nowhere")
    }

    #[test]
    fn links_are_followed_inside_the_task_only() {
        let found = |path: &str| resolve(&tree(), path);
        assert_eq!(found("a/file"), Resolved::File("a/file".to_owned()));
        assert_eq!(found("a/up/other"), Resolved::File("b/other".to_owned()));
        assert_eq!(found("a/up"), Resolved::Directory("b".to_owned()));
        assert_eq!(found("out"), Resolved::Outside);
        assert_eq!(found("absolute"), Resolved::Outside);
        assert_eq!(found("circle"), Resolved::Circle);
        assert_eq!(found("broken"), Resolved::Missing);
        assert_eq!(found("a/file/x"), Resolved::Missing);
        assert_eq!(found("a/../../x"), Resolved::Outside);
    }

    #[test]
    fn what_is_below_a_directory_is_found_in_order() {
        let tree = tree();
        let paths: Vec<&str> = below(&tree, "a").map(|(path, _)| path).collect();
        assert_eq!(paths, ["a/file", "a/up"]);
    }

    proptest! {
        #[test]
        fn any_links_come_to_an_end(targets in proptest::collection::vec("[abc./]{0,8}", 1..6), path in "[abc./]{0,12}") {
            let mut tree = MemoryTree::new().with("c/file", "x");
            for (name, target) in ["a", "b", "c/a", "a/b", "b/c"].iter().zip(&targets) {
                tree = tree.with_link(name, target);
            }
            let _ = resolve(&tree, &path);
        }
    }
}
