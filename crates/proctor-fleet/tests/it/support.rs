//! A fleet of the test's own, with everything it needs, gone when the test ends.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use proctor_core::{
    devbox::{DevboxSetup, DevboxStatus, Initiator},
    id::kinds::{DevboxId, OrganizationId},
    time::{ManualClock, Timestamp},
};
use proctor_devbox::{
    Backend, Error, Stream,
    local::{LocalBackend, LocalConfig},
};
use proctor_fleet::{
    Command, DevboxRecord, Fleet, FleetOptions, KeepFrozen, Keeping, NewCommand, NewDevbox,
};
use proctor_store::{Store, StoreOptions, ambient::RandomIds, credentials::PlainKey};
use tempfile::TempDir;

/// Long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct House {
    pub(crate) fleet: Fleet,
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) organization: OrganizationId,
    pub(crate) backend: Arc<dyn Backend>,
    keep_frozen: KeepFrozen,
    directory: TempDir,
    keeping: Keeping,
}

fn backend(data: &std::path::Path) -> Arc<dyn Backend> {
    let config = LocalConfig::new(data.join("boxes"));
    Arc::new(LocalBackend::open(config).unwrap())
}

impl House {
    pub(crate) async fn open() -> Self {
        Self::with(KeepFrozen::default(), Keeping::default()).await
    }

    /// One that keeps so many frozen disks.
    pub(crate) async fn keeping_frozen(keep_frozen: KeepFrozen) -> Self {
        Self::with(keep_frozen, Keeping::default()).await
    }

    /// One that keeps this much of commands that have ended.
    pub(crate) async fn keeping_commands(keeping: Keeping) -> Self {
        Self::with(KeepFrozen::default(), keeping).await
    }

    async fn with(keep_frozen: KeepFrozen, keeping: Keeping) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_790_000_000_000)));
        Self::on(directory, clock, keep_frozen, keeping).await
    }

    /// One in a directory that an earlier one may have used.
    pub(crate) async fn in_directory(directory: TempDir) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_790_000_000_000)));
        Self::on(directory, clock, KeepFrozen::default(), Keeping::default()).await
    }

    async fn on(
        directory: TempDir,
        clock: Arc<ManualClock>,
        keep_frozen: KeepFrozen,
        keeping: Keeping,
    ) -> Self {
        let options = StoreOptions::embedded(directory.path());
        let ids = Arc::new(RandomIds::default());
        let store = Store::open(&options, clock.clone(), ids).await.unwrap();
        let organization = match store.bootstrap("Test", PlainKey::Random).await.unwrap() {
            Some((organization, _)) => organization.id,
            None => store.organizations().await.unwrap()[0].id,
        };
        let backend = backend(directory.path());
        let options = FleetOptions {
            keep_frozen,
            keeping,
            ..FleetOptions::new(directory.path().join("fleet"))
        };
        let fleet = Fleet::open(options, store.clone(), Arc::clone(&backend), clock.clone())
            .await
            .unwrap();
        fleet.recover().await.unwrap();
        Self {
            fleet,
            store,
            clock,
            organization,
            backend,
            keep_frozen,
            directory,
            keeping,
        }
    }

    /// Lets go of everything, as a server that ends, and begins anew.
    pub(crate) async fn restart(self) -> Self {
        let (keep_frozen, keeping) = (self.keep_frozen, self.keeping);
        let (directory, clock) = self.leave().await;
        Self::on(directory, clock, keep_frozen, keeping).await
    }

    /// Another fleet on the same devboxes, which takes up nothing.
    pub(crate) async fn fleet_on(&self, backend: Arc<dyn Backend>) -> Fleet {
        let options = FleetOptions::new(self.directory.path().join("fleet"));
        Fleet::open(options, self.store.clone(), backend, self.clock.clone())
            .await
            .unwrap()
    }

    /// Leaves everything where it is. What goes on ends with its runtime, and then the backend must be let go.
    pub(crate) fn abandon(self) -> (TempDir, Arc<dyn Backend>) {
        (self.directory, self.backend)
    }

    async fn leave(self) -> (TempDir, Arc<ManualClock>) {
        self.fleet.close().await;
        self.store.close().await;
        let Self {
            fleet,
            backend,
            directory,
            clock,
            ..
        } = self;
        drop((fleet, backend));
        (directory, clock)
    }

    /// Ends every box and lets go.
    pub(crate) async fn end(self) {
        // A devbox that has just ended may take its box away at the same time.
        while let Err(error) = self.backend.sweep(&BTreeSet::new()).await {
            assert!(matches!(error, Error::NoSuchBox(_)), "{error}");
        }
        let _ = self.leave().await;
    }

    pub(crate) async fn create(&self, setup: DevboxSetup) -> DevboxRecord {
        self.create_for(Initiator::Invocation, setup).await
    }

    /// A devbox that somebody in particular has made.
    pub(crate) async fn create_for(
        &self,
        initiator: Initiator,
        setup: DevboxSetup,
    ) -> DevboxRecord {
        let new = NewDevbox {
            name: Some("test".to_owned()),
            metadata: [("kind".to_owned(), "test".to_owned())].into(),
            setup,
            initiator,
            tunnel: None,
        };
        self.fleet.create(self.organization, new).await.unwrap()
    }

    /// A devbox that can be worked with.
    pub(crate) async fn running(&self, setup: DevboxSetup) -> DevboxId {
        let id = self.create(setup).await.id;
        let record = self.reaches(id, DevboxStatus::Running).await;
        assert_eq!(record.status(), DevboxStatus::Running, "{:?}", record.life);
        id
    }

    /// The devbox when it has this status, or has ended.
    pub(crate) async fn reaches(&self, id: DevboxId, status: DevboxStatus) -> DevboxRecord {
        let statuses = [status, DevboxStatus::Shutdown, DevboxStatus::Failure];
        let waited = self
            .fleet
            .wait_for(self.organization, id, &statuses, PATIENCE);
        waited.await.unwrap().unwrap()
    }

    pub(crate) async fn start(
        &self,
        id: DevboxId,
        command: &str,
        shell: Option<&str>,
    ) -> Arc<Command> {
        let new = NewCommand {
            command: command.to_owned(),
            shown: None,
            id: None,
            shell: shell.map(str::to_owned),
            stdin: false,
            user: None,
            view: None,
        };
        self.fleet
            .execute(self.organization, id, new)
            .await
            .unwrap()
    }

    /// Runs a command to its end: its status and what it wrote.
    pub(crate) async fn sh(&self, id: DevboxId, command: &str) -> (i32, String, String) {
        ended(&*self.start(id, command, None).await).await
    }

    /// The same in a named shell.
    pub(crate) async fn sh_in(
        &self,
        id: DevboxId,
        shell: &str,
        command: &str,
    ) -> (i32, String, String) {
        ended(&*self.start(id, command, Some(shell)).await).await
    }
}

pub(crate) async fn ended(command: &Command) -> (i32, String, String) {
    let completed = tokio::time::timeout(PATIENCE, command.completed());
    let status = completed.await.unwrap().unwrap();
    let stdout = command.tail(Stream::Stdout, 1000).await.unwrap().text;
    let stderr = command.tail(Stream::Stderr, 1000).await.unwrap().text;
    (status, stdout, stderr)
}
