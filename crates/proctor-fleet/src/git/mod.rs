//! Repositories, fetched by the server and handed to boxes as bundles.
//!
//! A box need not reach a code host, and never sees the token that opened the repository. What was fetched is kept for
//! the organization that asked, never for another one. The server only fetches: it checks nothing out, so nothing of a
//! repository ever runs or is followed here. It reaches the repository's host and no other, and only at public addresses ([`outlet`]).

mod outlet;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proctor_core::{canonical::Hasher, id::kinds::OrganizationId};
use tokio::process::Command;

pub use self::outlet::CodeHosts;
use self::outlet::Outlet;
use crate::trees::{self, LARGEST_TREE, TreeError};

/// Why a repository is not there.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Its name or address is none.
    #[error("{0}")]
    Invalid(String),
    /// It has no such branch, tag or commit.
    #[error("{repository} has no branch, tag or commit '{reference}'")]
    NoReference {
        /// The repository.
        repository: String,
        /// What was asked for.
        reference: String,
    },
    /// It could not be fetched.
    #[error("{repository} cannot be fetched: {why}")]
    Fetch {
        /// The repository.
        repository: String,
        /// What `git` said.
        why: String,
    },
    /// The server cannot use `git`.
    #[error("the server cannot run git: {0}")]
    Platform(#[source] std::io::Error),
}

/// Where repositories come from.
#[derive(Clone, Debug)]
pub struct GitOptions {
    /// Where fetched repositories are kept.
    pub cache: PathBuf,
    /// A directory with repositories as `OWNER/NAME` or `OWNER/NAME.git`, which go before any other place.
    pub mirrors: Option<PathBuf>,
    /// The code host that `OWNER/NAME` is on.
    pub code_host: String,
    /// How long fetching may take.
    pub time_limit: Duration,
    /// Which hosts repositories may come from.
    pub hosts: CodeHosts,
}

impl GitOptions {
    /// The usual code host, without mirrors.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            cache: cache.into(),
            mirrors: None,
            code_host: "https://github.com".to_owned(),
            time_limit: Duration::from_secs(600),
            hosts: CodeHosts::default(),
        }
    }
}

/// Repositories for boxes; cheap to clone.
#[derive(Clone)]
pub struct Repositories {
    inner: Arc<Inner>,
}

struct Inner {
    options: GitOptions,
    /// One fetch at a time into each directory.
    busy: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

/// Which state of a repository is wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'w> {
    pub(crate) organization: OrganizationId,
    pub(crate) address: Address<'w>,
    pub(crate) token: Option<&'w str>,
    pub(crate) reference: Option<&'w str>,
}

/// Where `git` gets something from.
#[derive(Clone, Copy)]
struct Remote<'r> {
    outlet: &'r Outlet,
    token: Option<&'r str>,
}

/// How a repository is named.
#[derive(Clone, Copy)]
pub(crate) enum Address<'w> {
    /// On the usual code host, or among the mirrors.
    Named { owner: &'w str, name: &'w str },
    /// By its address.
    Url(&'w str),
}

/// A state of a repository, on the server.
#[derive(Debug)]
pub(crate) struct Fetched {
    directory: PathBuf,
    /// Where it came from, for the checkout's own use.
    pub(crate) origin: String,
    /// The commit.
    pub(crate) commit: String,
    /// The branch, if one was named or is the default.
    pub(crate) branch: Option<String>,
}

impl Repositories {
    /// Repositories that are kept and looked for as `options` say.
    pub fn new(options: GitOptions) -> Self {
        Self {
            inner: Arc::new(Inner {
                options,
                busy: Mutex::default(),
            }),
        }
    }

