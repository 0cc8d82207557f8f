//! The repositories of instances, fetched on the machine where they are imported.
//!
//! Boxes reach no code host, so the files of a commit become part of the scenario. A repository is only read: nothing of it is
//! checked out here, and so nothing of it runs. What an instance says about it is not believed to be a plain name.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use anyhow::Context as _;
use proctor_fleet::is_repository_name;
use proctor_scenarios::swe::Instance;
use tempfile::TempDir;
use tokio::process::Command;

use crate::{exit::WrongUse, terminal};

/// The largest archive that becomes part of a scenario.
const LARGEST_ARCHIVE: usize = 8 << 20;

/// Who says what an archive leaves out and fills in: nobody. A release may go without its tests, a scenario may not.
const ATTRIBUTES: &str = "* -export-ignore -export-subst\n";

/// Where repositories come from.
pub(super) enum Source<'a> {
    /// A directory with all of them.
    Mirror(&'a Path),
    /// An address of each; `{repo}` is where its name goes.
    Url(&'a str),
}

/// Repositories that were fetched, each once, until the end of an import.
pub(super) struct Repositories<'a> {
    source: Source<'a>,
    scratch: TempDir,
    fetched: HashMap<OsString, PathBuf>,
}

impl<'a> Repositories<'a> {
    /// Nothing is fetched yet.
    pub(super) fn new(source: Source<'a>) -> anyhow::Result<Self> {
        Ok(Self {
            source,
            scratch: tempfile::tempdir().context("there is no room to fetch repositories to")?,
            fetched: HashMap::new(),
        })
    }

    /// The files of the instance's commit, all of them, as a `tar.gz`.
    pub(super) async fn archive(&mut self, instance: &Instance) -> anyhow::Result<Vec<u8>> {
        let place = self.place(&instance.repo)?;
        let shown = place.to_string_lossy().into_owned();
        let repository = self.fetched(place).await?;
        let wanted = instance.base_commit.as_deref().unwrap_or("HEAD");
        let name = format!("{wanted}^{{commit}}");
        let found = git(
            &repository,
            ["rev-parse", "--verify", "--end-of-options", &name],
        )
        .await?;
        if !found.status.success() {
            return Err(WrongUse(format!(
                "{shown} has no commit '{wanted}'; use --mirror or --git-url with a repository that does"
            ))
            .into());
        }
        let commit = String::from_utf8_lossy(&found.stdout);
        let made = git(&repository, ["archive", "--format=tar.gz", commit.trim()]).await?;
        if !made.status.success() {
            return Err(WrongUse(format!("{shown}: {}", said(&made))).into());
        }
        if made.stdout.len() > LARGEST_ARCHIVE {
            return Err(WrongUse(format!(
                "{shown} is {} bytes as an archive, more than the {LARGEST_ARCHIVE} that fit into a scenario; use --blueprint",
                made.stdout.len()
            ))
            .into());
        }
        Ok(made.stdout)
    }

    /// What to fetch: in a mirror `DIR/owner/name`, `DIR/owner__name` or `DIR/name`, each also with `.git` behind it.
    fn place(&self, repo: &str) -> Result<OsString, WrongUse> {
        if !repo.split('/').all(is_repository_name) {
            return Err(WrongUse(format!(
                "'{repo}' is no name of a repository, such as owner/name"
            )));
        }
        let mirror = match self.source {
            Source::Url(url) => return Ok(url.replace("{repo}", repo).into()),
            Source::Mirror(mirror) => mirror,
        };
        let name = repo.rsplit('/').next().unwrap_or(repo);
        [repo, &repo.replace('/', "__"), name]
            .into_iter()
            .flat_map(|name| [mirror.join(name), mirror.join(format!("{name}.git"))])
            .find(|place| place.is_dir())
            .map(PathBuf::into_os_string)
            .ok_or_else(|| {
                let first = mirror.join(repo);
                WrongUse(format!("there is no {}", first.display()))
            })
    }

    /// A bare repository of our own with everything that the one at `place` has.
    async fn fetched(&mut self, place: OsString) -> anyhow::Result<PathBuf> {
        if let Some(there) = self.fetched.get(&place) {
            return Ok(there.clone());
        }
        let directory = self.scratch.path().join(self.fetched.len().to_string());
        let mut arguments: Vec<&OsStr> = ["clone", "--quiet", "--bare", "--template="]
            .map(OsStr::new)
            .into();
        match self.source {
            // Nothing is copied, and commits that no branch leads to are there as well.
            Source::Mirror(_) => arguments.push(OsStr::new("--shared")),
            Source::Url(_) if terminal::is_for_people() => {
                eprintln!("fetching {}", place.to_string_lossy());
            }
            Source::Url(_) => {}
        }
        arguments.extend([OsStr::new("--"), &place, directory.as_os_str()]);
        // From where the user is, because a directory may be named from there.
        let cloned = git(Path::new("."), arguments).await?;
        if !cloned.status.success() {
            return Err(WrongUse(format!(
                "{} cannot be cloned: {}; say where this machine finds it with --git-url or --mirror, \
                 or which blueprint's boxes have it with --blueprint",
                place.to_string_lossy(),
                said(&cloned)
            ))
            .into());
        }
        let attributes = directory.join("info");
        fs_err::create_dir_all(&attributes)?;
        fs_err::write(attributes.join("attributes"), ATTRIBUTES)?;
        self.fetched.insert(place, directory.clone());
        Ok(directory)
    }
}

/// Runs `git` with the user's own settings, and so with what opens repositories to them. An address can only be one: no program that
/// it names is run, and nobody is asked for a password in the middle of an import.
async fn git(
    directory: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<Output> {
    let mut command = Command::new("git");
    // Set where git itself started us, by a hook or an alias; they mean another repository.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_NAMESPACE",
    ] {
        command.env_remove(name);
    }
    command
        .args(arguments)
        .current_dir(directory)
        .env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("git cannot be run")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}
