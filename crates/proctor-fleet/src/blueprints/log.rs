//! The log of a build: written to a file as it grows, kept among the blobs when the build is over.

use std::{
    io::{BufRead as _, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use proctor_core::causes::with_causes;
use proctor_core::{canonical::Digest, id::kinds::BlueprintId};
use proctor_store::{Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::masks::Masks;

/// A line of a build's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// How bad it is.
    pub level: Level,
    /// What it says.
    pub message: String,
    /// When, in milliseconds since 1970.
    pub timestamp_ms: i64,
}

/// How bad a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Progress and output.
    Info,
    /// Output to the error stream, and doubts.
    Warn,
    /// Why the build ends.
    Error,
}

impl Level {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// A log has at most so many bytes.
const LARGEST: usize = 8 << 20;
/// A line has at most so many characters.
const LONGEST_LINE: usize = 8 << 10;

/// A log that is being written.
pub(super) struct BuildLog {
    store: Store,
    path: PathBuf,
    masks: Masks,
    open: Mutex<Open>,
}

struct Open {
    file: fs_err::File,
    bytes: usize,
}

/// Where the log of a build that goes on is written.
fn path(spool: &Path, id: BlueprintId) -> PathBuf {
    spool.join(format!("{}.log", id.bare()))
}

impl BuildLog {
    /// Begins the log anew.
    pub(super) fn begin(
        store: &Store,
        spool: &Path,
        id: BlueprintId,
        masks: Masks,
    ) -> std::io::Result<Self> {
        fs_err::create_dir_all(spool)?;
        let path = path(spool, id);
        Ok(Self {
            store: store.clone(),
            open: Mutex::new(Open {
                file: fs_err::File::create(&path)?,
                bytes: 0,
            }),
            path,
            masks,
        })
    }

    /// Adds a line. A log that cannot be written does not end a build.
    pub(super) fn add(&self, level: Level, message: &str) {
        let message: String = self
            .masks
            .apply(message)
            .chars()
            .take(LONGEST_LINE)
            .collect();
        let mut line = LogLine {
            level,
            message,
            timestamp_ms: self.store.now().as_millis(),
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.bytes > LARGEST {
            return;
        }
        let is_last = open.bytes + line.message.len() > LARGEST;
        if is_last {
            line.message = "the log is full; nothing more of it is kept".to_owned();
        }
        let Ok(mut text) = serde_json::to_vec(&line) else {
            return;
        };
        text.push(b'\n');
        open.bytes += if is_last { LARGEST } else { text.len() };
        if let Err(error) = open.file.write_all(&text) {
            tracing::warn!(error = %with_causes(&error), "a build's log cannot be written");
        }
    }

    /// Moves the log to the blobs.
    pub(super) async fn keep(self) -> Result<Digest, StoreError> {
        let text = fs_err::read(&self.path).unwrap_or_default();
        self.store.blobs().put(Bytes::from(text)).await
    }

    /// Removes the file of a log that was kept.
    pub(super) fn forget(spool: &Path, id: BlueprintId) {
        if let Err(error) = fs_err::remove_file(path(spool, id)) {
            tracing::warn!(error = %with_causes(&error), "the file of a build's log stays");
        }
    }
}

/// The lines of a log, of a build that goes on or of one that is over.
pub(super) async fn read(
    store: &Store,
    spool: &Path,
    id: BlueprintId,
) -> Result<Vec<LogLine>, StoreError> {
    let text = match store.blueprint_log(id).await? {
        Some(digest) => store.blobs().get(&digest).await?.unwrap_or_default(),
        None => fs_err::read(path(spool, id)).unwrap_or_default().into(),
    };
    // The last line of a file that is being written may be incomplete.
    Ok(text
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect())
}
