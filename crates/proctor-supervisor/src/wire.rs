//! What the server and a box's supervisor say to each other, and how it is framed.
//!
//! A frame is two lengths, a JSON text and raw bytes: `[u32 json][u32 bytes][json…][bytes…]`, little endian. The supervisor
//! reads frames from descriptors that it polls, the server from a tokio stream; both use [`Frame::parse`].

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    error::FileProblem,
    name::ExecId,
    record::{Progress, Usage},
    spec::{ExecSpec, FileMode, User},
};

/// The longest JSON text of a frame: room for the arguments and environment that Linux accepts.
const LONGEST_JSON: usize = 8 << 20;
/// The longest raw part of a frame.
pub const LONGEST_BYTES: usize = 1 << 20;
const HEAD: usize = 8;

/// From the server to a supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Send everything that happens from now on, beginning with how things stand.
    Attach,
    /// Do something and answer with the same number.
    Do {
        /// Chosen by the server.
        number: u64,
        /// What to do.
        action: Action,
    },
    /// Give the listener of the box's proxy: one byte with its descriptor, or nothing, and the end of this connection.
    Outlet,
    /// Give the box's network: one byte with the descriptor of its namespace, or nothing, and the end of this connection.
    NetworkSpace,
    /// Give two unconnected sockets of the box's network, for IPv4 and IPv6: [`Event::Sockets`] with their descriptors.
    Sockets,
    /// Run a program whose streams are the server's: an [`Event::Answer`] with the number 0 and, if it runs, the server's
    /// ends: of its standard input, output and error output, or of its terminal.
    Session(Box<ExecSpec>),
    /// Turn this connection into an SFTP session, after [`Event::SftpReady`].
    Sftp {
        /// Who asks.
        user: User,
        /// Where relative paths begin.
        directory: String,
    },
    /// Turn this connection into the reading of a file.
    ReadFile {
        /// Inside the box.
        path: String,
        /// Who reads.
        user: User,
        /// The largest size that is wanted.
        limit: Option<u64>,
    },
    /// Turn this connection into the writing of a file; chunks follow as `[u32 length][bytes]`, the last of length 0.
    WriteFile {
        /// Inside the box.
        path: String,
        /// Who writes.
        user: User,
        /// The permission bits, if they are to be set.
        mode: Option<FileMode>,
    },
}

/// Something to be done with a box.
#[derive(Debug, Serialize, Deserialize)]
pub enum Action {
    /// Run a program. If the frame's raw bytes are an [`OutputKey`](crate::output_key::OutputKey), its output is enciphered with it.
    Exec(Box<ExecSpec>),
    /// Write the frame's raw bytes to standard input.
    Stdin(ExecId),
    /// End standard input.
    CloseStdin(ExecId),
    /// Send a signal to the program and its group.
    Signal(ExecId, i32),
    /// End everything the execution started.
    Kill(ExecId),
    /// Forget an ended execution.
    Forget(ExecId),
    /// Make every process stand still.
    Freeze,
    /// Let them go on.
    Thaw,
    /// Bring the disk to rest for a snapshot.
    BeginSnapshot,
    /// Bring the disk to rest for as long as it is copied.
    BeginCopy,
    /// The snapshot is done or was given up: read the plan again and go on.
    EndSnapshot,
    /// Say what is used.
    Usage,
    /// End everything, the supervisor too.
    Stop,
}

/// From a supervisor to the server.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// The box is up; first thing on every attached connection.
    Ready {
        /// Whether its processes stand still.
        frozen: bool,
        /// Every execution of this supervisor.
        executions: Vec<(ExecId, Progress)>,
    },
    /// The box could not be brought up.
    Failed {
        /// What was being done.
        doing: String,
        /// What the system said.
        errno: i32,
    },
    /// The answer to a [`Request::Do`].
    Answer {
        /// The number of the request.
        number: u64,
        /// What came of it.
        answer: Answer,
    },
    /// An execution has come further.
    Progress(ExecId, Progress),
    /// The sockets come with this.
    Sockets,
    /// From now on the connection speaks SFTP.
    SftpReady,
    /// The file is open: its bytes follow, exactly this many.
    FileOpened {
        /// Its size.
        size: u64,
        /// Its permission bits.
        mode: FileMode,
    },
    /// The file is written.
    FileWritten {
        /// Its size.
        size: u64,
    },
    /// The file could not be read or written.
    FileFailed {
        /// For telling cases apart.
        kind: FileProblem,
        /// For people.
        why: String,
    },
}