    /// Fetches what is wanted.
    pub(crate) async fn fetch(&self, wanted: Wanted<'_>) -> Result<Fetched, GitError> {
        if let Some(reference) = wanted.reference {
            check_reference(reference)?;
        }
        let (directory, origin) = match wanted.address {
            Address::Named { owner, name } => {
                check_name("owner", owner)?;
                check_name("name", name)?;
                let origin = format!("{}/{owner}/{name}.git", self.inner.options.code_host);
                match self.mirror(owner, name) {
                    Some(directory) => (directory, origin),
                    None => (self.cached(&wanted, &origin).await?, origin),
                }
            }
            Address::Url(url) => {
                check_url(url)?;
                (self.cached(&wanted, url).await?, url.to_owned())
            }
        };
        self.resolve(directory, origin, wanted.reference).await
    }

    /// Writes everything that the checkout of `fetched` needs into a file.
    pub(crate) async fn bundle(&self, fetched: &Fetched, file: &Path) -> Result<(), GitError> {
        let file = file.to_string_lossy();
        let arguments = [
            "bundle",
            "create",
            "--quiet",
            &file,
            "--branches",
            "--tags",
            "HEAD",
        ];
        let output = self.git(&fetched.directory, None, &arguments).await?;
        succeeded(&output, &fetched.origin)
    }

    /// A tar stream of the files of `fetched` is written to a file, for boxes that have no `git`.
    pub(crate) async fn archive(&self, fetched: &Fetched, file: &Path) -> Result<(), GitError> {
        let output = format!("--output={}", file.to_string_lossy());
        let arguments = ["archive", "--format=tar", &output, &fetched.commit];
        let output = self.git(&fetched.directory, None, &arguments).await?;
        succeeded(&output, &fetched.origin)
    }

    /// Puts the files of a repository, at a branch, tag or commit or at the head of its main branch, into a directory; the commit. What is on
    /// the usual code host comes from the mirrors, if it is there. Nothing of it runs, and nothing of it leads out of the directory.
    pub async fn check_out(
        &self,
        organization: OrganizationId,
        url: &str,
        reference: Option<&str>,
        into: &Path,
    ) -> Result<String, GitError> {
        let on_code_host = url
            .strip_prefix(self.inner.options.code_host.as_str())
            .and_then(|rest| rest.strip_prefix('/')?.split_once('/'));
        let address = match on_code_host {
            Some((owner, name)) => Address::Named {
                owner,
                name: name.strip_suffix(".git").unwrap_or(name),
            },
            None => Address::Url(url),
        };
        let wanted = Wanted {
            organization,
            address,
            token: None,
            reference,
        };
        let fetched = self.fetch(wanted).await?;
        let spool = self.spool()?;
        let file = spool.path().join("files.tar");
        self.archive(&fetched, &file).await?;
        let into = into.to_owned();
        let unpacked = tokio::task::spawn_blocking(move || {
            let archive = fs_err::File::open(file).map_err(TreeError::Io)?;
            trees::unpack(archive, &into, LARGEST_TREE)
        });
        let unpacked = unpacked
            .await
            .map_err(|error| GitError::Platform(std::io::Error::other(error)))?;
        match unpacked {
            Ok(()) => Ok(fetched.commit),
            Err(error) => Err(GitError::Invalid(format!("{}: {error}", fetched.origin))),
        }
    }

    /// A directory for files on their way.
    pub(crate) fn spool(&self) -> Result<tempfile::TempDir, GitError> {
        let cache = &self.inner.options.cache;
        fs_err::create_dir_all(cache).map_err(GitError::Platform)?;
        tempfile::tempdir_in(cache).map_err(GitError::Platform)
    }

    fn mirror(&self, owner: &str, name: &str) -> Option<PathBuf> {
        let owner = self.inner.options.mirrors.as_ref()?.join(owner);
        [name.to_owned(), format!("{name}.git")]
            .into_iter()
            .map(|name| owner.join(name))
            .find(|directory| directory.is_dir())
    }

