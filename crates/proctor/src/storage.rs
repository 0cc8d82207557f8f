//! Opening the store as configured.

use std::sync::Arc;

use anyhow::Context as _;
use proctor_core::{id::IdSource, time::Clock};
use proctor_store::{
    MasterKey, ServerLock, Store, StoreOptions,
    ambient::{RandomIds, SystemClock},
};

use crate::{exit::WrongUse, settings::Settings};

/// The variable that holds the master key where several machines share a database.
const MASTER_KEY: &str = "PROCTOR_MASTER_KEY";

/// The store, and where its ids and times come from.
pub(crate) struct Storage {
    pub(crate) store: Store,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Makes this process the one server of the database.
pub(crate) async fn lock(settings: &Settings) -> anyhow::Result<ServerLock> {
    let mut options = StoreOptions::embedded(settings.data_directory());
    options.database_url = settings.database_url.clone();
    ServerLock::take(&options)
        .await
        .context("this server does not start")
}

/// Opens the store.
pub(crate) async fn open(settings: &Settings) -> anyhow::Result<Storage> {
    let mut options = StoreOptions::embedded(settings.data_directory());
    options.database_url = settings.database_url.clone();
    options.blobs = settings.blobs.clone();
    options.master_key = match std::env::var(MASTER_KEY) {
        Ok(text) => Some(
            MasterKey::from_base64(&text)
                .map_err(|error| WrongUse(format!("{MASTER_KEY}: {error}")))?,
        ),
        Err(_) => None,
    };
    let ids: Arc<dyn IdSource> = Arc::new(RandomIds::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = Store::open(&options, Arc::clone(&clock), Arc::clone(&ids))
        .await
        .with_context(|| {
            match &options.database_url {
                // Not shown: the URL may hold a password.
                Some(_) => "the database cannot be opened".to_owned(),
                None => format!("the store in {} cannot be opened", options.data.display()),
            }
        })?;
    Ok(Storage { store, ids, clock })
}
