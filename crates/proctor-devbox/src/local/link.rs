//! The server's connection to one supervisor: numbered requests, answers, and news of executions.

use std::{
    collections::HashMap,
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream as StdStream,
    },
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::de::DeserializeOwned;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, Interest},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{oneshot, watch},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    inside::receive_with_fds,
    wire::{Action, Answer, Event, Frame, Request, frame},
};
use crate::{
    error::{Error, Result},
    name::ExecId,
    record::Progress,
};

/// What is known of the executions of a box, kept up to date by the link.
#[derive(Debug, Default)]
pub(super) struct Watches {
    known: Mutex<HashMap<ExecId, watch::Sender<Progress>>>,
}

impl Watches {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ExecId, watch::Sender<Progress>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how far an execution is.
    pub(super) fn set(&self, id: ExecId, progress: Progress) {
        self.lock()
            .entry(id)
            .or_insert_with(|| watch::Sender::new(Progress::default()))
            .send_replace(progress);
    }

    /// Follows an execution that is known, or is made known as just started.
    pub(super) fn follow_new(&self, id: &ExecId) -> watch::Receiver<Progress> {
        self.lock()
            .entry(id.clone())
            .or_insert_with(|| watch::Sender::new(Progress::default()))
            .subscribe()
    }

    pub(super) fn follow(&self, id: &ExecId) -> Option<watch::Receiver<Progress>> {
        self.lock().get(id).map(watch::Sender::subscribe)
    }

    /// Every execution that is known, in the order of their names.
    pub(super) fn ids(&self) -> Vec<ExecId> {
        let mut ids: Vec<ExecId> = self.lock().keys().cloned().collect();
        ids.sort();
        ids
    }

    pub(super) fn forget(&self, id: &ExecId) {
        self.lock().remove(id);
    }

    /// Settles every execution that has not ended, after the box has.
    pub(super) fn settle(&self, mut end: impl FnMut(&ExecId, Progress) -> Progress) {
        for (id, sender) in self.lock().iter() {
            let progress = *sender.borrow();
            if progress.exit.is_none() {
                sender.send_replace(end(id, progress));
            }
        }
    }
}

/// A connection that is attached to a supervisor.
#[derive(Debug)]
pub(super) struct Link {
    writer: tokio::sync::Mutex<OwnedWriteHalf>,
    pending: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    next: AtomicU64,
    /// Cancelled when the supervisor is gone, and with it everything that only makes sense until then.
    over: CancellationToken,
}

/// How things stood when the link was made.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) frozen: bool,
}

impl Link {
    /// Follows the supervisor at the other end of `stream`, which says how things stand first. `ended` is called when it is gone, but
    /// not when we are `leaving`.
    pub(super) async fn establish(
        stream: UnixStream,
        watches: Arc<Watches>,
        (tasks, leaving): (&TaskTracker, &CancellationToken),
        ended: impl FnOnce() + Send + 'static,
    ) -> Result<(Arc<Self>, Standing)> {
        let (mut reader, writer) = stream.into_split();
        let mut buffer = Vec::new();
        let lost = |source| Error::platform("talking to a supervisor", source);
        let standing = match next_frame::<Event>(&mut reader, &mut buffer)
            .await
            .map_err(lost)?
        {
            Some(Frame {
                message: Event::Ready { frozen, executions },
                ..
            }) => {
                for (id, progress) in executions {
                    watches.set(id, progress);
                }
                Standing { frozen }
            }
            Some(Frame {
                message: Event::Failed { doing, errno },
                ..
            }) => {
                return Err(Error::platform(
                    format!("bringing the devbox up: {doing}"),
                    io::Error::from_raw_os_error(errno),
                ));
            }
            Some(_) | None => return Err(Error::BoxEnded),
        };
        let link = Arc::new(Self {
            writer: tokio::sync::Mutex::new(writer),
            pending: Mutex::default(),
            next: AtomicU64::new(1),
            over: CancellationToken::new(),
        });
        let followed = Arc::clone(&link);
        let leaving = leaving.clone();
        tasks.spawn(async move {
            let gone = leaving
                .run_until_cancelled(followed.listen(&mut reader, &mut buffer, &watches))
                .await;
            if gone.is_some() {
                ended();
            }
            followed.over.cancel();
            followed.pending().clear();
        });
        Ok((link, standing))
    }

