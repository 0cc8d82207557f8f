//! Appends to many worlds at once and says what was acknowledged, until it is killed.

use std::{error::Error, io::Write as _, sync::Arc};

use proctor_core::{
    id::kinds::WorldId,
    time::{Clock as _, Timestamp},
};
use proctor_store::{
    Store, StoreOptions,
    ambient::{RandomIds, SystemClock},
    journal::NewEvent,
};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, database_url, worlds, appends] = arguments.as_slice() else {
        return Err(
            "usage: journal-crash-writer DATA DATABASE_URL|- WORLDS APPENDS_PER_WORLD".into(),
        );
    };
    let mut options = StoreOptions::embedded(data);
    options.database_url = (database_url != "-").then(|| database_url.clone());
    let store = Store::open(
        &options,
        Arc::new(SystemClock),
        Arc::new(RandomIds::default()),
    )
    .await?;
    let (worlds, appends): (usize, u64) = (worlds.parse()?, appends.parse()?);

    let mut writers = JoinSet::new();
    for _ in 0..worlds {
        let store = store.clone();
        writers.spawn(async move {
            let world: WorldId = store.fresh_id();
            for seq in 0..appends {
                let at: Timestamp = SystemClock.now();
                let event = NewEvent {
                    at,
                    kind: "note".into(),
                    payload: format!("append {seq}").into_bytes(),
                };
                let head = store.journal().append(world, seq, vec![event]).await?;
                let hash: String = head.hash.iter().map(|byte| format!("{byte:02x}")).collect();
                writeln!(std::io::stdout().lock(), "{world} {seq} {hash}")?;
            }
            Ok::<(), Failure>(())
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer??;
    }
    Ok(())
}
