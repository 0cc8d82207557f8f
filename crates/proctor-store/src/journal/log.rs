//! How events lie in the database: one log of all worlds, in the order of their commits.
//!
//! An index by world and number would have a leaf for every world, so that a commit for 256 worlds
//! wrote 256 pages to hold 256 lines. Here a commit writes where the one before it ended: every
//! event names the place of the event that it *follows*, which is near the end of the log too. A
//! world is read by following these links. Its *marks* (its first event, every [`STRIDE`]th and its
//! seal) say where to begin, so that no read follows more than a stride in vain.
//!
//! This module owns the SQL of the journal. It knows nothing of queues and batches, and checks no
//! hashes.

use std::{collections::HashMap, ops::Range, sync::LazyLock};

use proctor_core::id::kinds::WorldId;

use super::event::{Event, Head, NewEvent, SEAL};
use crate::{
    StoreError,
    database::{Database, Inserts, Param, Query, Row},
};

/// How many events lie between two marks.
pub(super) const STRIDE: u64 = 64;
/// How many places a node takes at a time. What is left of them when it stops stays empty.
const STRETCH: i64 = 1 << 20;

/// An event with its links.
pub(super) struct Logged {
    pub(super) world: WorldId,
    pub(super) place: i64,
    pub(super) follows: i64,
    pub(super) event: Event,
}

impl Logged {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            world: row.id("world")?,
            place: row.int("place")?,
            follows: row.int("follows")?,
            event: Event {
                seq: read_seq(row)?,
                at: row.time("at")?,
                kind: row.text("kind")?.into(),
                payload: row.bytes("payload")?,
                hash: read_hash(row)?,
            },
        })
    }
}

/// Where a journal stands, and the place of its last event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tip {
    pub(super) head: Head,
    place: Option<i64>,
}

impl Tip {
    const EMPTY: Self = Self {
        head: Head::EMPTY,
        place: None,
    };

    pub(super) async fn load(database: &Database, world: WorldId) -> Result<Self, StoreError> {
        let query = Query::new(
            "WITH RECURSIVE mark AS ( \
               SELECT seq, follows FROM journal_marks WHERE world = $1 ORDER BY seq DESC LIMIT 1 \
             ), chain (place, seq, kind, hash) AS ( \
               SELECT e.place, e.seq, e.kind, e.hash FROM mark \
               JOIN journal_events e ON e.follows = mark.follows \
               UNION ALL \
               SELECT e.place, e.seq, e.kind, e.hash FROM chain \
               JOIN journal_events e ON e.follows = chain.place AND e.seq = chain.seq + 1 \
             ) SELECT mark.seq AS marked, tip.place, tip.seq, tip.kind, tip.hash FROM mark \
             LEFT JOIN (SELECT * FROM chain ORDER BY seq DESC LIMIT 1) tip ON TRUE",
        )
        .bind(world);
        let Some(row) = database.read_optional(query).await? else {
            return Ok(Self::EMPTY);
        };
        let Some(place) = row.opt_int("place")? else {
            return Err(StoreError::Corrupt(format!(
                "event {} of {world} is not where its mark says",
                row.int("marked")?
            )));
        };
        Ok(Self {
            head: Head {
                next: read_seq(&row)? + 1,
                hash: read_hash(&row)?,
                sealed: row.text("kind")? == SEAL,
            },
            place: Some(place),
        })
    }
}

/// Where the journals of those of `worlds` that are frozen end. A seal is the last event of its world, and has a mark.
pub(super) async fn sealed_heads(
    database: &Database,
    worlds: &[WorldId],
) -> Result<HashMap<WorldId, Head>, StoreError> {
    let text = |list: &str| {
        format!(
            "SELECT e.world, e.seq, e.hash FROM journal_marks m \
             JOIN journal_events e ON e.follows = m.follows AND e.seq = m.seq \
             WHERE m.world IN ({list}) AND e.kind = '{SEAL}'"
        )
    };
    let read = |row: &Row| {
        let head = Head {
            next: read_seq(row)? + 1,
            hash: read_hash(row)?,
            sealed: true,
        };
        Ok((row.id("world")?, head))
    };
    let rows = database.read_for(worlds, &[], text).await?;
    rows.iter().map(read).collect()
}

/// Where reading can begin.
pub(super) struct Mark {
    pub(super) seq: u64,
    /// What the marked event follows, by which it is found.
    pub(super) follows: i64,
}

/// Whether an event gets a mark.
pub(super) fn is_marked(seq: u64, kind: &str) -> bool {
    seq.is_multiple_of(STRIDE) || kind == SEAL
}

/// The marks of `world`, from number `from` on.
pub(super) async fn marks(
    database: &Database,
    world: WorldId,
    from: u64,
) -> Result<Vec<Mark>, StoreError> {
    let query = Query::new(
        "SELECT seq, follows FROM journal_marks WHERE world = $1 AND seq >= $2 ORDER BY seq",
    )
    .bind(world)
    .bind(number(from));
    let read = |row: &Row| {
        Ok(Mark {
            seq: read_seq(row)?,
            follows: row.int("follows")?,
        })
    };
    database.read_all(query).await?.iter().map(read).collect()
}

/// The first world after `after` that has events, in the order of their ids.
pub(super) async fn next_world(
    database: &Database,
    after: Option<WorldId>,
) -> Result<Option<WorldId>, StoreError> {
    let query = Query::new("SELECT MIN(world) AS world FROM journal_marks WHERE world > $1")
        .bind(after.map(WorldId::bare).unwrap_or_default());
    database.read_one(query).await?.opt_id("world")
}

