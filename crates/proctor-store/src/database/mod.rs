//! The two databases behind one face.
//!
//! Everything above writes plain SQL of the subset that SQLite and PostgreSQL share, with `$1`
//! placeholders, and neither knows nor asks which of the two it speaks to.

mod counters;
mod insert;
mod many;
mod query;
mod row;
mod sqlite;
mod transaction;

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    str::FromStr,
    sync::{Arc, LazyLock},
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, PgPool, SqlSafeStr as _,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

pub use self::counters::DatabaseCounts;
use self::{
    counters::Counters,
    transaction::{Connection, Statements},
};
pub(crate) use self::{
    insert::Inserts,
    query::{Param, Query},
    row::Row,
    sqlite::Sqlite,
    transaction::{Transaction, WriteConnection},
};
use crate::{StoreError, error::DatabaseError, fault::Writes, vault::Vault};

/// The files of `migrations`: number, description, SQL.
const MIGRATION_FILES: &[(i64, &str, &str)] = &include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let migrations = MIGRATION_FILES.iter().map(|&(version, description, sql)| {
        let kind = MigrationType::Simple;
        Migration::new(version, description.into(), kind, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
});

/// How to reach a database.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseOptions {
    pub(crate) url: DatabaseUrl,
    /// How long to wait for a place in the pool, or for somebody else's lock.
    pub(crate) patience: Duration,
    /// The size beyond which SQLite reports that it is full.
    pub(crate) sqlite_max_bytes: Option<u64>,
}

/// When something that was written is on disk. It is seen by everybody and outlives the process in any case; this is about power cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDisk {
    /// Before anybody hears that it was written.
    #[default]
    AtOnce,
    /// Together with whatever is written after it and waited for. For what means nothing without that, or what a power cut undoes anyway.
    WithTheNext,
}

/// Where a database is.
#[derive(Clone, Debug)]
pub(crate) enum DatabaseUrl {
    Sqlite(std::path::PathBuf),
    Postgres(String),
}

/// The handle to one database; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    driver: Driver,
    counters: Arc<Counters>,
    vault: Arc<Vault>,
}

#[derive(Clone, Debug)]
enum Driver {
    Sqlite(Sqlite),
    Postgres(PgPool),
}

const POSTGRES_CONNECTIONS: u32 = 16;
/// How long a connection is kept for writes that may come.
const POSTGRES_LINGER: Duration = Duration::from_millis(2);

impl Database {
    /// Opens the database, makes it if it is a file that is not there, and brings its tables up
    /// to date.
    pub(crate) async fn open(
        options: &DatabaseOptions,
        vault: Arc<Vault>,
    ) -> Result<Self, StoreError> {
        let driver = match &options.url {
            DatabaseUrl::Sqlite(path) => {
                for_the_owner_only(path)?;
                let lock = lock_beside(path).await?;
                migrate_sqlite(path, options).await?;
                drop(lock);
                Driver::Sqlite(Sqlite::open(path, options).await?)
            }
            DatabaseUrl::Postgres(url) => {
                let pool = Self::open_postgres(url, options).await?;
                // Takes a lock in the database by itself.
                MIGRATIONS.run(&pool).await.map_err(not_migrated)?;
                Driver::Postgres(pool)
            }
        };
        Ok(Self {
            driver,
            counters: Arc::default(),
            vault,
        })
    }

    async fn open_postgres(url: &str, options: &DatabaseOptions) -> Result<PgPool, StoreError> {
        let connect = postgres_options(url, options)?;
        // One by hand first: a pool would go on trying and at last say only that time is up.
        connect.connect().await?.close().await?;
        let pool = PgPoolOptions::new()
            .max_connections(POSTGRES_CONNECTIONS)
            .acquire_timeout(options.patience)
            .connect_with(connect)
            .await?;
        Ok(pool)
    }

    /// All rows that `query` finds.
    pub(crate) async fn read_all(&self, query: Query) -> Result<Vec<Row>, StoreError> {
        let rows = match &self.driver {
            Driver::Sqlite(sqlite) => sqlite.read(query, usize::MAX).await,
            Driver::Postgres(pool) => query.fetch_all(pool).await,
        }?;
        self.counters.read(rows.len());
        Ok(rows.into_iter().map(|row| row.with(&self.vault)).collect())
    }

    /// The row that `query` finds, if it finds one.
    pub(crate) async fn read_optional(&self, query: Query) -> Result<Option<Row>, StoreError> {
        let row = match &self.driver {
            Driver::Sqlite(sqlite) => sqlite.read(query, 1).await?.pop(),
            Driver::Postgres(pool) => query.fetch_optional(pool).await?,
        };
        self.counters.read(usize::from(row.is_some()));
        Ok(row.map(|row| row.with(&self.vault)))
    }

    /// The row that `query` always finds.
    pub(crate) async fn read_one(&self, query: Query) -> Result<Row, StoreError> {
        let row = self.read_optional(query).await?;
        Ok(row.ok_or(DatabaseError::NoRow)?)
    }

    /// Carries out one statement as a transaction of its own; how many rows it touched.
    pub(crate) async fn execute(&self, query: Query) -> Result<u64, StoreError> {
        self.execute_when(query, OnDisk::AtOnce).await
    }

