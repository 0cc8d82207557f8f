//! The commands that put an instance's repository into a box.

use base64::Engine as _;
use proctor_scorers::quoted;

use super::{Collection, ImportOptions, Instance, Repository};

/// How much of a file goes into one command: a program takes at most 128 KiB in one argument.
const PIECE: usize = 90_000;

/// Where files lie while they are brought in.
const ARCHIVE: &str = "/tmp/proctor-repository";
const FAULT: &str = "/tmp/proctor-fault";

/// Everything that must happen before an agent starts.
pub(super) fn commands(
    instance: &Instance,
    repository: &Repository,
    options: &ImportOptions,
) -> Vec<String> {
    let directory = quoted(&options.working_directory);
    let mut commands = Vec::new();
    match repository {
        Repository::Url(url) => {
            commands.push(format!("git clone --quiet {} {directory}", quoted(url)));
            if let Some(commit) = &instance.base_commit {
                commands.push(format!(
                    "git -C {directory} checkout --quiet {}",
                    quoted(commit)
                ));
            }
        }
        Repository::Archive(archive) => {
            commands.extend(bring(archive, ARCHIVE));
            commands.push(format!(
                "mkdir -p {directory} && tar -xzf {ARCHIVE} -C {directory} && rm {ARCHIVE}"
            ));
        }
        Repository::Blueprint(_) => {}
    }
    if options.collection == Collection::SweSmith {
        commands.extend(bring(instance.patch.as_bytes(), FAULT));
        // A mirror's branch may have the fault already: then it can be taken out, and stays.
        commands.push(format!(
            "cd {directory} && if patch -p1 --batch --forward --dry-run --silent <{FAULT} >/dev/null; \
             then patch -p1 --batch --forward --silent <{FAULT}; \
             else patch -p1 --batch --reverse --dry-run --silent <{FAULT}; fi && rm {FAULT}"
        ));
    }
    // The repository's past knows the repair, and so does its future. This is where the agent's own begins.
    commands.push(format!(
        "cd {directory} && rm -rf .git && git init --quiet && git add --all --force && \
         git -c user.name=proctor -c user.email=proctor@localhost commit --quiet --message 'The state to start from' && \
         git tag proctor-base"
    ));
    commands
}

/// Commands that write `content` to `path`.
fn bring(content: &[u8], path: &str) -> Vec<String> {
    let encoded = base64::engine::general_purpose::STANDARD.encode(content);
    let mut commands = vec![format!(": >{path}.text")];
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (piece, others) = rest.split_at(rest.len().min(PIECE));
        commands.push(format!("printf %s '{piece}' >>{path}.text"));
        rest = others;
    }
    commands.push(format!("base64 -d <{path}.text >{path} && rm {path}.text"));
    commands
}
