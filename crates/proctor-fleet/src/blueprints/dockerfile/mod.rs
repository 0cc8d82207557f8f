//! Dockerfiles: the part of the language that a box can be built with.
//!
//! `FROM RUN COPY ADD ENV WORKDIR USER ARG`, comments, continued lines, shell and exec form. Everything else is refused
//! with the number of its line. Variables are not expanded here: what they are depends on what came before.

mod expansion;
mod lines;
mod words;

pub(crate) use expansion::expand;

use lines::LogicalLine;
use proctor_core::profile::is_variable;

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
    /// Arguments before `FROM`, with the lines they are on.
    pub(crate) before: Vec<(usize, Argument)>,
    /// What is built on, as it was written, and its line.
    pub(crate) from: (usize, String),
    /// Everything after `FROM`.
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
    /// Copy from the build context.
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
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CommandForm {
    /// A line for a shell.
    Shell(String),
    /// A program and its arguments.
    Exec(Vec<String>),
}

/// What is copied where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Words.
    pub(crate) sources: Vec<String>,
    /// A word.
    pub(crate) target: String,
    /// A word.
    pub(crate) chown: Option<String>,
    /// Permission bits.
    pub(crate) chmod: Option<u32>,
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
        let mut from = None;
        let mut instructions = Vec::new();
        let lines = lines::logical_lines(text)?;
        if let Some(line) = lines.get(MOST_INSTRUCTIONS) {
            let message = format!("more than {MOST_INSTRUCTIONS} instructions");
            return Err(DockerfileError::at(line.number, message));
        }
        let last = lines.last().map_or(1, |line| line.number);
        for line in lines {
            let (keyword, rest) = keyword(&line.text);
            match (keyword.to_ascii_uppercase().as_str(), &from) {
                ("FROM", None) => from = Some((line.number, image(&line, rest)?)),
                ("FROM", Some(_)) => {
                    let message = "a second FROM: builds in several stages are not supported";
                    return Err(DockerfileError::at(line.number, message));
                }
                ("ARG", None) => {
                    let arguments = arguments(&line, rest)?;
                    before.extend(arguments.into_iter().map(|one| (line.number, one)));
                }
                (known, None) if KNOWN.contains(&known) => {
                    let message = format!("{known} before FROM");
                    return Err(DockerfileError::at(line.number, message));
                }
                (keyword, _) => {
                    let instruction = instruction(&line, keyword, rest)?;
                    instructions.push(Located {
                        line: line.number,
                        text: line.text.clone(),
                        instruction,
                    });
                }
            }
        }
        let from = from.ok_or_else(|| DockerfileError::at(last, "there is no FROM"))?;
        Ok(Self {
            before,
            from,
            instructions,
        })
    }
}

const KNOWN: [&str; 7] = ["RUN", "COPY", "ADD", "ENV", "WORKDIR", "USER", "ARG"];

fn keyword(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((keyword, rest)) => (keyword, rest.trim()),
        None => (text, ""),
    }
}

fn instruction(
    line: &LogicalLine,
    keyword: &str,
    rest: &str,
) -> Result<Instruction, DockerfileError> {
    let refuse = |message: String| DockerfileError::at(line.number, message);
    if rest.is_empty() && KNOWN.contains(&keyword) {
        return Err(refuse(format!("{keyword} without anything")));
    }
    Ok(match keyword {
        "RUN" => Instruction::Run(command(line, rest)?),
        "COPY" => Instruction::Copy(transfer(line, keyword, rest)?),
        "ADD" => Instruction::Add(transfer(line, keyword, rest)?),
        "ENV" => Instruction::Env(variables(line, rest)?),
        "WORKDIR" => Instruction::Workdir(rest.to_owned()),
        "USER" => Instruction::User(rest.to_owned()),
        "ARG" => Instruction::Arg(arguments(line, rest)?),
        other => {
            let shown: String = other.chars().take(40).collect();
            return Err(refuse(format!(
                "{shown} is not supported; what is: FROM, {}",
                KNOWN.join(", ")
            )));
        }
    })
}

fn image(line: &LogicalLine, rest: &str) -> Result<String, DockerfileError> {
    let refuse = |message: &str| DockerfileError::at(line.number, message);
    let parts: Vec<&str> = rest.split_whitespace().collect();
    match parts[..] {
        [flag, ..] if flag.starts_with("--") => Err(refuse(
            "FROM has no flags here: the platform is the server's",
        )),
        [image] => Ok(image.to_owned()),
        [image, word, _] if word.eq_ignore_ascii_case("as") => Ok(image.to_owned()),
        [] => Err(refuse("FROM without an image")),
        _ => Err(refuse("FROM takes an image, and a name after AS")),
    }
}