    /// The same; the caller says when it must be on disk.
    pub(crate) async fn execute_when(&self, query: Query, when: OnDisk) -> Result<u64, StoreError> {
        let writes = Writes::of([&query]);
        writes.before_commit();
        let touched = match &self.driver {
            Driver::Sqlite(sqlite) => sqlite.execute(query, when).await,
            // Saying that it need not be would take as long as waiting does.
            Driver::Postgres(pool) => query.execute(pool).await,
        }?;
        writes.after_commit();
        self.counters.wrote(1);
        self.counters.committed();
        Ok(touched)
    }

    /// Begins a transaction that writes. Dropping it undoes it.
    pub(crate) async fn begin(&self) -> Result<Transaction, StoreError> {
        self.begin_when(OnDisk::AtOnce).await
    }

    /// The same; `when` says how soon it must be on disk after its commit.
    pub(crate) async fn begin_when(&self, when: OnDisk) -> Result<Transaction, StoreError> {
        let statements = match &self.driver {
            Driver::Sqlite(sqlite) => Statements::Sqlite(sqlite.begin(when).await?),
            Driver::Postgres(pool) => Statements::Postgres(pool.begin().await?),
        };
        Ok(self.transaction(statements))
    }

    /// Begins a transaction that only reads, and sees everything as it is at one moment.
    pub(crate) async fn snapshot(&self) -> Result<Transaction, StoreError> {
        let statements = match &self.driver {
            Driver::Sqlite(sqlite) => Statements::Moment(sqlite.snapshot().await?),
            Driver::Postgres(pool) => Statements::PostgresMoment(
                pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    .await?,
            ),
        };
        Ok(self.transaction(statements))
    }

    fn transaction(&self, statements: Statements) -> Transaction {
        Transaction::on(
            statements,
            Arc::clone(&self.counters),
            Arc::clone(&self.vault),
        )
    }

    /// A connection to keep for a series of writes, until [`Database::others_wait_to_write`] or
    /// [`Database::wants_back_a_connection`].
    pub(crate) async fn write_connection(&self) -> Result<WriteConnection, StoreError> {
        let connection = match &self.driver {
            Driver::Sqlite(sqlite) => {
                Connection::Sqlite(Some(sqlite.writer(OnDisk::AtOnce).await?))
            }
            Driver::Postgres(pool) => Connection::Postgres(pool.acquire().await?),
        };
        Ok(WriteConnection::new(connection, Arc::clone(&self.counters)))
    }

    /// Whether somebody needs the connection that another one keeps.
    pub(crate) fn others_wait_to_write(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(sqlite) => sqlite.others_wait_to_write(),
            Driver::Postgres(_) => false,
        }
    }

    /// Returns when a connection that is kept should be given back, though nothing is written.
    pub(crate) async fn wants_back_a_connection(&self) {
        match &self.driver {
            Driver::Sqlite(sqlite) => sqlite.wants_back_the_writer().await,
            // Only in its pool is it noticed when the server went away.
            Driver::Postgres(_) => tokio::time::sleep(POSTGRES_LINGER).await,
        }
    }

    /// Whether this process alone serves this database.
    pub(crate) fn is_ours_alone(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(_) => true,
            Driver::Postgres(_) => false,
        }
    }

    /// What was asked of the database so far.
    pub(crate) fn counts(&self) -> DatabaseCounts {
        self.counters.now()
    }

    /// Closes every connection.
    pub(crate) async fn close(&self) {
        match &self.driver {
            Driver::Sqlite(sqlite) => sqlite.close().await,
            Driver::Postgres(pool) => pool.close().await,
        }
    }
}

/// Makes the file if it is not there, and brings its tables up to date.
async fn migrate_sqlite(path: &Path, options: &DatabaseOptions) -> Result<(), StoreError> {
    let connect = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(options.patience);
    let pool = SqlitePoolOptions::new().max_connections(1);
    let pool = pool.connect_with(connect).await?;
    let migrated = MIGRATIONS.run(&pool).await;
    pool.close().await;
    migrated.map_err(not_migrated)
}

fn not_migrated(error: MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(error) => error.into(),
        other => StoreError::Configuration(format!(
            "the database's tables do not fit this version of Proctor: {other}"
        )),
    }
}

/// How to connect to a server.
pub(crate) fn postgres_options(
    url: &str,
    options: &DatabaseOptions,
) -> Result<PgConnectOptions, StoreError> {
    let connect = PgConnectOptions::from_str(url).map_err(|error| {
        StoreError::Configuration(format!("the database URL cannot be read: {error}"))
    })?;
    Ok(connect
        .application_name("proctor")
        // Whatever the server's default: what was acknowledged must survive a crash.
        .options([
            ("synchronous_commit", "on"),
            (
                "lock_timeout",
                &format!("{}ms", options.patience.as_millis()),
            ),
        ]))
}

/// Makes the database file, if it is not there, such that nobody but its owner can read it. What SQLite puts beside it has the same rights.
fn for_the_owner_only(database: &Path) -> Result<(), StoreError> {
    let unusable = |error: std::io::Error| {
        StoreError::Configuration(format!("the database cannot be opened: {error}"))
    };
    let mut options = fs_err::OpenOptions::new();
    options.create(true).append(true);
    fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(database).map_err(unusable)?;
    let mode = file.metadata().map_err(unusable)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let tight = || Permissions::from_mode(0o600);
    file.set_permissions(tight()).map_err(unusable)?;
    for suffix in ["-wal", "-shm"] {
        let mut beside = database.as_os_str().to_owned();
        beside.push(suffix);
        // As an earlier process left it; there is none, as a rule.
        let _ = fs_err::set_permissions(std::path::PathBuf::from(beside), tight());
    }
    Ok(())
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
