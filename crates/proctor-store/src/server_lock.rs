//! One server at a time on a database.
//!
//! A server keeps in memory what it believes to be the only one to change: worlds, boxes, jobs. Two on one database would each be right by themselves and
//! wrong together, and nobody would notice. So a server takes a lock before it opens the store, and the second says why it does not start. Commands
//! that only look something up or make a key take none.

use std::{
    io::{Seek as _, Write as _},
    path::Path,
    time::Duration,
};

use proctor_core::causes::with_causes;
use sqlx::{Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    StoreError,
    database::{DatabaseUrl, postgres_options},
    store::StoreOptions,
};

/// How long a server waits for the lock of one that has just ended: a database takes a moment to notice.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it looks meanwhile.
const GLANCE: Duration = Duration::from_millis(50);
/// How often a server looks whether the database still holds its lock.
const LOOK: Duration = Duration::from_secs(2);
/// The number of the lock within its database: "proctor" in bytes.
const LOCK: i64 = 0x70_72_6f_63_74_6f_72;

/// Held by the one server of a database for as long as it runs. The end of the process gives it back, however that comes.
#[derive(Debug)]
pub struct ServerLock {
    files: Vec<std::fs::File>,
    lost: CancellationToken,
    released: CancellationToken,
}

impl ServerLock {
    /// Takes the locks of the data directory and of the database that `options` name; says who has them otherwise.
    pub async fn take(options: &StoreOptions) -> Result<Self, StoreError> {
        let database = options.database()?;
        let (lost, released) = (CancellationToken::new(), CancellationToken::new());
        let mut files = vec![lock_file(&options.data.join("data"), &options.data)?];
        match &database.url {
            DatabaseUrl::Sqlite(path) => files.push(lock_file(path, path)?),
            DatabaseUrl::Postgres(url) => {
                let connect = lock_options(postgres_options(url, &database)?);
                let held = lock_database(&connect).await?;
                TaskTracker::new().spawn(keep(connect, held, lost.clone(), released.clone()));
            }
        }
        Ok(Self {
            files,
            lost,
            released,
        })
    }

    /// Says in the lock where this server is reached, so that whoever finds it held can be told.
    pub fn announce(&self, address: &str) {
        for mut file in &self.files {
            let text = format!("{}\n{address}\n", std::process::id());
            let written = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| file.write_all(text.as_bytes()));
            if let Err(error) = written {
                tracing::warn!(%error, "the address of this server could not be written into its lock");
            }
        }
    }

    /// Cancelled when somebody else has the lock: the database forgot this server, and another one started.
    pub fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }
}

impl Drop for ServerLock {
    fn drop(&mut self) {
        self.released.cancel();
    }
}

/// Locks a file beside `path`, which holds the number of the process that has it; `used` is what the lock is for.
fn lock_file(path: &Path, used: &Path) -> Result<std::fs::File, StoreError> {
    let mut path = path.as_os_str().to_owned();
    path.push(".server");
    let path = std::path::PathBuf::from(path);
    let unusable = |error: std::io::Error| {
        StoreError::Configuration(format!("the data directory cannot be locked: {error}"))
    };
    if let Some(directory) = path.parent() {
        fs_err::create_dir_all(directory).map_err(unusable)?;
    }
    let mut options = fs_err::OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    let (mut file, _) = options.open(&path).map_err(unusable)?.into_parts();
    match file.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::Error(error)) => return Err(unusable(error)),
        Err(std::fs::TryLockError::WouldBlock) => {
            let holder = fs_err::read_to_string(&path).unwrap_or_default();
            let mut lines = holder
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty());
            let holder = match lines.next() {
                None => "another process".to_owned(),
                Some(pid) => format!("process {pid}"),
            };
            let (holder, advice) = match lines.next() {
                None => (holder, "Stop it".to_owned()),
                Some(address) => {
                    let advice = format!("Use it (--server {address}), stop it");
                    (format!("{holder}, at {address}"), advice)
                }
            };
            return Err(StoreError::Configuration(format!(
                "another Proctor server ({holder}) uses {}: two servers on one database or data directory would give wrong results. \
                 {advice}, or give this one another directory with --data",
                used.display()
            )));
        }
    }
    file.set_len(0).map_err(unusable)?;
    write!(file, "{}", std::process::id()).map_err(unusable)?;
    Ok(file)
}

/// A connection that says whose lock it holds, and that the database misses soon when its machine is gone.
fn lock_options(connect: PgConnectOptions) -> PgConnectOptions {
    let machine = fs_err::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = format!(
        "proctor server, process {} on {}",
        std::process::id(),
        machine.trim()
    );
    connect.application_name(&name).options([
        ("tcp_keepalives_idle", "5"),
        ("tcp_keepalives_interval", "2"),
        ("tcp_keepalives_count", "3"),
    ])
}

async fn lock_database(connect: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let mut connection = PgConnection::connect_with(connect).await?;
    let began = tokio::time::Instant::now();
    while !try_lock(&mut connection).await? {
        if began.elapsed() >= PATIENCE {
            let holder = holder(&mut connection).await?;
            return Err(StoreError::Configuration(format!(
                "another Proctor server is at work on this database ({holder}): several servers on one database are not supported, because they would \
                 give wrong results. Stop it first, or give this one a database of its own"
            )));
        }
        tokio::time::sleep(GLANCE).await;
    }
    Ok(connection)
}

async fn try_lock(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let row = sqlx::query("SELECT pg_try_advisory_lock($1)")
        .bind(LOCK)
        .fetch_one(connection)
        .await?;
    row.try_get(0)
}

/// Who holds the lock, as they call themselves.
async fn holder(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
    let row = sqlx::query(
        "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
         WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND ((l.classid::bigint << 32) | l.objid::bigint) = $1 LIMIT 1",
    )
    .bind(LOCK)
    .fetch_optional(connection)
    .await?;
    match row {
        Some(row) => row.try_get(0),
        None => Ok("who has just left; try again".to_owned()),
    }
}

/// Looks after the lock: takes it again when the connection was lost, and says so when somebody else was faster.
async fn keep(
    connect: PgConnectOptions,
    held: PgConnection,
    lost: CancellationToken,
    released: CancellationToken,
) {
    let mut held = Some(held);
    while tokio::time::timeout(LOOK, released.cancelled())
        .await
        .is_err()
    {
        if let Some(connection) = &mut held
            && connection.ping().await.is_ok()
        {
            continue;
        }
        held = None;
        match PgConnection::connect_with(&connect).await {
            // The database does not answer; nobody else can have the lock before it does.
            Err(error) => {
                tracing::warn!(error = %with_causes(&error), "the lock of this server cannot be looked after");
            }
            Ok(mut connection) => match lock_again(&mut connection).await {
                Ok(true) => held = Some(connection),
                Ok(false) => {
                    tracing::error!("another server has taken this database over; this one ends");
                    lost.cancel();
                    return;
                }
                Err(_) => {}
            },
        }
    }
    if let Some(connection) = held {
        let _ = connection.close().await;
    }
}

/// The database may not have noticed yet that the old connection is gone.
async fn lock_again(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let began = tokio::time::Instant::now();
    loop {
        if try_lock(connection).await? {
            return Ok(true);
        }
        if began.elapsed() >= PATIENCE {
            return Ok(false);
        }
        tokio::time::sleep(GLANCE).await;
    }
}
