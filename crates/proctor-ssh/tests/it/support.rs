//! A fleet with an SSH server and OpenSSH's clients, gone when the test ends.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::Arc,
    time::Duration,
};

use proctor_core::{
    devbox::{DevboxSetup, DevboxStatus, Initiator},
    id::kinds::{DevboxId, OrganizationId},
    time::{ManualClock, Timestamp},
};
use proctor_devbox::{
    Backend, Error,
    local::{LocalBackend, LocalConfig},
};
use proctor_fleet::{Fleet, FleetOptions, NewDevbox, SshService as _};
use proctor_ssh::{SshIdentity, SshOptions, SshServer};
use proctor_store::{Store, StoreOptions, ambient::RandomIds, credentials::PlainKey};
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt as _, process::Command, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Place {
    pub(crate) fleet: Fleet,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) organization: OrganizationId,
    pub(crate) address: SocketAddr,
    pub(crate) identity: Arc<SshIdentity>,
    store: Store,
    backend: Arc<dyn Backend>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    directory: TempDir,
}

/// A key in a file, and whom it is for.
pub(crate) struct Key {
    pub(crate) file: PathBuf,
    pub(crate) user: String,
    pub(crate) devbox: DevboxId,
}

impl Place {
    pub(crate) async fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_790_000_000_000)));
        let options = StoreOptions::embedded(directory.path());
        let ids = Arc::new(RandomIds::default());
        let store = Store::open(&options, clock.clone(), ids).await.unwrap();
        let made = store.bootstrap("Test", PlainKey::Random).await.unwrap();
        let organization = made.unwrap().0.id;
        let config = LocalConfig::new(directory.path().join("boxes"));
        let backend: Arc<dyn Backend> = Arc::new(LocalBackend::open(config).unwrap());
        let options = FleetOptions::new(directory.path().join("fleet"));
        let opened = Fleet::open(options, store.clone(), Arc::clone(&backend), clock.clone());
        let fleet = opened.await.unwrap();
        fleet.recover().await.unwrap();
        let options = SshOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            public: None,
        };
        let server = SshServer::bind(options, fleet.clone()).await.unwrap();
        let identity = server.identity();
        let stop = CancellationToken::new();
        let serving = TaskTracker::new().spawn(server.serve(stop.clone()));
        Self {
            fleet,
            clock,
            organization,
            address: identity.endpoint().listens,
            identity,
            store,
            backend,
            stop,
            serving,
            directory,
        }
    }

    /// A devbox that can be worked with.
    pub(crate) async fn devbox(&self, setup: DevboxSetup) -> DevboxId {
        let new = NewDevbox {
            name: None,
            metadata: Default::default(),
            setup,
            initiator: Initiator::Invocation,
            tunnel: None,
        };
        let made = self.fleet.create(self.organization, new).await.unwrap();
        self.reaches(made.id, DevboxStatus::Running).await;
        made.id
    }

    pub(crate) async fn reaches(&self, id: DevboxId, status: DevboxStatus) {
        let wanted = [status];
        let waited = self
            .fleet
            .wait_for(self.organization, id, &wanted, PATIENCE);
        assert!(waited.await.unwrap().is_some(), "it is not {status:?}");
    }

    /// A key into a devbox.
    pub(crate) async fn key(&self, devbox: DevboxId) -> Key {
        let made = self.identity.generate().unwrap();
        let added = self
            .fleet
            .add_ssh_key(self.organization, devbox, &made.fingerprint);
        let user = added.await.unwrap();
        let file = self.directory.path().join(made.fingerprint);
        fs_err::write(&file, made.private).unwrap();
        fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        Key { file, user, devbox }
    }

    /// A key and the devbox that it leads into.
    pub(crate) async fn ready(&self) -> Key {
        let devbox = self.devbox(DevboxSetup::default()).await;
        self.key(devbox).await
    }

    /// A file of the test's own.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What every client of OpenSSH is told: the server's key is the one that the server says it has.
    fn options(&self, key: &Path, port_flag: &str) -> Vec<String> {
        let known = self.file("known_hosts");
        let port = self.address.port();
        let line = format!("[127.0.0.1]:{port} {}\n", self.identity.endpoint().host_key);
        fs_err::write(&known, line).unwrap();
        let mut options = vec!["-F".to_owned(), "none".to_owned()];
        for option in [
            "IdentitiesOnly=yes".to_owned(),
            "IdentityAgent=none".to_owned(),
            "BatchMode=yes".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            "LogLevel=ERROR".to_owned(),
            format!("UserKnownHostsFile={}", known.display()),
        ] {
            options.extend(["-o".to_owned(), option]);
        }
        options.extend(["-i".to_owned(), key.display().to_string()]);
        options.extend([port_flag.to_owned(), port.to_string()]);
        options
    }

    /// `ssh` with `arguments` before the host and `command` after it.
    pub(crate) fn ssh(&self, key: &Key, arguments: &[&str], command: &[&str]) -> Command {
        let mut ssh = Command::new("ssh");
        ssh.args(self.options(&key.file, "-p"))
            .args(arguments)
            .arg(format!("{}@127.0.0.1", key.user))
            .args(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        ssh
    }

    /// Runs a command by `ssh`: its status, what it wrote, and its errors.
    pub(crate) async fn run(&self, key: &Key, command: &str) -> (i32, String, String) {
        told(self.ssh(key, &[], &[command]).output().await.unwrap())
    }

    /// The same with an input.
    pub(crate) async fn feed(&self, mut ssh: Command, input: &[u8]) -> (i32, String, String) {
        let mut child = ssh.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let fed = async {
            let _ = stdin.write_all(input).await;
            drop(stdin);
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), fed);
        told(output.unwrap())
    }

    /// `scp` or `sftp`.
    pub(crate) fn copy(&self, program: &str, key: &Key, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(self.options(&key.file, "-P"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Ends every box, the server and the fleet.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.serving.await.unwrap();
        while let Err(error) = self.backend.sweep(&BTreeSet::new()).await {
            assert!(matches!(error, Error::NoSuchBox(_)), "{error}");
        }
        self.fleet.close().await;
        self.store.close().await;
    }
}

pub(crate) fn told(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let status = output.status.code().unwrap_or(-1);
    (status, text(output.stdout), text(output.stderr))
}
