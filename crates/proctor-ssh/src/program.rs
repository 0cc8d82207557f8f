//! A program at the end of a session channel: its streams, its window, its signals, its end.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use proctor_core::causes::with_causes;
use proctor_devbox::{Error, Exit, Session};
use proctor_fleet::{Entrance, FleetError, SessionRequest};
use russh::{
    Channel, ChannelId, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Sig,
    server::{Handle, Msg},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::sessions::window;

/// How much of its input a program may leave unread before its client has to wait.
const MOST_UNREAD: usize = 8 << 20;
/// How long after a program's end its streams may be silent before they are left, if something that it started still holds them.
const SILENCE: Duration = Duration::from_millis(200);
/// The stream of errors, as the protocol numbers it.
const ERRORS: u32 = 1;
/// What shells answer for a program that cannot be run.
const CANNOT_RUN: u32 = 127;
/// What clients answer for a connection that failed.
const FAILED: u32 = 255;

/// Runs what a client asks for until it ends or the client leaves. A program whose client leaves reads the end of its input or loses
/// its terminal; what it does then is its own affair, as on any other server.
pub(crate) async fn run(
    channel: Channel<Msg>,
    handle: Handle,
    entrance: &Entrance,
    request: SessionRequest,
) {
    let id = channel.id();
    match entrance.session(request).await {
        Ok(session) => {
            let (reader, writer) = channel.split();
            let streams = Streams::of(session, writer);
            if let Some(exit) = streams.join(reader).await {
                tell_end(&handle, id, exit).await;
            }
        }
        Err(error) => {
            let status = match &error {
                FleetError::Box(Error::CannotRun { .. }) => CANNOT_RUN,
                _ => FAILED,
            };
            let why = format!("{}\r\n", with_causes(&error));
            let _ = handle.extended_data(id, ERRORS, why).await;
            let _ = handle.exit_status_request(id, status).await;
        }
    }
    let _ = handle.eof(id).await;
    let _ = handle.close(id).await;
}

async fn tell_end(handle: &Handle, id: ChannelId, exit: Exit) {
    let signal = exit.signal.and_then(name);
    let _ = match (signal, exit.code) {
        (Some(signal), _) => {
            let told = handle.exit_signal_request(id, signal, false, String::new(), String::new());
            told.await
        }
        (None, Some(code)) => {
            let code = u32::try_from(code).unwrap_or(FAILED);
            handle.exit_status_request(id, code).await
        }
        (None, None) => handle.exit_status_request(id, FAILED).await,
    };
}

/// A program's streams between it and its client.
struct Streams {
    session: Session,
    /// What carries its output to the client; dropping it ends that.
    pumps: JoinSet<()>,
    /// Cancelled when the program has ended.
    ended: CancellationToken,
}

impl Streams {
    fn of(mut session: Session, writer: ChannelWriteHalf<Msg>) -> Self {
        let (mut pumps, ended) = (JoinSet::new(), CancellationToken::new());
        let writer = Arc::new(writer);
        if let Some(errors) = session.errors.take() {
            pumps.spawn(pump(
                errors,
                Arc::clone(&writer),
                Some(ERRORS),
                ended.clone(),
            ));
        }
        let output = std::mem::replace(&mut session.output, Box::new(tokio::io::empty()));
        pumps.spawn(pump(output, writer, None, ended.clone()));
        Self {
            session,
            pumps,
            ended,
        }
    }

    /// Carries everything to and fro. `None`: the client has left.
    async fn join(mut self, mut reader: ChannelReadHalf) -> Option<Exit> {
        let execution = Arc::clone(&self.session.execution);
        let has_terminal = self.session.window.is_some();
        let mut input = Input {
            stream: Some(std::mem::replace(
                &mut self.session.input,
                Box::new(tokio::io::sink()),
            )),
            ..Input::default()
        };
        let exit = loop {
            tokio::select! {
                exit = execution.wait() => break exit,
                () = input.write() => {}
                message = reader.wait(), if input.unread < MOST_UNREAD => match message {
                    None | Some(ChannelMsg::Close) => return None,
                    Some(ChannelMsg::Data { data }) => input.push(data),
                    // A terminal has no end of its own: programs there are told by a key.
                    Some(ChannelMsg::Eof) => input.is_last = !has_terminal,
                    Some(ChannelMsg::WindowChange { col_width, row_height, .. }) => {
                        if let Some(shown) = &self.session.window
                            && let Err(error) = shown.resize(window(col_width, row_height))
                        {
                            tracing::debug!(error = %with_causes(&error), "a window kept its size");
                        }
                    }
                    Some(ChannelMsg::Signal { signal }) => {
                        if let Some(number) = number(&signal) {
                            let _ = execution.signal(number).await;
                        }
                    }
                    Some(_) => {}
                },
            }
        };
        self.ended.cancel();
        let drained = async { while self.pumps.join_next().await.is_some() {} };
        tokio::pin!(drained);
        loop {
            tokio::select! {
                () = &mut drained => break,
                message = reader.wait() => if matches!(message, None | Some(ChannelMsg::Close)) {
                    return None;
                },
            }
        }
        // What became of a program whose box is gone is not known; its connection ends with the box.
        exit.ok()
    }
}

/// What a client has typed and the program has not taken yet.
#[derive(Default)]
struct Input {
    stream: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    queue: VecDeque<Bytes>,
    unread: usize,
    /// Whether nothing comes after what is in the queue.
    is_last: bool,
}

impl Input {
    fn push(&mut self, data: Bytes) {
        // What nobody reads any more is not kept.
        if self.stream.is_some() {
            self.unread += data.len();
            self.queue.push_back(data);
        }
    }

    /// Writes the next piece, or closes after the last. Never returns while there is nothing to do; may be dropped at any time.
    async fn write(&mut self) {
        let Some(stream) = &mut self.stream else {
            return std::future::pending().await;
        };
        let Some(piece) = self.queue.front_mut() else {
            if self.is_last {
                self.stream = None;
                return;
            }
            return std::future::pending().await;
        };
        match stream.write(piece).await {
            Ok(0) | Err(_) => {
                self.stream = None;
                self.queue.clear();
                self.unread = 0;
            }
            Ok(length) => {
                self.unread -= length;
                let _ = piece.split_to(length);
                if piece.is_empty() {
                    self.queue.pop_front();
                }
            }
        }
    }
}

/// Carries one stream of the program to the client, to its end.
async fn pump(
    mut stream: Box<dyn AsyncRead + Send + Unpin>,
    writer: Arc<ChannelWriteHalf<Msg>>,
    kind: Option<u32>,
    ended: CancellationToken,
) {
    let mut buffer = vec![0; 32 << 10];
    loop {
        let silence = async {
            ended.cancelled().await;
            tokio::time::sleep(SILENCE).await;
        };
        let length = tokio::select! {
            read = stream.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(length) => length,
            },
            () = silence => return,
        };
        let bytes = Bytes::copy_from_slice(&buffer[..length]);
        let sent = match kind {
            None => writer.data_bytes(bytes).await,
            Some(kind) => writer.extended_data_bytes(kind, bytes).await,
        };
        if sent.is_err() {
            return;
        }
    }
}