    /// Takes in what the supervisor says, until it is gone.
    async fn listen(&self, reader: &mut OwnedReadHalf, buffer: &mut Vec<u8>, watches: &Watches) {
        while let Ok(Some(frame)) = next_frame::<Event>(reader, buffer).await {
            match frame.message {
                Event::Answer { number, answer } => {
                    if let Some(asker) = self.pending().remove(&number) {
                        let _ = asker.send(answer);
                    }
                }
                Event::Progress(id, progress) => watches.set(id, progress),
                Event::Ready { .. }
                | Event::Failed { .. }
                | Event::Sockets
                | Event::SftpReady
                | Event::FileOpened { .. }
                | Event::FileWritten { .. }
                | Event::FileFailed { .. } => {}
            }
        }
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Answer>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Waits until the supervisor is gone.
    pub(super) async fn closed(&self) {
        self.over.cancelled().await;
    }

    /// A token that is cancelled when the supervisor is gone, if not before.
    pub(super) fn until_closed(&self) -> CancellationToken {
        self.over.child_token()
    }

    /// Has something done.
    pub(super) async fn ask(&self, action: Action, bytes: &[u8]) -> Result<Answer> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.pending().insert(number, sender);
        let request = frame(&Request::Do { number, action }, bytes)
            .map_err(|error| Error::Invalid(error.to_string()))?;
        if self.is_closed() || self.writer.lock().await.write_all(&request).await.is_err() {
            self.pending().remove(&number);
            return Err(Error::BoxEnded);
        }
        // Closing forgets all who wait.
        answer.await.map_err(|_| Error::BoxEnded)
    }

    /// Has something done that is done or not.
    pub(super) async fn tell(&self, action: Action) -> Result<()> {
        self.ask(action, &[]).await.and_then(expect_done)
    }
}

/// What an answer other than `Done` means.
pub(super) fn expect_done(answer: Answer) -> Result<()> {
    match answer {
        Answer::Done => Ok(()),
        Answer::StdinClosed => Err(Error::StdinClosed),
        Answer::NotNow(why) => Err(Error::InUse {
            what: "the devbox".to_owned(),
            by: why,
        }),
        Answer::Failed(why) => Err(Error::platform("in a supervisor", io::Error::other(why))),
        Answer::CannotRun(_)
        | Answer::Noted(_)
        | Answer::NoSuchExecution
        | Answer::DiskFree
        | Answer::DiskFrozen
        | Answer::Usage(_) => Err(Error::platform(
            "in a supervisor",
            io::Error::other("an answer to something else"),
        )),
    }
}

/// The next frame, or `None` at the end.
pub(super) async fn next_frame<M: DeserializeOwned>(
    reader: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Frame<M>>> {
    loop {
        if let Some((frame, length)) = Frame::parse(buffer)? {
            buffer.drain(..length);
            return Ok(Some(frame));
        }
        if reader.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// What has come on a connection, with the descriptors that came with it. No bytes: the other side has gone.
pub(super) async fn receive(
    stream: &UnixStream,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    loop {
        stream.readable().await?;
        let received = stream.try_io(Interest::READABLE, || {
            receive_with_fds(stream.as_fd(), buffer)
        });
        match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other,
        }
    }
}

/// Connects to the control socket in a box's directory.
pub(super) async fn connect(directory: &Path) -> io::Result<UnixStream> {
    use rustix::fs::{Mode, OFlags};
    // The path may be longer than an address can be, so the socket is named through its directory.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = rustix::fs::open(directory, flags, Mode::empty())?;
    let path = format!(
        "/proc/self/fd/{}/control",
        std::os::fd::AsRawFd::as_raw_fd(&handle)
    );
    UnixStream::connect(path).await
}

/// A pair of connected streams: ours, and the one to give away.
pub(super) fn pair() -> io::Result<(UnixStream, StdStream)> {
    let (ours, theirs) = StdStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs))
}
