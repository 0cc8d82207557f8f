//! `.dockerignore`: what of a build context is not there for a build.
//!
//! A line is a pattern from the top of the context; it covers what it matches and everything below. `!` takes back what earlier lines
//! covered, the last line that speaks of a path decides, `#` begins a comment, and `**` stands for any number of directories.

use globset::{Glob, GlobBuilder, GlobMatcher};

/// The file's place in a context.
pub(super) const FILE: &str = ".dockerignore";
/// How much of the file is read; more is a mistake.
pub(super) const LONGEST: u64 = 1 << 20;

/// What a `.dockerignore` says.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    pattern: GlobMatcher,
    takes_back: bool,
}

impl Ignored {
    /// Reads the lines; the message names the first one that is no pattern.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rules = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (takes_back, pattern) = match line.strip_prefix('!') {
                Some(rest) => (true, rest.trim()),
                None => (false, line),
            };
            let pattern = plain(pattern);
            if pattern.is_empty() {
                // The context itself is always there.
                continue;
            }
            let pattern = compile(&pattern)
                .map_err(|error| format!("{FILE} line {}: {error}", number + 1))?
                .compile_matcher();
            rules.push(Rule {
                pattern,
                takes_back,
            });
        }
        Ok(Self { rules })
    }

    /// Whether the member at `path` is not there.
    pub(super) fn covers(&self, path: &str) -> bool {
        self.rules.iter().fold(false, |covered, rule| {
            if covered == rule.takes_back && rule.speaks_of(path) {
                !rule.takes_back
            } else {
                covered
            }
        })
    }
}

impl Rule {
    /// Whether the pattern matches the path or a directory that leads to it.
    fn speaks_of(&self, path: &str) -> bool {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        above
            .chain([path])
            .any(|candidate| self.pattern.is_match(candidate))
    }
}

/// The pattern without what means nothing in it: slashes at both ends, empty parts, `.`, and `..` with what it leaves.
fn plain(pattern: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn compile(pattern: &str) -> Result<Glob, globset::Error> {
    // Braces mean nothing here.
    let pattern = pattern.replace('{', "[{]").replace('}', "[}]");
    GlobBuilder::new(&pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("node_modules", "node_modules", true)]
    #[case("node_modules", "node_modules/left-pad/index.js", true)]
    #[case("node_modules", "web/node_modules/x", false)]
    #[case("**/node_modules", "web/node_modules/x", true)]
    #[case("**/node_modules", "node_modules", true)]
    #[case("/build/", "build/out.o", true)]
    #[case("./build", "build/out.o", true)]
    #[case("*.log", "run.log", true)]
    #[case("*.log", "logs/run.log", false)]
    #[case("**/*.log", "logs/deep/run.log", true)]
    #[case("*/temp*", "a/temporary.txt", true)]
    #[case("*/temp*", "a/b/temporary.txt", false)]
    #[case("temp?", "tempa", true)]
    #[case("temp?", "temp", false)]
    #[case("{a,b}", "a", false)]
    #[case("{a,b}", "{a,b}", true)]
    #[case("# a comment\n\n", "# a comment", false)]
    #[case("*\n!README.md", "README.md", false)]
    #[case("*\n!README.md", "src/main.c", true)]
    #[case("*.md\n!README*.md\nREADME-secret.md", "README-secret.md", true)]
    #[case("*.md\nREADME-secret.md\n!README*.md", "README-secret.md", false)]
    #[case("vendor\n!vendor/keep", "vendor/keep/a", false)]
    #[case("vendor\n!vendor/keep", "vendor/drop/a", true)]
    #[case("a/../b", "b/c", true)]
    #[case("/", "anything", false)]
    fn the_last_line_that_speaks_of_a_path_decides(
        #[case] text: &str,
        #[case] path: &str,
        #[case] covered: bool,
    ) {
        assert_eq!(Ignored::read(text).unwrap().covers(path), covered);
    }

    #[test]
    fn a_line_that_is_no_pattern_is_named() {
        let message = Ignored::read("fine\n[a-").unwrap_err();
        assert!(message.starts_with(".dockerignore line 2: "), "{message}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_any_path_judged(text in "[a-c*?!/.\\[\\]{}#\n\\\\ -]{0,60}", path in "[a-c/.]{1,20}") {
            if let Ok(ignored) = Ignored::read(&text) {
                let _ = ignored.covers(&path);
            }
        }

        #[test]
        fn what_is_below_a_covered_directory_is_covered(name in "[a-c]{1,3}", below in "[a-c]{1,3}(/[a-c]{1,3}){0,3}") {
            let ignored = Ignored::read(&name).unwrap();
            let path = format!("{name}/{below}");
            prop_assert!(ignored.covers(&path));
        }
    }
}
