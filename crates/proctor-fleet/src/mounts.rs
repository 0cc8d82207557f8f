//! Mounts: files, objects, repositories and agents that are put into a box before anybody works in it.
//!
//! [`Mounter::apply`] is the one entry. What goes wrong names the mount, and tells a mistake of the client apart from a
//! failure of the platform.

use std::{collections::BTreeMap, time::Duration};

use futures::TryStreamExt as _;
use proctor_core::{
    agent::{Agent, AgentOrigin, Package},
    id::kinds::{AgentId, EventKind, ObjectId, OrganizationId},
    mount::{CodeMount, Mount},
    object::{ContentType, StoredObject},
};
use proctor_devbox::{Devbox, ExecId, User};
use proctor_macros::boxed_futures;
use proctor_store::{Store, StoreError};
use tokio_util::io::StreamReader;

use crate::{
    archives::{self, ArchiveError, Limits, Owner, Unpacker},
    commands::{self, SetupCommand},
    git::{Address, Fetched, GitError, Repositories, Wanted},
    objects::{self, ObjectError},
};

/// Puts mounts into boxes; cheap to clone.
#[derive(Clone)]
pub struct Mounter {
    store: Store,
    repositories: Repositories,
    /// How large an archive may become.
    limits: Limits,
    /// How long each command of a mount may take.
    time_limit: Duration,
}

/// The box that mounts are put into, and for whom.
#[derive(Clone, Copy)]
pub struct Site<'s> {
    /// The box; it runs.
    pub devbox: &'s dyn Devbox,
    /// Whose it is.
    pub organization: OrganizationId,
    /// Who will work in it.
    pub user: &'s User,
    /// Where that user is at home; paths that are not absolute begin here.
    pub home: &'s str,
    /// What commands of mounts get as their environment.
    pub env: &'s BTreeMap<String, String>,
}

/// A mount that could not be put into its box.
#[derive(Debug, thiserror::Error)]
#[error("{mount}: {problem}")]
pub struct MountError {
    /// Which mount, in a few words.
    pub mount: String,
    /// What went wrong.
    #[source]
    pub problem: MountProblem,
}

/// What went wrong with a mount.
#[derive(Debug, thiserror::Error)]
pub enum MountProblem {
    /// The object.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The box.
    #[error(transparent)]
    Devbox(#[from] proctor_devbox::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such agent.
    #[error("there is no such agent")]
    NoAgent,
    /// It does not make sense.
    #[error("{0}")]
    Invalid(String),
    /// A command of the mount failed.
    #[error("'{command}' failed with status {status}: {said}")]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        status: i32,
        /// The end of what it wrote.
        said: String,
    },
}

impl MountProblem {
    /// Whether the platform failed, and not what was asked for.
    pub const fn is_of_platform(&self) -> bool {
        match self {
            Self::Devbox(_)
            | Self::Store(_)
            | Self::Git(GitError::Platform(_))
            | Self::Archive(ArchiveError::Devbox(_))
            | Self::Object(ObjectError::Store(_)) => true,
            Self::Object(_)
            | Self::Archive(_)
            | Self::Git(_)
            | Self::NoAgent
            | Self::Invalid(_)
            | Self::Command { .. } => false,
        }
    }
}

#[boxed_futures]
impl Mounter {
    /// Where repositories come from.
    pub(crate) const fn repositories(&self) -> &Repositories {
        &self.repositories
    }

    /// A mounter with the usual limits.
    pub fn new(store: Store, repositories: Repositories) -> Self {
        Self {
            store,
            repositories,
            limits: Limits::default(),
            time_limit: Duration::from_secs(1800),
        }
    }

    /// Puts one mount into its box.
    pub async fn apply(&self, site: Site<'_>, mount: &Mount) -> Result<(), MountError> {
        let applied = match mount {
            Mount::File { target, content } => file(site, target, content).await,
            Mount::Object { object, target } => self.object(site, *object, target).await,
            Mount::Code(code) => self.code(site, code).await,
            Mount::Agent {
                agent,
                name,
                target,
                token,
            } => {
                self.agent(
                    site,
                    *agent,
                    name.as_deref(),
                    target.as_deref(),
                    token.as_deref(),
                )
                .await
            }
        };
        applied.map_err(|problem| MountError {
            mount: mount.label(),
            problem,
        })
    }

    async fn object(&self, site: Site<'_>, id: ObjectId, target: &str) -> Result<(), MountProblem> {
        let object = objects::find(&self.store, site.organization, id).await?;
        let (_, bytes) = objects::open(&self.store, &object).await?;
        let mut bytes = StreamReader::new(bytes.map_err(std::io::Error::other));
        let target = absolute(site.home, target);
        if is_archive(&object) {
            let unpacker = Unpacker {
                exec: self.fresh_exec(),
                user: site.user.clone(),
                target,
                owner: Owner::Unpacker,
                time_limit: self.time_limit,
            };
            archives::unpack(site.devbox, unpacker, bytes, self.limits).await?;
        } else {
            site.devbox
                .write_file(&target, site.user, None, &mut bytes)
                .await?;
        }
        Ok(())
    }

