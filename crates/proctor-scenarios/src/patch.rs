//! Unified diffs: which files they touch, and the same the other way round.
//!
//! A reference is a text that `patch` and `git apply` read, and undoing it must keep everything that they go by: git's own headers (modes, renames,
//! files that come and go), names of functions behind hunks, lines that lost their trailing blank. `diffy` reads all of this and writes only names and
//! hunks; `similar` makes diffs and reads none. So lines are turned around one by one, and what is no diff stays as it is.

/// The files that a patch makes, changes or removes, without the `a/` and `b/` before them; each once, in their order.
pub fn files(patch: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut within = Hunk::default();
    for line in patch.lines() {
        if within.takes(line) {
            continue;
        }
        for (header, side) in [("--- ", "a/"), ("+++ ", "b/")] {
            if let Some(path) = line.strip_prefix(header) {
                let path = path.split('\t').next().unwrap_or(path).trim_end();
                let path = path.strip_prefix(side).unwrap_or(path);
                if path != "/dev/null" && !files.iter().any(|known| known == path) {
                    files.push(path.to_owned());
                }
            }
        }
    }
    files
}

/// The patch that undoes `patch`.
pub fn reversed(patch: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut within = Hunk::default();
    for line in patch.split_inclusive('\n') {
        let (text, end) = match line.strip_suffix('\n') {
            Some(text) => (text, "\n"),
            None => (line, ""),
        };
        if within.takes(text) {
            lines.push(format!("{}{end}", other_way(text)));
            continue;
        }
        let swapped = swapped_header(text);
        // The two names change places too: what was old is new now.
        if swapped.starts_with("--- ")
            && let Some(last) = lines.last_mut()
            && last.starts_with("+++ ")
        {
            let new = std::mem::replace(last, format!("{swapped}{end}"));
            lines.push(new);
            continue;
        }
        lines.push(format!("{swapped}{end}"));
    }
    lines.concat()
}

/// How much of a hunk is still to come.
#[derive(Default)]
struct Hunk {
    old: usize,
    new: usize,
}

impl Hunk {
    /// Whether `line` belongs to a hunk's body. A hunk's header begins the next one.
    fn takes(&mut self, line: &str) -> bool {
        if line.starts_with('\\') {
            return true;
        }
        if self.old == 0 && self.new == 0 {
            if let Some((old, new)) = ranges(line) {
                (self.old, self.new) = (length(old), length(new));
            }
            return false;
        }
        match line.bytes().next() {
            Some(b'-') => self.old = self.old.saturating_sub(1),
            Some(b'+') => self.new = self.new.saturating_sub(1),
            // An empty line is an unchanged empty line whose blank somebody trimmed.
            Some(_) | None => {
                self.old = self.old.saturating_sub(1);
                self.new = self.new.saturating_sub(1);
            }
        }
        true
    }
}

/// The two ranges of a hunk's header: `@@ -1,2 +3,4 @@`.
fn ranges(line: &str) -> Option<(&str, &str)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    Some((old, new))
}

fn length(range: &str) -> usize {
    match range.split_once(',') {
        Some((_, length)) => length.parse().unwrap_or(0),
        None => 1,
    }
}

fn other_way(line: &str) -> String {
    match line.as_bytes().first() {
        Some(b'-') => format!("+{}", &line[1..]),
        Some(b'+') => format!("-{}", &line[1..]),
        _ => line.to_owned(),
    }
}

fn swapped_header(line: &str) -> String {
    const WORDS: [(&str, &str); 4] = [
        ("new file mode ", "deleted file mode "),
        ("new mode ", "old mode "),
        ("rename to ", "rename from "),
        ("copy to ", "copy from "),
    ];
    if let Some((old, new)) = ranges(line) {
        let rest = line.splitn(3, "@@").nth(2).unwrap_or_default();
        return format!("@@ -{new} +{old} @@{rest}");
    }
    if let Some((from, rest)) = line
        .strip_prefix("index ")
        .and_then(|rest| rest.split_once(".."))
    {
        let (to, mode) = rest
            .split_once(' ')
            .map_or((rest, None), |(to, mode)| (to, Some(mode)));
        let mode = mode.map(|mode| format!(" {mode}")).unwrap_or_default();
        return format!("index {to}..{from}{mode}");
    }
    for (one, other) in WORDS {
        if let Some(rest) = line.strip_prefix(one) {
            return format!("{other}{rest}");
        }
        if let Some(rest) = line.strip_prefix(other) {
            return format!("{one}{rest}");
        }
    }
    let named = |rest: &str, from: &str, to: &str| match rest.strip_prefix(from) {
        Some(path) => format!("{to}{path}"),
        None => rest.to_owned(),
    };
    if let Some(rest) = line.strip_prefix("--- ") {
        return format!("+++ {}", named(rest, "a/", "b/"));
    }
    if let Some(rest) = line.strip_prefix("+++ ") {
        return format!("--- {}", named(rest, "b/", "a/"));
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    const PATCH: &str = "diff --git a/x.py b/x.py\nindex 111..222 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,2 @@ def f\n a\n--- b\n+++ c\n-d\ndiff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+hello\n\\ No newline at end of file\n";

    #[test]
    fn the_files_are_those_of_the_headers_and_not_of_the_content() {
        assert_eq!(files(PATCH), ["x.py", "new"]);
    }

    #[test]
    fn the_other_way_round_is_what_undoes_it() {
        assert_eq!(
            reversed(PATCH),
            "diff --git a/x.py b/x.py\nindex 222..111 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@ def f\n a\n+-- b\n-++ c\n+d\ndiff --git a/new b/new\ndeleted file mode 100644\n--- a/new\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n\\ No newline at end of file\n"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn whatever_was_changed_is_changed_back(
            old in proptest::collection::vec("[ab+-]{0,3}", 0..12),
            new in proptest::collection::vec("[ab+-]{0,3}", 0..12),
            ends in any::<bool>(),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let write = |name: &str, lines: &[String]| {
                let text = lines.join("\n") + if ends && !lines.is_empty() { "\n" } else { "" };
                fs_err::write(directory.path().join(name), &text).unwrap();
                text
            };
            let old_text = write("old", &old);
            write("new", &new);
            let run = |program: &str, arguments: &[&str]| {
                Command::new(program).args(arguments).current_dir(directory.path()).output().unwrap()
            };
            let diff = run("diff", &["-u", "--label", "a/new", "--label", "b/new", "old", "new"]);
            let diff = String::from_utf8(diff.stdout).unwrap();
            prop_assume!(!diff.is_empty() && !old_text.is_empty());
            prop_assert_eq!(&reversed(&reversed(&diff)), &diff);
            fs_err::write(directory.path().join("back.patch"), reversed(&diff)).unwrap();
            let patched = run("patch", &["-p1", "-i", "back.patch"]);
            prop_assert!(patched.status.success(), "{}", String::from_utf8_lossy(&patched.stdout));
            prop_assert_eq!(fs_err::read_to_string(directory.path().join("new")).unwrap(), old_text);
        }

        #[test]
        fn no_text_makes_reading_a_patch_fail(text in "(@@ -|\\+\\+\\+ |--- |[a-z0-9, @+-]{0,6}|\n){0,20}") {
            let _ = (files(&text), reversed(&text));
        }
    }
}
