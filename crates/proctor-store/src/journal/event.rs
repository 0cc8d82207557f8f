//! Events and the chain that binds them.

use proctor_core::{canonical::hex, id::kinds::WorldId, time::Timestamp};
use sha2::{Digest as _, Sha256};

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

    /// Its last link, as auditors compare it.
    pub fn hex(&self) -> String {
        hex(&self.hash)
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
