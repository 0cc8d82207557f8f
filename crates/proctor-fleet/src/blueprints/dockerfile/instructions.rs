//! One instruction, from its line to what it means.

use proctor_core::profile::is_variable;

use super::{
    Argument, CommandForm, DockerfileError, HereDocument, Instruction, Transfer,
    here_documents::Start, lines::LogicalLine, words,
};

/// What is understood after `FROM`.
pub(super) const KNOWN: [&str; 17] = [
    "RUN",
    "COPY",
    "ADD",
    "ENV",
    "WORKDIR",
    "USER",
    "ARG",
    "SHELL",
    "LABEL",
    "CMD",
    "ENTRYPOINT",
    "EXPOSE",
    "VOLUME",
    "HEALTHCHECK",
    "STOPSIGNAL",
    "MAINTAINER",
    "ONBUILD",
];

pub(super) fn keyword(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((keyword, rest)) => (keyword, rest.trim()),
        None => (text, ""),
    }
}

pub(super) fn instruction(
    line: &LogicalLine,
    keyword: &str,
    rest: &str,
) -> Result<Instruction, DockerfileError> {
    let refuse = |message: String| DockerfileError::at(line.number, message);
    if rest.is_empty() && KNOWN.contains(&keyword) {
        return Err(refuse(format!("{keyword} without anything")));
    }
    let note = |name: &'static str| Ok(Instruction::Note(name, rest.to_owned()));
    Ok(match keyword {
        "RUN" => Instruction::Run(run(line, rest)?),
        "COPY" => Instruction::Copy(transfer(line, keyword, rest)?),
        "ADD" => Instruction::Add(transfer(line, keyword, rest)?),
        "ENV" => Instruction::Env(variables(line, keyword, rest)?),
        "WORKDIR" => Instruction::Workdir(rest.to_owned()),
        "USER" => Instruction::User(rest.to_owned()),
        "ARG" => Instruction::Arg(arguments(line, rest)?),
        "SHELL" => match words::json_array(rest) {
            Some(argv) if !argv.is_empty() => Instruction::Shell(argv),
            _ => {
                let message = "SHELL takes a JSON list, such as [\"/bin/bash\", \"-c\"]";
                return Err(refuse(message.to_owned()));
            }
        },
        "ENTRYPOINT" => Instruction::Entrypoint(command(rest)),
        "LABEL" => Instruction::Label(pairs(line, keyword, rest)?),
        "CMD" => return note("cmd"),
        "EXPOSE" => return note("expose"),
        "VOLUME" => return note("volume"),
        "HEALTHCHECK" => return note("healthcheck"),
        "STOPSIGNAL" => return note("stopsignal"),
        "MAINTAINER" => return note("maintainer"),
        "ONBUILD" => {
            let message = "ONBUILD is for images that others build on, which is not supported";
            return Err(refuse(message.to_owned()));
        }
        other => {
            let shown: String = other.chars().take(40).collect();
            return Err(refuse(format!(
                "{shown} is not supported; what is: FROM, {}",
                KNOWN.join(", ")
            )));
        }
    })
}

fn command(rest: &str) -> CommandForm {
    match words::json_array(rest) {
        Some(argv) => CommandForm::Exec(argv),
        None => CommandForm::Shell(rest.to_owned()),
    }
}

fn run(line: &LogicalLine, rest: &str) -> Result<CommandForm, DockerfileError> {
    let refuse = |message: &str| DockerfileError::at(line.number, message);
    if rest.starts_with("--") {
        return Err(refuse("RUN has no flags here"));
    }
    match line.documents.as_slice() {
        [] => {}
        // A document alone is a script.
        [only] if rest.trim() == only.word => {
            return Ok(match only.content.starts_with("#!") {
                true => CommandForm::Script(only.content.clone()),
                false => CommandForm::Shell(only.content.clone()),
            });
        }
        // The shell knows what to do with documents that follow a command.
        several => {
            let mut text = format!("{rest}\n");
            for document in several {
                text.push_str(&document.content);
                text.push_str(&document.name);
                text.push('\n');
            }
            return Ok(CommandForm::Shell(text));
        }
    }
    match command(rest) {
        CommandForm::Exec(argv) if argv.is_empty() => Err(refuse("RUN without anything")),
        command => Ok(command),
    }
}

