//! Named paths from the agent's disk to a clean box, file by file, through the server.
//!
//! The agent wrote everything that is read here, also the programs of the box that lists it. So a listing is only believed
//! as far as its paths lie below what was named, and every file arrives as a plain file of root's.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use proctor_core::shell::quoted;
use proctor_devbox::{Devbox, Error as DevboxError, FileMode, User, error::FileProblem};

use crate::{
    bench::{Bench, Ran, Script},
    error::JudgeError,
};

/// How many files are taken over at most.
const MOST_FILES: usize = 20_000;

/// The largest file that is taken over.
const LARGEST_FILE: u64 = 64 << 20;

/// How many bytes are taken over at most.
const MOST_BYTES: u64 = 512 << 20;

/// How many files are on their way at once.
const AT_ONCE: usize = 8;

/// A path that was named, made absolute: plain components below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedPath(String);

impl NamedPath {
    /// `path`, seen from `directory`; none if it leads out of the root or names all of it.
    pub(super) fn new(path: &str, directory: &str) -> Option<Self> {
        let whole = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{directory}/{path}")
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                part => parts.push(part),
            }
        }
        (!parts.is_empty() && !whole.contains('\0')).then(|| Self(format!("/{}", parts.join("/"))))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `path` is a plain path below this one.
    fn holds(&self, path: &str) -> bool {
        path.strip_prefix(self.0.as_str())
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|rest| rest.split('/').all(|part| !matches!(part, "" | "." | "..")))
    }
}

/// Takes over what `named` means. Answers how many files that are, or why they cannot be taken over.
pub(super) async fn take_over(
    from: &Bench<'_>,
    to: &dyn Devbox,
    named: &[NamedPath],
) -> Result<Result<usize, String>, JudgeError> {
    let mut files = Vec::new();
    for path in named {
        match files_of(from, path).await? {
            Ok(found) => files.extend(found),
            Err(why) => return Ok(Err(why)),
        }
    }
    if files.len() > MOST_FILES {
        return Ok(Err(format!(
            "the artifacts are {} files; at most {MOST_FILES} are taken over",
            files.len()
        )));
    }
    let count = files.len();
    let mut sizes = stream::iter(files)
        .map(|path| async move { copy(from.devbox, to, &path).await })
        .buffer_unordered(AT_ONCE);
    let mut total = 0;
    while let Some(copied) = sizes.try_next().await? {
        match copied {
            Ok(size) => total += size,
            Err(why) => return Ok(Err(why)),
        }
        if total > MOST_BYTES {
            return Ok(Err(format!(
                "the artifacts are more than {MOST_BYTES} bytes"
            )));
        }
    }
    Ok(Ok(count))
}

/// The files that a named path means: itself, or everything below it. Nothing if the agent left nothing there.
async fn files_of(
    from: &Bench<'_>,
    named: &NamedPath,
) -> Result<Result<Vec<String>, String>, JudgeError> {
    let path = named.as_str();
    let script = Script::new(format!(
        "at={}\nif [ -d \"$at\" ]; then exec /usr/bin/find -P \"$at/\" -mindepth 1 ! -type d -print0; fi\n\
         if [ -e \"$at\" ]; then printf 'file'; fi\n",
        quoted(path)
    ));
    let ended = match from.run(&script).await? {
        Ran::Ended(ended) => ended,
        Ran::NotStarted(why) => return Ok(Err(why)),
    };
    if let Some(why) = ended.interrupted() {
        return Ok(Err(format!("looking for {path}: {why}")));
    }
    if ended.cut {
        return Ok(Err(format!("{path} holds too many files")));
    }
    if ended.stdout == "file" {
        return Ok(Ok(vec![path.to_owned()]));
    }
    let found = ended
        .stdout
        .split('\0')
        .map(|found| found.replacen("//", "/", 1))
        .filter(|found| named.holds(found));
    Ok(Ok(found.collect()))
}

/// Copies one file. What is no regular file and leads to none is left out.
async fn copy(
    from: &dyn Devbox,
    to: &dyn Devbox,
    path: &str,
) -> Result<Result<u64, String>, JudgeError> {
    let mut content = match from.read_file(path, &User::Root, Some(LARGEST_FILE)).await {
        Ok(content) => content,
        Err(DevboxError::File {
            kind: FileProblem::TooLarge,
            ..
        }) => {
            return Ok(Err(format!(
                "{path} is larger than {LARGEST_FILE} bytes, which is the most that is taken over"
            )));
        }
        Err(DevboxError::File { .. }) => return Ok(Ok(0)),
        Err(error) => return Err(error.into()),
    };
    // Root's own, for everybody to read: whoever runs the agent's code here cannot change it.
    let mode = FileMode(if content.mode.0 & 0o111 == 0 {
        0o644
    } else {
        0o755
    });
    let written = to
        .write_file(path, &User::Root, Some(mode), &mut content.reader)
        .await;
    match written {
        Ok(size) => Ok(Ok(size)),
        Err(error @ DevboxError::File { .. }) => Ok(Err(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(path: &str) -> Option<String> {
        NamedPath::new(path, "/work").map(|path| path.0)
    }

    #[test]
    fn a_named_path_is_seen_from_the_working_directory() {
        assert_eq!(named("a/./b/").as_deref(), Some("/work/a/b"));
        assert_eq!(named("/etc//x").as_deref(), Some("/etc/x"));
        assert_eq!(named("../x").as_deref(), Some("/x"));
        assert_eq!(named("."), Some("/work".to_owned()));
        assert_eq!(named("/"), None);
        assert_eq!(named(".."), None);
        assert_eq!(named("../../x"), None);
    }

    #[test]
    fn a_listing_is_believed_only_below_what_was_named() {
        let path = NamedPath::new("src", "/work").unwrap();
        assert!(path.holds("/work/src/a/b.py"));
        for other in [
            "/work/src",
            "/work/src/",
            "/work/srcs/a",
            "/work/src/../x",
            "/work/src//x",
            "/etc/passwd",
            "src/a",
        ] {
            assert!(!path.holds(other), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn a_named_path_has_no_way_up(path in "[a./]{0,12}") {
            if let Some(named) = NamedPath::new(&path, "/work/here") {
                prop_assert!(named.0.starts_with('/'));
                prop_assert!(named.0[1..].split('/').all(|part| !matches!(part, "" | "." | "..")));
            }
        }
    }
}
