//! An execution from the server's side: its progress by the link, its output from the spool's files.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::watch;

use super::{
    devbox::LocalBox,
    inside::StatusFile,
    link::{Link, expect_done},
    plan::{BoxPlaces, read_json},
    wire::{Action, Answer, LONGEST_BYTES},
};
use crate::{
    backend::Execution,
    error::{Error, Result},
    name::ExecId,
    record::{Exit, ExitCause, OutputChunk, Progress},
    spec::Stream,
};

/// One program in a local box.
pub(super) struct LocalExecution {
    pub(super) id: ExecId,
    pub(super) within: Arc<LocalBox>,
    pub(super) progress: watch::Receiver<Progress>,
    /// What was found when it was started.
    pub(super) notes: Vec<String>,
}

impl LocalExecution {
    async fn link(&self) -> Result<Arc<Link>> {
        self.within.running_link().await
    }

    async fn ask(&self, action: Action, bytes: &[u8]) -> Result<()> {
        match self.link().await?.ask(action, bytes).await? {
            Answer::NoSuchExecution => Err(Error::NoSuchExecution(self.id.clone())),
            answer => expect_done(answer),
        }
    }
}

/// How an execution stands according to its files: as ended, or as ended with its box.
pub(super) fn settled(places: &BoxPlaces, id: &ExecId, last: Progress) -> Progress {
    if let Ok(StatusFile { progress }) = read_json(&places.status(id))
        && progress.exit.is_some()
    {
        return progress;
    }
    let length = |stream| {
        let kept = [places.sealed_output(id, stream), places.output(id, stream)];
        let mut kept = kept.iter().filter_map(|path| fs_err::metadata(path).ok());
        kept.next().map_or(0, |file| file.len())
    };
    Progress {
        stdout: length(Stream::Stdout),
        stderr: length(Stream::Stderr),
        exit: Some(Exit {
            code: None,
            signal: Some(rustix::process::Signal::KILL.as_raw()),
            cause: ExitCause::BoxEnded,
            wall: std::time::Duration::ZERO,
        }),
        ..last
    }
}

#[async_trait]
impl Execution for LocalExecution {
    fn id(&self) -> &ExecId {
        &self.id
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    async fn wait(&self) -> Result<Exit> {
        let mut progress = self.progress.clone();
        let ended = progress.wait_for(|progress| progress.exit.is_some()).await;
        ended
            .ok()
            .and_then(|progress| progress.exit)
            .ok_or(Error::BoxEnded)
    }

    async fn read_output(&self, stream: Stream, offset: u64, most: usize) -> Result<OutputChunk> {
        let length = |progress: &Progress| match stream {
            Stream::Stdout => progress.stdout,
            Stream::Stderr => progress.stderr,
        };
        let mut watched = self.progress.clone();
        let progress = *watched
            .wait_for(|progress| length(progress) > offset || progress.exit.is_some())
            .await
            .map_err(|_| Error::BoxEnded)?;
        let available = length(&progress).saturating_sub(offset);
        if available == 0 {
            return Ok(OutputChunk {
                bytes: Bytes::new(),
                end: offset,
                last: true,
            });
        }
        let wanted = usize::try_from(available).unwrap_or(usize::MAX).min(most);
        let places = &self.within.places;
        let plain = places.output(&self.id, stream);
        let sealed = places.sealed_output(&self.id, stream);
        let key = self.within.output_key(&self.id);
        let read = move || match (key, read_at(&sealed, offset, wanted)) {
            (Some(key), Ok(mut bytes)) => {
                key.apply(stream, offset, &mut bytes);
                Ok(bytes)
            }
            // Of a box that runs since a version without keys.
            (_, Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                read_at(&plain, offset, wanted)
            }
            (None, Ok(_)) => Err(std::io::Error::other(
                "it is enciphered, and this server has no key",
            )),
            (_, Err(error)) => Err(error),
        };
        let bytes = tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| Error::platform("reading output", std::io::Error::other(error)))?
            .map_err(|source| Error::platform("reading output", source))?;
        let end = offset + bytes.len() as u64;
        Ok(OutputChunk {
            last: progress.exit.is_some() && end >= length(&progress),
            bytes: bytes.into(),
            end,
        })
    }

    async fn write_stdin(&self, bytes: &[u8]) -> Result<()> {
        for chunk in bytes.chunks(LONGEST_BYTES / 4) {
            self.ask(Action::Stdin(self.id.clone()), chunk).await?;
        }
        Ok(())
    }

    async fn close_stdin(&self) -> Result<()> {
        self.ask(Action::CloseStdin(self.id.clone()), &[]).await
    }

    async fn signal(&self, signal: i32) -> Result<()> {
        self.ask(Action::Signal(self.id.clone(), signal), &[]).await
    }

    async fn kill(&self) -> Result<()> {
        match self.ask(Action::Kill(self.id.clone()), &[]).await {
            // Nothing is left to be ended.
            Err(Error::NoSuchExecution(_) | Error::BoxEnded | Error::WrongState { .. }) => Ok(()),
            other => other,
        }
    }

    async fn forget(&self) -> Result<()> {
        if self.progress().exit.is_none() {
            return Err(Error::InUse {
                what: format!("execution {}", self.id),
                by: "its program".to_owned(),
            });
        }
        if let Ok(link) = self.link().await {
            link.tell(Action::Forget(self.id.clone())).await?;
        }
        let removed = self.within.places.forget_execution(&self.id);
        removed.map_err(|source| Error::platform("forgetting an execution", source))?;
        self.within.watches.forget(&self.id);
        Ok(())
    }
}

fn read_at(path: &std::path::Path, offset: u64, wanted: usize) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt as _;
    let file = fs_err::File::open(path)?;
    let mut bytes = vec![0; wanted];
    let mut filled = 0;
    while filled < wanted {
        match file
            .file()
            .read_at(&mut bytes[filled..], offset + filled as u64)?
        {
            0 => break,
            length => filled += length,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
