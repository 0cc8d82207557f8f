//! `ast_grep_scorer`: whether any code below a directory matches a pattern.
//!
//! The files are read out of the box and searched here, so that nothing in the box decides what matches. Links inside the box are
//! not followed while looking for files, and reading one never leaves the box.

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use proctor_core::shell::quoted;
use proctor_devbox::Error as DevboxError;
use tokio::io::AsyncReadExt as _;

use super::Kind;
use crate::{
    bench::{Bench, Ran, Script},
    code::{CodeLanguage, CodePattern, CodeSearch, Match},
    error::JudgeError,
    members::{Members, ReadMembers as _},
    scored::Finding,
};

/// The largest file that is searched; generated code is larger.
const LARGEST_FILE: u64 = 2 << 20;

/// How many files are searched at most.
const MOST_FILES: usize = 20_000;

/// How many files are read at once.
const AT_ONCE: usize = 8;

/// How a listing says that there is no such directory.
const NOTHING_THERE: i32 = 3;

/// A pattern and where to look for it.
#[derive(Debug)]
pub(crate) struct AstGrep {
    pattern: CodePattern,
    directory: String,
}

#[async_trait]
impl Kind for AstGrep {
    const NAME: &'static str = "ast_grep_scorer";

    fn read(members: &Members<'_>) -> Option<Self> {
        let directory = members.text("search_directory");
        let language = members
            .optional_text("lang")
            .filter(|name| !name.trim().is_empty());
        let pattern = members.text("pattern").and_then(|text| {
            CodePattern::read(text, language)
                .map_err(|bad| {
                    let place = match &bad {
                        crate::code::BadPattern::UnknownLanguage(_) => "lang",
                        crate::code::BadPattern::Unreadable { .. } => "pattern",
                    };
                    members.refuse(place, bad.to_string());
                })
                .ok()
        });
        Some(Self {
            pattern: pattern?,
            directory: directory?.to_owned(),
        })
    }

    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        let listing = match bench.run(&Script::new(self.listing())).await? {
            Ran::Ended(ended) => ended,
            Ran::NotStarted(why) => return Ok(Finding::none(why)),
        };
        if let Some(why) = listing.interrupted() {
            return Ok(Finding::none(why));
        }
        if listing.exit.code == Some(NOTHING_THERE) {
            return Ok(nothing(format!("there is no {}\n", self.directory)));
        }
        if !listing.exit.success() {
            return Ok(Finding {
                score: Err(format!("{} cannot be searched", self.directory)),
                output: listing.output(),
            });
        }
        let mut files = self.wanted(&listing.stdout);
        let too_many = listing.cut || files.len() > MOST_FILES;
        files.truncate(MOST_FILES);
        let searched = files.len();
        let searching = tokio::time::timeout(bench.limit, self.search(bench, files));
        match searching.await {
            Err(_) => Ok(Finding::none(format!(
                "the scorer took longer than {:.1} seconds",
                bench.limit.as_secs_f64()
            ))),
            Ok(Err(error)) => Err(error),
            Ok(Ok(Some((path, Match { line, text })))) => Ok(Finding {
                score: Ok(1.0),
                output: format!("{path}:{line}: {text}\n"),
            }),
            Ok(Ok(None)) if too_many => Ok(Finding::none(format!(
                "no match in {searched} files, and there are more than can be searched"
            ))),
            Ok(Ok(None)) => Ok(nothing(format!("no match in {searched} files\n"))),
        }
    }
}

fn nothing(output: String) -> Finding {
    Finding {
        score: Ok(0.0),
        output,
    }
}

impl AstGrep {
    /// Names every file that could be searched, each with a zero byte behind it; or one that is named by itself, with a zero byte
    /// before it. Hidden files and directories are left out.
    fn listing(&self) -> String {
        let directory = quoted(&self.directory);
        format!(
            "at={directory}\n\
             case $at in /*) ;; *) at=$PWD/$at ;; esac\n\
             if [ -f \"$at\" ]; then printf '\\0%s' \"$at\"; exit 0; fi\n\
             cd -P -- \"$at\" 2>/dev/null || exit {NOTHING_THERE}\n\
             exec /usr/bin/find -P \"$PWD\" -mindepth 1 -name '.*' -prune -o -type f -print0\n"
        )
    }

    /// The files of a listing that the pattern is about, in their order by name.
    fn wanted(&self, listing: &str) -> Vec<(String, CodeLanguage)> {
        let paths: Vec<&str> = listing
            .split('\0')
            .filter(|path| path.starts_with('/'))
            .collect();
        let by_itself = listing.starts_with('\0');
        let mut wanted: Vec<(String, CodeLanguage)> = paths
            .iter()
            .filter_map(|path| {
                let language = if by_itself {
                    self.pattern.language_for_file(path)
                } else {
                    self.pattern.language_for(path)
                };
                Some(((*path).to_owned(), language?))
            })
            .collect();
        wanted.sort_by(|one, other| one.0.cmp(&other.0));
        wanted
    }

    async fn search(
        &self,
        bench: &Bench<'_>,
        files: Vec<(String, CodeLanguage)>,
    ) -> Result<Option<(String, Match)>, JudgeError> {
        let mut search = CodeSearch::new(self.pattern.clone());
        let mut sources = stream::iter(files)
            .map(|(path, language)| async move {
                let source = source(bench, &path).await?;
                Ok::<_, JudgeError>(source.map(|source| (path, language, source)))
            })
            .buffered(AT_ONCE);
        while let Some(read) = sources.next().await {
            let Some((path, language, source)) = read? else {
                continue;
            };
            let searched = tokio::task::spawn_blocking(move || {
                let found = search.first_match(language, &source);
                (search, found)
            });
            let found;
            (search, found) = searched.await.map_err(|error| {
                JudgeError::Devbox(DevboxError::platform(
                    "searching code",
                    std::io::Error::other(error),
                ))
            })?;
            if let Some(found) = found {
                return Ok(Some((path, found)));
            }
        }
        Ok(None)
    }
}

/// The text of a file; none if it is gone, too large or not for the box's user.
async fn source(bench: &Bench<'_>, path: &str) -> Result<Option<String>, JudgeError> {
    let opened = bench
        .devbox
        .read_file(path, &bench.user, Some(LARGEST_FILE));
    let mut content = match opened.await {
        Ok(content) => content,
        Err(DevboxError::File { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    if content.reader.read_to_end(&mut bytes).await.is_err() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
