//! Writes zip archives as streams. The writer itself works in a thread of its own, because it does not wait; what it
//! writes goes through a short queue, so that a slow reader slows it down.

use std::{
    io::{self, Write},
    pin::Pin,
};

use bytes::Bytes;
use futures::{Stream, stream};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    runtime::Handle,
    sync::mpsc,
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// How much is read and written at a time.
const PIECE: usize = 64 << 10;
/// How many pieces may wait for the reader.
const WAITING: usize = 4;

/// A file on its way into an archive.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) content: Pin<Box<dyn AsyncRead + Send>>,
}

/// The archive of everything that comes out of `entries`.
pub(super) fn archive(
    entries: mpsc::Receiver<io::Result<Entry>>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let (sender, receiver) = mpsc::channel(WAITING);
    let handle = Handle::current();
    tokio::task::spawn_blocking(move || {
        let pipe = Pipe {
            sender: sender.clone(),
            piece: Vec::with_capacity(PIECE),
        };
        if let Err(error) = write(pipe, entries, &handle) {
            // Nobody listens any more, or the reader must learn that the archive is not whole.
            let _ = sender.blocking_send(Err(error));
        }
    });
    stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece, receiver))
    })
}

fn write(
    pipe: Pipe,
    mut entries: mpsc::Receiver<io::Result<Entry>>,
    handle: &Handle,
) -> io::Result<()> {
    // Sizes follow behind each entry. They must have four bytes, not the eight of ZIP64: there are clients that read no others. What
    // is longer than they can say ends the archive with an error; no log of a box comes near.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .large_file(false)
        .unix_permissions(0o644);
    let mut archive = ZipWriter::new_stream(pipe);
    let mut piece = vec![0; PIECE];
    while let Some(entry) = entries.blocking_recv() {
        let mut entry = entry?;
        archive.start_file(entry.name, options)?;
        loop {
            let read = handle.block_on(entry.content.read(&mut piece))?;
            if read == 0 {
                break;
            }
            archive.write_all(&piece[..read])?;
        }
    }
    let mut pipe = archive.finish()?.into_inner();
    pipe.flush()
}

/// Hands bytes on, a piece at a time.
struct Pipe {
    sender: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::replace(
            &mut self.piece,
            Vec::with_capacity(PIECE),
        ));
        self.sender
            .blocking_send(Ok(piece))
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}
