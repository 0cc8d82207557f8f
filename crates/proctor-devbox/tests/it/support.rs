//! What the tests share: a backend on a directory of its own.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use proctor_devbox::{
    Backend, Base,
    conformance::{Failed, Subject},
    local::{LocalBackend, LocalConfig, Program},
};
use tempfile::TempDir;

/// The program that runs the boxes: this test has no `main` of its own.
pub(crate) fn inner() -> Program {
    Program::File(PathBuf::from(env!("CARGO_BIN_EXE_proctor-devbox-inner")))
}

pub(crate) fn config(data: &std::path::Path) -> LocalConfig {
    LocalConfig {
        program: inner(),
        ..LocalConfig::new(data)
    }
}

/// A local backend whose data goes away with it.
pub(crate) struct Local {
    pub(crate) directory: TempDir,
    backend: Option<Arc<LocalBackend>>,
}

impl Local {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let backend = LocalBackend::open(config(directory.path())).unwrap();
        Self {
            directory,
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

    async fn restart(&mut self) -> Result<(), Failed> {
        let old = self.backend.take().unwrap();
        old.drain().await;
        drop(old);
        self.backend = Some(Arc::new(LocalBackend::open(config(self.directory.path()))?));
        Ok(())
    }
}
