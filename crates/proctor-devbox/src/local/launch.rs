//! The server's side of the launcher: started once, started again if it died.

use std::{
    fs::Metadata,
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{fs::MetadataExt as _, process::CommandExt as _},
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use rustix::{
    fs::{MemfdFlags, SealFlags},
    net::{AddressFamily, SocketFlags, SocketType},
};

use super::{
    Program, id_ranges,
    inside::{LAUNCHER, Order, send_order},
};

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
    /// The file as it was when the server started, or a sealed copy of it in memory: nobody in a box can change what the
    /// supervisors run.
    Opened(OwnedFd),
    /// The file itself, where the host forbids programs in memory.
    Path(PathBuf),
}

impl Launcher {
    pub(super) fn new(program: &Program) -> io::Result<Self> {
        let path = match program {
            Program::Itself => PathBuf::from("/proc/self/exe"),
            Program::File(path) => path.clone(),
        };
        let file = fs_err::File::open(&path)?;
        let program = if is_out_of_reach(&file.metadata()?) {
            ProgramFile::Opened(std::fs::File::from(file).into())
        } else {
            match seal(file.file()) {
                Ok(copy) => ProgramFile::Opened(copy),
                Err(_) => ProgramFile::Path(fs_err::canonicalize(path)?),
            }
        };
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
            ProgramFile::Opened(file) => {
                PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
            }
            ProgramFile::Path(path) => path.clone(),
        };
        let child = Command::new(path)
            .arg0("proctor-devbox")
            .arg(LAUNCHER)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Its own group, so that a signal from the server's terminal does not reach the boxes.
            .process_group(0)
            .spawn()?;
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

/// Whether no box can ever have a user who may write to this program: boxes have users of their own, and only the host's root
/// may write to it. Then it needs no copy, which would take as much memory as the program is large.
fn is_out_of_reach(program: &Metadata) -> bool {
    id_ranges::available() && program.uid() == 0 && program.mode() & 0o022 == 0
}

fn seal(program: &std::fs::File) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let copy = rustix::fs::memfd_create("proctor", flags)?;
    let mut left = program.metadata()?.len();
    while left > 0 {
        // The kernel copies by itself, which is several times as fast as reading and writing.
        match rustix::fs::sendfile(
            &copy,
            program,
            None,
            usize::try_from(left).unwrap_or(usize::MAX),
        )? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            sent => left = left.saturating_sub(sent as u64),
        }
    }
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&copy, seals)?;
    // A descriptor that is open for writing cannot be executed; opening it anew for reading can.
    let read_only = fs_err::File::open(format!("/proc/self/fd/{}", copy.as_raw_fd()))?;
    Ok(OwnedFd::from(std::fs::File::from(read_only)))
}
