//! Which files of a task count: `.harborignore` leaves out what is only for its author, and links must stay inside.

use std::{collections::BTreeSet, io};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use proctor_core::problem::Problem;

use crate::tree::{self, Entry, Resolved, TaskTree};

/// The name of the files that leave others out.
pub const IGNORE_FILE: &str = ".harborignore";

/// How many paths of a tree are looked at: links may make few files look like many.
const MOST_VISITED: usize = 200_000;

/// What of a task's tests and solutions is left out.
pub struct Selection<'t> {
    tree: &'t dyn TaskTree,
    /// Each ignore file by its directory, outermost first.
    rules: Vec<(String, Gitignore)>,
}

impl<'t> Selection<'t> {
    /// Reads the ignore files of a task.
    pub fn of(tree: &'t dyn TaskTree) -> io::Result<Self> {
        let mut rules = Vec::new();
        for path in tree.entries().keys() {
            let Some(directory) = path.strip_suffix(&format!("/{IGNORE_FILE}")) else {
                continue;
            };
            if !has_ignore_files(directory) {
                continue;
            }
            if let Some(text) = tree::read(tree, path)? {
                rules.push((
                    directory.to_owned(),
                    patterns(&String::from_utf8_lossy(&text)),
                ));
            }
        }
        Ok(Self { tree, rules })
    }

    /// Whether a path is left out, by itself or because its link leads to what is.
    pub fn is_excluded(&self, path: &str) -> bool {
        if self.is_matched(path) {
            return true;
        }
        match tree::resolve(self.tree, path) {
            Resolved::File(resolved) | Resolved::Directory(resolved) if resolved != path => {
                self.is_matched(&resolved)
            }
            _ => false,
        }
    }

    fn is_matched(&self, path: &str) -> bool {
        if path.rsplit('/').next() == Some(IGNORE_FILE) {
            return true;
        }
        if !has_ignore_files(path) {
            return false;
        }
        let ends = path.match_indices('/').map(|(at, _)| at);
        ends.chain([path.len()])
            .map(|end| &path[..end])
            .any(|candidate| self.is_covered(candidate, candidate.len() < path.len()))
    }

    /// Whether the rules of the directories above say that this very path is left out; the innermost that speaks decides.
    fn is_covered(&self, path: &str, is_parent: bool) -> bool {
        let is_directory =
            is_parent || matches!(tree::resolve(self.tree, path), Resolved::Directory(_));
        let mut excluded = false;
        for (directory, rules) in &self.rules {
            let Some(relative) = path
                .strip_prefix(directory.as_str())
                .and_then(|rest| rest.strip_prefix('/'))
            else {
                continue;
            };
            match rules.matched(relative, is_directory) {
                Match::Ignore(_) => excluded = true,
                Match::Whitelist(_) => excluded = false,
                Match::None => {}
            }
        }
        excluded
    }

    /// The files below a directory that count, with their links not followed into directories.
    pub fn files(&self, directory: &str) -> Vec<String> {
        let mut excluded_below: Option<String> = None;
        let mut files = Vec::new();
        for (path, entry) in tree::below(self.tree, directory) {
            if let Some(above) = &excluded_below {
                if path.starts_with(above.as_str()) {
                    continue;
                }
                excluded_below = None;
            }
            if self.is_excluded(path) {
                if *entry == Entry::Directory {
                    excluded_below = Some(format!("{path}/"));
                }
                continue;
            }
            files.push(path.to_owned());
        }
        files
    }

    /// What is wrong with the links below a directory: they may not leave the task or form circles.
    pub fn check_links(&self, directory: &str, problems: &mut Vec<Problem>) {
        let mut visit = Visit {
            selection: self,
            problems,
            visited: 0,
        };
        visit.path(directory, &BTreeSet::new());
    }
}

struct Visit<'v, 't> {
    selection: &'v Selection<'t>,
    problems: &'v mut Vec<Problem>,
    visited: usize,
}

