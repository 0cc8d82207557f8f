//! What happened in a devbox, line by line, without secrets.
//!
//! A log is a file of JSON lines that is only added to. It outlives its box and the server; how far it followed an
//! execution's output can be read from it, so following goes on after a crash where it stopped. It is bounded: what an
//! execution writes beyond its share is counted nowhere here, the execution itself has it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use proctor_core::causes::with_causes;
use proctor_core::{
    id::kinds::{DevboxId, OrganizationId},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{error::FleetError, fleet::Fleet};
use proctor_macros::boxed_futures;

mod lines;
mod traces;

pub(crate) use self::{
    lines::Lines,
    traces::{Trace, Traces, Waiting},
};

/// A log does not grow beyond this.
const LONGEST_LOG: u64 = 64 << 20;
/// This many bytes of a log are read at a time.
const PART: u64 = 256 << 10;
/// This many of a log's last entries are shown.
const SHOWN: usize = 5000;

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// What happens before the devbox can be worked with, and to the devbox as a whole.
    Setup,
    /// The main program.
    Entrypoint,
    /// A command.
    Exec,
    /// Files that went in or out.
    Files,
}

/// One entry of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    /// When, in milliseconds.
    pub at: i64,
    /// Where it comes from.
    pub source: Source,
    /// The execution it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<String>,
    /// The named shell of that execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A command waits for its shell. Never shown; it is how the command is found again after a crash.
    Queued {
        /// As it was given.
        command: String,
        /// Whether something will be written to its standard input.
        stdin: bool,
    },
    /// A command runs.
    Started {
        /// The command, without secrets.
        command: String,
    },
    /// It wrote a line.
    Line {
        /// To standard error, not standard output.
        error: bool,
        /// The line, without secrets.
        text: String,
        /// How much of the stream had been written with it.
        end: u64,
    },
    /// It ended.
    Ended {
        /// With this status.
        status: i32,
    },
    /// Something to know.
    Note {
        /// What.
        text: String,
    },
}

impl LogEntry {
    /// Whether people should see it.
    pub fn is_shown(&self) -> bool {
        !matches!(self.what, What::Queued { .. })
    }
}

/// Which entries are wanted.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// Those about this execution.
    pub execution: Option<String>,
    /// Those of this named shell.
    pub shell: Option<String>,
}

impl LogFilter {
    fn admits(&self, entry: &LogEntry) -> bool {
        entry.is_shown()
            && (self.execution.is_none() || self.execution == entry.execution)
            && (self.shell.is_none() || self.shell == entry.shell)
    }
}

/// The log of one devbox.
pub(crate) struct Log {
    path: PathBuf,
    file: Mutex<fs_err::File>,
    length: watch::Sender<u64>,
}

