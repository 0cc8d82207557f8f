//! SQLite, which is called and not asked.
//!
//! A statement takes microseconds, less than having another thread carry it out, so it is carried out where it is needed. What takes longer is left to a thread
//! that may wait: for the disk, which everything that writes does in the end; for a lock that another process holds; for a search that turns out to be
//! a long one.
//!
//! There is one connection that writes, because SQLite takes one writer at a time and a second would only wait. Connections that read are kept when nobody
//! needs them. Whoever has a connection gives it back by dropping it, and what was begun on it and not committed is undone then.

mod elsewhere;
mod statement;
#[cfg(test)]
mod tests;
mod transaction;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

pub(crate) use self::statement::SqliteRow;
pub(crate) use self::transaction::Statements;
use self::{
    elsewhere::{Elsewhere, WritingThread},
    statement::{Pace, execute, read},
};
use super::{DatabaseOptions, OnDisk, Query, Row};
use crate::{StoreError, error::DatabaseError};
use proctor_core::causes::with_causes;

/// How many may look at one moment of the database for longer than a statement, or search in it for long.
const MOMENTS: u32 = 4;
/// Values larger than this are left to a thread that may wait for the disk.
const LARGE: usize = 64 << 10;
const PAGE_BYTES: u64 = 4096;
/// What says whether a commit waits for the disk.
const SYNCHRONOUS: &str = "synchronous";
/// It does: what was acknowledged survives a power cut.
const FULL: &str = "full";
/// What says after how many pages a commit copies the log into the file; never if there are none.
const CHECKPOINT: &str = "wal_autocheckpoint";
const PAGES_TO_CHECKPOINT: u32 = 1000;
/// How many statements a connection keeps prepared: all that a server uses again and again.
const STATEMENTS: usize = 256;

/// The handle to one SQLite file; cheap to clone.
#[derive(Clone)]
pub(crate) struct Sqlite(Arc<Inner>);

struct Inner {
    path: PathBuf,
    patience: Duration,
    /// None when the database is closed.
    writer: Arc<AsyncMutex<Option<Writing>>>,
    writing_thread: WritingThread,
    waiting: Waiting,
    readers: Mutex<Readers>,
    /// How many connections that read are kept: as many as can read at the same time.
    most_readers: usize,
    moments: Arc<Semaphore>,
}

enum Readers {
    Open(Vec<Connection>),
    Closed,
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sqlite").field(&self.0.path).finish()
    }
}

