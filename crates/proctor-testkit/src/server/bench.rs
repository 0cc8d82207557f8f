//! A server to measure.

use std::{path::Path, process::Stdio};

use tempfile::TempDir;

use super::{Caller, KEY, Leftovers, Server, serve};
use crate::cpu::CpuTime;

/// A server on an empty data directory of its own, on a disk as servers have it; temporary directories may be memory. Its devboxes end with it.
pub struct BenchServer {
    // Ended in this order.
    leftovers: Leftovers,
    server: Server,
    data: TempDir,
}

impl BenchServer {
    /// Starts a program.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(program: &str) -> Self {
        Self::start_with(program, &[])
    }

    /// Starts a program with settings.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start_with(program: &str, settings: &[&str]) -> Self {
        let data = tempfile::Builder::new()
            .prefix("proctor-bench-")
            .tempdir_in("/var/tmp")
            .expect("a directory on a disk");
        let mut command = serve(program, data.path());
        command
            .args(settings)
            .args(["--log", "warn"])
            .env("PROCTOR_BOOTSTRAP_KEY", KEY)
            .stderr(Stdio::null());
        let server = Server::start(&mut command);
        Self {
            leftovers: Leftovers::of(&server, data.path()),
            server,
            data,
        }
    }

    /// Who asks it with [`KEY`].
    #[must_use]
    pub fn caller(&self) -> &Caller {
        self.server.caller()
    }

    /// The server itself.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Its devboxes.
    #[must_use]
    pub fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    /// Where its data is.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// What the server has used of the processors so far.
    #[must_use]
    pub fn cpu(&self) -> CpuTime {
        CpuTime::of(self.server.pid())
    }

    /// Ends the devboxes and then the server, as an administrator would; its data is what is left.
    ///
    /// # Panics
    /// When it does not end well.
    #[must_use]
    pub fn end(self) -> TempDir {
        drop(self.leftovers);
        self.server.signal("TERM");
        assert_eq!(self.server.exit_code(), Some(0), "the server ended badly");
        self.data
    }
}
