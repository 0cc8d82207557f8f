//! The content hash of a task: the one that Harbor writes as `task.digest` into its `lock.json`.

use std::io;

use ignore::Match;
use sha2::{Digest as _, Sha256};

use crate::{
    selection::{Selection, patterns},
    tree::{self, Resolved, TaskTree},
};

/// Files of the task's own directory that count.
const FILES: [&str; 4] = [
    "task.toml",
    "instruction.md",
    "README.md",
    "trajectory.json",
];
/// Directories that count.
const DIRECTORIES: [&str; 4] = ["environment", "tests", "solution", "steps"];
/// What is left out where a task has no `.gitignore` of its own.
const USUALLY_IGNORED: &str = "__pycache__/\n*.pyc\n.DS_Store\n*.swp\n*.swo\n*~\n";

/// The files that count, in order: what is hashed, and what is packed.
pub fn files(tree: &dyn TaskTree) -> io::Result<Vec<String>> {
    let selection = Selection::of(tree)?;
    let mut files: Vec<String> = FILES
        .iter()
        .filter(|name| !matches!(tree::resolve(tree, name), Resolved::Missing))
        .map(|name| (*name).to_owned())
        .collect();
    for directory in DIRECTORIES {
        let chosen = selection.files(directory).into_iter();
        files.extend(chosen.filter(|path| tree::is_file(tree, path)));
    }
    let ignored = match tree::read(tree, ".gitignore")? {
        Some(text) => patterns(&String::from_utf8_lossy(&text)),
        None => patterns(USUALLY_IGNORED),
    };
    files.retain(|path| {
        !matches!(
            ignored.matched_path_or_any_parents(path, false),
            Match::Ignore(_)
        )
    });
    files.sort();
    Ok(files)
}

/// The content hash, in hexadecimal digits.
pub fn digest(tree: &dyn TaskTree) -> io::Result<String> {
    let mut outer = Sha256::new();
    for path in files(tree)? {
        let Resolved::File(resolved) = tree::resolve(tree, &path) else {
            continue;
        };
        let inner = hex(&tree.sha256(&resolved)?);
        outer.update(format!("{path}\0{inner}\n"));
    }
    Ok(hex(&outer.finalize()))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    fn task() -> MemoryTree {
        MemoryTree::new()
            .with("task.toml", "version = \"1.0\"\n")
            .with("instruction.md", "Say hello.\n")
            .with("environment/Dockerfile", "FROM python:3.12-slim\n")
            .with(
                "tests/test.sh",
                "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
            )
            .with("tests/.harborignore", "notes.md\n")
            .with("tests/notes.md", "not for the box\n")
            .with("solution/solve.sh", "#!/bin/bash\necho hello\n")
            .with("solution/__pycache__/x.pyc", "bytecode")
            .with("other/ignored.txt", "not part of a task")
    }

    #[test]
    fn the_digest_is_the_one_that_harbor_computes() {
        // By `Packager.compute_content_hash` of harbor 0.25.0 on the same directory.
        assert_eq!(
            digest(&task()).unwrap(),
            "d760b4c45a7003d2403a25c743da72bac5f6def329d9a18f671b9769ce7c276b"
        );
    }

    #[test]
    fn what_is_left_out_does_not_count() {
        let base = digest(&task()).unwrap();
        let same = task()
            .with("tests/notes.md", "changed")
            .with("elsewhere", "new");
        assert_eq!(digest(&same).unwrap(), base);
        let other = task().with("tests/test.sh", "exit 1\n");
        assert_ne!(digest(&other).unwrap(), base);
    }

    #[test]
    fn a_gitignore_of_the_task_counts_instead_of_the_usual_one() {
        let tree = task().with(".gitignore", "*.md\n");
        assert_eq!(
            files(&tree).unwrap(),
            [
                "environment/Dockerfile",
                "solution/__pycache__/x.pyc",
                "solution/solve.sh",
                "task.toml",
                "tests/test.sh",
            ]
        );
    }
}