impl Log {
    /// Opens a log, or makes one.
    pub(crate) fn open(path: PathBuf) -> std::io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut options = fs_err::OpenOptions::new();
        options.create(true).append(true);
        options.options_mut().mode(0o600);
        let mut file = match options.open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let directory = path.parent().unwrap_or(&path);
                fs_err::create_dir_all(directory)?;
                options.open(&path)?
            }
            opened => opened?,
        };
        let length = file.metadata()?.len();
        if length > 0 && !ends_a_line(&path, length)? {
            // The last entry was cut off by a crash.
            file.write_all(b"\n")?;
        }
        Ok(Self {
            path,
            file: Mutex::new(file),
            length: watch::Sender::new(length),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds entries. A log that cannot be written never stops what it is about.
    pub(crate) fn add(&self, entries: &[LogEntry]) {
        let mut text = Vec::new();
        for entry in entries {
            if serde_json::to_writer(&mut text, entry).is_ok() {
                text.push(b'\n');
            }
        }
        if *self.length.borrow() > LONGEST_LOG {
            return;
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match file.write_all(&text) {
            Ok(()) => self
                .length
                .send_modify(|length| *length += text.len() as u64),
            Err(error) => {
                tracing::warn!(error = %with_causes(&error), "a devbox's log could not be written");
            }
        }
    }

    /// Adds something to know.
    pub(crate) fn note(&self, now: Timestamp, source: Source, text: impl Into<String>) {
        self.add(&[LogEntry {
            at: now.as_millis(),
            source,
            execution: None,
            shell: None,
            what: What::Note { text: text.into() },
        }]);
    }

    /// Wakes whenever something was added.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.length.subscribe()
    }
}

fn ends_a_line(path: &Path, length: u64) -> std::io::Result<bool> {
    let mut file = fs_err::File::open(path)?;
    file.seek(SeekFrom::Start(length - 1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// The entries of a log from `offset` on, and where it ends now. What cannot be read as an entry is passed over.
pub(crate) fn read(path: &Path, offset: u64) -> std::io::Result<(Vec<LogEntry>, u64)> {
    read_part(path, offset, u64::MAX)
}

/// The same, but no more than the entries that begin within the next `most` bytes.
fn read_part(path: &Path, offset: u64, most: u64) -> std::io::Result<(Vec<LogEntry>, u64)> {
    let part = read_lines(path, offset, most)?;
    let entries = part.entries.into_iter().map(|(_, entry)| entry);
    Ok((entries.collect(), part.end))
}

/// A part of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPart {
    /// The entries, each with the byte at which it begins.
    pub entries: Vec<(u64, LogEntry)>,
    /// Where the part ends.
    pub end: u64,
    /// Where the log ends now.
    pub length: u64,
}

/// The entries that begin between `offset` and `most` bytes later. One that begins before `offset` is left out.
fn read_lines(path: &Path, offset: u64, most: u64) -> std::io::Result<LogPart> {
    let mut file = match fs_err::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(LogPart::default());
        }
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let (mut at, mut line) = (offset, Vec::new());
    // From the byte before: if that is not the end of a line, the rest of one comes first.
    let begin = offset.min(length).saturating_sub(1);
    file.seek(SeekFrom::Start(begin))?;
    let mut reader = BufReader::new(file);
    if offset > 0 {
        at = begin + reader.read_until(b'\n', &mut line)? as u64;
    }
    let mut entries = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 || line.last() != Some(&b'\n') || at.saturating_sub(offset) >= most {
            return Ok(LogPart {
                entries,
                end: at,
                length,
            });
        }
        if let Ok(entry) = serde_json::from_slice(&line) {
            entries.push((at, entry));
        }
        at += read as u64;
    }
}

/// Reads a log as it grows.
#[derive(Debug)]
pub struct LogTail {
    path: PathBuf,
    filter: LogFilter,
    at: u64,
    changes: Option<watch::Receiver<u64>>,
    ending: CancellationToken,
    closing: CancellationToken,
}

impl LogTail {
    /// What was added since; waits for it. `None`: nothing will be added any more.
    pub async fn next(&mut self) -> Result<Option<Vec<LogEntry>>, FleetError> {
        loop {
            let (path, at) = (self.path.clone(), self.at);
            let (entries, end) = tokio::task::spawn_blocking(move || read(&path, at))
                .await
                .map_err(std::io::Error::other)??;
            self.at = end;
            let wanted: Vec<_> = entries
                .into_iter()
                .filter(|entry| self.filter.admits(entry))
                .collect();
            if !wanted.is_empty() {
                return Ok(Some(wanted));
            }
            let Some(changes) = &mut self.changes else {
                return Ok(None);
            };
            let goes_on = tokio::select! {
                changed = changes.wait_for(|length| *length > end) => changed.is_ok(),
                () = self.ending.cancelled() => false,
                () = self.closing.cancelled() => return Ok(None),
            };
            if !goes_on {
                self.changes = None;
            }
        }
    }
}

#[boxed_futures]
impl Fleet {
    /// The last entries of a devbox's log, the oldest first.
    pub async fn logs(
        &self,
        organization: OrganizationId,
        id: DevboxId,
        filter: LogFilter,
    ) -> Result<Vec<LogEntry>, FleetError> {
        self.devbox(organization, id).await?;
        let path = self.log_file(id);
        let (entries, _) = tokio::task::spawn_blocking(move || read(&path, 0))
            .await
            .map_err(std::io::Error::other)??;
        let mut wanted: Vec<_> = entries
            .into_iter()
            .filter(|entry| filter.admits(entry))
            .collect();
        let surplus = wanted.len().saturating_sub(SHOWN);
        wanted.drain(..surplus);
        Ok(wanted)
    }

    /// Some entries of a devbox's log from `offset` on, and where they end: where they began if there are no more.
    pub async fn log_part(
        &self,
        id: DevboxId,
        offset: u64,
    ) -> Result<(Vec<LogEntry>, u64), FleetError> {
        let path = self.log_file(id);
        let part = tokio::task::spawn_blocking(move || read_part(&path, offset, PART))
            .await
            .map_err(std::io::Error::other)??;
        Ok(part)
    }

    /// How long a devbox's log is now; 0 if it has none.
    pub async fn log_length(&self, id: DevboxId) -> u64 {
        let found = tokio::fs::metadata(self.log_file(id)).await;
        found.map_or(0, |file| file.len())
    }

    /// The entries of a devbox's log that begin between `offset` and `most` bytes later, and where they begin. So a log is read
    /// from any byte on, however long it is.
    pub async fn log_lines(
        &self,
        id: DevboxId,
        offset: u64,
        most: u64,
    ) -> Result<LogPart, FleetError> {
        let path = self.log_file(id);
        let part = tokio::task::spawn_blocking(move || read_lines(&path, offset, most))
            .await
            .map_err(std::io::Error::other)??;
        Ok(part)
    }

    /// A devbox's log from its beginning, as it grows, until the devbox ends.
    pub async fn tail_logs(
        &self,
        organization: OrganizationId,
        id: DevboxId,
        filter: LogFilter,
    ) -> Result<LogTail, FleetError> {
        self.devbox(organization, id).await?;
        let live = self.find_live(id);
        Ok(LogTail {
            path: self.log_file(id),
            filter,
            at: 0,
            changes: live.as_ref().map(|live| live.log.watch()),
            ending: live.map_or_else(CancellationToken::new, |live| live.ending.clone()),
            closing: self.closing().clone(),
        })
    }
}

#[cfg(test)]
mod tests;
