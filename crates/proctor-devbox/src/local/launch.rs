//! The server's side of the launcher: started once, started again if it died.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    process::{Child, Stdio},
    sync::{Mutex, PoisonError},
};

use proctor_embedded::run::Executable;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::inside::{Order, send_order};

/// The launcher, the supervisors and what they become, as `build.rs` made it.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/proctor-supervisor"));
const NAME: &str = "proctor-supervisor";
/// A launcher that can be given orders.
#[derive(Debug)]
pub(super) struct Launcher {
    program: Executable,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    socket: OwnedFd,
    child: Child,
}

impl Launcher {
    /// Starts the launcher of a server that keeps its files in `data`.
    pub(super) fn start(data: &Path) -> io::Result<Self> {
        let in_memory = Executable::in_memory(NAME, PROGRAM).and_then(Self::of);
        in_memory.or_else(|not_in_memory| {
            let on_disk = Executable::on_disk(NAME, PROGRAM, data).and_then(Self::of);
            on_disk.map_err(|error| {
                let why = format!("from memory: {not_in_memory}; from a file: {error}");
                io::Error::new(error.kind(), why)
            })
        })
    }

    fn of(program: Executable) -> io::Result<Self> {
        let launcher = Self {
            program,
            running: Mutex::new(None),
        };
        let running = launcher.spawn()?;
        *launcher.lock() = Some(running);
        Ok(launcher)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(&self) -> io::Result<Running> {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let mut command = self.program.command();
        command
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = proctor_embedded::run::spawn(&mut command)?;
        Ok(Running {
            socket: ours,
            child,
        })
    }

    /// Has a supervisor started that reports on `connection`.
    pub(super) fn order(&self, order: &Order, connection: &impl AsFd) -> io::Result<()> {
        let mut running = self.lock();
        if let Some(launcher) = &mut *running {
            if send_order(launcher.socket.as_fd(), order, connection.as_fd()).is_ok() {
                return Ok(());
            }
            let _ = launcher.child.kill();
            let _ = launcher.child.wait();
        }
        let launcher = running.insert(self.spawn()?);
        send_order(launcher.socket.as_fd(), order, connection.as_fd())
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let running = self.lock().take();
        if let Some(Running { socket, mut child }) = running {
            // It ends when its socket closes.
            drop(socket);
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_program_runs_in_memory_it_runs_from_a_file() {
        let data = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let program = Executable::on_disk(NAME, PROGRAM, data.path()).unwrap();
            let launcher = Launcher::of(program).unwrap();
            let mut running = launcher.lock();
            let child = &mut running.as_mut().unwrap().child;
            assert!(child.try_wait().unwrap().is_none(), "it waits for orders");
        }
    }
}
