//! Checking a chain link by link.

use std::{iter::Peekable, vec};

use proctor_core::id::kinds::WorldId;

use super::{
    event::{Event, Head, SEAL, link},
    log::{self, Logged, Mark},
};
use crate::{StoreError, database::Database};

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
    /// The mark by which reading would find it is missing or leads elsewhere.
    Mismarked,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Missing => "is missing",
            Self::Changed => "is not what was written",
            Self::BehindSeal => "was added after the world was frozen",
            Self::Mismarked => "is not where its mark says",
        })
    }
}

const AT_ONCE: u32 = 1000;

/// Follows the links of `world` from its first event to its last, and compares its marks with what
/// it comes by. A mark beyond the end tells of events that are not there any more.
pub(super) async fn verify(
    database: &Database,
    world: WorldId,
) -> Result<Result<Verified, Broken>, StoreError> {
    let broken = |seq, flaw| Ok(Err(Broken { world, seq, flaw }));
    let mut marks = load_marks(database, world, 0).await?;
    let mut behind = match marks.peek() {
        None => return Ok(Ok(Verified { head: Head::EMPTY })),
        Some(Mark { seq: 0, follows }) => *follows,
        Some(_) => return broken(0, Flaw::Mismarked),
    };
    let mut head = Head::EMPTY;
    loop {
        // All hashes are computed again, and nobody waits for it as urgently as for anything else.
        tokio::task::yield_now().await;
        let page = log::read_behind(database, behind, head.next, AT_ONCE).await?;
        let Some(last) = page.last() else {
            break;
        };
        behind = last.place;
        for logged in page {
            if marks.peek().is_none() && log::is_marked(head.next, &logged.event.kind) {
                // Written since the marks were read; its mark came with it.
                marks = load_marks(database, world, head.next).await?;
            }
            let mark = marks.next_if(|mark| mark.seq == head.next);
            match check(world, head, &logged, mark) {
                Ok(next) => head = next,
                Err(flaw) => return broken(head.next, flaw),
            }
        }
    }
    match marks.next() {
        None => Ok(Ok(Verified { head })),
        Some(_) => broken(head.next, Flaw::Missing),
    }
}

async fn load_marks(
    database: &Database,
    world: WorldId,
    from: u64,
) -> Result<Peekable<vec::IntoIter<Mark>>, StoreError> {
    let marks = log::marks(database, world, from).await?;
    Ok(marks.into_iter().peekable())
}

/// Checks the event that should come next; where the journal stands with it.
fn check(world: WorldId, head: Head, logged: &Logged, mark: Option<Mark>) -> Result<Head, Flaw> {
    let Event {
        seq,
        at,
        kind,
        payload,
        hash,
    } = &logged.event;
    if *seq != head.next {
        return Err(Flaw::Missing);
    }
    if head.sealed {
        return Err(Flaw::BehindSeal);
    }
    if logged.world != world || *hash != link(&head.hash, world, *seq, *at, kind, payload) {
        return Err(Flaw::Changed);
    }
    let is_found = match mark {
        Some(mark) => mark.follows == logged.follows,
        None => !log::is_marked(*seq, kind),
    };
    if !is_found {
        return Err(Flaw::Mismarked);
    }
    Ok(Head {
        next: seq + 1,
        hash: *hash,
        sealed: &**kind == SEAL,
    })
}
