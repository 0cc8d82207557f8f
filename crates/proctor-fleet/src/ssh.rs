//! SSH: which keys lead into which devbox, and what whoever has one may do there.
//!
//! The protocol is spoken elsewhere ([`SshService`]); here is what it leads to. A key leads into one devbox and ends with
//! it. Of a key only the fingerprint of its public part is kept.

use std::{collections::BTreeMap, io, net::SocketAddr, sync::Arc};

use proctor_core::{
    causes::with_causes,
    id::kinds::{DevboxId, DevboxKind, OrganizationId},
};
use proctor_devbox::{Duplex, ExecId, ExecSpec, Session, Terminal, User};
use proctor_macros::boxed_futures;
use tokio_util::sync::CancellationToken;

use crate::{error::FleetError, fleet::Fleet, live::Live, logs::Source, workplace::Workplace};

/// Where a server speaks SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshEndpoint {
    /// The host and port that clients use, if somebody said so.
    pub public: Option<(String, u16)>,
    /// The address that is listened on.
    pub listens: SocketAddr,
    /// The server's public key, as a line of `known_hosts` has it.
    pub host_key: String,
}

/// A key that was just made.
pub struct NewSshKey {
    /// The private part, in OpenSSH's form.
    pub private: String,
    /// SHA-256 of the public part, as hexadecimal digits.
    pub fingerprint: String,
}

/// A server that speaks SSH.
pub trait SshService: Send + Sync {
    /// Where it is.
    fn endpoint(&self) -> SshEndpoint;

    /// Makes a key.
    fn generate(&self) -> io::Result<NewSshKey>;
}

#[boxed_futures]
impl Fleet {
    /// Lets the key with this fingerprint lead into a devbox; as which user.
    pub async fn add_ssh_key(
        &self,
        organization: OrganizationId,
        id: DevboxId,
        fingerprint: &str,
    ) -> Result<String, FleetError> {
        let (_, workplace) = self.at_work(organization, id).await?;
        self.store().add_ssh_key(id, fingerprint).await?;
        Ok(user_name(&workplace.user))
    }

    /// Where the key with this fingerprint leads, for somebody who calls themselves `user`. `None` if it leads nowhere.
    pub async fn entrance(
        &self,
        fingerprint: &str,
        user: &str,
    ) -> Result<Option<Entrance>, FleetError> {
        let Some(id) = self.store().devbox_of_ssh_key(fingerprint).await? else {
            return Ok(None);
        };
        let Some(live) = self.find_live(id) else {
            return Ok(None);
        };
        let known = live.workplace().map(|workplace| user_name(&workplace.user));
        if live.record().life.is_over() || known.as_deref() != Some(user) {
            return Ok(None);
        }
        live.visit();
        Ok(Some(Entrance {
            fleet: self.clone(),
            live,
        }))
    }
}

/// The name of a devbox's user, as those write it who come in by SSH.
fn user_name(user: &User) -> String {
    match user {
        User::Root => "root".to_owned(),
        User::Named(name) => name.clone(),
        User::Ids { uid, .. } => uid.to_string(),
    }
}

/// A way into a devbox. While it is kept, the devbox does not count as idle.
pub struct Entrance {
    fleet: Fleet,
    live: Arc<Live>,
}

impl Drop for Entrance {
    fn drop(&mut self) {
        self.live.leave(self.fleet.now());
    }
}

impl std::fmt::Debug for Entrance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Entrance").field(&self.live.id).finish()
    }
}

/// What somebody wants to run.
#[derive(Clone, Debug, Default)]
pub struct SessionRequest {
    /// The command; a shell to work in without.
    pub command: Option<String>,
    /// Environment, over the devbox's own.
    pub environment: BTreeMap<String, String>,
    /// The terminal that it has.
    pub terminal: Option<Terminal>,
}

#[boxed_futures]
impl Entrance {
    /// The devbox that it leads into.
    pub fn devbox(&self) -> DevboxId {
        self.live.id
    }

    /// Cancelled when the devbox ends or the server does.
    pub fn ended(&self) -> (CancellationToken, CancellationToken) {
        (self.live.ending.clone(), self.fleet.closing().clone())
    }

    async fn workplace(&self) -> Result<Workplace, FleetError> {
        self.fleet.awake(&self.live).await
    }

    /// Runs a command or a shell as the devbox's user.
    pub async fn session(&self, request: SessionRequest) -> Result<Session, FleetError> {
        let workplace = self.workplace().await?;
        let id = self.fleet.store().fresh_id::<DevboxKind>().uuid();
        let id = ExecId::new(format!("ssh-{}", id.simple())).expect("letters, digits and a hyphen");
        let mut spec: ExecSpec = match &request.command {
            Some(command) => workplace.shell_command(id, command),
            None => workplace.program(id, ["/bin/bash", "-l"]),
        };
        spec.env.extend(request.environment);
        spec.terminal = request.terminal;
        let session = workplace.devbox.session(spec).await?;
        let words = match &request.command {
            Some(command) => format!("SSH: {command}"),
            None => "SSH: a shell".to_owned(),
        };
        let words = workplace.masks.apply(&words);
        self.live.log.note(self.fleet.now(), Source::Setup, words);
        self.forget_afterwards(&session);
        Ok(session)
    }

    /// Forgets a session when it is over.
    fn forget_afterwards(&self, session: &Session) {
        let execution = Arc::clone(&session.execution);
        let (ending, closing) = self.ended();
        self.fleet.inner.tasks.spawn(async move {
            tokio::select! {
                // With the box, all of it goes.
                () = ending.cancelled() => return,
                () = closing.cancelled() => return,
                _ = execution.wait() => {}
            }
            if let Err(error) = execution.forget().await {
                tracing::debug!(error = %with_causes(&error), "a session's traces stay");
            }
        });
    }

    /// Speaks SFTP as the devbox's user.
    pub async fn sftp(&self) -> Result<Box<dyn Duplex>, FleetError> {
        let workplace = self.workplace().await?;
        let sftp = workplace.devbox.sftp(&workplace.user, &workplace.home);
        Ok(sftp.await?)
    }

    /// Connects to a port of the devbox's loopback interface.
    pub async fn connect(&self, port: u16) -> Result<Box<dyn Duplex>, FleetError> {
        Ok(self.workplace().await?.devbox.connect(port).await?)
    }
}
