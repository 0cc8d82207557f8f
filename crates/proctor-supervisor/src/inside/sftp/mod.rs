//! SFTP, spoken by a process that has entered the box as the user: the kernel decides what may be read and written.
//!
//! Version 3 of the protocol, as OpenSSH has it. It needs nothing in the box, where no server program may be.

mod attributes;
mod packet;

use std::{
    collections::BTreeMap,
    fs::{File, ReadDir},
    io::{self, Read, Write},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{fs::FileExt as _, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags, RenameFlags};

use self::{
    attributes::Attributes,
    packet::{LONGEST, Reader, Status, Truncated, Writer, reply, request},
};
use crate::wire::{Event, frame};

/// How many files and directories a client may have open at once.
const MOST_HANDLES: usize = 256;
/// How many names are told at once.
const NAMES_AT_ONCE: usize = 64;

/// What is offered beyond the protocol, with its version.
const EXTENSIONS: [(&[u8], &[u8]); 3] = [
    (b"posix-rename@openssh.com", b"1"),
    (b"hardlink@openssh.com", b"1"),
    (b"fsync@openssh.com", b"1"),
];

/// Speaks SFTP on `socket` until the other side has gone.
pub(super) fn serve(socket: OwnedFd, received: Vec<u8>, directory: &str) {
    let socket = UnixStream::from(socket);
    let Ok(mut answers) = socket.try_clone() else {
        return;
    };
    rustix::process::umask(Mode::from_raw_mode(0o022));
    // A home that is not there is no reason to see nothing.
    let _ = rustix::process::chdir(directory).or_else(|_| rustix::process::chdir("/"));
    let Ok(ready) = frame(&Event::SftpReady, &[]) else {
        return;
    };
    if answers.write_all(&ready).is_ok() {
        // Whoever goes away in the middle of a packet has gone.
        let _ = Server::default().run(&mut io::Cursor::new(received).chain(socket), &mut answers);
    }
}

/// Something that a client has open.
enum Handle {
    File { file: File, appends: bool },
    Directory { path: PathBuf, entries: ReadDir },
}

/// What one client has open.
#[derive(Default)]
struct Server {
    handles: BTreeMap<u32, Handle>,
    next: u32,
}

/// Why a request is not answered as asked.
enum Refusal {
    Status(Status, &'static str),
    Failed(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<rustix::io::Errno> for Refusal {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Failed(errno.into())
    }
}

impl From<Truncated> for Refusal {
    fn from(_: Truncated) -> Self {
        Self::Status(Status::BadMessage, "the request ends too early")
    }
}

type Answer = Result<Writer, Refusal>;

impl Server {
    fn run(&mut self, requests: &mut impl Read, answers: &mut impl Write) -> io::Result<()> {
        let mut packet = Vec::new();
        loop {
            let mut length = [0; 4];
            requests.read_exact(&mut length)?;
            let length = u32::from_be_bytes(length) as usize;
            if length == 0 || length > LONGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            packet.resize(length, 0);
            requests.read_exact(&mut packet)?;
            answers.write_all(&self.answer(&packet))?;
        }
    }

    fn answer(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut reader = Reader(packet);
        let (Ok(kind), Ok(id)) = (reader.byte(), reader.int()) else {
            return status(0, Status::BadMessage, "the request ends too early").finish();
        };
        if kind == request::INIT {
            // What stands in the place of an id is the client's version.
            let mut version = Writer::new(reply::VERSION, 3);
            for (name, value) in EXTENSIONS {
                version.bytes(name);
                version.bytes(value);
            }
            return version.finish();
        }
        let answer = self.carry_out(kind, id, &mut reader);
        let answer = answer.unwrap_or_else(|refusal| match refusal {
            Refusal::Status(code, message) => status(id, code, message),
            Refusal::Failed(error) => {
                let code = match error.kind() {
                    io::ErrorKind::NotFound => Status::NoSuchFile,
                    io::ErrorKind::PermissionDenied => Status::PermissionDenied,
                    _ => Status::Failure,
                };
                status(id, code, &error.to_string())
            }
        });
        answer.finish()
    }

    fn carry_out(&mut self, kind: u8, id: u32, reader: &mut Reader<'_>) -> Answer {
        match kind {
            request::OPEN => self.open(id, reader),
            request::CLOSE => {
                let handle = self.handle(reader)?;
                self.handles.remove(&handle);
                Ok(done(id))
            }
            request::READ => self.read(id, reader),
            request::WRITE => self.write(id, reader),
            request::OPENDIR => {
                let path = reader.path()?;
                let entries = std::fs::read_dir(&path)?;
                self.opened(id, Handle::Directory { path, entries })
            }
            request::READDIR => self.read_directory(id, reader),
            request::FSTAT => {
                let handle = self.handle(reader)?;
                let metadata = match self.handles.get(&handle) {
                    Some(Handle::File { file, .. }) => file.metadata()?,
                    Some(Handle::Directory { path, .. }) => std::fs::metadata(path)?,
                    None => return Err(no_handle()),
                };
                Ok(told(id, &metadata))
            }
            request::FSETSTAT => {
                let handle = self.handle(reader)?;
                let wanted = Attributes::read(reader)?;
                match self.handles.get(&handle) {
                    Some(Handle::File { file, .. }) => wanted.set_open(file.as_fd())?,
                    Some(Handle::Directory { path, .. }) => wanted.set(path)?,
                    None => return Err(no_handle()),
                }
                Ok(done(id))
            }
            request::EXTENDED => self.extended(id, reader),
            _ => by_path(kind, id, reader),
        }
    }

    fn handle(&self, reader: &mut Reader<'_>) -> Result<u32, Refusal> {
        let name: [u8; 4] = reader.bytes()?.try_into().map_err(|_| no_handle())?;
        let handle = u32::from_be_bytes(name);
        match self.handles.contains_key(&handle) {
            true => Ok(handle),
            false => Err(no_handle()),
        }
    }

    fn opened(&mut self, id: u32, handle: Handle) -> Answer {
        if self.handles.len() >= MOST_HANDLES {
            let why = "too many files are open; close some";
            return Err(Refusal::Status(Status::Failure, why));
        }
        self.next = self.next.wrapping_add(1);
        self.handles.insert(self.next, handle);
        let mut packet = Writer::new(reply::HANDLE, id);
        packet.bytes(&self.next.to_be_bytes());
        Ok(packet)
    }

    fn open(&mut self, id: u32, reader: &mut Reader<'_>) -> Answer {
        let (path, wanted) = (reader.path()?, reader.int()?);
        let attributes = Attributes::read(reader)?;
        let wants = |flag: u32| wanted & flag != 0;
        // Without NONBLOCK a named pipe would hold us for ever.
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        flags |= match (wants(1), wants(2)) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            _ => OFlags::RDONLY,
        };
        for (flag, meaning) in [
            (4, OFlags::APPEND),
            (8, OFlags::CREATE),
            (16, OFlags::TRUNC),
            (32, OFlags::EXCL),
        ] {
            flags.set(meaning, wants(flag));
        }
        let mode = Mode::from_raw_mode(attributes.mode.unwrap_or(0o666));
        let file = File::from(rustix::fs::open(&path, flags, mode)?);
        if file.metadata()?.is_dir() {
            return Err(Refusal::Status(Status::Failure, "is a directory"));
        }
        let appends = wants(4);
        self.opened(id, Handle::File { file, appends })
    }

    fn file(&self, handle: u32) -> Result<(&File, bool), Refusal> {
        match self.handles.get(&handle) {
            Some(Handle::File { file, appends }) => Ok((file, *appends)),
            Some(Handle::Directory { .. }) | None => Err(no_handle()),
        }
    }

    fn read(&self, id: u32, reader: &mut Reader<'_>) -> Answer {
        let handle = self.handle(reader)?;
        let (offset, length) = (reader.long()?, reader.int()? as usize);
        let (file, _) = self.file(handle)?;
        let mut bytes = vec![0; length.min(LONGEST - 1024)];
        match file.read_at(&mut bytes, offset)? {
            0 => Err(Refusal::Status(Status::Eof, "end of file")),
            length => {
                let mut packet = Writer::new(reply::DATA, id);
                packet.bytes(&bytes[..length]);
                Ok(packet)
            }
        }
    }

    fn write(&self, id: u32, reader: &mut Reader<'_>) -> Answer {
        let handle = self.handle(reader)?;
        let (offset, bytes) = (reader.long()?, reader.bytes()?);
        let (mut file, appends) = self.file(handle)?;
        if appends {
            file.write_all(bytes)?;
        } else {
            file.write_all_at(bytes, offset)?;
        }
        Ok(done(id))
    }

    fn read_directory(&mut self, id: u32, reader: &mut Reader<'_>) -> Answer {
        let handle = self.handle(reader)?;
        let Some(Handle::Directory { entries, .. }) = self.handles.get_mut(&handle) else {
            return Err(no_handle());
        };
        let mut found = Vec::new();
        for entry in entries.take(NAMES_AT_ONCE) {
            let entry = entry?;
            // What was removed since is not there.
            if let Ok(metadata) = entry.metadata() {
                found.push((entry.file_name(), metadata));
            }
        }
        if found.is_empty() {
            return Err(Refusal::Status(Status::Eof, "no more names"));
        }
        let mut packet = Writer::new(reply::NAME, id);
        packet.int(u32::try_from(found.len()).unwrap_or(u32::MAX));
        for (name, metadata) in found {
            packet.name(&name);
            packet.bytes(&attributes::line(&name, &metadata));
            attributes::write(&mut packet, &metadata);
        }
        Ok(packet)
    }

    fn extended(&self, id: u32, reader: &mut Reader<'_>) -> Answer {
        match reader.bytes()? {
            b"posix-rename@openssh.com" => {
                fs_err::rename(reader.path()?, reader.path()?)?;
            }
            b"hardlink@openssh.com" => {
                std::fs::hard_link(reader.path()?, reader.path()?)?;
            }
            b"fsync@openssh.com" => {
                let handle = self.handle(reader)?;
                self.file(handle)?.0.sync_all()?;
            }
            _ => return Err(unsupported()),
        }
        Ok(done(id))
    }
}

/// Requests that are about a path and leave nothing open.
fn by_path(kind: u8, id: u32, reader: &mut Reader<'_>) -> Answer {
    let path = reader.path()?;
    match kind {
        request::LSTAT => return Ok(told(id, &std::fs::symlink_metadata(path)?)),
        request::STAT => return Ok(told(id, &std::fs::metadata(path)?)),
        request::SETSTAT => Attributes::read(reader)?.set(&path)?,
        request::REMOVE => std::fs::remove_file(path)?,
        request::MKDIR => {
            let mode = Attributes::read(reader)?.mode.unwrap_or(0o777);
            rustix::fs::mkdir(&path, Mode::from_raw_mode(mode))?;
        }
        request::RMDIR => std::fs::remove_dir(path)?,
        request::REALPATH => return Ok(named(id, &real_path(&path)?)),
        request::RENAME => {
            let to = reader.path()?;
            let cwd = rustix::fs::CWD;
            rustix::fs::renameat_with(cwd, &path, cwd, &to, RenameFlags::NOREPLACE)?;
        }
        request::READLINK => return Ok(named(id, &std::fs::read_link(path)?)),
        // In the order of OpenSSH, which every client has by now: first where the link leads.
        request::SYMLINK => std::os::unix::fs::symlink(path, reader.path()?)?,
        _ => return Err(unsupported()),
    }
    Ok(done(id))
}

/// Where a path leads; its last part need not be there.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    match (std::fs::canonicalize(path), path.parent(), path.file_name()) {
        (Err(error), Some(parent), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            let here = parent.as_os_str().is_empty();
            let parent = if here { Path::new(".") } else { parent };
            Ok(std::fs::canonicalize(parent)?.join(name))
        }
        (found, _, _) => found,
    }
}