fn command(line: &LogicalLine, rest: &str) -> Result<CommandForm, DockerfileError> {
    let refuse = |message: &str| DockerfileError::at(line.number, message);
    if rest.starts_with("--") {
        return Err(refuse("RUN has no flags here"));
    }
    if rest.split_whitespace().any(words::begins_here_document) {
        return Err(refuse("here-documents are not supported"));
    }
    match words::json_array(rest) {
        Some(argv) if argv.is_empty() => Err(refuse("RUN without anything")),
        Some(argv) => Ok(CommandForm::Exec(argv)),
        None => Ok(CommandForm::Shell(rest.to_owned())),
    }
}

fn transfer(line: &LogicalLine, verb: &str, rest: &str) -> Result<Transfer, DockerfileError> {
    let refuse = |message: String| DockerfileError::at(line.number, message);
    let (mut chown, mut chmod, mut rest) = (None, None, rest);
    while let Some(flagged) = rest.strip_prefix("--") {
        let (flag, after) = keyword(flagged);
        rest = after;
        match flag.split_once('=') {
            Some(("chown", owner)) if !owner.is_empty() => chown = Some(owner.to_owned()),
            Some(("chmod", bits)) => {
                let bits = u32::from_str_radix(bits, 8)
                    .ok()
                    .filter(|bits| *bits <= 0o777);
                chmod = Some(bits.ok_or_else(|| {
                    refuse("--chmod takes permission bits such as 755".to_owned())
                })?);
            }
            _ => {
                return Err(refuse(format!(
                    "{verb} has no flag --{flag} here, only --chown=… and --chmod=…"
                )));
            }
        }
    }
    let mut sources = match words::json_array(rest) {
        Some(listed) => listed,
        None => words::split(rest).map_err(refuse)?,
    };
    if sources.iter().any(|word| words::begins_here_document(word)) {
        return Err(refuse("here-documents are not supported".to_owned()));
    }
    if sources.len() < 2 {
        return Err(refuse(format!(
            "{verb} takes at least one source and a target"
        )));
    }
    let is_remote = |source: &String| {
        ["http://", "https://", "git@", "ssh://"]
            .iter()
            .any(|scheme| source.starts_with(scheme))
    };
    if let Some(remote) = sources.iter().find(|source| is_remote(source)) {
        return Err(refuse(format!(
            "'{remote}' is not in the build context; only files of the context can be copied"
        )));
    }
    let target = sources.pop().unwrap_or_default();
    Ok(Transfer {
        sources,
        target,
        chown,
        chmod,
    })
}

fn variables(line: &LogicalLine, rest: &str) -> Result<Vec<(String, String)>, DockerfileError> {
    let refuse = |message: String| DockerfileError::at(line.number, message);
    let (first, value) = keyword(rest);
    let pairs: Vec<(String, String)> = if first.contains('=') {
        words::split(rest)
            .map_err(refuse)?
            .iter()
            .map(|word| match word.split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
                None => Err(refuse(format!("ENV: '{word}' has no '='"))),
            })
            .collect::<Result<_, _>>()?
    } else if value.is_empty() {
        return Err(refuse(format!("ENV: '{first}' has no value")));
    } else {
        vec![(first.to_owned(), value.to_owned())]
    };
    match pairs.iter().find(|(name, _)| !is_variable(name)) {
        Some((name, _)) => Err(refuse(format!("'{name}' is no name of a variable"))),
        None => Ok(pairs),
    }
}

fn arguments(line: &LogicalLine, rest: &str) -> Result<Vec<Argument>, DockerfileError> {
    let refuse = |message: String| DockerfileError::at(line.number, message);
    if rest.is_empty() {
        return Err(refuse("ARG without a name".to_owned()));
    }
    words::split(rest)
        .map_err(refuse)?
        .into_iter()
        .map(|word| {
            let (name, default) = match word.split_once('=') {
                Some((name, default)) => (name.to_owned(), Some(default.to_owned())),
                None => (word, None),
            };
            if is_variable(&name) {
                Ok(Argument { name, default })
            } else {
                Err(refuse(format!("'{name}' is no name of an argument")))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
