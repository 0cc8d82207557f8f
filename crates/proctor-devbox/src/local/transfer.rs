//! Files in and out of a box, from the server's side: a connection of its own each, handed to a process in the box.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::{
    devbox::LocalBox,
    link::{self, next_frame},
    wire::{Event, Request, frame},
};
use crate::{
    backend::FileContent,
    error::{Error, Result},
    spec::{FileMode, User},
};

impl LocalBox {
    /// Opens a file of the box for reading.
    pub(super) async fn read_out(
        &self,
        path: &str,
        user: &User,
        limit: Option<u64>,
    ) -> Result<FileContent> {
        let request = Request::ReadFile {
            path: path.to_owned(),
            user: user.clone(),
            limit,
        };
        let mut stream = self.file_stream(&request).await?;
        let mut buffer = Vec::new();
        let event = next_frame::<Event>(&mut stream, &mut buffer)
            .await
            .map_err(|source| Error::platform("reading a file", source))?;
        match event.map(|frame| frame.message) {
            Some(Event::FileOpened { size, mode }) => Ok(FileContent {
                size,
                mode,
                reader: Box::new(io::Cursor::new(buffer).chain(stream).take(size)),
            }),
            other => Err(failed(path, other)),
        }
    }

    /// Writes a file of the box, whole or not at all.
    pub(super) async fn write_in(
        &self,
        path: &str,
        user: &User,
        mode: Option<FileMode>,
        content: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<u64> {
        let request = Request::WriteFile {
            path: path.to_owned(),
            user: user.clone(),
            mode,
        };
        let mut stream = self.file_stream(&request).await?;
        let mut chunk = vec![0; 64 << 10];
        loop {
            let length = content
                .read(&mut chunk)
                .await
                .map_err(|source| Error::platform("reading what is to be written", source))?;
            let head = u32::try_from(length)
                .expect("a chunk is small")
                .to_le_bytes();
            let sent = async {
                stream.write_all(&head).await?;
                stream.write_all(&chunk[..length]).await
            };
            // A refusal comes early: then the answer says why.
            if sent.await.is_err() || length == 0 {
                break;
            }
        }
        let event = next_frame::<Event>(&mut stream, &mut Vec::new())
            .await
            .map_err(|source| Error::platform("writing a file", source))?;
        match event.map(|frame| frame.message) {
            Some(Event::FileWritten { size }) => Ok(size),
            other => Err(failed(path, other)),
        }
    }

    pub(super) async fn file_stream(&self, request: &Request) -> Result<tokio::net::UnixStream> {
        self.running_link().await?;
        let doing = |source| Error::platform("reaching the devbox", source);
        let request = frame(request, &[]).map_err(|error| Error::Invalid(error.to_string()))?;
        let mut stream = link::connect(&self.places.directory).await.map_err(doing)?;
        stream.write_all(&request).await.map_err(doing)?;
        Ok(stream)
    }
}

/// What an answer other than the hoped for means.
fn failed(path: &str, event: Option<Event>) -> Error {
    match event {
        Some(Event::FileFailed { kind, why }) => Error::File {
            path: path.to_owned(),
            kind,
            why,
        },
        _ => Error::BoxEnded,
    }
}
