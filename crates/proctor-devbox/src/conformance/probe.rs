//! What cases are written with: boxes that are destroyed in the end, scripts, and reasons for failing.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use super::{Outcome, Subject};
use crate::{
    backend::{Backend, Devbox, Execution},
    error::Error,
    name::{BoxId, ExecId, InvalidName, LayerId},
    record::{Exit, How, Property},
    spec::{BoxSpec, ExecSpec, Stream, User},
};
use proctor_core::causes::with_causes;

/// How long anything may take before a case gives up. Only ever reached by what is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a case failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(with_causes(&error).to_string())
    }
}

impl From<InvalidName> for Failed {
    fn from(error: InvalidName) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Fails the case unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::conformance::Failed(format!($($message)+)));
        }
    };
}
pub(super) use ensure;

/// What a program wrote and how it ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) exit: Exit,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A subject with everything that a case has made on it.
pub struct Probe {
    subject: Box<dyn Subject>,
    boxes: BTreeSet<BoxId>,
    layers: Vec<LayerId>,
    counter: AtomicU32,
}

impl Probe {
    /// A probe of `subject` with nothing made yet.
    pub fn new(subject: Box<dyn Subject>) -> Self {
        Self {
            subject,
            boxes: BTreeSet::new(),
            layers: Vec::new(),
            counter: AtomicU32::new(0),
        }
    }

    pub(super) fn backend(&self) -> Arc<dyn Backend> {
        self.subject.backend()
    }

    pub(super) async fn restart(&mut self) -> Result<(), Failed> {
        self.subject.restart().await
    }

    /// A specification on the subject's base with a fresh name.
    pub(super) fn spec(&mut self) -> Result<BoxSpec, Failed> {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        Ok(BoxSpec::new(
            BoxId::new(format!("case-{number}"))?,
            self.subject.base(),
        ))
    }

    /// A directory of the host to write to.
    pub(super) fn scratch(&self) -> PathBuf {
        self.subject.scratch()
    }

    /// Makes a box.
    pub(super) async fn make(&mut self, spec: BoxSpec) -> Result<Arc<dyn Devbox>, Failed> {
        self.boxes.insert(spec.id.clone());
        Ok(self.backend().create(spec).await?)
    }

    /// A box that a case has made by itself.
    pub(super) async fn found(&mut self, id: &BoxId) -> Result<Arc<dyn Devbox>, Failed> {
        self.boxes.insert(id.clone());
        Ok(self.backend().open(id).await?)
    }

    /// Makes and starts a box.
    pub(super) async fn start(&mut self, spec: BoxSpec) -> Result<Arc<dyn Devbox>, Failed> {
        let devbox = self.make(spec).await?;
        devbox.start().await?;
        Ok(devbox)
    }

    /// A running box with nothing special.
    pub(super) async fn plain(&mut self) -> Result<Arc<dyn Devbox>, Failed> {
        let spec = self.spec()?;
        self.start(spec).await
    }

    /// A name for a layer that will be removed in the end.
    pub(super) fn layer(&mut self) -> Result<LayerId, Failed> {
        let id = LayerId::new(format!("layer-{}", self.layers.len()))?;
        self.layers.push(id.clone());
        Ok(id)
    }

    /// A fresh name for an execution.
    pub(super) fn exec_id(&self) -> Result<ExecId, Failed> {
        Ok(ExecId::new(format!(
            "exec-{}",
            self.counter.fetch_add(1, Ordering::Relaxed)
        ))?)
    }

    /// Starts a script.
    pub(super) async fn launch(
        &self,
        devbox: &Arc<dyn Devbox>,
        script: &str,
    ) -> Result<Arc<dyn Execution>, Failed> {
        Ok(devbox
            .exec(ExecSpec::shell(self.exec_id()?, script))
            .await?)
    }

    /// Runs a script to its end as root.
    pub(super) async fn sh(&self, devbox: &Arc<dyn Devbox>, script: &str) -> Result<Ran, Failed> {
        self.sh_as(devbox, &User::Root, script).await
    }

    /// Runs a script to its end as `user`.
    pub(super) async fn sh_as(
        &self,
        devbox: &Arc<dyn Devbox>,
        user: &User,
        script: &str,
    ) -> Result<Ran, Failed> {
        let mut spec = ExecSpec::shell(self.exec_id()?, script);
        spec.user = user.clone();
        spec.timeout = Some(PATIENCE);
        self.finish(&devbox.exec(spec).await?).await
    }

    /// Waits for an execution and reads all of its output.
    pub(super) async fn finish(&self, execution: &Arc<dyn Execution>) -> Result<Ran, Failed> {
        let exit = within(execution.wait()).await??;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Ran {
            exit,
            stdout: text(read_all(execution, Stream::Stdout).await?),
            stderr: text(read_all(execution, Stream::Stderr).await?),
        })
    }

    /// Whether the box has the property by the kernel; otherwise the reason for skipping.
    pub(super) async fn lacks(
        &self,
        devbox: &Arc<dyn Devbox>,
        property: Property,
    ) -> Result<Option<Outcome>, Failed> {
        let record = devbox.record().await?;
        let line = record
            .enforcement
            .into_iter()
            .find(|line| line.property == property);
        Ok(match line.map(|line| line.how) {
            Some(How::Enforced) => None,
            Some(How::Soft(why) | How::Missing(why)) => {
                Some(Outcome::Skipped(format!("{property:?}: {why}")))
            }
            None => Some(Outcome::Skipped(format!(
                "{property:?}: the backend says nothing about it"
            ))),
        })
    }

    /// Destroys everything that was made.
    pub(super) async fn clean_up(&mut self) -> Result<(), Failed> {
        let backend = self.backend();
        for id in &self.boxes {
            match backend.open(id).await {
                Ok(devbox) => within(devbox.destroy()).await??,
                Err(Error::NoSuchBox(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        for id in self.layers.iter().rev() {
            match backend.delete_layer(id).await {
                Ok(()) | Err(Error::NoSuchLayer(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        within(backend.drain()).await
    }
}

/// Waits for what must not take for ever.
pub(super) async fn within<T>(work: impl Future<Output = T>) -> Result<T, Failed> {
    tokio::time::timeout(PATIENCE, work)
        .await
        .map_err(|_| Failed(format!("nothing happened for {PATIENCE:?}")))
}

/// Everything that an execution writes to a stream.
pub(super) async fn read_all(
    execution: &Arc<dyn Execution>,
    stream: Stream,
) -> Result<Vec<u8>, Failed> {
    let mut all = Vec::new();
    loop {
        let chunk = within(execution.read_output(stream, all.len() as u64, 1 << 20)).await??;
        all.extend_from_slice(&chunk.bytes);
        if chunk.last {
            return Ok(all);
        }
    }
}

/// Waits until a stream holds `text`.
pub(super) async fn wait_for(execution: &Arc<dyn Execution>, text: &str) -> Result<(), Failed> {
    let mut all = Vec::new();
    loop {
        let chunk =
            within(execution.read_output(Stream::Stdout, all.len() as u64, 1 << 20)).await??;
        all.extend_from_slice(&chunk.bytes);
        if String::from_utf8_lossy(&all).contains(text) {
            return Ok(());
        }
        ensure!(!chunk.last, "the program ended without writing {text:?}");
    }
}
