//! The server's side of the launcher: started once, started again if it died.

use std::{
    fs::Permissions,
    io::{self, Write as _},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{fs::PermissionsExt as _, process::CommandExt as _},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rustix::{
    fs::{MemfdFlags, SealFlags},
    net::{AddressFamily, SocketFlags, SocketType},
};

use super::{
    inside::{Order, send_order},
    plan::remove_if_there,
};

/// The launcher, the supervisors and what they become, as `build.rs` made it.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/proctor-supervisor"));
const NAME: &str = "proctor-supervisor";
/// How often a program that somebody may still write to is tried.
const TRIES: u32 = 100;

/// A launcher that can be given orders.
#[derive(Debug)]
pub(super) struct Launcher {
    program: ProgramFile,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    socket: OwnedFd,
    child: Child,
}

/// What to execute.
#[derive(Debug)]
enum ProgramFile {
    /// A sealed copy in memory: nobody in a box can change what the supervisors run.
    InMemory(OwnedFd),
    /// A file, where the host forbids programs in memory.
    OnDisk(PathBuf),
}

impl Launcher {
    /// Starts the launcher of a server that keeps its files in `data`.
    pub(super) fn start(data: &Path) -> io::Result<Self> {
        let in_memory = sealed_copy().and_then(|file| Self::of(ProgramFile::InMemory(file)));
        in_memory.or_else(|not_in_memory| {
            let on_disk = copy_below(data).and_then(|path| Self::of(ProgramFile::OnDisk(path)));
            on_disk.map_err(|error| {
                let why = format!("from memory: {not_in_memory}; from a file: {error}");
                io::Error::new(error.kind(), why)
            })
        })
    }

    fn of(program: ProgramFile) -> io::Result<Self> {
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
        let path = match &self.program {
            ProgramFile::InMemory(file) => {
                PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
            }
            ProgramFile::OnDisk(path) => path.clone(),
        };
        let mut command = Command::new(path);
        command
            .arg0(NAME)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Its own group, so that a signal from the server's terminal does not reach the boxes.
            .process_group(0);
        let mut tries = 1;
        let child = loop {
            match command.spawn() {
                // Another thread forked while the program was being written, and its child has not yet let go of it.
                Err(error)
                    if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < TRIES =>
                {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(1));
                }
                other => break other?,
            }
        };
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

fn sealed_copy() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know the flag, and let everything in memory be executed.
    let copy = rustix::fs::memfd_create(NAME, flags | MemfdFlags::EXEC)
        .or_else(|_| rustix::fs::memfd_create(NAME, flags))?;
    let mut copy = std::fs::File::from(copy);
    copy.write_all(PROGRAM)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&copy, seals)?;
    // A descriptor that is open for writing cannot be executed; opening it anew for reading can.
    let read_only = fs_err::File::open(format!("/proc/self/fd/{}", copy.as_raw_fd()))?;
    Ok(OwnedFd::from(std::fs::File::from(read_only)))
}

/// Writes the program anew: what an earlier version left may be in use.
fn copy_below(data: &Path) -> io::Result<PathBuf> {
    let (fresh, path) = (data.join(format!("{NAME}.new")), data.join(NAME));
    remove_if_there(&fresh)?;
    fs_err::write(&fresh, PROGRAM)?;
    fs_err::set_permissions(&fresh, Permissions::from_mode(0o500))?;
    fs_err::rename(fresh, &path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_program_runs_in_memory_it_runs_from_a_file() {
        let data = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let launcher =
                Launcher::of(ProgramFile::OnDisk(copy_below(data.path()).unwrap())).unwrap();
            let mut running = launcher.lock();
            let child = &mut running.as_mut().unwrap().child;
            assert!(child.try_wait().unwrap().is_none(), "it waits for orders");
        }
    }
}
