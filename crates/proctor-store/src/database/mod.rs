//! The two databases behind one face.
//!
//! Everything above writes plain SQL of the subset that SQLite and PostgreSQL share, with `$1`
//! placeholders, and neither knows nor asks which of the two it speaks to.

mod insert;
mod query;
mod row;
mod transaction;

use std::{
    path::Path,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, PgPool, SqlitePool,
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use tokio::sync::Notify;

pub(crate) use self::{
    insert::Inserts,
    query::{Param, Query},
    row::Row,
    transaction::{Transaction, WriteConnection},
};
use crate::StoreError;

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How to reach a database.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseOptions {
    pub(crate) url: DatabaseUrl,
    /// How long to wait for a place in the pool, or for somebody else's lock.
    pub(crate) patience: Duration,
    /// The size beyond which SQLite reports that it is full.
    pub(crate) sqlite_max_bytes: Option<u64>,
}

/// Where a database is.
#[derive(Clone, Debug)]
pub(crate) enum DatabaseUrl {
    Sqlite(std::path::PathBuf),
    Postgres(String),
}

/// The handle to one database; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    /// SQLite takes one writer at a time: a second connection that writes would only wait.
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
        waiting: Arc<Waiting>,
    },
    Postgres(PgPool),
}

const SQLITE_READERS: u32 = 4;
const SQLITE_PAGE_BYTES: u64 = 4096;
const POSTGRES_CONNECTIONS: u32 = 16;
/// How long a connection is kept for writes that may come.
const POSTGRES_LINGER: Duration = Duration::from_millis(2);

/// The same expression on whichever database this is.
macro_rules! on_reader {
    ($self:expr, |$pool:ident| $body:expr) => {
        match $self {
            Database::Sqlite { readers: $pool, .. } => $body,
            Database::Postgres($pool) => $body,
        }
    };
}

impl Database {
    /// Opens the database, makes it if it is a file that is not there, and brings its tables up
    /// to date.
    pub(crate) async fn open(options: &DatabaseOptions) -> Result<Self, StoreError> {
        let (database, migrated) = match &options.url {
            DatabaseUrl::Sqlite(path) => {
                let lock = lock_beside(path).await?;
                let database = Self::open_sqlite(path, options).await?;
                let migrated = database.migrate().await;
                drop(lock);
                (database, migrated)
            }
            DatabaseUrl::Postgres(url) => {
                let database = Self::open_postgres(url, options).await?;
                let migrated = database.migrate().await;
                (database, migrated)
            }
        };
        migrated.map_err(|error| match error {
            MigrateError::Execute(error) => error.into(),
            other => StoreError::Configuration(format!(
                "the database's tables do not fit this version of Proctor: {other}"
            )),
        })?;
        Ok(database)
    }

    async fn migrate(&self) -> Result<(), MigrateError> {
        match self {
            Self::Sqlite { writer, .. } => MIGRATIONS.run(writer).await,
            // Takes a lock in the database by itself.
            Self::Postgres(pool) => MIGRATIONS.run(pool).await,
        }
    }

    async fn open_sqlite(path: &Path, options: &DatabaseOptions) -> Result<Self, StoreError> {
        let mut connect = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // FULL waits for the disk at every commit: what was acknowledged survives a power cut.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            // What a statement of many rows would have to undo is not worth a file.
            .pragma("temp_store", "memory")
            .busy_timeout(options.patience);
        if let Some(bytes) = options.sqlite_max_bytes {
            connect = connect.pragma(
                "max_page_count",
                (bytes / SQLITE_PAGE_BYTES).max(1).to_string(),
            );
        }
        let pool = |size| {
            SqlitePoolOptions::new()
                .max_connections(size)
                .acquire_timeout(options.patience)
                .test_before_acquire(false)
        };
        let writer = pool(1).connect_with(connect.clone()).await?;
        let readers = pool(SQLITE_READERS)
            .connect_lazy_with(connect.read_only(true).create_if_missing(false));
        Ok(Self::Sqlite {
            writer,
            readers,
            waiting: Arc::default(),
        })
    }

    async fn open_postgres(url: &str, options: &DatabaseOptions) -> Result<Self, StoreError> {
        let connect = PgConnectOptions::from_str(url)
            .map_err(|error| {
                StoreError::Configuration(format!("the database URL cannot be read: {error}"))
            })?
            .application_name("proctor")
            // Whatever the server's default: what was acknowledged must survive a crash.
            .options([
                ("synchronous_commit", "on"),
                (
                    "lock_timeout",
                    &format!("{}ms", options.patience.as_millis()),
                ),
            ]);
        // One by hand first: a pool would go on trying and at last say only that time is up.
        connect.connect().await?.close().await?;
        let pool = PgPoolOptions::new()
            .max_connections(POSTGRES_CONNECTIONS)
            .acquire_timeout(options.patience)
            .connect_with(connect)
            .await?;
        Ok(Self::Postgres(pool))
    }

