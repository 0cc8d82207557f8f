//! What can go wrong with the store, told apart by what a caller should do next.

use std::error::Error as StdError;

use proctor_core::limits::LimitReached;
use sqlx::{error::ErrorKind, postgres::PgDatabaseError, sqlite::SqliteError};

/// What can go wrong with the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be used now; nothing was written, and the same call may work later.
    #[error("the database is not available: {reason}")]
    Unavailable {
        /// What is the matter.
        reason: Unavailability,
        /// What the database said.
        #[source]
        source: DatabaseError,
    },
    /// Something of this name exists.
    #[error("{0} exists")]
    Taken(&'static str),
    /// Something else still needs it.
    #[error("{0}")]
    InUse(&'static str),
    /// The organization has as much of it as it may have.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// Somebody else changed it since it was read: read again and decide anew.
    #[error("the record was changed in the meantime")]
    Stale,
    /// What is stored does not read as what was written: damage, or a newer Proctor's data.
    #[error("stored data cannot be read: {0}")]
    Corrupt(String),
    /// The database cannot be opened as configured.
    #[error("{0}")]
    Configuration(String),
    /// The database refused what should have been right: a bug.
    #[error("the database refused a statement")]
    Internal(#[source] DatabaseError),
    /// Large bytes could not be stored or read.
    #[error("the blob store failed")]
    Blob(#[from] object_store::Error),
}

/// What a database said, or what kept it from being asked.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// What SQLite said.
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    /// What a server said, or what SQLite said when its tables were brought up to date.
    #[error(transparent)]
    Other(sqlx::Error),
    /// Nobody who has a connection gave it back in time.
    #[error("no connection was given back in time")]
    Crowded,
    /// It was closed.
    #[error("the database is closed")]
    Closed,
    /// A row that is always there is not.
    #[error("a row is missing")]
    NoRow,
}

/// Why the database cannot be used now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unavailability {
    /// Others hold it and did not let go in time.
    Busy,
    /// It does not answer, or its file cannot be used.
    Gone,
    /// There is no room left.
    Full,
}

impl std::fmt::Display for Unavailability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Busy => "it is locked or overloaded",
            Self::Gone => "it does not answer",
            Self::Full => "it has no room left",
        })
    }
}

impl StoreError {
    /// Whether the cause is that a unique value is taken.
    pub(crate) fn is_unique_violation(&self) -> bool {
        match self {
            Self::Internal(DatabaseError::Other(sqlx::Error::Database(error))) => {
                error.kind() == ErrorKind::UniqueViolation
            }
            Self::Internal(DatabaseError::Sqlite(error)) => {
                // Of a primary key, of another key, of a row's number.
                matches!(extended_code(error), Some(1555 | 2067 | 2579))
            }
            _ => false,
        }
    }

    /// Names what is taken, if that is what went wrong.
    pub(crate) fn or_taken(self, what: &'static str) -> Self {
        if self.is_unique_violation() {
            Self::Taken(what)
        } else {
            self
        }
    }

    /// Says why something cannot be deleted, if the cause is that others point to it.
    pub(crate) fn or_in_use(self, why: &'static str) -> Self {
        if self.is_foreign_key_violation() {
            Self::InUse(why)
        } else {
            self
        }
    }

    /// Says that what was read is no longer there, if the cause is that a link leads nowhere.
    pub(crate) fn or_stale(self) -> Self {
        if self.is_foreign_key_violation() {
            Self::Stale
        } else {
            self
        }
    }

    fn is_foreign_key_violation(&self) -> bool {
        match self {
            Self::Internal(DatabaseError::Other(sqlx::Error::Database(error))) => {
                error.kind() == ErrorKind::ForeignKeyViolation
            }
            Self::Internal(DatabaseError::Sqlite(error)) => extended_code(error) == Some(787),
            _ => false,
        }
    }

    pub(crate) fn corrupt(what: &str, why: impl StdError) -> Self {
        Self::Corrupt(format!("{what}: {why}"))
    }
}

impl From<DatabaseError> for StoreError {
    fn from(source: DatabaseError) -> Self {
        match unavailability(&source) {
            Some(reason) => Self::Unavailable { reason, source },
            None => Self::Internal(source),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        DatabaseError::Other(error).into()
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        DatabaseError::Sqlite(error).into()
    }
}

fn unavailability(error: &DatabaseError) -> Option<Unavailability> {
    match error {
        DatabaseError::Sqlite(error) => extended_code(error).and_then(sqlite),
        DatabaseError::Other(error) => other(error),
        DatabaseError::Crowded => Some(Unavailability::Busy),
        DatabaseError::Closed => Some(Unavailability::Gone),
        DatabaseError::NoRow => None,
    }
}

fn other(error: &sqlx::Error) -> Option<Unavailability> {
    use sqlx::error::DatabaseError as _;
    match error {
        sqlx::Error::Database(error) => {
            if let Some(error) = error.try_downcast_ref::<SqliteError>() {
                return sqlite(error.code()?.parse().ok()?);
            }
            error
                .try_downcast_ref::<PgDatabaseError>()
                .and_then(|error| postgres(error.code()))
        }
        sqlx::Error::PoolTimedOut => Some(Unavailability::Busy),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => Some(Unavailability::Gone),
        _ => None,
    }
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

/// By the primary result code, the low byte of the extended one.
fn sqlite(code: i32) -> Option<Unavailability> {
    match code & 0xff {
        5 | 6 => Some(Unavailability::Busy),
        13 => Some(Unavailability::Full),
        // Out of memory, read-only, I/O error, damaged, cannot open, not a database.
        7 | 8 | 10 | 11 | 14 | 26 => Some(Unavailability::Gone),
        _ => None,
    }
}

/// By the class, or the whole, of the SQLSTATE.
fn postgres(code: &str) -> Option<Unavailability> {
    match code {
        "53100" | "53200" => Some(Unavailability::Full),
        // Too many connections, lock not available, serialization failure, deadlock.
        "53300" | "55P03" | "40001" | "40P01" => Some(Unavailability::Busy),
        // A read-only standby.
        "25006" => Some(Unavailability::Gone),
        // Connection failures, shutdown, crash, operator intervention.
        _ if code.starts_with("08") || code.starts_with("57P") => Some(Unavailability::Gone),
        _ => None,
    }
}
