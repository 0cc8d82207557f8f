//! A tiny repository with faults, and what the collections of instances publish about it.

use std::{path::Path, process::Command};

use serde_json::{Value, json};

/// A module with two faults, which one commit each repairs.
const FAULTY: &str = "def double(x):\n    return x + 3\n\n\ndef half(x):\n    return x / 3\n\n\ndef same(x):\n    return x\n";
/// The tests that it came with.
const TESTS: &str =
    "from tiny import *\n\n\ndef test_same():\n    assert same(4) == 4\n\n\n# more to come\n";

/// A repository that was made for a test. From its first commit to its last: with both faults, with the second only, without.
pub(crate) struct Repository {
    /// Its commits.
    pub(crate) commits: [String; 3],
    /// What repairs each fault, as it was committed.
    pub(crate) repairs: [String; 2],
}

/// The test that tells whether a fault is there.
pub(crate) const FAILS: [&str; 2] = [
    "tests/test_tiny.py::test_double",
    "tests/test_tiny.py::test_half",
];
/// One that always passes.
const PASSES: &str = "tests/test_tiny.py::test_same";

/// What git wrote, told to do something in a directory.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(["-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(directory)
        .env("HOME", directory)
        .output()
        .unwrap();
    let wrong = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{arguments:?}: {wrong}");
    String::from_utf8(done.stdout).unwrap()
}

impl Repository {
    /// Makes it in a directory that is not there yet.
    pub(crate) fn make(directory: &Path) -> Self {
        fs_err::create_dir_all(directory.join("tests")).unwrap();
        git(directory, &["init", "-q"]);
        let commit = |module: &str| {
            fs_err::write(directory.join("tiny.py"), module).unwrap();
            git(directory, &["add", "."]);
            git(directory, &["commit", "-q", "-m", "a state"]);
            git(directory, &["rev-parse", "HEAD"]).trim().to_owned()
        };
        fs_err::write(directory.join("tests/test_tiny.py"), TESTS).unwrap();
        // Many a repository leaves its tests out of its releases.
        fs_err::write(directory.join(".gitattributes"), "tests export-ignore\n").unwrap();
        let doubles = FAULTY.replace("x + 3", "x * 2");
        let commits = [FAULTY, &doubles, &doubles.replace("x / 3", "x / 2")].map(commit);
        let difference = |from: &str, to: &str| git(directory, &["diff", from, to]);
        let repairs = [
            difference(&commits[0], &commits[1]),
            difference(&commits[1], &commits[2]),
        ];
        Self { commits, repairs }
    }

    /// An instance of SWE-bench: the repair of a fault, on the commit before it, with the tests that came with it.
    pub(crate) fn instance(&self, id: &str, fault: usize) -> Value {
        let new = [
            "def test_double():\n+    assert double(4) == 8",
            "def test_half():\n+    assert half(4) == 2",
        ][fault];
        let tests = format!(
            "--- a/tests/test_tiny.py\n+++ b/tests/test_tiny.py\n@@ -8 +8,2 @@\n-# more to come\n+{new}\n"
        );
        json!({
            "instance_id": id, "repo": "tiny/tiny", "base_commit": self.commits[fault], "problem_statement": "Repair it.",
            "patch": self.repairs[fault], "test_patch": tests, "version": "1.0",
            "FAIL_TO_PASS": format!("[\"{}\"]", FAILS[fault]), "PASS_TO_PASS": [PASSES],
        })
    }
}