    /// All rows that `query` finds.
    pub(crate) async fn read_all(&self, query: Query) -> Result<Vec<Row>, StoreError> {
        on_reader!(self, |pool| query.fetch_all(pool).await)
    }

    /// The row that `query` finds, if it finds one.
    pub(crate) async fn read_optional(&self, query: Query) -> Result<Option<Row>, StoreError> {
        on_reader!(self, |pool| query.fetch_optional(pool).await)
    }

    /// The row that `query` always finds.
    pub(crate) async fn read_one(&self, query: Query) -> Result<Row, StoreError> {
        self.read_optional(query)
            .await?
            .ok_or(StoreError::Internal(sqlx::Error::RowNotFound))
    }

    /// Carries out one statement as a transaction of its own; how many rows it touched.
    pub(crate) async fn execute(&self, query: Query) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite {
                writer, waiting, ..
            } => {
                let mut connection = waiting.count(writer.acquire()).await?;
                query.execute(&mut *connection).await
            }
            Self::Postgres(pool) => query.execute(pool).await,
        }
    }

    /// Begins a transaction that writes. Dropping it undoes it.
    pub(crate) async fn begin(&self) -> Result<Transaction, StoreError> {
        Ok(match self {
            // Taking the lock at once means that no statement inside can lose a race for it.
            Self::Sqlite {
                writer, waiting, ..
            } => Transaction::Sqlite(waiting.count(writer.begin_with("BEGIN IMMEDIATE")).await?),
            Self::Postgres(pool) => Transaction::Postgres(pool.begin().await?),
        })
    }

    /// Begins a transaction that only reads, and sees everything as it is at one moment.
    pub(crate) async fn snapshot(&self) -> Result<Transaction, StoreError> {
        Ok(match self {
            // With a write-ahead log a reader goes on seeing what it saw first.
            Self::Sqlite { readers, .. } => Transaction::Sqlite(readers.begin().await?),
            Self::Postgres(pool) => Transaction::Postgres(
                pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    .await?,
            ),
        })
    }

    /// A connection to keep for a series of writes, until [`Database::others_wait_to_write`] or
    /// [`Database::wants_back_a_connection`].
    pub(crate) async fn write_connection(&self) -> Result<WriteConnection, StoreError> {
        Ok(match self {
            Self::Sqlite { writer, .. } => WriteConnection::Sqlite(writer.acquire().await?),
            Self::Postgres(pool) => WriteConnection::Postgres(pool.acquire().await?),
        })
    }

    /// Whether somebody needs the connection that another one keeps.
    pub(crate) fn others_wait_to_write(&self) -> bool {
        match self {
            Self::Sqlite { waiting, .. } => waiting.how_many.load(Ordering::Relaxed) > 0,
            Self::Postgres(_) => false,
        }
    }

    /// Returns when a connection that is kept should be given back, though nothing is written.
    pub(crate) async fn wants_back_a_connection(&self) {
        match self {
            Self::Sqlite { waiting, .. } => waiting.somebody.notified().await,
            // Only in its pool is it noticed when the server went away.
            Self::Postgres(_) => tokio::time::sleep(POSTGRES_LINGER).await,
        }
    }

    /// Closes every connection.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite {
                writer, readers, ..
            } => {
                readers.close().await;
                writer.close().await;
            }
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

/// Lets one process at a time make or change the tables of a SQLite file.
async fn lock_beside(database: &Path) -> Result<std::fs::File, StoreError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let locked = tokio::task::spawn_blocking(move || {
        let file = fs_err::OpenOptions::new()
            .create(true)
            .append(true)
            .open(std::path::PathBuf::from(path))?
            .into_parts()
            .0;
        file.lock()?;
        std::io::Result::Ok(file)
    });
    locked
        .await
        .map_err(std::io::Error::other)
        .and_then(|locked| locked)
        .map_err(|error| {
            StoreError::Configuration(format!("the database cannot be locked: {error}"))
        })
}

/// Those who wait for SQLite's one writer.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    how_many: AtomicUsize,
    somebody: Notify,
}

impl Waiting {
    /// Counts somebody as waiting, for as long as they do.
    async fn count<T>(&self, wait: impl Future<Output = T>) -> T {
        struct Counted<'a>(&'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.how_many.fetch_add(1, Ordering::Relaxed);
        let _counted = Counted(&self.how_many);
        self.somebody.notify_one();
        wait.await
    }
}