fn status(id: u32, status: Status, message: &str) -> Writer {
    let mut packet = Writer::new(reply::STATUS, id);
    packet.int(status as u32);
    packet.bytes(message.as_bytes());
    packet.bytes(b"en");
    packet
}

fn done(id: u32) -> Writer {
    status(id, Status::Ok, "done")
}

fn told(id: u32, metadata: &std::fs::Metadata) -> Writer {
    let mut packet = Writer::new(reply::ATTRS, id);
    attributes::write(&mut packet, metadata);
    packet
}

fn named(id: u32, path: &Path) -> Writer {
    let mut packet = Writer::new(reply::NAME, id);
    packet.int(1);
    packet.name(path.as_os_str());
    packet.name(path.as_os_str());
    packet.int(0);
    packet
}

fn no_handle() -> Refusal {
    Refusal::Status(Status::Failure, "there is no such handle")
}

fn unsupported() -> Refusal {
    Refusal::Status(Status::Unsupported, "not offered")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_request_about_nothing_is_answered(kind in 2u8..=255, tail in proptest::collection::vec(any::<u8>(), 0..12)) {
            // Too short for a path that leads anywhere, so nothing is touched.
            let mut packet = vec![kind, 0, 0, 0, 7, 0, 0, 0, 200];
            packet.extend(tail);
            let answer = Server::default().answer(&packet);
            prop_assert_eq!(&answer[4..9], &[reply::STATUS, 0, 0, 0, 7]);
        }
    }
}
