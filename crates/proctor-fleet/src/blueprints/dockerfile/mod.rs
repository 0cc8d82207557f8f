//! Dockerfiles, as far as a box can be built with them.
//!
//! Stages, `RUN COPY ADD ENV WORKDIR USER ARG SHELL`, instructions that only say something of the image, comments, continued lines, here-documents, shell and
//! exec form. Everything else is refused with the number of its line. Variables are not expanded here: what they are depends on what came before.

mod expansion;
mod here_documents;
mod instructions;
mod lines;
mod words;

pub(crate) use expansion::{expand, expand_text};
pub(crate) use here_documents::HereDocument;

use instructions::{KNOWN, arguments, instruction, keyword};
use lines::LogicalLine;

/// What is wrong with a Dockerfile, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Dockerfile line {line}: {message}")]
pub struct DockerfileError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl DockerfileError {
    pub(crate) fn at(line: usize, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }
}

/// A Dockerfile that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dockerfile {
    /// Arguments before the first `FROM`, with the lines they are on.
    pub(crate) before: Vec<(usize, Argument)>,
    /// At least one.
    pub(crate) stages: Vec<Stage>,
}

/// What stands between one `FROM` and the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    /// The line of its `FROM`.
    pub(crate) line: usize,
    /// What is built on: a word.
    pub(crate) from: String,
    /// The machines it is for: a word.
    pub(crate) platform: Option<String>,
    /// What later stages call it, in small letters.
    pub(crate) name: Option<String>,
    pub(crate) instructions: Vec<Located>,
}

/// An instruction with its place and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) line: usize,
    /// As it was written, on one line.
    pub(crate) text: String,
    pub(crate) instruction: Instruction,
}

/// One instruction. Texts marked as words may have quotes and variables in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    /// Run a command.
    Run(CommandForm),
    /// Copy from the build context, from a stage or from an image.
    Copy(Transfer),
    /// Copy, and unpack archives.
    Add(Transfer),
    /// Set variables: names and words.
    Env(Vec<(String, String)>),
    /// Change the directory: a word.
    Workdir(String),
    /// Change the user: a word.
    User(String),
    /// Declare arguments.
    Arg(Vec<Argument>),
    /// Change what runs commands in shell form.
    Shell(Vec<String>),
    /// What containers start with.
    Entrypoint(CommandForm),
    /// Labels: names and words.
    Label(Vec<(String, String)>),
    /// Says something of the image and does nothing: its name in small letters, and what it says.
    Note(&'static str, String),
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CommandForm {
    /// A line for a shell.
    Shell(String),
    /// A program and its arguments.
    Exec(Vec<String>),
    /// A script that says in its first line what runs it.
    Script(String),
}

/// What is copied where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Words.
    pub(crate) sources: Vec<String>,
    /// Files that stand in the Dockerfile itself.
    pub(crate) documents: Vec<HereDocument>,
    /// A word.
    pub(crate) target: String,
    /// A word.
    pub(crate) chown: Option<String>,
    /// Permission bits.
    pub(crate) chmod: Option<u32>,
    /// The stage or image that is copied from, instead of the build context.
    pub(crate) from: Option<String>,
}

/// An argument with its default, a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) default: Option<String>,
}

/// More than this is no recipe but a program.
const MOST_INSTRUCTIONS: usize = 500;

impl Dockerfile {
    /// Reads a Dockerfile.
    pub(crate) fn parse(text: &str) -> Result<Self, DockerfileError> {
        let mut before = Vec::new();
        let mut stages: Vec<Stage> = Vec::new();
        let lines = lines::logical_lines(text)?;
        if let Some(line) = lines.get(MOST_INSTRUCTIONS) {
            let message = format!("more than {MOST_INSTRUCTIONS} instructions");
            return Err(DockerfileError::at(line.number, message));
        }
        let last = lines.last().map_or(1, |line| line.number);
        for line in lines {
            let (keyword, rest) = keyword(&line.text);
            match (keyword.to_ascii_uppercase().as_str(), stages.last_mut()) {
                ("FROM", _) => {
                    let stage = stage(&line, rest)?;
                    let taken = stage.name.as_ref().filter(|name| {
                        let mut names = stages.iter().map(|stage| stage.name.as_ref());
                        names.any(|other| other == Some(name))
                    });
                    if let Some(name) = taken {
                        let message = format!("there is another stage '{name}'");
                        return Err(DockerfileError::at(line.number, message));
                    }
                    stages.push(stage);
                }
                ("ARG", None) => {
                    let arguments = arguments(&line, rest)?;
                    before.extend(arguments.into_iter().map(|one| (line.number, one)));
                }
                (known, None) if KNOWN.contains(&known) => {
                    let message = format!("{known} before FROM");
                    return Err(DockerfileError::at(line.number, message));
                }
                (keyword, stage) => {
                    let located = Located {
                        line: line.number,
                        text: line.text.clone(),
                        instruction: instruction(&line, keyword, rest)?,
                    };
                    if let Some(stage) = stage {
                        stage.instructions.push(located);
                    }
                }
            }
        }
        if stages.is_empty() {
            return Err(DockerfileError::at(last, "there is no FROM"));
        }
        Ok(Self { before, stages })
    }

    /// The stage that `name` means, by its name or its number, among those before `before`.
    pub(crate) fn stage_named(&self, name: &str, before: usize) -> Option<usize> {
        let name = name.to_ascii_lowercase();
        let stages = &self.stages[..before];
        let named = stages
            .iter()
            .position(|stage| stage.name.as_ref() == Some(&name));
        named.or_else(|| name.parse().ok().filter(|number| *number < before))
    }
}

fn stage(line: &LogicalLine, rest: &str) -> Result<Stage, DockerfileError> {
    let refuse = |message: &str| DockerfileError::at(line.number, message);
    let mut parts: Vec<&str> = rest.split_whitespace().collect();
    let mut platform = None;
    while let Some(flag) = parts.first().and_then(|first| first.strip_prefix("--")) {
        match flag.split_once('=') {
            Some(("platform", wanted)) if !wanted.is_empty() => platform = Some(wanted.to_owned()),
            _ => {
                return Err(refuse(&format!(
                    "FROM has no flag --{flag} here, only --platform=…"
                )));
            }
        }
        parts.remove(0);
    }
    let (from, name) = match parts[..] {
        [image] => (image, None),
        [image, word, name] if word.eq_ignore_ascii_case("as") => (image, Some(name)),
        [] => return Err(refuse("FROM without an image")),
        _ => return Err(refuse("FROM takes an image, and a name after AS")),
    };
    let name = match name {
        None => None,
        Some(name) if is_stage_name(name) => Some(name.to_ascii_lowercase()),
        Some(name) => {
            return Err(refuse(&format!(
                "'{name}' is not a name of a stage: a letter, then letters, digits, '-', '_' and '.'"
            )));
        }
    };
    Ok(Stage {
        line: line.number,
        from: from.to_owned(),
        platform,
        name,
        instructions: Vec::new(),
    })
}

fn is_stage_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests;
