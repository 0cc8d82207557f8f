//! Patterns on syntax trees, and searching code for them.
//!
//! Another program does it, `proctor-code-search`, which this crate builds and carries: grammars are large, and the code was written by agents. It is
//! started for each search and can do nothing but answer.

use std::{
    io,
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use proctor_code_search::wire::{Answer, HEAD, Head, Question, frame, receive, send};
use proctor_core::causes::with_causes;
use proctor_embedded::run::{Executable, inflated};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

pub use proctor_code_search::wire::BadPattern;

/// The search as `build.rs` made it, compressed.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/proctor-code-search"));
const NAME: &str = "proctor-code-search";

/// How long looking at a pattern may take: it is a line or two of code.
const TIME_FOR_A_PATTERN: Duration = Duration::from_secs(5);

/// A pattern that code may match, in one language or in any.
#[derive(Clone, Debug)]
pub struct CodePattern {
    text: String,
    language: Option<String>,
}

/// Where code matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The line, from 1.
    pub line: usize,
    /// The first line of the code that matched.
    pub text: String,
}

impl CodePattern {
    /// A pattern in `language`, or in whatever language a file is written in.
    ///
    /// Definitions escape patterns for a shell's double quotes (`\$$\$$`), because that is where they used to be put; such
    /// escapes are undone, and patterns without them mean what they say.
    ///
    /// Whether the language can read the pattern is asked of the search, which takes some milliseconds.
    pub fn read(pattern: &str, language: Option<&str>) -> Result<Self, BadPattern> {
        let pattern = Self {
            text: unescaped(pattern),
            language: language.map(str::to_owned),
        };
        if let Some(language) = language {
            waiting(|| pattern.check(language))?;
        }
        Ok(pattern)
    }

    fn check(&self, language: &str) -> Result<(), BadPattern> {
        let mut search = match start(TIME_FOR_A_PATTERN).and_then(|mut command| command.spawn()) {
            Ok(search) => search,
            Err(error) => {
                // A failing platform is no fault of the pattern's; the search will say what there is to say.
                let error = with_causes(&error);
                tracing::error!(%error, "a pattern could not be checked");
                return Ok(());
            }
        };
        let answer = ask_once(&mut search, &self.opening());
        // It may have ended by itself.
        let _ = search.kill();
        let _ = search.wait();
        match answer {
            Ok(Answer::Refused(bad)) => Err(bad),
            Ok(_) => Ok(()),
            Err(_) => Err(BadPattern::Unreadable {
                language: language.to_owned(),
                why: "that takes too much time or memory".to_owned(),
            }),
        }
    }

    fn opening(&self) -> Question {
        Question::Open {
            pattern: self.text.clone(),
            language: self.language.clone(),
        }
    }
}

fn ask_once(search: &mut Child, question: &Question) -> io::Result<Answer> {
    let (Some(mut input), Some(mut output)) = (search.stdin.take(), search.stdout.take()) else {
        return Err(io::Error::other("a search without pipes"));
    };
    send(&mut input, question, &[])?;
    receive(&mut output).map(|(answer, _)| answer)
}

