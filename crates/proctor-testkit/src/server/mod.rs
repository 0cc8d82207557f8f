//! Proctor's own server as people run it: the real program, on a port that the system chooses.
//!
//! Only the tests and benchmarks of the program's own crate know where the program is, so they say it:
//! `env!("CARGO_BIN_EXE_proctor")`.

pub mod authoring;
mod bench;
mod caller;
mod leftovers;

use std::{
    env,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

pub use self::{bench::BenchServer, caller::Caller, leftovers::Leftovers};

/// The first key of every server that is told which one to begin with.
pub const KEY: &str = "vk_chosen_for_tests_0123456789abcdef";

/// The program to measure: that of `PROCTOR_PROGRAM`, or the one that was built with the benchmark. So one benchmark can measure two versions.
#[must_use]
pub fn program_to_measure(built: &str) -> String {
    env::var("PROCTOR_PROGRAM").unwrap_or_else(|_| built.to_owned())
}

/// `proctor`, free of what the environment of the tests would say to it.
#[must_use]
pub fn proctor(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars().filter(|(name, _)| name.starts_with("PROCTOR_")) {
        command.env_remove(name);
    }
    command
}

/// `proctor serve` on a data directory, to be told more.
#[must_use]
pub fn serve(program: &str, data: &Path) -> Command {
    let mut command = proctor(program);
    command
        .args(["serve", "--json", "--listen", "127.0.0.1:0", "--data"])
        .arg(data);
    command
}

/// A running server, ended as `kill -9` would at the end of the test.
pub struct Server {
    child: Child,
    ready: Value,
    caller: Caller,
    /// Removed after the server has ended.
    _data: Option<TempDir>,
}

impl Server {
    /// Starts a command that says as JSON where it listens, and waits until it has said so.
    ///
    /// # Panics
    /// When it does not start: a test cannot go on without it.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        Self::try_start(command).expect("the server says where it listens")
    }

    /// The same; none if the server ends before it has said so.
    ///
    /// # Panics
    /// When the program is not there, or says something else.
    #[must_use]
    pub fn try_start(command: &mut Command) -> Option<Self> {
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let out = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(out)
            .read_line(&mut line)
            .expect("what it says can be read");
        if line.is_empty() {
            child.wait().expect("it is our child");
            return None;
        }
        let ready: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("the server said {line:?}"));
        let url = ready["url"].as_str().expect("an address");
        let caller = Caller::new(url, KEY);
        Some(Self {
            child,
            ready,
            caller,
            _data: None,
        })
    }

    /// Serves a data directory; [`KEY`] opens it.
    #[must_use]
    pub fn on(program: &str, data: &Path) -> Self {
        Self::start(&mut Self::command_on(program, data))
    }

    /// The command of [`Server::on`], to be told more.
    #[must_use]
    pub fn command_on(program: &str, data: &Path) -> Command {
        let mut command = serve(program, data);
        command
            .args(["--log", "warn"])
            .env("PROCTOR_BOOTSTRAP_KEY", KEY);
        command
    }

    /// Serves an empty data directory of its own; [`KEY`] opens it.
    ///
    /// # Panics
    /// When there is no room for temporary files.
    #[must_use]
    pub fn fresh(program: &str) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut server = Self::on(program, data.path());
        server._data = Some(data);
        server
    }

    /// The address of a path on this server.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        self.caller.url(path)
    }

    /// The key that the server shows at its first start, unless it was told one.
    #[must_use]
    pub fn first_key(&self) -> Option<&str> {
        self.ready["first_key"].as_str()
    }

    /// The key of whoever runs the server, which it shows at its first start.
    #[must_use]
    pub fn operator_key(&self) -> Option<&str> {
        self.ready["operator_key"].as_str()
    }

    /// Who asks this server with [`KEY`].
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The id of the server's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends the server a signal, by name.
    ///
    /// # Panics
    /// When there is no such signal.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &self.pid().to_string()])
            .status();
        assert!(sent.expect("kill runs").success(), "{signal} was not sent");
    }

    /// Waits for the server to end by itself.
    ///
    /// # Panics
    /// When its end cannot be waited for.
    #[must_use]
    pub fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("it is our child").code()
    }

    /// Ends the server at once, as a crash would.
    ///
    /// # Panics
    /// When it cannot be ended.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
