//! Ways into a box from the server's side: its ports, programs whose streams are the server's, SFTP.
//!
//! A process in the box makes what is needed there (sockets of its network, a terminal) and passes it on. The server
//! gets sockets, pipes and terminals by that, never a file of the box.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use rustix::termios::Winsize;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, unix::AsyncFd},
    net::{
        TcpStream, UnixStream,
        unix::pipe::{Receiver, Sender},
    },
};

use super::{
    devbox::{LocalBox, check_program},
    execution::LocalExecution,
    link::{self, expect_done},
    wire::{Answer, Event, Frame, Request},
};
use crate::{
    backend::{Duplex, Session, Window},
    error::{Error, Result},
    record::BoxState,
    spec::{ExecSpec, Terminal, User},
};

/// How long somebody who listens may take to accept: a full queue is not waited for without end.
const PATIENCE: Duration = Duration::from_secs(10);

impl LocalBox {
    /// Connects to a port of the box's loopback interface, by IPv4 and else by IPv6.
    pub(super) async fn dial(&self, port: u16) -> Result<Box<dyn Duplex>> {
        let stream = self.file_stream(&Request::Sockets).await?;
        let (event, sockets, _) = first_event(&stream).await?;
        match event {
            Event::Sockets => {}
            other => return Err(refused(other)),
        }
        let addresses = [
            SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
        ];
        for (socket, address) in sockets.into_iter().zip(addresses) {
            match tokio::time::timeout(PATIENCE, connect(socket, address)).await {
                Ok(Ok(stream)) => return Ok(Box::new(stream)),
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Ok(Err(_)) | Err(_) => break,
            }
        }
        Err(Error::NoListener(port))
    }

    /// Runs a program whose streams are ours.
    pub(super) async fn begin_session(&self, spec: ExecSpec) -> Result<Session> {
        check_program(&spec)?;
        let (id, program) = (spec.id.clone(), spec.argv[0].clone());
        let terminal = spec.terminal.is_some();
        let progress = self.watches.follow_new(&id);
        let begun = async {
            let stream = self.file_stream(&Request::Session(Box::new(spec))).await?;
            let (event, fds, _) = first_event(&stream).await?;
            match event {
                Event::Answer { answer, .. } => match answer {
                    Answer::CannotRun(why) => return Err(Error::CannotRun { program, why }),
                    Answer::NotNow(_) => return Err(suspended()),
                    answer => expect_done(answer)?,
                },
                other => return Err(refused(other)),
            }
            Ok(fds)
        };
        let fds = match begun.await {
            Ok(fds) => fds,
            Err(error) => {
                self.watches.forget(&id);
                return Err(error);
            }
        };
        let execution = Arc::new(LocalExecution {
            progress,
            within: self.this(),
            id,
            notes: Vec::new(),
        });
        let streams = if terminal {
            terminal_streams(execution, fds)
        } else {
            pipe_streams(execution, fds)
        };
        streams.map_err(|source| Error::platform("taking a session over", source))
    }

    /// Begins to speak SFTP.
    pub(super) async fn open_sftp(&self, user: &User, directory: &str) -> Result<Box<dyn Duplex>> {
        let request = Request::Sftp {
            user: user.clone(),
            directory: directory.to_owned(),
        };
        let stream = self.file_stream(&request).await?;
        match first_event(&stream).await? {
            (Event::SftpReady, _, rest) => {
                let (reader, writer) = stream.into_split();
                let reader = io::Cursor::new(rest).chain(reader);
                Ok(Box::new(tokio::io::join(reader, writer)))
            }
            (other, _, _) => Err(refused(other)),
        }
    }
}

/// The first thing that is said on a connection, with its descriptors and what came after it.
async fn first_event(stream: &UnixStream) -> Result<(Event, Vec<OwnedFd>, Vec<u8>)> {
    let lost = |source| Error::platform("reaching the devbox", source);
    let (mut buffer, mut fds) = (Vec::new(), Vec::new());
    let mut piece = [0; 4096];
    loop {
        let parsed = Frame::parse(&buffer).map_err(|error| lost(error.into()))?;
        if let Some((Frame { message, .. }, length)) = parsed {
            return Ok((message, fds, buffer.split_off(length)));
        }
        let (length, more) = link::receive(stream, &mut piece).await.map_err(lost)?;
        if length == 0 {
            return Err(Error::BoxEnded);
        }
        buffer.extend_from_slice(&piece[..length]);
        fds.extend(more);
    }
}

fn suspended() -> Error {
    Error::WrongState {
        state: BoxState::Suspended,
        needed: "it must be running",
    }
}

/// What an event other than the hoped for means.
fn refused(event: Event) -> Error {
    match event {
        Event::FileFailed { why, .. } => {
            Error::platform("entering the devbox", io::Error::other(why))
        }
        _ => Error::BoxEnded,
    }
}

/// Connects a socket that was made in the box's network.
async fn connect(socket: OwnedFd, address: SocketAddr) -> io::Result<TcpStream> {
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
        Err(errno) => return Err(errno.into()),
    }
    let stream = TcpStream::from_std(socket.into())?;
    stream.writable().await?;
    match stream.take_error()? {
        Some(error) => Err(error),
        None => {
            stream.set_nodelay(true)?;
            Ok(stream)
        }
    }
}

fn pipe_streams(execution: Arc<LocalExecution>, fds: Vec<OwnedFd>) -> io::Result<Session> {
    let [input, output, errors]: [OwnedFd; 3] =
        fds.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(Session {
        execution,
        input: Box::new(Sender::from_owned_fd(input)?),
        output: Box::new(Receiver::from_owned_fd(output)?),
        errors: Some(Box::new(Receiver::from_owned_fd(errors)?)),
        window: None,
    })
}

#[expect(
    deprecated,
    reason = "its successor is unsafe code; the descriptor is owned, and stays the same as long as it is registered"
)]
fn terminal_streams(execution: Arc<LocalExecution>, mut fds: Vec<OwnedFd>) -> io::Result<Session> {
    let terminal = fds.pop().ok_or(io::ErrorKind::InvalidData)?;
    rustix::io::ioctl_fionbio(&terminal, true)?;
    let terminal = OpenTerminal(Arc::new(AsyncFd::new(terminal)?));
    Ok(Session {
        execution,
        input: Box::new(terminal.clone()),
        output: Box::new(terminal.clone()),
        errors: None,
        window: Some(Arc::new(terminal)),
    })
}

/// The end of a terminal that is typed into and read from.
#[derive(Clone)]
struct OpenTerminal(Arc<AsyncFd<OwnedFd>>);

impl Window for OpenTerminal {
    fn resize(&self, size: Terminal) -> Result<()> {
        let size = Winsize {
            ws_col: size.columns,
            ws_row: size.rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(self.0.get_ref(), size)
            .map_err(|errno| Error::platform("resizing a terminal", errno))
    }
}

impl AsyncRead for OpenTerminal {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            let room = buffer.initialize_unfilled();
            match ready.try_io(|terminal| Ok(rustix::io::read(terminal, room)?)) {
                Ok(Ok(length)) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                // Nobody has the other end any more: that is its end.
                Ok(Err(error)) if error.raw_os_error() == Some(EIO) => return Poll::Ready(Ok(())),
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_) => {}
            }
        }
    }
}

/// What a terminal says whose other end is closed.
const EIO: i32 = rustix::io::Errno::IO.raw_os_error();

impl AsyncWrite for OpenTerminal {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.0.poll_write_ready(context))?;
            if let Ok(written) = ready.try_io(|terminal| Ok(rustix::io::write(terminal, bytes)?)) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
