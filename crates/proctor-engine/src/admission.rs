//! Admission of frozen benchmarks: whether a rubric sees harm. What tries it is an extension; the engine runs it in the
//! background, one version at a time, and keeps what it found by the digest of the definition.

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, BenchmarkVersion, World},
    environment::Environment,
    time::Timestamp,
};
use proctor_macros::boxed_futures;
use proctor_store::admissions::KeptAdmission;
use serde_json::{Value, json};

use crate::{engine::Engine, error::EngineError, extensions::Extensions};

/// What tries whether a benchmark sees harm.
pub trait Admission: Send + Sync + 'static {
    /// Tries a frozen benchmark; its certificate, or why it cannot be tried. It may take a minute.
    fn admit(&self, frozen: &FrozenVersion, extensions: &Extensions) -> Result<Value, String>;
}

/// A version of a benchmark with everything that was frozen.
pub struct FrozenVersion {
    /// The version.
    pub version: BenchmarkVersion,
    /// What was frozen.
    pub definition: Benchmark,
    /// Where its tasks are done; none if they are done in boxes.
    pub environment: Option<Environment>,
    /// The time as if it were taken now.
    pub now: Timestamp,
}

/// How an admission stands.
#[derive(Clone, Debug, PartialEq)]
pub enum AdmissionState {
    /// It is being tried.
    Running,
    /// What was found.
    Found(KeptAdmission),
}

#[boxed_futures]
impl Engine {
    /// How the admission of a version stands; none if nobody asked for it, or this server was stopped before it was done.
    pub async fn admission(&self, digest: Digest) -> Result<Option<AdmissionState>, EngineError> {
        if self.inner.admissions.is_under_way(&digest) {
            return Ok(Some(AdmissionState::Running));
        }
        let kept = self.store().admission(&digest).await?;
        Ok(kept.map(AdmissionState::Found))
    }

    /// Begins to try a version, unless that is under way.
    pub async fn admit(&self, version: BenchmarkVersion) -> Result<(), EngineError> {
        let Some(admission) = self.extensions().admission.clone() else {
            let message = "this server has nothing that tries whether benchmarks see harm";
            return Err(EngineError::Unclear(message.to_owned()));
        };
        let digest = version.digest;
        let definition = self.store().definition(&digest).await?;
        let definition = definition.ok_or(EngineError::NotFound("version"))?;
        let frozen = definition.tasks.iter().find_map(|task| match &task.world {
            World::Playground { frozen, .. } => *frozen,
            World::Devbox { .. } => None,
        });
        let environment = match frozen {
            Some(digest) => self.store().environment_definition(&digest).await?,
            None => None,
        };
        let frozen = FrozenVersion {
            version,
            definition,
            environment,
            now: self.now(),
        };
        let stop = self.inner.closing.child_token();
        if !self.inner.admissions.begin(digest, stop) {
            return Ok(());
        }
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let turn = engine.inner.admitting.lock().await;
            let extensions = engine.extensions().clone();
            let tried = tokio::task::spawn_blocking(move || admission.admit(&frozen, &extensions));
            let certificate = match tried.await {
                Ok(Ok(certificate)) => certificate,
                Ok(Err(why)) => json!({"admitted": false, "problems": [why]}),
                Err(error) => json!({"admitted": false, "problems": [error.to_string()]}),
            };
            drop(turn);
            if let Err(error) = engine.store().keep_admission(&digest, &certificate).await {
                tracing::warn!(%error, %digest, "what an admission found could not be kept");
            }
            engine.inner.admissions.end(&digest);
        });
        Ok(())
    }
}