    /// The organization's own copy of a repository, up to date.
    async fn cached(&self, wanted: &Wanted<'_>, url: &str) -> Result<PathBuf, GitError> {
        let mut hasher = Hasher::default();
        hasher.part(wanted.organization.bare().as_bytes());
        hasher.part(url.as_bytes());
        let directory = self.inner.options.cache.join(&hasher.finish().hex()[..40]);
        let turn = {
            let mut busy = self
                .inner
                .busy
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(busy.entry(directory.clone()).or_default())
        };
        let _turn = turn.lock().await;
        if let Some(reference) = wanted.reference
            && is_commit(reference)
            && directory.is_dir()
            && self.commit(&directory, reference).await?.is_some()
        {
            return Ok(directory);
        }
        if !directory.is_dir() {
            fs_err::create_dir_all(&directory).map_err(GitError::Platform)?;
            let output = self
                .git(&directory, None, &["init", "--quiet", "--bare", "."])
                .await?;
            succeeded(&output, url)?;
        }
        let refspecs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        let arguments = [
            &["fetch", "--quiet", "--prune", "--no-tags", "--", url][..],
            &refspecs,
        ]
        .concat();
        let options = &self.inner.options;
        let outlet = Outlet::open(url, &options.hosts, &options.code_host).await?;
        let remote = Remote {
            outlet: &outlet,
            token: wanted.token,
        };
        let fetched = async |arguments: &[&str]| {
            let output = self.git(&directory, Some(remote), arguments).await?;
            // What the gate says is plainer than what git makes of it.
            succeeded(&output, url).map_err(|error| outlet.refusal().unwrap_or(error))?;
            Ok::<_, GitError>(output)
        };
        fetched(&arguments).await?;
        let output = fetched(&["ls-remote", "--symref", "--", url, "HEAD"]).await?;
        let head = String::from_utf8_lossy(&output.stdout)
            .lines()
            .find_map(|line| {
                line.strip_prefix("ref: ")?
                    .split('\t')
                    .next()
                    .map(str::to_owned)
            });
        if let Some(head) = head {
            let output = self
                .git(&directory, None, &["symbolic-ref", "HEAD", &head])
                .await?;
            succeeded(&output, url)?;
        }
        Ok(directory)
    }

    async fn resolve(
        &self,
        directory: PathBuf,
        origin: String,
        reference: Option<&str>,
    ) -> Result<Fetched, GitError> {
        let (branch, candidates) = match reference {
            None => {
                let output = self
                    .git(
                        &directory,
                        None,
                        &["symbolic-ref", "--quiet", "--short", "HEAD"],
                    )
                    .await?;
                let branch = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                (
                    Some(branch).filter(|branch| !branch.is_empty()),
                    vec!["HEAD".to_owned()],
                )
            }
            Some(reference) => {
                let head = format!("refs/heads/{reference}");
                if self.commit(&directory, &head).await?.is_some() {
                    (Some(reference.to_owned()), vec![head])
                } else {
                    let tag = format!("refs/tags/{reference}");
                    (None, vec![tag, reference.to_owned()])
                }
            }
        };
        for candidate in candidates {
            if let Some(commit) = self.commit(&directory, &candidate).await? {
                return Ok(Fetched {
                    directory,
                    origin,
                    commit,
                    branch,
                });
            }
        }
        Err(GitError::NoReference {
            repository: origin,
            reference: reference.unwrap_or("HEAD").to_owned(),
        })
    }

    async fn commit(&self, directory: &Path, name: &str) -> Result<Option<String>, GitError> {
        let name = format!("{name}^{{commit}}");
        let output = self
            .git(
                directory,
                None,
                &[
                    "rev-parse",
                    "--quiet",
                    "--verify",
                    "--end-of-options",
                    &name,
                ],
            )
            .await?;
        let commit = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Some(commit).filter(|commit| output.status.success() && is_commit(commit)))
    }

    /// Runs `git` with nothing of the server's own configuration, and without a network unless there is a `remote`. A token travels in the
    /// environment, which only the server's user can read, and never in an argument.
    async fn git(
        &self,
        directory: &Path,
        remote: Option<Remote<'_>>,
        arguments: &[&str],
    ) -> Result<Output, GitError> {
        let mut settings = vec![
            ("safe.directory", "*".to_owned()),
            ("credential.helper", String::new()),
            ("gc.auto", "0".to_owned()),
        ];
        settings.extend(remote.iter().flat_map(|remote| remote.outlet.settings()));
        if let Some(token) = remote.and_then(|remote| remote.token) {
            let basic = STANDARD.encode(format!("x-access-token:{token}"));
            settings.push(("http.extraHeader", format!("Authorization: Basic {basic}")));
        }
        let mut command = Command::new("git");
        command
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(
                ["PATH", "SSL_CERT_FILE"]
                    .into_iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env(
                "GIT_ALLOW_PROTOCOL",
                if remote.is_some() { "https:http" } else { "" },
            )
            .env("GIT_CONFIG_COUNT", settings.len().to_string())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        for (number, (key, value)) in settings.into_iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        match tokio::time::timeout(self.inner.options.time_limit, command.output()).await {
            Ok(output) => output.map_err(GitError::Platform),
            Err(_) => Err(GitError::Fetch {
                repository: "the repository".to_owned(),
                why: format!("it took longer than {:?}", self.inner.options.time_limit),
            }),
        }
    }
}

