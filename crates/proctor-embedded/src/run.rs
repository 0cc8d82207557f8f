//! Starting a program that is carried.

use std::{
    ffi::OsStr,
    fs::Permissions,
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{fs::PermissionsExt as _, process::CommandExt as _},
    },
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use flate2::read::DeflateDecoder;
use rustix::fs::{MemfdFlags, SealFlags};

/// How often a program that somebody may still write to is tried.
const TRIES: u32 = 100;

/// The program that a build script put away with `build_deflated`.
pub fn inflated(deflated: &[u8]) -> io::Result<Vec<u8>> {
    let mut program = Vec::new();
    DeflateDecoder::new(deflated).read_to_end(&mut program)?;
    Ok(program)
}

/// A program that can be started: a file without a name, so nobody else finds it, and nothing is left of it.
#[derive(Debug)]
pub struct Executable {
    name: String,
    file: OwnedFd,
}

impl Executable {
    /// The program in memory, sealed: nobody can change what is run.
    pub fn in_memory(name: &str, program: &[u8]) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know the flag, and let everything in memory be executed.
        let copy = rustix::fs::memfd_create(name, flags | MemfdFlags::EXEC)
            .or_else(|_| rustix::fs::memfd_create(name, flags))?;
        let mut copy = std::fs::File::from(copy);
        copy.write_all(program)?;
        let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
        rustix::fs::fcntl_add_seals(&copy, seals)?;
        // A descriptor that is open for writing cannot be executed; opening it anew for reading can.
        let path = format!("/proc/self/fd/{}", copy.as_raw_fd());
        Self::opened(name, Path::new(&path))
    }

    /// The program on the disk of `directory`, for hosts that forbid programs in memory.
    pub fn on_disk(name: &str, program: &[u8], directory: &Path) -> io::Result<Self> {
        let mut copy = tempfile::NamedTempFile::new_in(directory)?;
        copy.write_all(program)?;
        fs_err::set_permissions(copy.path(), Permissions::from_mode(0o500))?;
        Self::opened(name, copy.path())
    }

    fn opened(name: &str, path: &Path) -> io::Result<Self> {
        let file = std::fs::File::from(fs_err::File::open(path)?);
        Ok(Self {
            name: name.to_owned(),
            file: OwnedFd::from(file),
        })
    }

    /// What starts it: without any variables, at the root directory, in a process group of its own, so that a signal from a terminal does
    /// not reach it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        command
            .arg0(OsStr::new(&self.name))
            .env_clear()
            .current_dir("/")
            .process_group(0);
        command
    }
}

/// Starts a program that may have been written just now: another thread may have forked meanwhile, and its child has not yet let go of the file.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut tries = 1;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < TRIES => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            other => break other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_from_memory_and_from_a_file_of_which_nothing_is_left() {
        let program = fs_err::read("/bin/true").unwrap();
        let directory = tempfile::tempdir().unwrap();
        for executable in [
            Executable::in_memory("nothing", &program).unwrap(),
            Executable::on_disk("nothing", &program, directory.path()).unwrap(),
        ] {
            let mut child = spawn(&mut executable.command()).unwrap();
            assert!(child.wait().unwrap().success(), "{executable:?}");
        }
        assert_eq!(fs_err::read_dir(directory.path()).unwrap().count(), 0);
    }
}