/// The number of a signal that the protocol knows by name.
fn number(signal: &Sig) -> Option<i32> {
    Some(match signal {
        Sig::HUP => 1,
        Sig::INT => 2,
        Sig::QUIT => 3,
        Sig::ILL => 4,
        Sig::ABRT => 6,
        Sig::FPE => 8,
        Sig::KILL => 9,
        Sig::USR1 => 10,
        Sig::SEGV => 11,
        Sig::PIPE => 13,
        Sig::ALRM => 14,
        Sig::TERM => 15,
        Sig::Custom(name) if name == "USR2" => 12,
        Sig::Custom(_) => return None,
    })
}

/// The name of a signal; others than these have none.
fn name(signal: i32) -> Option<Sig> {
    Some(match signal {
        1 => Sig::HUP,
        2 => Sig::INT,
        3 => Sig::QUIT,
        4 => Sig::ILL,
        6 => Sig::ABRT,
        8 => Sig::FPE,
        9 => Sig::KILL,
        10 => Sig::USR1,
        11 => Sig::SEGV,
        12 => Sig::Custom("USR2".to_owned()),
        13 => Sig::PIPE,
        14 => Sig::ALRM,
        15 => Sig::TERM,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_has_a_name_is_found_by_it() {
        let named = (1..64).filter_map(|signal| Some((signal, name(signal)?)));
        for (signal, name) in named {
            assert_eq!(number(&name), Some(signal));
        }
    }
}
