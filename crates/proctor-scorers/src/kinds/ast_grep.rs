//! `ast_grep_scorer`: whether any code below a directory matches a pattern.
//!
//! The files are read out of the box and searched by a program beside the server, so that nothing in the box decides what matches. Links inside
//! the box are not followed while looking for files, and reading one never leaves the box.

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use proctor_core::shell::quoted;
use proctor_devbox::Error as DevboxError;
use tokio::io::AsyncReadExt as _;

use super::Kind;
use crate::{
    bench::{Bench, Ended, Ran, Script},
    code::{BadPattern, CodePattern, CodeSearch, Match, SearchError},
    error::JudgeError,
    members::{Members, ReadMembers as _},
    scored::{Finding, NoResult},
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
                        BadPattern::UnknownLanguage { .. } => "lang",
                        BadPattern::Unreadable { .. } => "pattern",
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
            Ran::NotStarted(why) => return Ok(NoResult::not_started(why).into()),
        };
        if let Some(why) = listing.interrupted() {
            return Ok(Finding::none(why));
        }
        if listing.exit.code == Some(NOTHING_THERE) {
            return Ok(nothing(format!("there is no {}\n", self.directory)));
        }
        if !listing.exit.success() {
            return Ok(Finding {
                score: Err(NoResult::of_run(format!(
                    "{} cannot be searched",
                    self.directory
                ))),
                output: listing.output(),
            });
        }
        let searching = tokio::time::timeout(bench.limit, self.search(bench, &listing));
        match searching.await {
            Ok(finding) => finding,
            Err(_) => Ok(Finding::none(format!(
                "the scorer took longer than {:.1} seconds",
                bench.limit.as_secs_f64()
            ))),
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

    async fn search(&self, bench: &Bench<'_>, listing: &Ended) -> Result<Finding, JudgeError> {
        let by_itself = listing.stdout.starts_with('\0');
        let paths = listing.stdout.split('\0');
        let mut paths: Vec<&str> = paths.filter(|path| path.starts_with('/')).collect();
        paths.sort_unstable();
        let mut search = match CodeSearch::start(&self.pattern, bench.limit).await {
            Ok(search) => search,
            Err(error) => return without_answer(&self.directory, error),
        };
        let mut files: Vec<String> = match search.select(&paths, by_itself).await {
            Ok(places) => {
                let selected = places.iter().filter_map(|place| paths.get(*place));
                selected.map(|path| (*path).to_owned()).collect()
            }
            Err(error) => return without_answer(&self.directory, error),
        };
        let too_many = listing.cut || files.len() > MOST_FILES;
        files.truncate(MOST_FILES);
        let searched = files.len();
        let mut contents = stream::iter(files)
            .map(|path| async move {
                let content = content(bench, &path).await?;
                Ok::<_, JudgeError>(content.map(|content| (path, content)))
            })
            .buffered(AT_ONCE);
        while let Some(read) = contents.next().await {
            let Some((path, content)) = read? else {
                continue;
            };
            match search.first_match(&path, by_itself, &content).await {
                Ok(None) => (),
                Ok(Some(Match { line, text })) => {
                    return Ok(Finding {
                        score: Ok(1.0),
                        output: format!("{path}:{line}: {text}\n"),
                    });
                }
                Err(error) => return without_answer(&path, error),
            }
        }
        Ok(if too_many {
            Finding::none(format!(
                "no match in {searched} files, and there are more than can be searched"
            ))
        } else {
            nothing(format!("no match in {searched} files\n"))
        })
    }
}

/// What is said of a search that did not come to its end. If the program cannot be started that is the platform's fault, else that of what it was
/// given.
fn without_answer(searched: &str, error: SearchError) -> Result<Finding, JudgeError> {
    match error {
        SearchError::NotStarted(error) => {
            Err(DevboxError::platform("searching code", error).into())
        }
        SearchError::BadPattern(bad) => Ok(NoResult::impossible(bad.to_string()).into()),
        SearchError::Ended(_) => Ok(Finding::none(format!(
            "{searched} cannot be searched: {error}"
        ))),
    }
}

/// What is in a file; none if it is gone, too large or not for the box's user.
async fn content(bench: &Bench<'_>, path: &str) -> Result<Option<Vec<u8>>, JudgeError> {
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
    Ok(Some(bytes))
}
