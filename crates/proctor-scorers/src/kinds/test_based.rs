//! `test_based_scorer`: files that are written first, and a command whose exit status is the score.
//!
//! The files are written and taken away again by one script in the box, which also puts back what they replaced. So
//! nothing of them remains when the command fails or takes too long, and not even when the server is killed meanwhile.

use async_trait::async_trait;
use proctor_core::shell::quoted;
use serde_json::{Map, Value, json};

use super::Kind;
use crate::{
    bench::{Bench, Ended, Script},
    error::JudgeError,
    members::{Members, ReadMembers as _},
    scored::Finding,
    shell::{PRELUDE, encoded, limited_loader},
};

/// Test files and the command that runs them.
#[derive(Debug)]
pub(crate) struct TestBased {
    files: Vec<TestFile>,
    command: String,
}

#[derive(Debug)]
struct TestFile {
    /// Relative to the working directory, and below it.
    path: String,
    contents: String,
}

#[async_trait]
impl Kind for TestBased {
    const NAME: &'static str = "test_based_scorer";

    fn read(members: &Members<'_>) -> Option<Self> {
        let files = members.objects("test_files");
        let command = members.text("test_command");
        let files: Vec<Option<TestFile>> = files.iter().map(read_file).collect();
        Some(Self {
            files: files.into_iter().collect::<Option<_>>()?,
            command: command?.to_owned(),
        })
    }

    fn kept(members: &Members<'_>) -> Map<String, Value> {
        let mut kept = members.asked_for();
        if let Some(files) = kept.get_mut("test_files") {
            *files = members
                .objects("test_files")
                .iter()
                .map(kept_file)
                .collect();
        }
        kept
    }

    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        let undoing = self.undoing(&bench.scratch());
        let text = self.script(&undoing, bench.limit.as_secs_f64());
        let script = Script::that_cleans_up(
            text,
            format!(
                "{undoing}undo
"
            ),
        );
        bench.finding(&script, Ended::by_status_if_run).await
    }
}

/// A file of a test as it is kept: with what is in it, also if that is nothing.
fn kept_file(members: &Members<'_>) -> Value {
    let contents = members.optional_text("file_contents").unwrap_or_default();
    json!({"file_path": members.text("file_path"), "file_contents": contents})
}

fn read_file(members: &Members<'_>) -> Option<TestFile> {
    let path = members.text("file_path").filter(|path| {
        let below = is_below(path);
        if !below {
            members.refuse("file_path", "must be a path below the working directory");
        }
        below
    });
    let contents = members.optional_text("file_contents").unwrap_or_default();
    Some(TestFile {
        path: path?.to_owned(),
        contents: contents.to_owned(),
    })
}

/// Whether a relative path leads to something below where it starts.
fn is_below(path: &str) -> bool {
    use std::path::{Component, Path};
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some()
        && !path.ends_with('/')
        && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        && Path::new(path).file_name().is_some()
}

/// Puts a file in place, remembering in `$keep` what it replaces and which directory was made for it; and undoes that.
const PLACING: &str = r#"
place() {
  local at=$2 directory made= above
  directory=$(/usr/bin/dirname -- "$at")
  above=$directory
  while [ ! -e "$above" ]; do made=$above; above=$(/usr/bin/dirname -- "$above"); done
  if [ -n "$made" ]; then printf %s "$made" >"$keep/$1.made"; fi
  /bin/mkdir -p -- "$directory" || fail "the directory of $at cannot be made"
  if [ -e "$at" ] || [ -L "$at" ]; then /bin/mv -T -- "$at" "$keep/$1.old" || fail "$at cannot be replaced"; fi
  : >"$keep/$1.placed"
  printf %s "$3" | /usr/bin/base64 -d >"$at" || fail "$at cannot be written"
}
restore() {
  if [ -e "$keep/$1.placed" ]; then /bin/rm -rf -- "$2"; fi
  if [ -e "$keep/$1.old" ] || [ -L "$keep/$1.old" ]; then /bin/mv -T -- "$keep/$1.old" "$2"; fi
  if [ -e "$keep/$1.made" ]; then /bin/rm -rf -- "$(/bin/cat "$keep/$1.made")"; fi
}
home=$PWD
"#;

impl TestBased {
    /// Takes the files away, in the other order, so that one that is named twice ends up as it was.
    fn undoing(&self, keep: &str) -> String {
        let mut script = format!(
            "{PLACING}keep={}\nundo() {{\n  cd -- \"$home\"\n",
            quoted(keep)
        );
        for (number, file) in self.files.iter().enumerate().rev() {
            script.push_str(&format!("  restore {number} {}\n", quoted(&file.path)));
        }
        script.push_str("  /bin/rm -rf -- \"$keep\"\n}\n");
        script
    }

    fn script(&self, undoing: &str, seconds: f64) -> String {
        let mut script = format!(
            "{PRELUDE}{undoing}/bin/mkdir -m 700 -- \"$keep\" || fail 'there is no room for the tests'\ntrap undo EXIT\n"
        );
        for (number, file) in self.files.iter().enumerate() {
            let (path, contents) = (quoted(&file.path), encoded(&file.contents));
            script.push_str(&format!("place {number} {path} '{contents}'\n"));
        }
        script.push_str(&format!(
            "printf %s {} | {}\nfinish \"${{PIPESTATUS[1]}}\"\n",
            quoted(&self.command),
            limited_loader(seconds)
        ));
        script
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_working_directory_are_files_of_a_test() {
        for path in ["a", "a/b.py", "./a", "a b/c", "-x"] {
            assert!(is_below(path), "{path:?}");
        }
        for path in ["", ".", "/a", "..", "a/../../b", "a/..", "a/"] {
            assert!(!is_below(path), "{path:?}");
        }
    }
}
