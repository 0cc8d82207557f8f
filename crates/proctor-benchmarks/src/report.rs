//! A report of what is wrong with a file: for people, with the part of the text that each problem is about.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, NamedSource, Severity as Level, SourceSpan};
use proctor_core::problem::{Problem, Severity, Span};

/// A text and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name that people know it by.
    pub name: String,
    /// All of it.
    pub text: String,
}

impl Source {
    /// The line and column of a place, both from 1, columns in characters.
    pub fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |place| place + 1);
        (line, before[start..].chars().count() + 1)
    }
}

/// Everything there is to tell about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The file.
    pub source: Source,
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

impl Report {
    pub(crate) fn new(source: Source, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.span.map(|span| span.offset));
        Self { source, problems }
    }

    /// Whether something must be put right.
    pub fn has_errors(&self) -> bool {
        let mut problems = self.problems.iter();
        problems.any(|problem| problem.severity == Severity::Error)
    }

    /// Makes every warning an error.
    pub fn make_strict(&mut self) {
        for problem in &mut self.problems {
            problem.severity = Severity::Error;
        }
    }

    /// The problems one by one, each with the part of the text that it is about.
    pub fn diagnostics(&self) -> impl Iterator<Item = impl Diagnostic + use<>> {
        self.problems.iter().map(|problem| OneProblem {
            source: NamedSource::new(&self.source.name, self.source.text.clone()),
            problem: problem.clone(),
        })
    }
}

/// One line for each problem, as compilers write them.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            f.write_str(&self.source.name)?;
            if let Some(span) = problem.span {
                let (line, column) = self.source.line_and_column(span.offset);
                write!(f, ":{line}:{column}")?;
            }
            writeln!(f, ": {}: {problem}", problem.severity.as_str())?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// A problem with its text, as miette draws it.
#[derive(Debug)]
struct OneProblem {
    source: NamedSource<String>,
    problem: Problem,
}

impl fmt::Display for OneProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for OneProblem {}

impl Diagnostic for OneProblem {
    fn severity(&self) -> Option<Level> {
        Some(match self.problem.severity {
            Severity::Warning => Level::Warning,
            Severity::Error => Level::Error,
        })
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.problem
            .span
            .map(|_| &self.source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let Span { offset, length } = self.problem.span?;
        let span = SourceSpan::new(offset.into(), length);
        Some(Box::new(std::iter::once(LabeledSpan::at(span, "here"))))
    }
}