fn succeeded(output: &Output, repository: &str) -> Result<(), GitError> {
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(GitError::Fetch {
        repository: repository.to_owned(),
        why: said.trim().chars().take(500).collect(),
    })
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a text can be an owner or a repository: one plain name.
pub fn is_repository_name(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && !text.starts_with(['-', '.'])
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn check_name(what: &str, text: &str) -> Result<(), GitError> {
    if is_repository_name(text) {
        Ok(())
    } else {
        Err(GitError::Invalid(format!(
            "'{text}' is no {what} of a repository"
        )))
    }
}

/// What git itself allows in the name of a branch, without what has a meaning in its arguments.
pub fn check_reference(text: &str) -> Result<(), GitError> {
    let good = (1..=250).contains(&text.len())
        && !text.starts_with(['-', '/', '.'])
        && !text.contains("..")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_./+#@".contains(&byte));
    if good {
        Ok(())
    } else {
        Err(GitError::Invalid(format!(
            "'{text}' is no branch, tag or commit"
        )))
    }
}

/// Refuses an address of a repository or registry that somebody names and that cannot be one, or holds a password: addresses are
/// kept and shown as they are. What is refused is not repeated, because it may be secret.
pub fn check_address(url: &str) -> Result<(), GitError> {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(GitError::Invalid(
            "must not hold a user name or a password: addresses are shown as they are".to_owned(),
        ));
    }
    check_url(url).map_err(|_| {
        GitError::Invalid("must be an address that begins with https:// or http://".to_owned())
    })
}

fn check_url(url: &str) -> Result<(), GitError> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let good = rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with(['-', '/'])
            && url.bytes().all(|byte| byte.is_ascii_graphic())
    });
    if good {
        Ok(())
    } else {
        Err(GitError::Invalid(format!(
            "'{url}' is no address of a repository: it must begin with https:// or http://"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_addresses_and_references_that_git_would_misunderstand_are_refused() {
        for bad in ["", "..", "-x", "a/b", ".git", "a b", "é"] {
            assert!(check_name("name", bad).is_err(), "{bad}");
        }
        for bad in ["--upload-pack=x", "a..b", "../x", "a b", "HEAD^", "a:b", ""] {
            assert!(check_reference(bad).is_err(), "{bad}");
        }
        for bad in [
            "ssh://a/b",
            "file:///etc",
            "/etc",
            "ext::sh -c x",
            "https://",
            "https://-a",
            "-x",
            "git@a:b",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
        assert!(check_reference("feature/x-1.0").is_ok());
        assert!(check_url("https://example.com/a/b.git").is_ok());
    }

    #[test]
    fn an_address_with_a_password_is_refused_and_not_repeated() {
        for bad in [
            "https://u:hush@a.example/b",
            "http://hush@a.example",
            "git@hush:b",
        ] {
            let told = check_address(bad).unwrap_err().to_string();
            assert!(!told.contains("hush"), "{told}");
            assert!(told.contains("password"), "{told}");
        }
        for good in ["https://a.example/@scope/b", "https://a.example:8443/b?x=@"] {
            assert!(check_address(good).is_ok(), "{good}");
        }
    }
}