fn transfer(line: &LogicalLine, verb: &str, rest: &str) -> Result<Transfer, DockerfileError> {
    let refuse = |message: String| DockerfileError::at(line.number, message);
    let (mut chown, mut chmod, mut from, mut rest) = (None, None, None, rest);
    while let Some(flagged) = rest.strip_prefix("--") {
        let (flag, after) = keyword(flagged);
        rest = after;
        match flag.split_once('=') {
            Some(("chown", owner)) if !owner.is_empty() => chown = Some(owner.to_owned()),
            Some(("chmod", bits)) => {
                let bits = u32::from_str_radix(bits, 8)
                    .ok()
                    .filter(|bits| *bits <= 0o777);
                let bits = bits
                    .ok_or_else(|| refuse("--chmod takes an octal number up to 777".to_owned()))?;
                chmod = Some(bits);
            }
            Some(("from", name)) if verb == "COPY" && !name.is_empty() => {
                from = Some(name.to_owned());
            }
            // Layers are always made one on the other here; the files are the same.
            None if flag == "link" => {}
            Some(("link", "true" | "false")) => {}
            _ => {
                return Err(refuse(format!(
                    "{verb} has no flag --{flag} here, only --chown=…, --chmod=…, --link and, for COPY, --from=…"
                )));
            }
        }
    }
    let mut sources = match words::json_array(rest) {
        Some(listed) => listed,
        None => words::split(rest).map_err(refuse)?,
    };
    if sources.len() < 2 {
        return Err(refuse(format!(
            "{verb} takes at least one source and a target"
        )));
    }
    let target = sources.pop().unwrap_or_default();
    sources.retain(|source| Start::of(source).is_none());
    let documents: Vec<HereDocument> = line.documents.clone();
    if from.is_some() && !documents.is_empty() {
        return Err(refuse("here-documents come from no stage".to_owned()));
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
    Ok(Transfer {
        sources,
        documents,
        target,
        chown,
        chmod,
        from,
    })
}

fn variables(
    line: &LogicalLine,
    verb: &str,
    rest: &str,
) -> Result<Vec<(String, String)>, DockerfileError> {
    let pairs = pairs(line, verb, rest)?;
    match pairs.iter().find(|(name, _)| !is_variable(name)) {
        Some((name, _)) => Err(DockerfileError::at(
            line.number,
            format!("'{name}' is no name of a variable"),
        )),
        None => Ok(pairs),
    }
}

/// `NAME=VALUE …`, or one name and everything after it.
fn pairs(
    line: &LogicalLine,
    verb: &str,
    rest: &str,
) -> Result<Vec<(String, String)>, DockerfileError> {
    let refuse = |message: String| DockerfileError::at(line.number, message);
    let (first, value) = keyword(rest);
    // A label's name may be quoted, with blanks in it.
    if first.contains('=') || first.starts_with(['"', '\'']) {
        return words::split(rest)
            .map_err(refuse)?
            .iter()
            .map(|word| match word.split_once('=') {
                Some((name, value)) => {
                    Ok((name.trim_matches(['"', '\'']).to_owned(), value.to_owned()))
                }
                None => Err(refuse(format!("{verb}: '{word}' has no '='"))),
            })
            .collect();
    }
    match value.is_empty() {
        true => Err(refuse(format!("{verb}: '{first}' has no value"))),
        false => Ok(vec![(first.to_owned(), value.to_owned())]),
    }
}

pub(super) fn arguments(line: &LogicalLine, rest: &str) -> Result<Vec<Argument>, DockerfileError> {
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
