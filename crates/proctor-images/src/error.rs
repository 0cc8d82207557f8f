//! Why something cannot be done with an image.

use std::io;

/// Why something cannot be done with an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A text is not the name of an image.
    #[error("'{name}' is not the name of an image: {why}")]
    Name {
        /// The text.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such image.
    #[error("{0}")]
    Missing(String),
    /// What an image is made of is not what it says it is, or would do harm.
    #[error("{0}")]
    Invalid(String),
    /// A registry does not answer as it should, or may not be asked.
    #[error("{registry}: {why}")]
    Registry {
        /// Which.
        registry: String,
        /// What is wrong.
        why: String,
    },
    /// Something stands on it.
    #[error("{0}")]
    InUse(String),
    /// The file system failed.
    #[error("{doing}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl ImageError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }

    pub(crate) fn io(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Io {
            doing: doing.into(),
            source: source.into(),
        }
    }
}

/// Adds to an error of the system what was being done.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl Into<String>) -> Result<T, ImageError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl Into<String>) -> Result<T, ImageError> {
        self.map_err(|error| ImageError::io(what, error))
    }
}