impl Visit<'_, '_> {
    /// Looks at what stands at a path; `above` are the directories that lead there, with all links followed.
    fn path(&mut self, path: &str, above: &BTreeSet<String>) {
        self.visited += 1;
        if self.visited > MOST_VISITED || self.selection.is_excluded(path) {
            return;
        }
        let tree = self.selection.tree;
        let mut refuse = |why: &str| self.problems.push(Problem::error(path, why));
        let resolved = match tree::resolve(tree, path) {
            Resolved::Outside => return refuse("is a link that leaves the task"),
            Resolved::Circle => return refuse("is a link that leads round in circles"),
            Resolved::File(_) | Resolved::Missing => return,
            Resolved::Directory(resolved) => resolved,
        };
        if above.contains(&resolved) {
            return refuse("is a link to a directory that it stands in");
        }
        let mut here = above.clone();
        here.insert(resolved.clone());
        let children: Vec<String> = tree::below(tree, &resolved)
            .filter_map(|(child, _)| {
                let name = child[resolved.len() + 1..].to_owned();
                (!name.contains('/')).then(|| format!("{path}/{name}"))
            })
            .collect();
        for child in children {
            self.path(&child, &here);
        }
    }
}

/// Whether ignore files have an effect at a path: below tests and solutions, of the task and of its steps.
fn has_ignore_files(path: &str) -> bool {
    let mut parts = path.split('/');
    match parts.next() {
        Some("tests" | "solution") => true,
        Some("steps") => {
            parts.next().is_some() && matches!(parts.next(), Some("tests" | "solution"))
        }
        _ => false,
    }
}

/// Patterns of git's ignore files. A line that cannot be read has no effect, as there.
pub(crate) fn patterns(text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        // A line that is not a pattern leaves the others as they are.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    fn tree() -> MemoryTree {
        MemoryTree::new()
            .with("tests/.harborignore", "*.log\nbuild/\n!keep.log\n")
            .with("tests/test.sh", "")
            .with("tests/a.log", "")
            .with("tests/keep.log", "")
            .with("tests/build/x", "")
            .with("tests/sub/b.log", "")
            .with("tests/sub/.harborignore", "!b.log\n")
            .with("environment/.harborignore", "*\n")
            .with("environment/Dockerfile", "FROM host")
            .with("steps/one/tests/.harborignore", "secret\n")
            .with("steps/one/tests/secret", "")
            .with("steps/one/secret", "")
            .with_link("tests/linked", "a.log")
    }

    #[test]
    fn ignore_files_are_inherited_and_count_only_for_tests_and_solutions() {
        let tree = tree();
        let selection = Selection::of(&tree).unwrap();
        let excluded = [
            "tests/.harborignore",
            "tests/a.log",
            "tests/build/x",
            "tests/linked",
            "environment/.harborignore",
            "steps/one/tests/secret",
        ];
        for path in excluded {
            assert!(selection.is_excluded(path), "{path}");
        }
        for path in [
            "tests/test.sh",
            "tests/keep.log",
            "tests/sub/b.log",
            "environment/Dockerfile",
            "steps/one/secret",
        ] {
            assert!(!selection.is_excluded(path), "{path}");
        }
        assert_eq!(
            selection.files("tests"),
            [
                "tests/keep.log",
                "tests/sub",
                "tests/sub/b.log",
                "tests/test.sh"
            ]
        );
    }

    #[test]
    fn links_that_leave_the_task_or_form_circles_are_named() {
        let tree = MemoryTree::new()
            .with("tests/test.sh", "")
            .with_link("tests/out", "../../elsewhere")
            .with_link("tests/inside", "../environment")
            .with("environment/Dockerfile", "")
            .with_link("environment/far", "/etc/passwd")
            .with_link("tests/self", ".");
        let selection = Selection::of(&tree).unwrap();
        let mut problems = Vec::new();
        selection.check_links("tests", &mut problems);
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "tests/inside/far: is a link that leaves the task",
                "tests/out: is a link that leaves the task",
                "tests/self: is a link to a directory that it stands in",
            ]
        );
    }
}