/// Follows the links from the event that `$start` finds up to number `$3`; keeps those from `$2` on.
macro_rules! follow {
    ($start:literal) => {
        concat!(
            "WITH RECURSIVE chain (follows, place, world, seq, at, kind, payload, hash) AS ( \
               SELECT follows, place, world, seq, at, kind, payload, hash FROM journal_events WHERE follows = ",
            $start,
            "  UNION ALL \
               SELECT e.follows, e.place, e.world, e.seq, e.at, e.kind, e.payload, e.hash FROM chain \
               JOIN journal_events e ON e.follows = chain.place AND e.seq = chain.seq + 1 \
               WHERE chain.seq < $3 \
             ) SELECT follows, place, world, seq, at, kind, payload, hash FROM chain WHERE seq >= $2 ORDER BY seq"
        )
    };
}

/// At most `limit` events of `world`, from number `from` on.
pub(super) async fn read(
    database: &Database,
    world: WorldId,
    from: u64,
    limit: u32,
) -> Result<Vec<Event>, StoreError> {
    let query = Query::new(follow!(
        "(SELECT follows FROM journal_marks WHERE world = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1)"
    ))
    .bind(world);
    let logged = read_range(database, query, from, limit).await?;
    Ok(logged.into_iter().map(|logged| logged.event).collect())
}

/// At most `limit` events from the one that follows `place` on, whose number should be `from`.
pub(super) async fn read_behind(
    database: &Database,
    place: i64,
    from: u64,
    limit: u32,
) -> Result<Vec<Logged>, StoreError> {
    let query = Query::new(follow!("$1")).bind(place);
    read_range(database, query, from, limit).await
}

async fn read_range(
    database: &Database,
    query: Query,
    from: u64,
    limit: u32,
) -> Result<Vec<Logged>, StoreError> {
    let Some(last) = from
        .saturating_add(limit.into())
        .checked_sub(1)
        .filter(|last| *last >= from)
    else {
        return Ok(Vec::new());
    };
    let query = query.bind(number(from)).bind(number(last));
    database
        .read_all(query)
        .await?
        .iter()
        .map(Logged::read)
        .collect()
}

/// Places that this node may use.
pub(super) struct Places(Range<i64>);

impl Places {
    pub(super) const NONE: Self = Self(0..0);

    pub(super) fn suffice_for(&self, count: usize) -> bool {
        usize::try_from(self.0.end - self.0.start).is_ok_and(|left| left >= count)
    }

    /// Takes a new stretch of them, with room for `count`.
    pub(super) async fn reserve(
        &mut self,
        database: &Database,
        count: usize,
    ) -> Result<(), StoreError> {
        let stretch = i64::try_from(count).unwrap_or(i64::MAX).max(STRETCH);
        let mut transaction = database.begin().await?;
        transaction
            .execute(Query::new("UPDATE journal_places SET next = next + $1").bind(stretch))
            .await?;
        let row = transaction
            .read_optional(Query::new("SELECT next FROM journal_places"))
            .await?
            .ok_or_else(|| StoreError::Corrupt("journal_places is empty".to_owned()))?;
        transaction.commit().await?;
        let end = row.int("next")?;
        self.0 = end - stretch..end;
        Ok(())
    }
}

/// Events and marks that are to be written together.
#[derive(Default)]
pub(super) struct Entries {
    /// By what they follow.
    events: Vec<(i64, [Param; 8])>,
    /// By the world.
    marks: Vec<(WorldId, [Param; 3])>,
}

impl Entries {
    /// Adds an event to the end of a journal; where it stands then.
    pub(super) fn add(
        &mut self,
        places: &mut Places,
        world: WorldId,
        tip: Tip,
        event: &NewEvent,
    ) -> Tip {
        let place = places.0.next().expect("places were reserved for the batch");
        let follows = tip.place.unwrap_or(-place);
        let seq = tip.head.next;
        let head = tip.head.after(world, event);
        if is_marked(seq, &event.kind) {
            let mark = [world.into(), number(seq).into(), follows.into()];
            self.marks.push((world, mark));
        }
        let row = [
            follows.into(),
            place.into(),
            world.into(),
            number(seq).into(),
            event.at.into(),
            (&*event.kind).into(),
            event.payload.clone().into(),
            head.hash.to_vec().into(),
        ];
        self.events.push((follows, row));
        Tip {
            head,
            place: Some(place),
        }
    }

    /// The statements that write them. In the same order on every node: two that want the same
    /// keys then wait one for the other, and never each for the other.
    pub(super) fn statements(mut self) -> Vec<Query> {
        static EVENTS: LazyLock<Inserts> = LazyLock::new(|| {
            Inserts::into_table(
                "journal_events",
                &[
                    "follows", "place", "world", "seq", "at", "kind", "payload", "hash",
                ],
            )
        });
        static MARKS: LazyLock<Inserts> =
            LazyLock::new(|| Inserts::into_table("journal_marks", &["world", "seq", "follows"]));
        self.marks.sort_by_key(|(world, _)| *world);
        self.events.sort_by_key(|(follows, _)| *follows);
        let mut statements = MARKS.of(self.marks.into_iter().map(|(_, mark)| mark));
        statements.extend(EVENTS.of(self.events.into_iter().map(|(_, event)| event)));
        statements
    }
}

/// A number as the database has it. Beyond its range there are no events.
fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

fn read_seq(row: &Row) -> Result<u64, StoreError> {
    u64::try_from(row.int("seq")?).map_err(|error| StoreError::corrupt("seq", error))
}

fn read_hash(row: &Row) -> Result<[u8; 32], StoreError> {
    row.bytes("hash")?
        .try_into()
        .map_err(|bytes: Vec<u8>| StoreError::Corrupt(format!("a hash of {} bytes", bytes.len())))
}
