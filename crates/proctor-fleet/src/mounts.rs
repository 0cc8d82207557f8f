//! Mounts from the shelf: objects, repositories and agents that are put into a box before anybody works in it.
//!
//! [`Shelf`] is the [`Mounter`] of a server that has all of them. What goes wrong names the mount, and never a token.

use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt as _;
use proctor_core::{
    agent::{Agent, AgentOrigin, Package},
    blueprint::CodeMount,
    devbox::Mount,
    id::kinds::{AgentId, EventKind, ObjectId, OrganizationId},
    object::{ContentType, StoredObject},
};
use proctor_devbox::{ExecId, User};
use proctor_store::{Store, StoreError};
use tokio_util::io::StreamReader;

use crate::{
    archives::{self, ArchiveError, Limits, Owner, Unpacker},
    commands::{self, SetupCommand},
    git::{Address, Fetched, GitError, Repositories, Wanted},
    mounting::{FilesOnly, Mounter},
    objects::{self, ObjectError},
    workplace::Workplace,
};

/// How long each command of a mount may take.
const TIME_LIMIT: Duration = Duration::from_secs(1800);

/// Puts everything that can be mounted into boxes; cheap to clone.
#[derive(Clone)]
pub struct Shelf {
    store: Store,
    repositories: Repositories,
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

#[async_trait]
impl Mounter for Shelf {
    async fn mount(
        &self,
        organization: OrganizationId,
        mount: &Mount,
        workplace: &Workplace,
    ) -> Result<(), String> {
        let mounted = match mount {
            Mount::File { .. } => {
                let mounted = FilesOnly.mount(organization, mount, workplace).await;
                mounted.map_err(MountProblem::Invalid)
            }
            Mount::Object { object, target } => {
                self.object(organization, workplace, *object, target).await
            }
            Mount::Code {
                owner,
                name,
                token,
                reference,
                install,
            } => {
                let code = CodeMount {
                    owner: owner.clone(),
                    name: name.clone(),
                    token: token.clone(),
                    reference: reference.clone(),
                    install: install.clone(),
                };
                self.code(organization, workplace, &code).await
            }
            Mount::Agent {
                agent,
                name,
                target,
                token,
            } => {
                let agent = self.find_agent(organization, *agent, name.as_deref());
                match agent.await {
                    Err(problem) => Err(problem),
                    Ok(agent) => {
                        self.agent(organization, workplace, &agent, (target, token))
                            .await
                    }
                }
            }
        };
        mounted.map_err(|problem| format!("{}: {problem}", label(mount)))
    }
}

/// What is mounted, in a few words for messages. Never a token and never content.
fn label(mount: &Mount) -> String {
    match mount {
        Mount::File { target, .. } => format!("file_mount {target}"),
        Mount::Object { object, target } => format!("object_mount {object} at {target}"),
        Mount::Agent { agent, name, .. } => match (agent, name) {
            (Some(agent), _) => format!("agent_mount {agent}"),
            (None, name) => format!("agent_mount {}", name.as_deref().unwrap_or_default()),
        },
        Mount::Code { owner, name, .. } => format!("code_mount {owner}/{name}"),
    }
}

impl Shelf {
    /// A shelf with what a store has and repositories from elsewhere.
    pub fn new(store: Store, repositories: Repositories) -> Self {
        Self {
            store,
            repositories,
        }
    }

    fn fresh_exec(&self) -> ExecId {
        fresh_exec(&self.store)
    }

    fn unpacker(&self, workplace: &Workplace, target: String) -> Unpacker {
        Unpacker {
            exec: self.fresh_exec(),
            user: workplace.user.clone(),
            target,
            owner: Owner::Unpacker,
            time_limit: TIME_LIMIT,
        }
    }