    /// Checks a repository out below the user's home and runs its install command there.
    async fn code(&self, site: Site<'_>, code: &CodeMount) -> Result<(), MountProblem> {
        let target = absolute(site.home, &code.name);
        let fetched = self.fetch_code(site.organization, code).await?;
        self.check_out(site, &fetched, &target).await?;
        if let Some(install) = &code.install {
            self.command(site, install, Some(target)).await?;
        }
        Ok(())
    }

    /// The state of the repository that a code mount means.
    pub(crate) async fn fetch_code(
        &self,
        organization: OrganizationId,
        code: &CodeMount,
    ) -> Result<Fetched, GitError> {
        let wanted = Wanted {
            organization,
            address: Address::Named {
                owner: &code.owner,
                name: &code.name,
            },
            token: code.token.as_deref(),
            reference: code.reference.as_deref(),
        };
        self.repositories.fetch(wanted).await
    }

    /// Puts a repository into a box: with its history if the box has `git`, else its files alone.
    pub(crate) async fn check_out(
        &self,
        site: Site<'_>,
        fetched: &Fetched,
        target: &str,
    ) -> Result<(), MountProblem> {
        const HAS_GIT: &str = "command -v git >/dev/null 2>&1";
        const CLONE: &str = r#"
            set -e
            export GIT_CONFIG_NOSYSTEM=1
            trap 'rm -f "$1"' EXIT
            mkdir -p "$(dirname "$2")"
            # What an interrupted launch of the same box left is fetched anew.
            if [ "$(git -C "$2" config --local --get proctor.mount 2>/dev/null)" = "$6" ]; then
                find "$2" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
            fi
            git clone --quiet --no-checkout --config "proctor.mount=$6" "$1" "$2"
            git -C "$2" remote set-url origin "$3"
            if [ -n "$5" ]; then
                git -C "$2" checkout --quiet -B "$5" "$4"
            else
                git -C "$2" checkout --quiet --detach "$4"
            fi
        "#;
        let spool = self.repositories.spool()?;
        let file = spool.path().join("transfer");
        let run = async |script, arguments| {
            let command = SetupCommand {
                id: self.fresh_exec(),
                script,
                arguments,
                user: site.user,
                directory: Some("/".to_owned()),
                env: site.env.clone(),
                time_limit: self.time_limit,
            };
            commands::run(site.devbox, command).await
        };
        let (has_git, _) = run(HAS_GIT, Vec::new()).await?;
        if !has_git.success() {
            self.repositories.archive(fetched, &file).await?;
            let archive = open(&file).await?;
            let unpacker = Unpacker {
                exec: self.fresh_exec(),
                user: site.user.clone(),
                target: target.to_owned(),
                owner: Owner::Unpacker,
                time_limit: self.time_limit,
            };
            archives::unpack(site.devbox, unpacker, archive, self.limits).await?;
            return Ok(());
        }
        self.repositories.bundle(fetched, &file).await?;
        let bundle = format!("/tmp/{}.bundle", self.fresh_exec());
        site.devbox
            .write_file(&bundle, site.user, None, &mut open(&file).await?)
            .await?;
        let arguments = vec![
            bundle,
            target.to_owned(),
            fetched.origin.clone(),
            fetched.commit.clone(),
            fetched.branch.clone().unwrap_or_default(),
            site.devbox.id().to_string(),
        ];
        let (exit, said) = run(CLONE, arguments).await?;
        if exit.success() {
            Ok(())
        } else {
            Err(MountProblem::Command {
                command: "git clone".to_owned(),
                status: exit.status(),
                said,
            })
        }
    }

    async fn agent(
        &self,
        site: Site<'_>,
        id: Option<AgentId>,
        name: Option<&str>,
        target: Option<&str>,
        token: Option<&str>,
    ) -> Result<(), MountProblem> {
        let agent = match (id, name) {
            (Some(id), _) => self.store.agent(site.organization, id).await?,
            (None, Some(name)) => self.store.agent_named(site.organization, name).await?,
            (None, None) => None,
        };
        let agent = agent.ok_or(MountProblem::NoAgent)?;
        let Some(source) = &agent.source else {
            return Err(MountProblem::Invalid("the agent has no source".to_owned()));
        };
        let place = || {
            let target = target.ok_or_else(|| {
                let kind = source.origin.kind().name();
                MountProblem::Invalid(format!("an agent from {kind} needs an agent_path"))
            })?;
            Ok::<_, MountProblem>(absolute(site.home, target))
        };
        let directory = match &source.origin {
            AgentOrigin::Npm(package) => {
                self.install(site, NPM, &agent, package, "@").await?;
                None
            }
            AgentOrigin::Pip(package) => {
                self.install(site, PIP, &agent, package, "==").await?;
                None
            }
            AgentOrigin::Git {
                repository,
                reference,
            } => {
                let target = place()?;
                let wanted = Wanted {
                    organization: site.organization,
                    address: Address::Url(repository),
                    token,
                    reference: reference.as_deref(),
                };
                let fetched = self.repositories.fetch(wanted).await?;
                self.check_out(site, &fetched, &target).await?;
                Some(target)
            }
            AgentOrigin::Object(object) => {
                let target = place()?;
                self.object(site, *object, &target).await?;
                Some(target)
            }
        };
        for command in &source.setup {
            self.command(site, command, directory.clone()).await?;
        }
        Ok(())
    }

