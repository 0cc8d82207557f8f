//! A store on either database, and a way around it for tests that tamper.

use std::{path::PathBuf, sync::Arc, time::Duration};

use proctor_core::{
    id::kinds::OrganizationId,
    time::{ManualClock, Timestamp},
};
use proctor_store::{Store, StoreOptions, ambient::RandomIds};
use proctor_testkit::postgres;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tempfile::TempDir;

/// Which database a test runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum On {
    Sqlite,
    Postgres,
}

/// A store of the test's own.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) options: StoreOptions,
    _directory: TempDir,
}

pub(crate) const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

impl Fixture {
    pub(crate) async fn open(on: On) -> Self {
        let (options, directory) = Self::options_for(on);
        let clock = Arc::new(ManualClock::at(START));
        let store = Store::open(&options, clock.clone(), Arc::new(RandomIds::default()))
            .await
            .unwrap();
        Self {
            store,
            clock,
            options,
            _directory: directory,
        }
    }

    /// Where a new store would be, and the directory that it lives as long as.
    pub(crate) fn options_for(on: On) -> (StoreOptions, TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let mut options = StoreOptions::embedded(directory.path());
        options.patience = Duration::from_secs(20);
        if let On::Postgres = on {
            options.database_url = Some(postgres::fresh_database());
        }
        (options, directory)
    }

    /// Two organizations that know nothing of one another.
    pub(crate) async fn two_organizations(&self) -> (OrganizationId, OrganizationId) {
        (
            self.organization("Clinic").await,
            self.organization("Other").await,
        )
    }

    /// Another node: the same database, a memory of its own.
    pub(crate) async fn second_node(&self) -> Store {
        Store::open(
            &self.options,
            self.clock.clone(),
            Arc::new(RandomIds::default()),
        )
        .await
        .unwrap()
    }

    pub(crate) async fn organization(&self, name: &str) -> OrganizationId {
        self.store.create_organization(name).await.unwrap().id
    }

    pub(crate) fn database_file(&self) -> PathBuf {
        self.options.data.join("proctor.db")
    }

    /// Carries out a statement behind the store's back.
    pub(crate) async fn tamper(&self, statement: &str) -> u64 {
        let statement = AssertSqlSafe(statement.to_owned());
        match &self.options.database_url {
            Some(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                connection.execute(statement).await.unwrap().rows_affected()
            }
            None => {
                let url = format!("sqlite:{}", self.database_file().display());
                let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
                connection.execute(statement).await.unwrap().rows_affected()
            }
        }
    }

    /// Whether `needle` stands anywhere in the stored table, as text or as bytes.
    pub(crate) async fn table_contains(&self, table: &str, needle: &str) -> bool {
        match &self.options.database_url {
            Some(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                let text = format!("SELECT string_agg(CAST(t AS TEXT), ' ') FROM {table} t");
                let (dump,): (Option<String>,) = sqlx::query_as(AssertSqlSafe(text))
                    .fetch_one(&mut connection)
                    .await
                    .unwrap();
                let dump = dump.unwrap();
                let hex: String = needle.bytes().map(|byte| format!("{byte:02x}")).collect();
                dump.contains(needle) || dump.contains(&hex)
            }
            None => {
                self.tamper("PRAGMA wal_checkpoint(TRUNCATE)").await;
                let file = fs_err::read(self.database_file()).unwrap();
                file.windows(needle.len())
                    .any(|window| window == needle.as_bytes())
            }
        }
    }
}
