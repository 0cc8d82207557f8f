//! An error of the system with what was being done.

use std::{fmt, io};

/// What failed and how.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) doing: String,
    pub(super) error: io::Error,
}

impl Failure {
    pub(super) fn errno(&self) -> i32 {
        self.error.raw_os_error().unwrap_or(libc::EIO)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.doing, self.error)
    }
}

/// Says what was being done when an operation fails.
pub(super) trait While<T> {
    fn doing(self, doing: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> While<T> for Result<T, E> {
    fn doing(self, doing: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            doing: doing.to_string(),
            error: error.into(),
        })
    }
}
