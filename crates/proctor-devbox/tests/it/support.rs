//! What the tests share: a backend on a directory of its own.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use proctor_devbox::{
    Backend, Base, BoxId, BoxSpec, Devbox, ExecId, ExecSpec, Execution, Limits, Stream, User,
    conformance::{Failed, Subject},
    local::{LocalBackend, LocalConfig},
};
use tempfile::TempDir;

/// A box that has every limit there is.
pub(crate) const EVERY_LIMIT: Limits = Limits {
    cpu_millis: Some(2000),
    memory_bytes: Some(256 << 20),
    pids: Some(100),
    disk_bytes: Some(100 << 20),
    disk_files: Some(10_000),
    open_files: Some(256),
};

/// A local backend whose data goes away with it.
pub(crate) struct Local {
    pub(crate) directory: TempDir,
    scratch: TempDir,
    backend: Option<Arc<LocalBackend>>,
}

impl Local {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    /// One whose settings `change` has changed.
    pub(crate) fn with(change: impl FnOnce(&mut LocalConfig)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut config = LocalConfig::new(directory.path());
        change(&mut config);
        let backend = LocalBackend::open(config).unwrap();
        Self {
            directory,
            scratch: tempfile::tempdir().unwrap(),
            backend: Some(Arc::new(backend)),
        }
    }
}

#[async_trait]
impl Subject for Local {
    fn backend(&self) -> Arc<dyn Backend> {
        self.backend.clone().unwrap()
    }

    fn base(&self) -> Base {
        Base::Host
    }

    fn scratch(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    async fn restart(&mut self) -> Result<(), Failed> {
        let old = self.backend.take().unwrap();
        old.drain().await;
        drop(old);
        self.backend = Some(Arc::new(LocalBackend::open(LocalConfig::new(
            self.directory.path(),
        ))?));
        Ok(())
    }
}

impl Local {
    /// Makes and starts a box on the host base.
    pub(crate) async fn start(&self, name: &str, limits: Limits) -> Arc<dyn Devbox> {
        let mut spec = BoxSpec::new(BoxId::new(name).unwrap(), Base::Host);
        spec.limits = limits;
        let devbox = self.backend().create(spec).await.unwrap();
        devbox.start().await.unwrap();
        devbox
    }

    /// Destroys every box and lets go.
    pub(crate) async fn end(mut self) {
        let backend = self.backend.take().unwrap();
        backend.sweep(&BTreeSet::new()).await.unwrap();
        backend.drain().await;
    }
}

/// Runs a script to its end; answers its status and what it wrote to both streams.
pub(crate) async fn sh(devbox: &Arc<dyn Devbox>, script: &str) -> (i32, String) {
    sh_as(devbox, &User::Root, script).await
}

pub(crate) async fn sh_as(devbox: &Arc<dyn Devbox>, user: &User, script: &str) -> (i32, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let id = ExecId::new(format!("x{}", NEXT.fetch_add(1, Ordering::Relaxed))).unwrap();
    let mut spec = ExecSpec::new(id, ["/bin/sh", "-c", &format!("exec 2>&1\n{script}")]);
    spec.timeout = Some(Duration::from_secs(50));
    spec.user = user.clone();
    let execution = devbox.exec(spec).await.unwrap();
    let exit = execution.wait().await.unwrap();
    (exit.status(), output(&execution).await)
}

pub(crate) async fn output(execution: &Arc<dyn Execution>) -> String {
    let mut all = Vec::new();
    loop {
        let chunk = execution
            .read_output(Stream::Stdout, all.len() as u64, 1 << 20)
            .await
            .unwrap();
        all.extend_from_slice(&chunk.bytes);
        if chunk.last {
            return String::from_utf8_lossy(&all).into_owned();
        }
    }
}
