//! A layer's bytes on their way from a blob to the tree: counted, hashed, unpacked.
//!
//! Reading, hashing and unpacking a blob is one thread's work, writing files the other's.

use std::{
    io::{self, BufReader, Read},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

use proctor_core::canonical::{Digest, Hasher};

use crate::{error::ImageError, limits::Limits};

/// How many bytes go to the other thread at once, and how many such pieces may wait there.
const PIECE: usize = 256 << 10;
const PIECES: usize = 16;

/// What a layer's blob must turn out to be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expected {
    /// The digest of the blob.
    pub(crate) blob: Option<Digest>,
    /// The digest of the tar in it.
    pub(crate) diff_id: Option<Digest>,
    /// The blob's size.
    pub(crate) size: Option<u64>,
}

/// What a layer's blob turned out to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) blob: Digest,
    pub(crate) diff_id: Digest,
    pub(crate) blob_bytes: u64,
    pub(crate) tar_bytes: u64,
}

/// Reads the tar in `blob` with `consume`, then checks what all of it was.
pub(crate) fn read<T>(
    blob: impl Read + Send,
    expected: Expected,
    limits: &Limits,
    bytes_left: u64,
    consume: impl FnOnce(&mut dyn Read) -> Result<T, ImageError>,
) -> Result<(T, Found), ImageError> {
    let (sender, receiver) = sync_channel(PIECES);
    let (consumed, found) = thread::scope(|scope| {
        let limits = *limits;
        let reading = scope.spawn(move || produce(blob, expected, &limits, bytes_left, &sender));
        let mut pieces = Pieces {
            receiver,
            piece: Vec::new(),
            at: 0,
        };
        let consumed = consume(&mut pieces);
        if consumed.is_ok() {
            // Behind the end of a tar there may be padding, which belongs to the digest.
            let _ = io::copy(&mut pieces, &mut io::sink());
        }
        drop(pieces);
        let found = reading
            .join()
            .unwrap_or_else(|_| Err(ImageError::invalid("reading a layer ended early")));
        (consumed, found)
    });
    match (consumed, found) {
        (Ok(consumed), Ok(found)) => Ok((consumed, found)),
        // A wrong digest explains whatever was wrong with the tar.
        (_, Err(error)) if !is_disconnected(&error) => Err(error),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// The error of a producer whose consumer gave up.
const GAVE_UP: &str = "the reader gave up";

fn is_disconnected(error: &ImageError) -> bool {
    matches!(error, ImageError::Invalid(text) if text == GAVE_UP)
}

fn produce(
    blob: impl Read,
    expected: Expected,
    limits: &Limits,
    bytes_left: u64,
    sender: &SyncSender<io::Result<Vec<u8>>>,
) -> Result<Found, ImageError> {
    let mut blob = blob;
    let mut magic = Vec::with_capacity(MAGIC_BYTES);
    let began = blob
        .by_ref()
        .take(MAGIC_BYTES as u64)
        .read_to_end(&mut magic);
    let format = Format::of(&magic);
    let mut counted = Hashing {
        inner: magic.as_slice().chain(blob),
        // The digest of a plain tar is computed once: it is the blob's too.
        hasher: (format != Format::Plain).then(Hasher::default),
        bytes: 0,
        most: expected
            .size
            .unwrap_or(limits.layer_bytes)
            .min(limits.layer_bytes),
    };
    let result = began.map_err(reading).and_then(|_| {
        unpack(
            &mut counted,
            format,
            limits.layer_bytes.min(bytes_left),
            sender,
        )
    });
    let (diff_id, tar_bytes) = match result {
        Ok(done) => done,
        Err(error) => {
            let _ = sender.send(Err(io::Error::other("the layer ends early")));
            return Err(error);
        }
    };
    // What follows a compressed stream is part of the blob too.
    io::copy(&mut counted, &mut io::sink()).map_err(reading)?;
    let found = Found {
        blob: counted.hasher.map_or(diff_id, Hasher::finish),
        diff_id,
        blob_bytes: counted.bytes,
        tar_bytes,
    };
    if let Some(size) = expected.size.filter(|size| *size != found.blob_bytes) {
        let bytes = found.blob_bytes;
        return Err(ImageError::invalid(format!(
            "a layer has {bytes} bytes, not {size} as the manifest says"
        )));
    }
    compare("a layer", expected.blob, found.blob)?;
    compare("the files of a layer", expected.diff_id, found.diff_id)?;
    Ok(found)
}

fn compare(what: &str, expected: Option<Digest>, found: Digest) -> Result<(), ImageError> {
    match expected {
        Some(expected) if expected != found => Err(ImageError::invalid(format!(
            "{what} has the digest {found}, not {expected} as the image says"
        ))),
        _ => Ok(()),
    }
}

fn reading(error: io::Error) -> ImageError {
    match error.downcast::<ImageError>() {
        Ok(ours) => ours,
        Err(error) => ImageError::invalid(format!("a layer cannot be read: {error}")),
    }
}

/// How many bytes tell the formats apart.
const MAGIC_BYTES: usize = 4;

/// How a layer's tar is packed. Its first bytes say it; what manifests say of it is often wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Plain,
    Gzip,
    Zstd,
}

impl Format {
    pub(crate) fn of(magic: &[u8]) -> Self {
        if magic.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstd
        } else {
            Self::Plain
        }
    }

    /// What is packed in `source`.
    pub(crate) fn decoder<'r>(self, source: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
        let source = BufReader::with_capacity(PIECE, source);
        Ok(match self {
            Self::Plain => Box::new(source),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?;
                // 128 MiB: what the usual tool accepts without being asked.
                decoder.window_log_max(27)?;
                Box::new(decoder)
            }
        })
    }
}

/// Sends the plain tar on, and says what it was.
fn unpack(
    blob: &mut Hashing<impl Read>,
    format: Format,
    most: u64,
    sender: &SyncSender<io::Result<Vec<u8>>>,
) -> Result<(Digest, u64), ImageError> {
    let mut plain = format.decoder(blob).map_err(reading)?;
    let mut hasher = Hasher::default();
    let mut bytes = 0;
    loop {
        let mut piece = vec![0; PIECE];
        let mut filled = 0;
        while filled < PIECE {
            match plain.read(&mut piece[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(reading(error)),
            }
        }
        if filled == 0 {
            return Ok((hasher.finish(), bytes));
        }
        piece.truncate(filled);
        bytes += filled as u64;
        if bytes > most {
            return Err(ImageError::invalid(format!(
                "the image is larger than it may be: a layer has more than {most} bytes"
            )));
        }
        hasher.update(&piece);
        if sender.send(Ok(piece)).is_err() {
            return Err(ImageError::invalid(GAVE_UP));
        }
    }
}

/// A reader that counts and hashes what goes through it, up to a bound.
struct Hashing<R> {
    inner: R,
    hasher: Option<Hasher>,
    bytes: u64,
    most: u64,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&buffer[..read]);
        }
        self.bytes += read as u64;
        if self.bytes > self.most {
            let most = self.most;
            return Err(io::Error::other(ImageError::invalid(format!(
                "a layer has more than {most} bytes"
            ))));
        }
        Ok(read)
    }
}

/// What arrives from the other thread, as one stream.
struct Pieces {
    receiver: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            match self.receiver.recv() {
                Ok(piece) => (self.piece, self.at) = (piece?, 0),
                Err(_) => return Ok(0),
            }
        }
        let left = &self.piece[self.at..];
        let read = left.len().min(buffer.len());
        buffer[..read].copy_from_slice(&left[..read]);
        self.at += read;
        Ok(read)
    }
}
