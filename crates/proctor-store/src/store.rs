//! Opening the store, and what its parts share.

use std::{path::PathBuf, sync::Arc, time::Duration};

use proctor_core::causes::with_causes;
use proctor_core::{
    id::{Id, IdSource, Kind},
    time::{Clock, Timestamp},
};

use crate::{
    StoreError,
    blobs::{BlobPlace, Blobs},
    credential_cache::CredentialCache,
    database::{Database, DatabaseCounts, DatabaseOptions, DatabaseUrl, OnDisk, Query},
    idempotency::InFlight,
    journal::Journal,
    vault::{MasterKey, Vault},
};
use proctor_macros::boxed_futures;

/// Where the store keeps things.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// A directory of our own: the default database, blobs and the master key live in it.
    pub data: PathBuf,
    /// Where blobs lie; none for a directory in the data directory.
    pub blobs: Option<BlobPlace>,
    /// `postgres://…` for PostgreSQL, `sqlite:PATH` for a file elsewhere; none for the default
    /// file in the data directory.
    pub database_url: Option<String>,
    /// Encrypts secrets; none for the one in the data directory, which is made if it is missing.
    pub master_key: Option<MasterKey>,
    /// How long a statement waits for a connection or for somebody else's lock.
    pub patience: Duration,
    /// The size beyond which a SQLite database reports that it is full.
    pub sqlite_max_bytes: Option<u64>,
}

impl StoreOptions {
    /// Everything in `data`, as embedded installations have it.
    pub fn embedded(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            blobs: None,
            database_url: None,
            master_key: None,
            patience: Duration::from_secs(5),
            sqlite_max_bytes: None,
        }
    }

    pub(crate) fn database(&self) -> Result<DatabaseOptions, StoreError> {
        let url = match self.database_url.as_deref() {
            None => DatabaseUrl::Sqlite(resolved(self.data.join("proctor.db"))),
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                DatabaseUrl::Postgres(url.to_owned())
            }
            Some(url) => match url.strip_prefix("sqlite:") {
                Some(path) if !path.trim_start_matches("//").is_empty() => {
                    let path = path.strip_prefix("//").unwrap_or(path);
                    DatabaseUrl::Sqlite(resolved(path.into()))
                }
                _ => {
                    return Err(StoreError::Configuration(
                        "a database URL begins with 'postgres://' or 'sqlite:'".to_owned(),
                    ));
                }
            },
        };
        Ok(DatabaseOptions {
            url,
            patience: self.patience,
            sqlite_max_bytes: self.sqlite_max_bytes,
        })
    }
}

/// The file that a path leads to, there or not: what stands beside it must be the same whichever link leads there.
fn resolved(path: PathBuf) -> PathBuf {
    /// As many links as the system itself follows.
    const MOST_LINKS: usize = 40;
    let mut file = path;
    for _ in 0..MOST_LINKS {
        if let Ok(real) = fs_err::canonicalize(&file) {
            return real;
        }
        let Ok(target) = fs_err::read_link(&file) else {
            break;
        };
        file = file
            .parent()
            .map_or_else(|| target.clone(), |parent| parent.join(&target));
    }
    file
}

/// Keeps everybody else out of a directory of ours: the data directory holds the master key, outputs and the disks of boxes. A directory that others use too (one with the sticky
/// bit, as `/tmp`) stays as it is.
pub(crate) fn for_the_owner_only(data: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs_err::metadata(data)?.permissions().mode();
    if mode & 0o1000 != 0 {
        tracing::warn!(path = %data.display(), "the directory is one that everybody uses");
        return Ok(());
    }
    if mode & 0o077 == 0 {
        return Ok(());
    }
    fs_err::set_permissions(data, std::fs::Permissions::from_mode(0o700))
}

/// An upload that is older than this is not under way any more.
const UPLOADS_END_WITHIN_MS: i64 = 24 * 3600 * 1000;

/// The one door to what Proctor remembers; cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    vault: Arc<Vault>,
    credentials: CredentialCache,
    in_flight: InFlight,
    journal: Journal,
    blobs: Blobs,
}

#[boxed_futures]
impl Store {
    /// Opens the store, makes what is missing, and brings its tables up to date.
    pub async fn open(
        options: &StoreOptions,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Result<Self, StoreError> {
        let unusable = |error: std::io::Error| {
            StoreError::Configuration(format!("the data directory cannot be used: {error}"))
        };
        fs_err::create_dir_all(&options.data).map_err(unusable)?;
        for_the_owner_only(&options.data).map_err(unusable)?;
        let master_key = match &options.master_key {
            Some(key) => key.clone(),
            None => {
                MasterKey::load_or_create(&options.data.join("master.key")).map_err(unusable)?
            }
        };
        let place = match &options.blobs {
            Some(place) => place.clone(),
            None => BlobPlace::Directory(options.data.join("blobs")),
        };
        let blobs = place.open()?;
        place.prove(&blobs).await?;
        let long_ago = Timestamp::from_millis(clock.now().as_millis() - UPLOADS_END_WITHIN_MS);
        if let Err(error) = place.forget_unfinished(&blobs, long_ago).await {
            tracing::warn!(error = %with_causes(&error), "remains of uploads stay for now");
        }
        let vault = Arc::new(Vault::new(&master_key));
        let database = Database::open(&options.database()?, Arc::clone(&vault)).await?;
        crate::names::complete(&database).await?;
        crate::sealed::seal_existing(&database, &vault, clock.now()).await?;
        crate::run_figures::complete(&database).await?;
        Ok(Self {
            inner: Arc::new(Inner {
                journal: Journal::open(database.clone()),
                database,
                clock,
                ids,
                vault,
                credentials: CredentialCache::default(),
                in_flight: InFlight::default(),
                blobs,
            }),
        })
    }

    /// Everything that happens in worlds.
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    /// Large bytes.
    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// Bytes that follow from `purpose` and `subject`, the same on every node of this installation,
    /// and that nobody outside of it can tell.
    pub fn derive_secret(&self, purpose: &str, subject: &[u8]) -> [u8; 32] {
        self.inner.vault.derive(purpose, subject)
    }

    /// Asks the database for a sign of life.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.database()
            .read_optional(Query::new("SELECT id FROM organizations LIMIT 1"))
            .await?;
        Ok(())
    }

    /// Whether something can be written now: the database takes a row, and the data directory a file.
    pub async fn try_writing(&self) -> Result<(), StoreError> {
        let query = Query::new(
            "INSERT INTO upkeep (task, done_at) VALUES ('writing works', $1) ON CONFLICT (task) DO UPDATE SET done_at = $1",
        )
        .bind(self.now());
        // A sign of life need not survive a power cut.
        self.database()
            .execute_when(query, OnDisk::WithTheNext)
            .await?;
        self.blobs().try_writing().await
    }

    /// What was asked of the database since this store was opened: for tests that see when a step begins to cost more.
    pub fn counters(&self) -> DatabaseCounts {
        self.database().counts()
    }

    /// Waits for the journal's last commit, then closes every connection.
    pub async fn close(&self) {
        self.inner.journal.close().await;
        self.inner.database.close().await;
    }

    pub(crate) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(crate) fn vault(&self) -> &Vault {
        &self.inner.vault
    }

    pub(crate) fn credential_cache(&self) -> &CredentialCache {
        &self.inner.credentials
    }

    pub(crate) fn in_flight(&self) -> &InFlight {
        &self.inner.in_flight
    }

    /// The time now, by the injected clock.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// A fresh id, from the injected source.
    pub fn fresh_id<K: Kind>(&self) -> Id<K> {
        Id::fresh(&*self.inner.ids)
    }
}