/// What came of an action.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It is done.
    Done,
    /// It is done, and this was found on the way.
    Noted(Vec<String>),
    /// The program could not be started.
    CannotRun(String),
    /// There is no such execution.
    NoSuchExecution,
    /// The execution takes no input.
    StdinClosed,
    /// Not now: the execution runs, or the box is suspended or being snapshotted.
    NotNow(String),
    /// It failed on the host's side.
    Failed(String),
    /// The disk is at rest and no process is left on it.
    DiskFree,
    /// The disk is at rest because every process stands still.
    DiskFrozen,
    /// What is used.
    Usage(Usage),
}

/// One framed message with its raw bytes.
#[derive(Debug)]
pub struct Frame<M> {
    /// The message.
    pub message: M,
    /// What came with it as it is, such as standard input.
    pub bytes: Vec<u8>,
}

/// Why bytes are not a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A length is beyond what either side ever sends.
    #[error("a frame of {0} bytes")]
    TooLong(usize),
    /// The text is not the expected message.
    #[error("{0}")]
    Text(#[from] serde_json::Error),
}

impl From<FrameError> for std::io::Error {
    fn from(error: FrameError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

impl<M: DeserializeOwned> Frame<M> {
    /// The frame that `buffer` begins with and its length, or `None` if more bytes are needed.
    pub fn parse(buffer: &[u8]) -> Result<Option<(Self, usize)>, FrameError> {
        let Some((head, rest)) = buffer.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = |at: usize| {
            u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize
        };
        let (json, bytes) = (length(0), length(4));
        if json > LONGEST_JSON || bytes > LONGEST_BYTES {
            return Err(FrameError::TooLong(json.max(bytes)));
        }
        if rest.len() < json + bytes {
            return Ok(None);
        }
        let frame = Self {
            message: serde_json::from_slice(&rest[..json])?,
            bytes: rest[json..json + bytes].to_vec(),
        };
        Ok(Some((frame, HEAD + json + bytes)))
    }
}

/// The bytes of a frame.
pub fn frame(message: &impl Serialize, bytes: &[u8]) -> Result<Vec<u8>, FrameError> {
    let json = serde_json::to_vec(message)?;
    if json.len() > LONGEST_JSON || bytes.len() > LONGEST_BYTES {
        return Err(FrameError::TooLong(json.len().max(bytes.len())));
    }
    let length = |part: &[u8]| u32::try_from(part.len()).expect("checked against the longest part");
    let mut frame = Vec::with_capacity(HEAD + json.len() + bytes.len());
    frame.extend_from_slice(&length(&json).to_le_bytes());
    frame.extend_from_slice(&length(bytes).to_le_bytes());
    frame.extend_from_slice(&json);
    frame.extend_from_slice(bytes);
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_an_error_or_too_few(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Frame::<Request>::parse(&bytes);
        }

        #[test]
        fn a_frame_arrives_whole_however_it_is_cut(payload in proptest::collection::vec(any::<u8>(), 0..300), cut in 0usize..400) {
            let id = ExecId::new("e1").unwrap();
            let sent = frame(&Request::Do { number: 7, action: Action::Stdin(id) }, &payload).unwrap();
            let cut = cut.min(sent.len());
            if cut < sent.len() {
                prop_assert!(Frame::<Request>::parse(&sent[..cut]).unwrap().is_none());
            }
            let (got, length) = Frame::<Request>::parse(&sent).unwrap().unwrap();
            prop_assert_eq!(length, sent.len());
            prop_assert_eq!(got.bytes, payload);
        }
    }
}