/// Why there is no answer of a search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The program cannot be run here.
    #[error("the program that searches code cannot be started")]
    NotStarted(#[source] io::Error),
    /// The pattern cannot be searched for.
    #[error(transparent)]
    BadPattern(#[from] BadPattern),
    /// It ended instead of answering: what it was asked takes too much time or memory.
    #[error("the search ended without an answer: it took too much time or memory")]
    Ended(#[source] io::Error),
}

/// A search for one pattern under way. It is ended with this value.
#[derive(Debug)]
pub struct CodeSearch {
    process: tokio::process::Child,
    input: tokio::process::ChildStdin,
    output: tokio::process::ChildStdout,
}

impl CodeSearch {
    /// Starts a search for `pattern` that may take so much processor time.
    pub async fn start(pattern: &CodePattern, limit: Duration) -> Result<Self, SearchError> {
        // The first time, it is unpacked.
        let command = tokio::task::spawn_blocking(move || start(limit)).await;
        let command = command.map_err(io::Error::other).flatten();
        let started = command.and_then(|command| {
            let mut process = tokio::process::Command::from(command)
                .kill_on_drop(true)
                .spawn()?;
            let pipes = process.stdin.take().zip(process.stdout.take());
            let (input, output) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
            Ok(Self {
                process,
                input,
                output,
            })
        });
        let mut search = started.map_err(SearchError::NotStarted)?;
        match search.ask(&pattern.opening(), &[]).await? {
            (Answer::Refused(bad), _) => Err(bad.into()),
            _ => Ok(search),
        }
    }

    /// The places of those files that can match, by their names. One that was `named` by itself is searched as what the pattern says, whatever it is
    /// called.
    pub async fn select(
        &mut self,
        paths: &[&str],
        by_itself: bool,
    ) -> Result<Vec<usize>, SearchError> {
        let question = Question::Select { by_itself };
        match self.ask(&question, paths.join("\0").as_bytes()).await? {
            (Answer::Selected(places), _) => Ok(places),
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// The first match in a file.
    pub async fn first_match(
        &mut self,
        path: &str,
        by_itself: bool,
        content: &[u8],
    ) -> Result<Option<Match>, SearchError> {
        let path = path.to_owned();
        let question = Question::Search { path, by_itself };
        match self.ask(&question, content).await? {
            (Answer::NoMatch, _) => Ok(None),
            (Answer::Match { line }, text) => Ok(Some(Match {
                line,
                text: String::from_utf8_lossy(&text).into_owned(),
            })),
            (other, _) => Err(unexpected(&other)),
        }
    }

    async fn ask(
        &mut self,
        question: &Question,
        bytes: &[u8],
    ) -> Result<(Answer, Vec<u8>), SearchError> {
        let answer = self.asked(question, bytes).await;
        if answer.is_err() {
            // Whatever became of it, nothing more is to be had.
            let _ = self.process.kill().await;
        }
        answer.map_err(SearchError::Ended)
    }

    async fn asked(&mut self, question: &Question, bytes: &[u8]) -> io::Result<(Answer, Vec<u8>)> {
        self.input.write_all(&frame(question, bytes)?).await?;
        let mut head = [0; HEAD];
        self.output.read_exact(&mut head).await?;
        let head = Head::parse(head)?;
        let mut rest = vec![0; head.rest()];
        self.output.read_exact(&mut rest).await?;
        head.message(rest)
    }
}

fn unexpected(answer: &Answer) -> SearchError {
    SearchError::Ended(io::Error::other(format!("it answered {answer:?}")))
}

/// What starts a search with so much processor time.
fn start(limit: Duration) -> io::Result<Command> {
    let mut command = program()?.command();
    command
        .arg((limit.as_secs() + 1).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    Ok(command)
}

/// The program, unpacked when it is first needed: most servers never do.
fn program() -> io::Result<&'static Executable> {
    static UNPACKED: OnceLock<Executable> = OnceLock::new();
    if let Some(program) = UNPACKED.get() {
        return Ok(program);
    }
    let program = inflated(PROGRAM)?;
    let unpacked = Executable::in_memory(NAME, &program)
        .and_then(runs)
        .or_else(|_| Executable::on_disk(NAME, &program, &std::env::temp_dir()).and_then(runs))?;
    Ok(UNPACKED.get_or_init(|| unpacked))
}

/// Some hosts forbid programs in memory, or on the disk for temporary files; they say so when one is started.
fn runs(program: Executable) -> io::Result<Executable> {
    let mut command = program.command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).arg("1");
    let ended = proctor_embedded::run::spawn(&mut command)?.wait()?;
    if !ended.success() {
        return Err(io::Error::other(format!("{NAME}: {ended}")));
    }
    Ok(program)
}

/// Does what takes milliseconds without holding up the other tasks of this thread.
fn waiting<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Undoes what must be escaped between a shell's double quotes.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('$' | '`' | '"' | '\\')) => plain.extend(letters.next()),
            ('\\', Some('\n')) => {
                letters.next();
            }
            _ => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// The first match in a file that is searched as `language`.
    async fn first(language: &str, pattern: &str, source: &[u8]) -> Option<Match> {
        let pattern = CodePattern::read(pattern, Some(language)).unwrap();
        let mut search = CodeSearch::start(&pattern, LIMIT).await.unwrap();
        search.first_match("file", true, source).await.unwrap()
    }

    async fn finds(language: &str, pattern: &str, source: &str) -> bool {
        first(language, pattern, source.as_bytes()).await.is_some()
    }

    #[tokio::test]
    async fn every_language_finds_a_piece_of_itself() {
        let samples = [
            ("bash", "echo $A", "echo hello"),
            ("c", "return $A;", "int f() { return 1; }"),
            ("cpp", "return $A;", "int f() { return 1; }"),
            ("csharp", "return $A;", "class A { int F() { return 1; } }"),
            ("css", "a { color: red; }", "a { color: red; }"),
            ("dart", "return 1;", "int f() { return 1; }"),
            ("elixir", "IO.puts($A)", "IO.puts(1)"),
            ("go", "return $A", "package a\nfunc f() int { return 1 }"),
            ("haskell", "f x = x", "f x = x"),
            ("hcl", "a = 1", "a = 1"),
            ("html", "<p>hello</p>", "<div><p>hello</p></div>"),
            ("java", "return $A;", "class A { int f() { return 1; } }"),
            ("javascript", "console.log($A)", "console.log(1)"),
            ("json", "{\"a\": $A}", "{\"a\": 1}"),
            ("kotlin", "println($A)", "fun main() { println(1) }"),
            ("lua", "print($A)", "print(1)"),
            ("markdown", "# Title", "# Title\n"),
            ("nix", "{ a = 1; }", "{ a = 1; }"),
            ("php", "echo $A;", "<?php echo 1;"),
            ("python", "print($A)", "print(1)"),
            ("ruby", "puts $A", "puts 1"),
            ("rust", "$A.unwrap()", "fn f() { x.unwrap(); }"),
            ("scala", "println($A)", "object A { println(1) }"),
            ("solidity", "uint a;", "contract A { uint a; }"),
            ("swift", "print($A)", "print(1)"),
            ("tsx", "console.log($A)", "console.log(1)"),
            ("typescript", "console.log($A)", "console.log(1)"),
            ("yaml", "a: $A", "a: 1"),
            ("zig", "return $A;", "fn f() u8 { return 1; }"),
        ];
        let mut missing = Vec::new();
        for (language, pattern, source) in samples {
            if !finds(language, pattern, source).await {
                missing.push(language);
            }
        }
        assert_eq!(missing, Vec::<&str>::new());
        assert_eq!(samples.map(|(language, ..)| language).to_vec(), known());
    }

    /// The languages that there are, as authors are told them.
    fn known() -> Vec<String> {
        let refused = CodePattern::read("a", Some("klingon")).unwrap_err();
        match refused {
            BadPattern::UnknownLanguage { known, .. } => known,
            BadPattern::Unreadable { .. } => panic!("{refused}"),
        }
    }

    #[tokio::test]
    async fn code_matches_by_structure_not_by_text() {
        assert!(finds("python", "eval($$$)", "x = [eval( 'a', {} )]").await);
        assert!(!finds("python", "eval($$$)", "# eval(1)\nx = 'eval(1)'").await);
        assert!(!finds("rust", "$A.unwrap()", "fn unwrap() {}").await);
    }

    #[tokio::test]
    async fn patterns_that_were_escaped_for_a_shell_mean_the_same() {
        assert_eq!(unescaped(r"print(\$A)"), "print($A)");
        assert_eq!(unescaped(r#"print(\"a\", \$\$\$)"#), r#"print("a", $$$)"#);
        assert_eq!(unescaped(r"a\nb"), r"a\nb");
        assert!(finds("python", r"eval(\$\$\$)", "eval(1, 2)").await);
    }

    #[test]
    fn an_unknown_language_is_named_with_those_that_are_known() {
        let said = CodePattern::read("a", Some("klingon"))
            .unwrap_err()
            .to_string();
        assert!(said.starts_with("'klingon' is no language"), "{said}");
        assert!(said.contains("python") && said.contains("zig"), "{said}");
    }

    #[tokio::test]
    async fn a_file_is_searched_as_what_its_name_says() {
        for (language, by_itself, expected) in [
            (None, false, vec![0, 1]),
            (Some("py"), false, vec![0]),
            (Some("py"), true, vec![0, 1, 2]),
        ] {
            let pattern = CodePattern::read("print($A)", language).unwrap();
            let mut search = CodeSearch::start(&pattern, LIMIT).await.unwrap();
            let files = ["a/b.py", "a/b.js", "a/b.txt"];
            let selected = search.select(&files, by_itself).await.unwrap();
            assert_eq!(selected, expected, "{language:?}");
        }
    }

    #[tokio::test]
    async fn a_match_has_its_line_and_whatever_is_not_text_does_not_matter() {
        let found = first("python", "print($A)", b"x = '\xff'\nprint(1)\n").await;
        let (line, text) = (2, "print(1)".to_owned());
        assert_eq!(found, Some(Match { line, text }));
    }

    #[tokio::test]
    async fn code_that_is_nested_without_end_is_searched() {
        let deep = format!("x = {}{}", "(".repeat(50_000), ")".repeat(50_000));
        assert!(!finds("python", "print($A)", &deep).await);
    }

    /// A search takes the processor until its time is over; the kernel ends it, and whoever asks hears of it.
    #[tokio::test]
    async fn a_search_that_ends_early_is_told_from_one_that_finds_nothing() {
        let pattern = CodePattern::read("print($A)", Some("python")).unwrap();
        let mut search = CodeSearch::start(&pattern, LIMIT).await.unwrap();
        search.process.start_kill().unwrap();
        search.process.wait().await.unwrap();
        let ended = search.first_match("a.py", false, b"print(1)").await;
        assert!(matches!(ended, Err(SearchError::Ended(_))), "{ended:?}");
    }

    #[tokio::test]
    async fn a_search_has_its_two_pipes_and_nothing_else() {
        let pattern = CodePattern::read("print($A)", Some("python")).unwrap();
        let search = CodeSearch::start(&pattern, LIMIT).await.unwrap();
        let of = |name: &str| {
            let path = format!("/proc/{}/{name}", search.process.id().unwrap());
            fs_err::read_to_string(path).unwrap()
        };
        let status = of("status");
        for line in ["Seccomp:\t2", "NoNewPrivs:\t1", "Threads:\t1"] {
            assert!(status.contains(line), "{line}: {status}");
        }
        let limits = of("limits");
        for (name, most) in [
            ("Max address space", "2147483648"),
            ("Max cpu time", "61"),
            ("Max file size", "0"),
        ] {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            assert!(line.split_whitespace().any(|word| word == most), "{line}");
        }
        assert_eq!(of("environ"), "");
    }

    #[test]
    fn no_pattern_and_no_source_makes_searching_fail() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(32));
        let cases = ("\\PC{0,20}", "\\PC{0,60}");
        let ran = runner.run(&cases, |(pattern, source)| {
            for language in ["python", "rust", "yaml", "html"] {
                if let Ok(pattern) = CodePattern::read(&pattern, Some(language)) {
                    let searched = runtime.block_on(async {
                        let mut search = CodeSearch::start(&pattern, LIMIT).await?;
                        search.first_match("file", true, source.as_bytes()).await
                    });
                    prop_assert!(searched.is_ok(), "{:?}", searched);
                }
            }
            Ok(())
        });
        ran.unwrap();
    }
}