impl Sqlite {
    /// Opens a file whose tables are up to date.
    pub(crate) async fn open(path: &Path, options: &DatabaseOptions) -> Result<Self, StoreError> {
        let (file, patience, most) = (path.to_owned(), options.patience, options.sqlite_max_bytes);
        let writing_thread = WritingThread::start()?;
        let writer = writing_thread.carry_out(move || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
            let writer = connect(&file, flags)?;
            writer.busy_timeout(patience)?;
            writer.pragma_update(None, "journal_mode", "wal")?;
            writer.pragma_update(None, SYNCHRONOUS, FULL)?;
            writer.pragma_update(None, "foreign_keys", true)?;
            if let Some(bytes) = most {
                let pages = i64::try_from((bytes / PAGE_BYTES).max(1)).unwrap_or(i64::MAX);
                writer.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
            }
            writer.busy_timeout(Duration::ZERO)?;
            Ok(Writing {
                connection: writer,
                when: OnDisk::AtOnce,
            })
        });
        Ok(Self(Arc::new(Inner {
            path: path.to_owned(),
            patience,
            writer: Arc::new(AsyncMutex::new(Some(writer.await?))),
            writing_thread,
            waiting: Waiting::default(),
            readers: Mutex::new(Readers::Open(Vec::new())),
            most_readers: std::thread::available_parallelism().map_or(1, usize::from)
                + MOMENTS as usize,
            moments: Arc::new(Semaphore::new(MOMENTS as usize)),
        })))
    }

    /// At most so `many` rows that `query` finds.
    pub(crate) async fn read(&self, query: Query, many: usize) -> Result<Vec<Row>, StoreError> {
        // Nothing below may have anything to wait for: whoever reads in a loop must let others go on.
        tokio::task::consume_budget().await;
        let done = {
            let reader = self.reader(None)?;
            reader
                .connection()
                .and_then(|on| read(on, &query, many, Pace::Brief))
        };
        if !asks_for_patience(&done) {
            return done;
        }
        // However many search for long at the same time, only so many connections are needed.
        let reader = self.reader(Some(self.moment().await?))?;
        at_leisure(reader, move |on| read(on, &query, many, Pace::Patient)).await
    }

    /// Carries out one statement as a transaction of its own; how many rows it touched.
    pub(crate) async fn execute(&self, query: Query, when: OnDisk) -> Result<u64, StoreError> {
        let writer = self.counted_writer(when).await?;
        let pace = match when {
            OnDisk::AtOnce => Pace::Patient,
            OnDisk::WithTheNext => query.pace(),
        };
        finish(writer, pace, move |on| execute(on, &query)).await
    }

    /// Begins a transaction that writes.
    pub(crate) async fn begin(&self, when: OnDisk) -> Result<Statements<Writer>, StoreError> {
        // Taking the lock at once means that no statement inside can lose a race for it.
        Statements::begin(self.counted_writer(when).await?, "BEGIN IMMEDIATE").await
    }

    /// Begins a transaction that only reads, and sees everything as it is at one moment: with a write-ahead log a reader goes on seeing what it saw first.
    pub(crate) async fn snapshot(&self) -> Result<Statements<Reader>, StoreError> {
        let reader = self.reader(Some(self.moment().await?))?;
        Statements::begin(reader, "BEGIN").await
    }

    async fn moment(&self) -> Result<OwnedSemaphorePermit, DatabaseError> {
        let moment = Arc::clone(&self.0.moments).acquire_owned();
        let moment = self.in_time(moment).await?;
        moment.map_err(|_| DatabaseError::Closed)
    }

    /// The connection that writes, as soon as nobody else has it; what it commits is on disk `when` it says.
    pub(crate) async fn writer(&self, when: OnDisk) -> Result<Writer, StoreError> {
        let guard = Arc::clone(&self.0.writer).lock_owned();
        let mut guard = self.in_time(guard).await?;
        if let Some(writing) = &mut *guard {
            writing.commits(when)?;
        }
        Ok(Writer {
            guard,
            home: Arc::clone(&self.0),
        })
    }

    async fn counted_writer(&self, when: OnDisk) -> Result<Writer, StoreError> {
        let _counted = self.0.waiting.count();
        self.writer(when).await
    }

    fn reader(&self, moment: Option<OwnedSemaphorePermit>) -> Result<Reader, StoreError> {
        let kept = match &mut *self.0.readers() {
            Readers::Open(kept) => kept.pop(),
            Readers::Closed => return Err(DatabaseError::Closed.into()),
        };
        let connection = match kept {
            Some(connection) => connection,
            None => connect(&self.0.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        };
        Ok(Reader {
            connection: Some(connection),
            home: Arc::clone(&self.0),
            _moment: moment,
        })
    }

    async fn in_time<T>(&self, wait: impl Future<Output = T>) -> Result<T, DatabaseError> {
        let waited = tokio::time::timeout(self.0.patience, wait).await;
        waited.map_err(|_| DatabaseError::Crowded)
    }

    /// Whether somebody waits for the connection that writes.
    pub(crate) fn others_wait_to_write(&self) -> bool {
        self.0.waiting.how_many.load(Ordering::Relaxed) > 0
    }

    /// Returns when somebody has come who needs the connection that writes.
    pub(crate) async fn wants_back_the_writer(&self) {
        self.0.waiting.somebody.notified().await;
    }

    /// Closes every connection. What is under way ends first, as long as there is patience.
    pub(crate) async fn close(&self) {
        let kept = std::mem::replace(&mut *self.0.readers(), Readers::Closed);
        let _ = self.in_time(self.0.moments.acquire_many(MOMENTS)).await;
        self.0.moments.close();
        let mut writer = Arc::clone(&self.0.writer).lock_owned().await;
        let closed = self.0.writing_thread.carry_out(move || {
            drop(kept);
            // If it is the last one, it takes what is in the log into the database.
            drop(writer.take());
            Ok(())
        });
        if let Err(error) = closed.await {
            tracing::warn!(error = %with_causes(&error), "the database was not closed");
        }
    }
}

impl Inner {
    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    // No two threads use a connection at the same time.
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // What a statement of many rows would have to undo, or sorts, is not worth a file.
    connection.pragma_update(None, "temp_store", "memory")?;
    Ok(connection)
}

/// The connection that writes.
struct Writing {
    connection: Connection,
    /// How soon what it commits is on disk.
    when: OnDisk,
}

impl Writing {
    /// Says how soon what is committed from now on must be on disk. Who does not wait for that does not copy the log into the file either: whoever
    /// waits next does.
    fn commits(&mut self, when: OnDisk) -> Result<(), StoreError> {
        if self.when == when {
            return Ok(());
        }
        let (level, pages) = match when {
            OnDisk::AtOnce => (FULL, PAGES_TO_CHECKPOINT),
            OnDisk::WithTheNext => ("normal", 0),
        };
        self.connection.pragma_update(None, SYNCHRONOUS, level)?;
        self.connection
            .pragma_update_and_check(None, CHECKPOINT, pages, |_| Ok(()))?;
        self.when = when;
        Ok(())
    }
}

