//! What can go wrong, told apart by what the caller should do next.

use std::{io, path::PathBuf};

use crate::{
    name::{BoxId, ExecId, LayerId},
    record::{BoxState, Property},
};

/// The result of an operation on a backend or a box.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on a backend or a box did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such box.
    #[error("there is no devbox {0}")]
    NoSuchBox(BoxId),
    /// There is no such execution in the box.
    #[error("there is no execution {0}")]
    NoSuchExecution(ExecId),
    /// There is no such layer.
    #[error("there is no layer {0}")]
    NoSuchLayer(LayerId),
    /// There is no root file system of that name.
    #[error("there is no base {0}")]
    NoSuchBase(String),
    /// The name is in use.
    #[error("{what} {name} exists already")]
    Exists {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Something still needs it.
    #[error("{what} is in use by {by}")]
    InUse {
        /// What was to be removed.
        what: String,
        /// Who needs it.
        by: String,
    },
    /// The box is not in a state for this.
    #[error("the devbox is {state:?}; {needed}")]
    WrongState {
        /// Where it is.
        state: BoxState,
        /// What the operation needs.
        needed: &'static str,
    },
    /// What was asked for makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The host cannot give what the box requires.
    #[error("this host cannot give {property:?}: {why}")]
    Unsupported {
        /// What is required.
        property: Property,
        /// What is missing.
        why: String,
    },
    /// The program could not be started; the message is for its author.
    #[error("cannot run {program}: {why}")]
    CannotRun {
        /// The program as it was given.
        program: String,
        /// What the box said.
        why: String,
    },
    /// The execution does not take input, or has ended.
    #[error("the execution takes no input")]
    StdinClosed,
    /// Nothing in the box listens on this port of its loopback interface.
    #[error("nothing listens on port {0} of the devbox")]
    NoListener(u16),
    /// The backend has no such operation.
    #[error("devboxes of this backend have no {0}")]
    NotOffered(&'static str),
    /// A file operation failed inside the box.
    #[error("{path}: {why}")]
    File {
        /// The path inside the box.
        path: String,
        /// What went wrong, for telling cases apart.
        kind: FileProblem,
        /// What the box said.
        why: String,
    },
    /// The box went away during the operation.
    #[error("the devbox ended")]
    BoxEnded,
    /// The platform failed.
    #[error("{doing}")]
    Platform {
        /// What was being done.
        doing: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file of the backend does not hold what it should.
    #[error("{path} is damaged: {why}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl Error {
    /// A failure of the platform while `doing`.
    pub fn platform(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Platform {
            doing: doing.into(),
            source: source.into(),
        }
    }
}

/// What went wrong with a file inside a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FileProblem {
    /// There is nothing of that name.
    NotFound,
    /// The user may not.
    Denied,
    /// It is a directory, a device, a pipe or a socket.
    NotRegular,
    /// It is larger than the caller wants.
    TooLarge,
    /// The box has no room left.
    NoSpace,
    /// Anything else.
    Other,
}
