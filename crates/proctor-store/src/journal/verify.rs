//! Checking a chain link by link.

use proctor_core::id::kinds::WorldId;

use super::{
    Journal,
    event::{Head, SEAL, link},
};
use crate::StoreError;

/// A chain without a flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Where it ends.
    pub head: Head,
}

/// A chain with a flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} of {world} {flaw}")]
pub struct Broken {
    /// The world.
    pub world: WorldId,
    /// The first event that is not as it was written.
    pub seq: u64,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It is not there, but later ones are.
    Missing,
    /// It, or its hash, is not what was written.
    Changed,
    /// It stands behind the seal.
    BehindSeal,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Missing => "is missing",
            Self::Changed => "is not what was written",
            Self::BehindSeal => "was added after the world was frozen",
        })
    }
}

const AT_ONCE: u32 = 1000;

pub(super) async fn verify(
    journal: &Journal,
    world: WorldId,
) -> Result<Result<Verified, Broken>, StoreError> {
    let mut head = Head::EMPTY;
    loop {
        let events = journal.read(world, head.next, AT_ONCE).await?;
        if events.is_empty() {
            return Ok(Ok(Verified { head }));
        }
        for event in events {
            let broken = |seq, flaw| Ok(Err(Broken { world, seq, flaw }));
            if event.seq != head.next {
                return broken(head.next, Flaw::Missing);
            }
            if head.sealed {
                return broken(event.seq, Flaw::BehindSeal);
            }
            let hash = link(
                &head.hash,
                world,
                event.seq,
                event.at,
                &event.kind,
                &event.payload,
            );
            if hash != event.hash {
                return broken(event.seq, Flaw::Changed);
            }
            head = Head {
                next: event.seq + 1,
                hash,
                sealed: &*event.kind == SEAL,
            };
        }
    }
}
