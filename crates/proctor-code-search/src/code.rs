//! Patterns on syntax trees, by ast-grep.

use std::{collections::HashMap, path::Path};

use ast_grep_core::{Language as _, Pattern, tree_sitter::StrDoc};
use ast_grep_language::SupportLang;

use crate::wire::BadPattern;

/// A programming language that patterns can be about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CodeLanguage(SupportLang);

impl CodeLanguage {
    /// The language that is called `name`: `python`, `py`, `rust`, ….
    pub(crate) fn named(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    /// The language that files with such a name are written in.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        SupportLang::from_path(Path::new(path)).map(Self)
    }

    /// Every language.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        SupportLang::all_langs().iter().copied().map(Self)
    }

    /// Its name in lower case.
    pub(crate) fn name(self) -> String {
        self.0.to_string().to_lowercase()
    }
}

/// A pattern that code may match, in one language or in any.
pub(crate) struct CodePattern {
    text: String,
    language: Option<CodeLanguage>,
}

/// Where code matched.
pub(crate) struct Match {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The first line of the code that matched.
    pub(crate) text: String,
}

impl CodePattern {
    /// A pattern in `language`, or in whatever language a file is written in.
    pub(crate) fn read(text: String, language: Option<&str>) -> Result<Self, BadPattern> {
        let language = match language {
            None => None,
            Some(name) => {
                Some(
                    CodeLanguage::named(name).ok_or_else(|| BadPattern::UnknownLanguage {
                        name: name.to_owned(),
                        known: CodeLanguage::all().map(CodeLanguage::name).collect(),
                    })?,
                )
            }
        };
        let pattern = Self { text, language };
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
}

/// Searches files for one pattern, which is read once for each language.
pub(crate) struct CodeSearch {
    pattern: CodePattern,
    compiled: HashMap<CodeLanguage, Option<Pattern>>,
}

impl CodeSearch {
    /// A search for `pattern`.
    pub(crate) fn new(pattern: CodePattern) -> Self {
        Self {
            pattern,
            compiled: HashMap::new(),
        }
    }

    /// The language as which a file is searched, if it is searched at all: what its name says, unless the pattern is about another. One that was
    /// named by itself is searched as what the pattern says, whatever the file is called.
    pub(crate) fn language_of(&self, path: &str, by_itself: bool) -> Option<CodeLanguage> {
        let wanted = self.pattern.language;
        if by_itself && wanted.is_some() {
            return wanted;
        }
        let written = CodeLanguage::of_path(path)?;
        wanted
            .is_none_or(|wanted| wanted == written)
            .then_some(written)
    }

    /// The first match in `source`. A pattern that the language cannot read matches nothing in it.
    pub(crate) fn first_match(&mut self, language: CodeLanguage, source: &str) -> Option<Match> {
        let pattern = &self.pattern;
        let compiled = self
            .compiled
            .entry(language)
            .or_insert_with(|| pattern.compiled(language).ok())
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
