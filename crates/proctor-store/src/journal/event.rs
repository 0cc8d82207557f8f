//! Events and the chain that binds them.

use proctor_core::{id::kinds::WorldId, time::Timestamp};
use sha2::{Digest as _, Sha256};

use crate::{
    StoreError,
    database::{Database, Query, Row},
};

/// The kind of the event that freezes a world.
pub const SEAL: &str = "sealed";

/// An event that is about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// When it happened, by the world's clock.
    pub at: Timestamp,
    /// What kind of thing happened.
    pub kind: Box<str>,
    /// What happened; the journal does not look inside.
    pub payload: Vec<u8>,
}

/// An event as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number: the first is 0.
    pub seq: u64,
    /// When it happened, by the world's clock.
    pub at: Timestamp,
    /// What kind of thing happened.
    pub kind: Box<str>,
    /// What happened.
    pub payload: Vec<u8>,
    /// Its link of the chain: covers this event and, through the link before, all earlier ones.
    pub hash: [u8; 32],
}

/// Where a journal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// How many events there are, which is the number of the next.
    pub next: u64,
    /// The last link of the chain: names everything so far.
    pub hash: [u8; 32],
    /// Whether the world is frozen.
    pub sealed: bool,
}

impl Head {
    /// Where every journal begins.
    pub const EMPTY: Self = Self {
        next: 0,
        hash: [0; 32],
        sealed: false,
    };

    pub(super) async fn load(database: &Database, world: WorldId) -> Result<Self, StoreError> {
        let query = Query::new(
            "SELECT seq, kind, hash FROM journal_events WHERE world = $1 ORDER BY seq DESC LIMIT 1",
        )
        .bind(world);
        match database.read_optional(query).await? {
            None => Ok(Self::EMPTY),
            Some(row) => Ok(Self {
                next: read_seq(&row)? + 1,
                hash: read_hash(&row)?,
                sealed: row.text("kind")? == SEAL,
            }),
        }
    }

    /// Where the journal stands after one more event.
    pub(super) fn after(&self, world: WorldId, event: &NewEvent) -> Self {
        Self {
            next: self.next + 1,
            hash: link(
                &self.hash,
                world,
                self.next,
                event.at,
                &event.kind,
                &event.payload,
            ),
            sealed: &*event.kind == SEAL,
        }
    }
}

impl Event {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            seq: read_seq(row)?,
            at: row.time("at")?,
            kind: row.text("kind")?.into(),
            payload: row.bytes("payload")?,
            hash: read_hash(row)?,
        })
    }
}

/// The hash of an event: over the link before it and everything that is written of it. Each part
/// has a fixed length or its length before it, so no two events have the same bytes.
pub(super) fn link(
    before: &[u8; 32],
    world: WorldId,
    seq: u64,
    at: Timestamp,
    kind: &str,
    payload: &[u8],
) -> [u8; 32] {
    Sha256::new()
        .chain_update(before)
        .chain_update(world.uuid().as_bytes())
        .chain_update(seq.to_be_bytes())
        .chain_update(at.as_millis().to_be_bytes())
        .chain_update((kind.len() as u64).to_be_bytes())
        .chain_update(kind)
        .chain_update((payload.len() as u64).to_be_bytes())
        .chain_update(payload)
        .finalize()
        .into()
}

fn read_seq(row: &Row) -> Result<u64, StoreError> {
    u64::try_from(row.int("seq")?).map_err(|error| StoreError::corrupt("seq", error))
}

fn read_hash(row: &Row) -> Result<[u8; 32], StoreError> {
    row.bytes("hash")?
        .try_into()
        .map_err(|bytes: Vec<u8>| StoreError::Corrupt(format!("a hash of {} bytes", bytes.len())))
}
