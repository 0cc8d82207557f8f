//! Patterns on syntax trees: the one place that knows ast-grep.

use std::{collections::HashMap, path::Path};

use ast_grep_core::{Language as _, Pattern, tree_sitter::StrDoc};
use ast_grep_language::SupportLang;

/// A programming language that patterns can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeLanguage(SupportLang);

impl CodeLanguage {
    /// The language that is called `name`: `python`, `py`, `rust`, ….
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    /// The language that files with such a name are written in.
    pub fn of_path(path: &str) -> Option<Self> {
        SupportLang::from_path(Path::new(path)).map(Self)
    }

    /// Every language.
    pub fn all() -> impl Iterator<Item = Self> {
        SupportLang::all_langs().iter().copied().map(Self)
    }

    /// Its name in lower case.
    pub fn name(self) -> String {
        self.0.to_string().to_lowercase()
    }
}

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// No language has that name.
    #[error("'{0}' is no language that patterns can be about; {known} are", known = languages())]
    UnknownLanguage(String),
    /// The language cannot read the pattern.
    #[error("the pattern cannot be read as {language}: {why}")]
    Unreadable {
        /// The language.
        language: String,
        /// What it said.
        why: String,
    },
}

fn languages() -> String {
    let names: Vec<String> = CodeLanguage::all().map(CodeLanguage::name).collect();
    names.join(", ")
}

/// A pattern that code may match, in one language or in any.
#[derive(Clone)]
pub struct CodePattern {
    text: String,
    language: Option<CodeLanguage>,
}

impl std::fmt::Debug for CodePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodePattern")
            .field("text", &self.text)
            .field("language", &self.language)
            .finish()
    }
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
    pub fn read(pattern: &str, language: Option<&str>) -> Result<Self, BadPattern> {
        let language = match language {
            None => None,
            Some(name) => Some(
                CodeLanguage::named(name)
                    .ok_or_else(|| BadPattern::UnknownLanguage(name.to_owned()))?,
            ),
        };
        let pattern = Self {
            text: unescaped(pattern),
            language,
        };
        if let Some(language) = language {
            pattern.compiled(language)?;
        }
        Ok(pattern)
    }

    fn compiled(&self, language: CodeLanguage) -> Result<Pattern, BadPattern> {
        Pattern::try_new(&self.text, language.0).map_err(|error| BadPattern::Unreadable {
            language: language.name(),
            why: error.to_string(),
        })
    }

    /// The language as which a file is searched, if it is searched at all.
    pub fn language_for(&self, path: &str) -> Option<CodeLanguage> {
        let written = CodeLanguage::of_path(path)?;
        match self.language {
            Some(wanted) if wanted != written => None,
            _ => Some(written),
        }
    }

    /// The language as which one file that is named by itself is searched: what the pattern says, whatever the file is called.
    pub fn language_for_file(&self, path: &str) -> Option<CodeLanguage> {
        self.language.or_else(|| CodeLanguage::of_path(path))
    }
}

/// Searches files for one pattern, which is read once for each language.
#[derive(Debug)]
pub struct CodeSearch {
    pattern: CodePattern,
    compiled: HashMap<CodeLanguage, Option<Compiled>>,
}

struct Compiled(Pattern);

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compiled")
    }
}

impl CodeSearch {
    /// A search for `pattern`.
    pub fn new(pattern: CodePattern) -> Self {
        Self {
            pattern,
            compiled: HashMap::new(),
        }
    }

    /// The first match in `source`. A pattern that the language cannot read matches nothing in it.
    pub fn first_match(&mut self, language: CodeLanguage, source: &str) -> Option<Match> {
        let pattern = &self.pattern;
        let Compiled(compiled) = self
            .compiled
            .entry(language)
            .or_insert_with(|| pattern.compiled(language).ok().map(Compiled))
            .as_ref()?;
        let document = StrDoc::try_new(source, language.0).ok()?;
        let root = ast_grep_core::AstGrep::doc(document);
        let found = root.root().find(compiled)?;
        Some(Match {
            line: found.start_pos().line() + 1,
            text: found.text().lines().next().unwrap_or_default().to_owned(),
        })
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

    fn finds(language: &str, pattern: &str, source: &str) -> bool {
        let pattern = CodePattern::read(pattern, Some(language)).unwrap();
        let language = CodeLanguage::named(language).unwrap();
        CodeSearch::new(pattern)
            .first_match(language, source)
            .is_some()
    }

    #[test]
    fn every_language_finds_a_piece_of_itself() {
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
        let missing: Vec<&str> = samples
            .iter()
            .filter(|(language, pattern, source)| !finds(language, pattern, source))
            .map(|(language, ..)| *language)
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
        assert_eq!(samples.len(), CodeLanguage::all().count());
    }

    #[test]
    fn code_matches_by_structure_not_by_text() {
        assert!(finds("python", "eval($$$)", "x = [eval( 'a', {} )]"));
        assert!(!finds("python", "eval($$$)", "# eval(1)\nx = 'eval(1)'"));
        assert!(!finds("rust", "$A.unwrap()", "fn unwrap() {}"));
    }

    #[test]
    fn patterns_that_were_escaped_for_a_shell_mean_the_same() {
        assert_eq!(unescaped(r"print(\$A)"), "print($A)");
        assert_eq!(unescaped(r#"print(\"a\", \$\$\$)"#), r#"print("a", $$$)"#);
        assert_eq!(unescaped(r"a\nb"), r"a\nb");
        assert!(finds("python", r"eval(\$\$\$)", "eval(1, 2)"));
    }

    #[test]
    fn an_unknown_language_is_named_with_those_that_are_known() {
        let said = CodePattern::read("a", Some("klingon"))
            .unwrap_err()
            .to_string();
        assert!(said.starts_with("'klingon' is no language"), "{said}");
        assert!(said.contains("python") && said.contains("zig"), "{said}");
    }

    #[test]
    fn a_file_is_searched_as_what_its_name_says() {
        let any = CodePattern::read("print($A)", None).unwrap();
        assert_eq!(any.language_for("a/b.py"), CodeLanguage::named("python"));
        assert_eq!(any.language_for("a/b.txt"), None);
        let python = CodePattern::read("print($A)", Some("py")).unwrap();
        assert_eq!(python.language_for("a/b.js"), None);
        assert_eq!(
            python.language_for_file("tool"),
            CodeLanguage::named("python")
        );
    }

    #[test]
    fn code_that_is_nested_without_end_is_searched_in_a_small_stack() {
        let deep = format!("x = {}{}", "(".repeat(50_000), ")".repeat(50_000));
        let worker = std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn(move || finds("python", "print($A)", &deep));
        assert!(!worker.unwrap().join().unwrap());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_pattern_and_no_source_makes_searching_fail(pattern in "\\PC{0,20}", source in "\\PC{0,60}") {
            for language in ["python", "rust", "yaml", "html"] {
                if let Ok(pattern) = CodePattern::read(&pattern, Some(language)) {
                    let language = CodeLanguage::named(language).unwrap();
                    let _ = CodeSearch::new(pattern).first_match(language, &source);
                }
            }
        }
    }
}
