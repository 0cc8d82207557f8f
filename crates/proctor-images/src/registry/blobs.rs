//! Layers on their way from a registry to the disk: each once, and from where an earlier attempt stopped.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use proctor_core::canonical::Hasher;
use reqwest::{Response, StatusCode, header};

use super::Client;
use crate::{
    documents::Descriptor,
    error::{Doing as _, ImageError},
    limits::Limits,
    store::ImageStore,
};

/// How often a blob is asked for.
const TRIES: usize = 4;

/// A blob that is being written.
struct Part {
    file: fs_err::File,
    hasher: Hasher,
    bytes: u64,
}

impl Part {
    /// What an earlier attempt left.
    fn open(path: &std::path::Path) -> Result<Self, ImageError> {
        let mut file = fs_err::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .doing("writing a layer")?;
        let mut hasher = Hasher::default();
        let mut bytes = 0;
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = file.read(&mut buffer).doing("reading a layer")?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            bytes += read as u64;
        }
        Ok(Self {
            file,
            hasher,
            bytes,
        })
    }

    fn begin_again(&mut self) -> Result<(), ImageError> {
        self.file.set_len(0).doing("writing a layer")?;
        self.file
            .seek(SeekFrom::Start(0))
            .doing("writing a layer")?;
        (self.hasher, self.bytes) = (Hasher::default(), 0);
        Ok(())
    }

    fn add(&mut self, chunk: &[u8]) -> Result<(), ImageError> {
        self.file.write_all(chunk).doing("writing a layer")?;
        self.hasher.update(chunk);
        self.bytes += chunk.len() as u64;
        Ok(())
    }
}

impl Client {
    /// Fetches a layer, unless it is there. The caller holds the lock of its image.
    pub(crate) async fn fetch_layer(
        &self,
        store: &ImageStore,
        layer: &Descriptor,
        limits: &Limits,
    ) -> Result<(), ImageError> {
        let (digest, size) = (&layer.digest, layer.size);
        if size > limits.layer_bytes {
            return Err(self.refuse(format!(
                "the layer {digest} has {size} bytes; at most {} are pulled",
                limits.layer_bytes
            )));
        }
        let done = store.blob_path(digest);
        if done.exists() {
            return Ok(());
        }
        let path = done.with_extension("part");
        let mut part = Part::open(&path)?;
        if part.bytes > size {
            part.begin_again()?;
        }
        let mut last = None;
        for _ in 0..TRIES {
            if part.bytes == size {
                break;
            }
            match self.fetch_rest(&mut part, layer).await {
                Ok(()) => {}
                Err(Interrupted::Finally(error)) => return Err(error),
                Err(Interrupted::ForNow(error)) => last = Some(error),
            }
        }
        if part.bytes < size {
            let error =
                last.unwrap_or_else(|| self.refuse(format!("the layer {digest} ends early")));
            return Err(error);
        }
        let found = part.hasher.clone().finish();
        if found != *digest {
            fs_err::remove_file(&path).doing("removing a layer")?;
            return Err(self.refuse(format!(
                "it sends something with the digest {found} where {digest} was asked for"
            )));
        }
        part.file.sync_all().doing("writing a layer")?;
        fs_err::rename(&path, &done).doing("writing a layer")
    }

    /// Asks for what is missing of a layer.
    async fn fetch_rest(&self, part: &mut Part, layer: &Descriptor) -> Result<(), Interrupted> {
        let from = (part.bytes > 0).then_some(part.bytes);
        let answer = self.get(&self.blob_url(&layer.digest), "*/*", from).await;
        let mut response = answer.map_err(Interrupted::ForNow)?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT if continues_at(&response, part.bytes) => {}
            StatusCode::OK | StatusCode::PARTIAL_CONTENT if from.is_none() => {}
            // It sends all of it again.
            StatusCode::OK => part.begin_again().map_err(Interrupted::Finally)?,
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                part.begin_again().map_err(Interrupted::Finally)?;
                return Err(Interrupted::ForNow(
                    self.refuse("it sends another part than was asked for"),
                ));
            }
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                let why = format!("asked for a layer, it answered {status}");
                return Err(Interrupted::ForNow(self.refuse(why)));
            }
            status => {
                let why = format!("asked for the layer {}, it answered {status}", layer.digest);
                return Err(Interrupted::Finally(self.refuse(why)));
            }
        }
        loop {
            let chunk = response.chunk().await;
            let Some(chunk) = chunk.map_err(|error| Interrupted::ForNow(self.lost(&error)))? else {
                return Ok(());
            };
            if part.bytes + chunk.len() as u64 > layer.size {
                let why = format!(
                    "it sends more than the {} bytes that the manifest says",
                    layer.size
                );
                part.begin_again().map_err(Interrupted::Finally)?;
                return Err(Interrupted::Finally(self.refuse(why)));
            }
            part.add(&chunk).map_err(Interrupted::Finally)?;
        }
    }
}

/// Why a layer did not arrive as a whole.
enum Interrupted {
    /// Asking again may help.
    ForNow(ImageError),
    /// It does not.
    Finally(ImageError),
}

/// Whether an answer goes on where we stopped.
fn continues_at(response: &Response, at: u64) -> bool {
    let range = response.headers().get(header::CONTENT_RANGE);
    range
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("bytes "))
        .and_then(|value| value.split('-').next())
        .and_then(|first| first.trim().parse::<u64>().ok())
        .is_some_and(|first| first == at)
}
