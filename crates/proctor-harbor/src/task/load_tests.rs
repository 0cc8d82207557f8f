use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::tree::MemoryTree;

fn task() -> MemoryTree {
    MemoryTree::new()
        .with("task.toml", "version = \"1.0\"\n")
        .with(
            "instruction.md",
            "<!-- harbor-canary GUID -->\n\nSay hello.\n",
        )
        .with("environment/Dockerfile", "FROM host\n")
        .with("tests/test.sh", "#!/bin/bash\n")
        .with("solution/solve.sh", "#!/bin/bash\n")
}

fn said(tree: &MemoryTree) -> String {
    match Task::load(tree, "hello") {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_task_is_what_stands_in_its_directory() {
    let loaded = Task::load(&task(), "hello").unwrap();
    assert_eq!(loaded.name, "hello");
    assert_eq!(loaded.instruction, "Say hello.\n");
    assert!(loaded.has_dockerfile && loaded.has_solution && loaded.has_test_script);
    assert_eq!(loaded.digest.len(), 64);
    let named = task().with("task.toml", "[task]\nname = \"org/other\"\n");
    let named = Task::load(&named, "hello").unwrap();
    assert_eq!(
        (named.name.as_str(), named.short_name()),
        ("org/other", "other")
    );
}

#[test]
fn everything_that_is_missing_is_named_at_once() {
    assert_eq!(said(&MemoryTree::new()), "task.toml: is missing");
    let bare = MemoryTree::new().with("task.toml", "");
    assert_eq!(
        said(&bare),
        "environment: is missing: a task needs an environment directory or environment.docker_image; \
         instruction.md: is missing; tests/test.sh: is missing, and no image of the verifier brings it"
    );
    let wrong = MemoryTree::new().with("task.toml", "[environment]\ngpus = 2");
    assert_eq!(
        said(&wrong),
        "task.toml: environment.gpus: boxes have no GPUs"
    );
}

#[test]
fn a_verifier_with_an_image_of_its_own_may_bring_the_tests() {
    let tests = "[environment]\ndocker_image = \"a\"\n[verifier]\nenvironment_mode = \"separate\"";
    let base = MemoryTree::new()
        .with("task.toml", tests)
        .with("instruction.md", "x");
    assert_ne!(said(&base), "");
    assert_eq!(said(&base.clone().with("tests/Dockerfile", "FROM a")), "");
    let image = "[environment]\ndocker_image = \"a\"\n[verifier.environment]\ndocker_image = \"b\"";
    assert_eq!(said(&base.with("task.toml", image)), "");
}

#[test]
fn a_task_of_steps_needs_an_instruction_and_a_test_for_each() {
    let toml =
        "[environment]\ndocker_image = \"a\"\n[[steps]]\nname = \"one\"\n[[steps]]\nname = \"two\"";
    let tree = MemoryTree::new()
        .with("task.toml", toml)
        .with("steps/one/instruction.md", "# Canary: x\nFirst.")
        .with("steps/one/tests/test.sh", "")
        .with("steps/one/workdir/setup.sh", "");
    assert_eq!(
        said(&tree),
        "steps/two/instruction.md: is missing; steps/two/tests/test.sh: is missing, and so is tests/test.sh of the task"
    );
    let tree = tree
        .with("steps/two/instruction.md", "Second.")
        .with("tests/test.sh", "");
    let loaded = Task::load(&tree, "steps").unwrap();
    assert_eq!(loaded.steps[0].instruction, "First.");
    assert!(loaded.steps[0].has_setup && loaded.steps[0].has_test_script);
    assert!(!loaded.steps[1].has_test_script && loaded.has_test_script);
}

#[test]
fn links_out_of_the_task_make_it_invalid() {
    let tree = task().with_link("tests/passwd", "/etc/passwd");
    assert_eq!(said(&tree), "tests/passwd: is a link that leaves the task");
    let tree = task().with("tests/.harborignore", "test.sh\n");
    assert_eq!(said(&tree), "tests/test.sh: is left out by a .harborignore");
}

#[rstest]
#[case("<!-- CANARY x -->\nDo it.", "Do it.")]
#[case("# canary x\n<!-- canary y -->\n\n\nDo it.", "Do it.")]
#[case("\n\n  \nDo it.", "Do it.")]
#[case("# Title\n# canary", "# Title\n# canary")]
#[case("Do it.\n# canary", "Do it.\n# canary")]
#[case("<!-- canary\n-->\nDo it.", "<!-- canary\n-->\nDo it.")]
#[case("# canary", "")]
#[case("", "")]
fn canaries_at_the_beginning_go(#[case] text: &str, #[case] left: &str) {
    assert_eq!(strip_canary(text), left);
}

#[test]
fn extras_follow_with_a_blank_line_each() {
    let extras = ["A".to_owned(), "B".to_owned()];
    assert_eq!(with_extras("Do it.", &extras), "Do it.\n\nA\n\nB");
}

proptest! {
    #[test]
    fn what_is_left_is_the_end_of_the_text(text in "[#<!\\-> canry\n]{0,60}") {
        let left = strip_canary(&text);
        prop_assert!(text.ends_with(left));
        prop_assert!(left.is_empty() || !left.lines().next().unwrap_or("").trim().is_empty());
    }
}