    async fn object(
        &self,
        organization: OrganizationId,
        workplace: &Workplace,
        id: ObjectId,
        target: &str,
    ) -> Result<(), MountProblem> {
        let object = objects::find(&self.store, organization, id).await?;
        let (_, bytes) = objects::open(&self.store, &object).await?;
        let mut bytes = StreamReader::new(bytes.map_err(std::io::Error::other));
        let target = workplace.resolve(target);
        let devbox = &*workplace.devbox;
        if is_archive(&object) {
            let unpacker = self.unpacker(workplace, target);
            archives::unpack(devbox, unpacker, bytes, Limits::default()).await?;
        } else {
            devbox
                .write_file(&target, &workplace.user, None, &mut bytes)
                .await?;
        }
        Ok(())
    }

    /// Checks a repository out below the user's home and runs its install command there.
    pub(crate) async fn code(
        &self,
        organization: OrganizationId,
        workplace: &Workplace,
        code: &CodeMount,
    ) -> Result<(), MountProblem> {
        let target = workplace.resolve(&code.name);
        let fetched = self.fetch_code(organization, code).await?;
        self.check_out(workplace, &fetched, &target).await?;
        if let Some(install) = &code.install {
            self.command(workplace, install, Some(target)).await?;
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
    async fn check_out(
        &self,
        workplace: &Workplace,
        fetched: &Fetched,
        target: &str,
    ) -> Result<(), MountProblem> {
        const HAS_GIT: &str = "command -v git >/dev/null 2>&1";
        const CLONE: &str = r#"
            set -e
            export GIT_CONFIG_NOSYSTEM=1
            trap 'rm -f "$1"' EXIT
            mkdir -p "$(dirname "$2")"
            git clone --quiet --no-checkout "$1" "$2"
            git -C "$2" remote set-url origin "$3"
            if [ -n "$5" ]; then
                git -C "$2" checkout --quiet -B "$5" "$4"
            else
                git -C "$2" checkout --quiet --detach "$4"
            fi
        "#;
        let spool = self.repositories.spool()?;
        let file = spool.path().join("transfer");
        let has_git = self.run(workplace, HAS_GIT, Vec::new(), &workplace.user);
        if !has_git.await?.0.success() {
            self.repositories.archive(fetched, &file).await?;
            let unpacker = self.unpacker(workplace, target.to_owned());
            let archive = open(&file).await?;
            archives::unpack(&*workplace.devbox, unpacker, archive, Limits::default()).await?;
            return Ok(());
        }
        self.repositories.bundle(fetched, &file).await?;
        let bundle = format!("/tmp/{}.bundle", self.fresh_exec());
        workplace
            .devbox
            .write_file(&bundle, &workplace.user, None, &mut open(&file).await?)
            .await?;
        let arguments = vec![
            bundle,
            target.to_owned(),
            fetched.origin.clone(),
            fetched.commit.clone(),
            fetched.branch.clone().unwrap_or_default(),
        ];
        self.must(workplace, CLONE, arguments, (&workplace.user, "git clone"))
            .await
    }

    async fn find_agent(
        &self,
        organization: OrganizationId,
        id: Option<AgentId>,
        name: Option<&str>,
    ) -> Result<Agent, MountProblem> {
        let agent = match (id, name) {
            (Some(id), _) => self.store.agent(organization, id).await?,
            (None, Some(name)) => self.store.agent_named(organization, name).await?,
            (None, None) => None,
        };
        agent.ok_or(MountProblem::NoAgent)
    }

    async fn agent(
        &self,
        organization: OrganizationId,
        workplace: &Workplace,
        agent: &Agent,
        (target, token): (&Option<String>, &Option<String>),
    ) -> Result<(), MountProblem> {
        let Some(source) = &agent.source else {
            return Err(MountProblem::Invalid("the agent has no source".to_owned()));
        };
        let place = || {
            let target = target.as_deref().ok_or_else(|| {
                let kind = source.origin.kind().name();
                MountProblem::Invalid(format!("an agent from {kind} needs an agent_path"))
            })?;
            Ok::<_, MountProblem>(workplace.resolve(target))
        };
        let directory = match &source.origin {
            AgentOrigin::Npm(package) => {
                self.install(workplace, NPM, agent, (package, "@")).await?;
                None
            }
            AgentOrigin::Pip(package) => {
                self.install(workplace, PIP, agent, (package, "==")).await?;
                None
            }
            AgentOrigin::Git {
                repository,
                reference,
            } => {
                let target = place()?;
                let wanted = Wanted {
                    organization,
                    address: Address::Url(repository),
                    token: token.as_deref(),
                    reference: reference.as_deref(),
                };
                let fetched = self.repositories.fetch(wanted).await?;
                self.check_out(workplace, &fetched, &target).await?;
                Some(target)
            }
            AgentOrigin::Object(object) => {
                let target = place()?;
                self.object(organization, workplace, *object, &target)
                    .await?;
                Some(target)
            }
        };
        for command in &source.setup {
            self.command(workplace, command, directory.clone()).await?;
        }
        Ok(())
    }

    /// Installs a package with the box's own tool, for everybody in the box.
    async fn install(
        &self,
        workplace: &Workplace,
        script: &str,
        agent: &Agent,
        (package, joint): (&Package, &str),
    ) -> Result<(), MountProblem> {
        let wanted = match &agent.version {
            Some(version) => format!("{}{joint}{version}", package.name),
            None => package.name.clone(),
        };
        let name = format!("install {wanted}");
        let arguments = vec![wanted, package.registry_url.clone().unwrap_or_default()];
        self.must(workplace, script, arguments, (&User::Root, &name))
            .await
    }

    /// Runs a command of a client, in `directory` if that is one.
    async fn command(
        &self,
        workplace: &Workplace,
        command: &str,
        directory: Option<String>,
    ) -> Result<(), MountProblem> {
        // An object agent may be a single file: then its setup runs at home.
        const RUN: &str = r#"if [ -n "$2" ] && [ -d "$2" ]; then cd "$2" || exit 1; else cd "$3" || exit 1; fi
            exec /bin/sh -c "$1""#;
        let arguments = vec![
            command.to_owned(),
            directory.unwrap_or_default(),
            workplace.home.clone(),
        ];
        self.must(workplace, RUN, arguments, (&workplace.user, command))
            .await
    }

    /// Runs a script that must succeed; `name` is what it is called when it does not.
    async fn must(
        &self,
        workplace: &Workplace,
        script: &str,
        arguments: Vec<String>,
        (user, name): (&User, &str),
    ) -> Result<(), MountProblem> {
        let (exit, said) = self.run(workplace, script, arguments, user).await?;
        if exit.success() {
            return Ok(());
        }
        Err(MountProblem::Command {
            command: name.to_owned(),
            status: exit.status(),
            said: workplace.masks.apply(said.trim_end()),
        })
    }

    async fn run(
        &self,
        workplace: &Workplace,
        script: &str,
        arguments: Vec<String>,
        user: &User,
    ) -> proctor_devbox::Result<(proctor_devbox::Exit, String)> {
        let command = SetupCommand {
            id: self.fresh_exec(),
            script,
            arguments,
            user,
            directory: Some("/".to_owned()),
            env: workplace.environment.clone(),
            time_limit: TIME_LIMIT,
        };
        commands::run(&*workplace.devbox, command).await
    }
}

const NPM: &str = r#"exec npm install --global ${2:+"--registry=$2"} -- "$1""#;
const PIP: &str = r#"export PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore
    if [ -n "$2" ]; then export PIP_INDEX_URL="$2"; fi; exec python3 -m pip install --quiet -- "$1""#;

/// A name that no execution has had.
pub(crate) fn fresh_exec(store: &Store) -> ExecId {
    let fresh = store.fresh_id::<EventKind>().bare().to_ascii_lowercase();
    ExecId::new(format!("setup-{fresh}")).expect("letters and digits make a name")
}

async fn open(path: &std::path::Path) -> Result<tokio::fs::File, GitError> {
    tokio::fs::File::open(path)
        .await
        .map_err(GitError::Platform)
}

/// Whether an object is unpacked instead of copied. One compressed file is not an archive.
fn is_archive(object: &StoredObject) -> bool {
    match object.content_type {
        ContentType::Tar | ContentType::Tgz => true,
        ContentType::Unspecified => archives::has_archive_name(&object.name),
        ContentType::Text | ContentType::Binary | ContentType::Gzip => false,
    }
}
