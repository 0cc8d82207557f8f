//! What can go wrong with the store, told apart by what a caller should do next.

use std::error::Error as StdError;

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
        source: sqlx::Error,
    },
    /// Something of this name exists.
    #[error("{0} exists")]
    Taken(&'static str),
    /// Something else still needs it.
    #[error("{0}")]
    InUse(&'static str),
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
    Internal(#[source] sqlx::Error),
    /// Large bytes could not be stored or read.
    #[error("the blob store failed")]
    Blob(#[from] object_store::Error),
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
        matches!(self, Self::Internal(sqlx::Error::Database(error)) if error.kind() == ErrorKind::UniqueViolation)
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
        matches!(self, Self::Internal(sqlx::Error::Database(error)) if error.kind() == ErrorKind::ForeignKeyViolation)
    }

    pub(crate) fn corrupt(what: &str, why: impl StdError) -> Self {
        Self::Corrupt(format!("{what}: {why}"))
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(source: sqlx::Error) -> Self {
        match unavailability(&source) {
            Some(reason) => Self::Unavailable { reason, source },
            None => Self::Internal(source),
        }
    }
}

fn unavailability(error: &sqlx::Error) -> Option<Unavailability> {
    match error {
        sqlx::Error::Database(error) => {
            if let Some(error) = error.try_downcast_ref::<SqliteError>() {
                return sqlite(error);
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

/// By the primary result code, the low byte of the extended one.
fn sqlite(error: &SqliteError) -> Option<Unavailability> {
    use sqlx::error::DatabaseError as _;
    let code: u32 = error.code()?.parse().ok()?;
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