    /// Installs a package with the box's own tool, for everybody in the box.
    async fn install(
        &self,
        site: Site<'_>,
        script: &str,
        agent: &Agent,
        package: &Package,
        joint: &str,
    ) -> Result<(), MountProblem> {
        let wanted = match &agent.version {
            Some(version) => format!("{}{joint}{version}", package.name),
            None => package.name.clone(),
        };
        let command = SetupCommand {
            id: self.fresh_exec(),
            script,
            arguments: vec![
                wanted.clone(),
                package.registry_url.clone().unwrap_or_default(),
            ],
            user: &User::Root,
            directory: Some("/".to_owned()),
            env: site.env.clone(),
            time_limit: self.time_limit,
        };
        let (exit, said) = commands::run(site.devbox, command).await?;
        if exit.success() {
            Ok(())
        } else {
            Err(MountProblem::Command {
                command: format!("install {wanted}"),
                status: exit.status(),
                said,
            })
        }
    }

    /// Runs a command of a client, in `directory` if that is one.
    async fn command(
        &self,
        site: Site<'_>,
        command: &str,
        directory: Option<String>,
    ) -> Result<(), MountProblem> {
        // An object agent may be a single file: then its setup runs at home.
        const RUN: &str =
            r#"if [ -n "$2" ] && [ -d "$2" ]; then cd "$2" || exit 1; fi; exec /bin/sh -c "$1""#;
        let setup = SetupCommand {
            id: self.fresh_exec(),
            script: RUN,
            arguments: vec![command.to_owned(), directory.unwrap_or_default()],
            user: site.user,
            directory: Some(site.home.to_owned()),
            env: site.env.clone(),
            time_limit: self.time_limit,
        };
        let (exit, said) = commands::run(site.devbox, setup).await?;
        if exit.success() {
            Ok(())
        } else {
            Err(MountProblem::Command {
                command: command.to_owned(),
                status: exit.status(),
                said,
            })
        }
    }

    fn fresh_exec(&self) -> ExecId {
        fresh_exec(&self.store)
    }
}

const NPM: &str = r#"exec npm install --global ${2:+"--registry=$2"} -- "$1""#;
const PIP: &str = r#"export PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore
    if [ -n "$2" ]; then export PIP_INDEX_URL="$2"; fi; exec python3 -m pip install --quiet -- "$1""#;

/// How the names of executions begin that put something into a box.
const SETUP: &str = "setup-";

/// A name that no execution has had.
pub(crate) fn fresh_exec(store: &Store) -> ExecId {
    let fresh = store.fresh_id::<EventKind>().bare().to_ascii_lowercase();
    ExecId::new(format!("{SETUP}{fresh}")).expect("letters and digits make a name")
}

/// Ends what an earlier process runs in a box to put mounts there. It outlives its server, and whoever puts them there again
/// would meet it.
pub(crate) async fn end_interrupted(devbox: &dyn Devbox) -> proctor_devbox::Result<()> {
    for id in devbox.executions().await? {
        if id.as_str().starts_with(SETUP) {
            let execution = devbox.execution(&id).await?;
            execution.kill().await?;
            execution.wait().await?;
            execution.forget().await?;
        }
    }
    Ok(())
}

async fn file(site: Site<'_>, target: &str, content: &str) -> Result<(), MountProblem> {
    let target = absolute(site.home, target);
    site.devbox
        .write_file(&target, site.user, None, &mut content.as_bytes())
        .await?;
    Ok(())
}

async fn open(path: &std::path::Path) -> Result<tokio::fs::File, GitError> {
    tokio::fs::File::open(path)
        .await
        .map_err(GitError::Platform)
}

/// A path as it is inside the box.
pub(crate) fn absolute(home: &str, path: &str) -> String {
    match path.strip_prefix("~/") {
        _ if path.starts_with('/') => path.to_owned(),
        Some(rest) => format!("{}/{rest}", home.trim_end_matches('/')),
        None => format!("{}/{path}", home.trim_end_matches('/')),
    }
}

/// Whether an object is unpacked instead of copied. One compressed file is not an archive.
fn is_archive(object: &StoredObject) -> bool {
    match object.content_type {
        ContentType::Tar | ContentType::Tgz => true,
        ContentType::Unspecified => archives::has_archive_name(&object.name),
        ContentType::Text | ContentType::Binary | ContentType::Gzip => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_home_unless_they_are_absolute() {
        for (path, whole) in [
            ("/etc/x", "/etc/x"),
            ("x", "/home/user/x"),
            ("~/x/y", "/home/user/x/y"),
        ] {
            assert_eq!(absolute("/home/user/", path), whole);
        }
    }
}
