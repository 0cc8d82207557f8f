//! Members of an archive on their way into a box.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use bytes::Bytes;
use proctor_devbox::{Devbox, ExecId, ExecSpec, User};
use tokio::{io::AsyncRead, sync::mpsc};
use tokio_util::io::SyncIoBridge;

use super::{ArchiveError, Limits, Member, MemberKind, Totals, walk};
use crate::commands;

/// How many pieces may wait between the reader of an archive and the box.
const PIECES: usize = 16;
const PIECE_BYTES: usize = 64 << 10;

/// Whose the unpacked files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// Whoever unpacks them.
    #[default]
    Unpacker,
    /// This user and group, by name or number; only root can give files away.
    Given {
        /// The user.
        user: String,
        /// The group.
        group: String,
    },
}

/// How an archive is unpacked.
#[derive(Clone, Debug)]
pub struct Unpacker {
    /// The name of the program that unpacks, in the box.
    pub exec: ExecId,
    /// Who unpacks.
    pub user: User,
    /// Below which directory; it is made if it is missing.
    pub target: String,
    /// Whose the files are.
    pub owner: Owner,
    /// How long it may take.
    pub time_limit: Duration,
}

/// Unpacks an archive inside a box.
pub async fn unpack(
    devbox: &dyn Devbox,
    unpacker: Unpacker,
    archive: impl AsyncRead + Send + Unpin + 'static,
    limits: Limits,
) -> Result<Totals, ArchiveError> {
    let owner = unpacker.owner.clone();
    pour(devbox, unpacker, move |sink| {
        let mut clean = CleanTar::new(sink, owner);
        let source = SyncIoBridge::new(archive);
        let totals = walk(source, limits, &mut |member, content| {
            clean.add(&member.path, member, content)
        })?;
        clean.finish()?;
        Ok(totals)
    })
    .await
}

/// Unpacks what `write` writes, a tar stream, inside a box. `write` runs on a thread of its own.
pub(crate) async fn pour<T: Send + 'static>(
    devbox: &dyn Devbox,
    unpacker: Unpacker,
    write: impl FnOnce(Sink) -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    const SCRIPT: &str = r#"mkdir -p "$0" && exec tar -x -p -f - -C "$0" "$@""#;
    let mut argv = vec!["/bin/sh", "-c", SCRIPT, &unpacker.target];
    argv.push(match unpacker.owner {
        Owner::Unpacker => "--no-same-owner",
        Owner::Given { .. } => "--same-owner",
    });
    if unpacker.target == "/" {
        // Into a whole system: its directories keep their owners, and `/bin` stays a link.
        argv.extend(["--no-overwrite-dir", "--keep-directory-symlink"]);
    }
    let mut spec = ExecSpec::new(unpacker.exec, argv);
    spec.user = unpacker.user;
    spec.cwd = Some("/".to_owned());
    spec.stdin = true;
    spec.timeout = Some(unpacker.time_limit);
    spec.output_limit = commands::TAIL_BYTES;
    let execution = devbox.exec(spec).await?;
    let (sender, mut pieces) = mpsc::channel(PIECES);
    let writing = tokio::task::spawn_blocking(move || write(Sink::new(sender)));
    let mut closed = false;
    while let Some(piece) = pieces.recv().await {
        // A `tar` that gave up reads no more; why, it says itself.
        if execution.write_stdin(&piece).await.is_err() {
            closed = true;
            break;
        }
    }
    drop(pieces);
    let written = writing
        .await
        .map_err(|error| ArchiveError::Box(format!("unpacking ended early: {error}")))?;
    match (&written, closed) {
        (Ok(_), _) | (Err(_), true) => {
            // Closed already, if the program has ended.
            let _ = execution.close_stdin().await;
        }
        (Err(_), false) => execution.kill().await?,
    }
    let exit = execution.wait().await?;
    let said = commands::tail(&*execution).await?;
    execution.forget().await?;
    match written {
        Err(error) if !closed => Err(error),
        _ if !exit.success() => Err(ArchiveError::Box(format!(
            "unpacking in {} failed with status {}: {}",
            unpacker.target,
            exit.status(),
            said.trim_end()
        ))),
        other => other,
    }
}

/// Where a tar stream goes.
pub(crate) struct Sink {
    sender: mpsc::Sender<Bytes>,
    piece: Vec<u8>,
}

impl Sink {
    fn new(sender: mpsc::Sender<Bytes>) -> Self {
        Self {
            sender,
            piece: Vec::with_capacity(PIECE_BYTES),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        self.sender
            .blocking_send(piece.into())
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// A tar stream that holds nothing but vetted members.
pub(crate) struct CleanTar<W: Write> {
    builder: tar::Builder<W>,
    owner: Owner,
}

impl<W: Write> CleanTar<W> {
    pub(crate) fn new(sink: W, owner: Owner) -> Self {
        Self {
            builder: tar::Builder::new(sink),
            owner,
        }
    }

    /// Adds a member under another path.
    pub(crate) fn add(
        &mut self,
        path: &str,
        member: &Member,
        content: &mut dyn Read,
    ) -> Result<(), ArchiveError> {
        let mut header = tar::Header::new_gnu();
        header.set_mode(member.mode);
        header.set_mtime(member.modified);
        header.set_size(0);
        set_owner(&mut header, &self.owner);
        let written = match &member.kind {
            MemberKind::File(size) => {
                header.set_entry_type(tar::EntryType::Regular);
                header.set_size(*size);
                let content = Exactly {
                    content,
                    left: *size,
                };
                self.builder.append_data(&mut header, path, content)
            }
            MemberKind::Directory => {
                header.set_entry_type(tar::EntryType::Directory);
                self.builder.append_data(&mut header, path, io::empty())
            }
            MemberKind::Symlink(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                self.builder.append_link(&mut header, path, target)
            }
            MemberKind::HardLink(target) => {
                header.set_entry_type(tar::EntryType::Link);
                self.builder.append_link(&mut header, path, target)
            }
        };
        written.map_err(|error| ArchiveError::Damaged(format!("{}: {error}", member.path)))
    }

    /// Ends the stream.
    pub(crate) fn finish(self) -> Result<(), ArchiveError> {
        let mut sink = self
            .builder
            .into_inner()
            .map_err(|error| ArchiveError::reading(&error))?;
        sink.flush().map_err(|error| ArchiveError::reading(&error))
    }
}

/// Writes whose a member is: root's, unless somebody is named.
pub(crate) fn set_owner(header: &mut tar::Header, owner: &Owner) {
    header.set_uid(0);
    header.set_gid(0);
    // The names of whoever packed it mean nothing here.
    drop(header.set_username(""));
    drop(header.set_groupname(""));
    if let Owner::Given { user, group } = owner {
        match user.parse() {
            Ok(uid) => header.set_uid(uid),
            // A name of up to 31 bytes fits; a longer one is no account's.
            Err(_) => drop(header.set_username(user)),
        }
        match group.parse() {
            Ok(gid) => header.set_gid(gid),
            Err(_) => drop(header.set_groupname(group)),
        }
    }
}

/// A file's content, which must be as long as was said.
struct Exactly<'c> {
    content: &'c mut dyn Read,
    left: u64,
}

impl Read for Exactly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| buffer.len().min(left));
        if most == 0 {
            return Ok(0);
        }
        match self.content.read(&mut buffer[..most])? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "it ends before its file does",
            )),
            read => {
                self.left -= read as u64;
                Ok(read)
            }
        }
    }
}