/// Somebody who has a connection for a while.
pub(crate) trait Holder: Sized + Send + 'static {
    fn connection(&self) -> Result<&Connection, StoreError>;

    fn patience(&self) -> Duration;

    /// Where there is time to wait.
    fn elsewhere(&self) -> Elsewhere;

    /// How long a commit takes.
    fn pace_of_commit(&self) -> Pace;

    /// Lets whoever has another connection finish, for as long as there is patience.
    fn patiently<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.connection()?;
        connection.busy_timeout(self.patience())?;
        let done = work(connection);
        connection.busy_timeout(Duration::ZERO)?;
        done
    }
}

/// Does the last thing that is to be done with a connection: here if it is brief, else on a thread that may wait.
async fn finish<H: Holder, T: Send + 'static>(
    holder: H,
    pace: Pace,
    work: impl Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    if pace == Pace::Brief {
        tokio::task::consume_budget().await;
        let done = holder.connection().and_then(&work);
        if !asks_for_patience(&done) {
            return done;
        }
    }
    at_leisure(holder, work).await
}

/// Does the last thing that is to be done with a connection, on a thread that may wait.
async fn at_leisure<H: Holder, T: Send + 'static>(
    holder: H,
    work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let elsewhere = holder.elsewhere();
    elsewhere.carry_out(move || holder.patiently(work)).await
}

/// Whoever has the connection that writes.
pub(crate) struct Writer {
    guard: OwnedMutexGuard<Option<Writing>>,
    home: Arc<Inner>,
}

impl Holder for Writer {
    fn connection(&self) -> Result<&Connection, StoreError> {
        let writing = self.guard.as_ref().ok_or(DatabaseError::Closed)?;
        Ok(&writing.connection)
    }

    fn patience(&self) -> Duration {
        self.home.patience
    }

    fn elsewhere(&self) -> Elsewhere {
        Elsewhere::WritingThread(self.home.writing_thread.clone())
    }

    fn pace_of_commit(&self) -> Pace {
        match self.guard.as_ref().map(|writing| writing.when) {
            Some(OnDisk::WithTheNext) => Pace::Brief,
            Some(OnDisk::AtOnce) | None => Pace::Patient,
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(writing) = &*self.guard {
            undo(&writing.connection);
        }
    }
}

/// Whoever has a connection that reads.
pub(crate) struct Reader {
    connection: Option<Connection>,
    home: Arc<Inner>,
    _moment: Option<OwnedSemaphorePermit>,
}

impl Holder for Reader {
    fn connection(&self) -> Result<&Connection, StoreError> {
        Ok(self.connection.as_ref().ok_or(DatabaseError::Closed)?)
    }

    fn patience(&self) -> Duration {
        self.home.patience
    }

    fn elsewhere(&self) -> Elsewhere {
        Elsewhere::AnyThread
    }

    fn pace_of_commit(&self) -> Pace {
        Pace::Brief
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        undo(&connection);
        if let Readers::Open(kept) = &mut *self.home.readers()
            && kept.len() < self.home.most_readers
        {
            kept.push(connection);
        }
    }
}

fn undo(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(
            error = %with_causes(&error),
            "a transaction could not be undone"
        );
    }
}

/// Those who wait for the connection that writes.
#[derive(Debug, Default)]
struct Waiting {
    how_many: AtomicUsize,
    somebody: Notify,
}

impl Waiting {
    /// Counts somebody as waiting, for as long as they do.
    fn count(&self) -> Counted<'_> {
        self.how_many.fetch_add(1, Ordering::Relaxed);
        self.somebody.notify_one();
        Counted(&self.how_many)
    }
}

struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Query {
    /// How long it takes to carry out, as far as can be told from what it writes.
    fn pace(&self) -> Pace {
        match self.size() > LARGE {
            true => Pace::Patient,
            false => Pace::Brief,
        }
    }
}

/// Whether it can be done by whoever has the time.
fn asks_for_patience<T>(done: &Result<T, StoreError>) -> bool {
    use ErrorCode::{DatabaseBusy, DatabaseLocked, OperationInterrupted};
    let Err(StoreError::Unavailable { source, .. } | StoreError::Internal(source)) = done else {
        return false;
    };
    let DatabaseError::Sqlite(error) = source else {
        return false;
    };
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseBusy | DatabaseLocked | OperationInterrupted)
    )
}
