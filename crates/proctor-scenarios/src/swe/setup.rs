//! The commands that put an instance's repository into a box.

use base64::Engine as _;
use proctor_core::shell::quoted;

use super::{Collection, Instance, Repository};

/// How much of a file goes into one command: a program takes at most 128 KiB in one argument.
const PIECE: usize = 90_000;

/// Where files lie while they are brought in.
const ARCHIVE: &str = "/tmp/proctor-repository";
const FAULT: &str = "/tmp/proctor-fault";

/// Puts the repository in `$directory` on `$commit`, as it was committed, and leaves what was built beside its files. Says what is
/// wrong where an image is not as it has to be, because whoever reads the set-up's log did not write this.
const CHECK_OUT: &str = r#"fail() {
    echo "$directory: $*" >&2
    exit 1
}
git=(git -c safe.directory=* -c advice.detachedHead=false -C "$directory")
[ -d "$directory" ] || fail "is not in the blueprint's image; --working-directory says where the repository is"
[ -e "$directory/.git" ] || fail "is no git repository in the blueprint's image, so its commit cannot be chosen"
[ -w "$directory" ] && [ -w "$directory/.git" ] ||
    fail "belongs to somebody else than $(id -un), who works in this box; have the blueprint change its owner, or say USER"
found=$("${git[@]}" rev-parse --quiet --verify --end-of-options "$commit^{commit}") ||
    fail "its repository does not have the commit $commit; have the blueprint fetch it"
"${git[@]}" checkout --quiet --force --detach "$found" ||
    fail "cannot be put on the commit $commit""#;

/// Everything that must happen before an agent starts.
pub(super) fn commands(
    instance: &Instance,
    repository: &Repository,
    collection: Collection,
    directory: &str,
) -> Vec<String> {
    let directory = quoted(directory);
    let mut commands = Vec::new();
    match (repository, &instance.base_commit) {
        (Repository::Archive(archive), _) => {
            commands.extend(bring(archive, ARCHIVE));
            commands.push(format!(
                "mkdir -p {directory} && tar -xzf {ARCHIVE} -C {directory} && rm {ARCHIVE}"
            ));
        }
        (Repository::Blueprint(_), Some(commit)) => {
            let commit = quoted(commit);
            commands.push(format!(
                "directory={directory} commit={commit}\n{CHECK_OUT}"
            ));
        }
        // The image has the state that is meant.
        (Repository::Blueprint(_), None) => {}
    }
    if collection == Collection::SweSmith {
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
