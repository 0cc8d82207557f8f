//! A world's journal, read for people: from any position, without ever holding more than a part of it.

use proctor_store::journal::{Event, Journal, SEAL};

use super::{
    Contents, OpenError, Origin, WorldEvent,
    line::{Entry, tell_each},
};

/// How many events of the journal are read at once.
const READ_AT_ONCE: u32 = 256;
/// It is remembered how much had happened before every so many events of the journal.
const STRIDE: u64 = 64;

/// Reads a world from its journal. It follows the journal to its end once, because what happened later may refer to what was there
/// before; then it reads from any position. A frozen world never changes, so its reader can be kept.
pub struct WorldReader {
    origin: Origin,
    journal: Journal,
    /// The state after what was read.
    contents: Contents,
    /// The number of the journal's event that is read next.
    next: u64,
    /// How many things happened until there.
    told: u64,
    /// How many things had happened before every [`STRIDE`]th event of the journal.
    marks: Vec<u64>,
    is_sealed: bool,
}

impl WorldReader {
    /// A reader at the beginning of a world's journal.
    pub fn new(origin: Origin, journal: Journal) -> Self {
        Self {
            contents: Contents::branch(&origin),
            origin,
            journal,
            next: 0,
            told: 0,
            marks: Vec::new(),
            is_sealed: false,
        }
    }

    /// How many things happened, as far as was read.
    pub fn total(&self) -> u64 {
        self.told
    }

    /// Whether the world is frozen and everything was read.
    pub fn is_complete(&self) -> bool {
        self.is_sealed
    }

    /// Reads on for a part of the journal, and shows each thing that happened to `see`. Whether there may be more.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read, or an event does not fit the environment; everything before that event was shown.
    pub async fn read_on(&mut self, mut see: impl FnMut(WorldEvent)) -> Result<bool, OpenError> {
        let events = self
            .journal
            .read(self.origin.id, self.next, READ_AT_ONCE)
            .await?;
        for event in &events {
            self.contents.replay_next(event)?;
            let mut told = self.told;
            let mut read = Vec::new();
            tell_each(&self.origin, &self.contents, &event.into(), |unread| {
                read.push(unread.read(told)?);
                told += 1;
                Ok(())
            })?;
            if event.seq.is_multiple_of(STRIDE) {
                self.marks.push(self.told);
            }
            read.into_iter().for_each(&mut see);
            self.told = told;
            self.next = event.seq + 1;
            self.is_sealed = &*event.kind == SEAL;
        }
        // Whoever reads a long journal lets others work in between.
        tokio::task::yield_now().await;
        Ok(events.len() == READ_AT_ONCE as usize && !self.is_sealed)
    }

    /// What happened at these places, which ascend. Places beyond what was read are left out.
    pub async fn at(&self, places: &[u64]) -> Result<Vec<WorldEvent>, OpenError> {
        let mut found = Vec::with_capacity(places.len());
        let mut rest = places;
        while let Some(&first) = rest.first().filter(|&&first| first < self.told) {
            let stride = self.marks.partition_point(|mark| *mark <= first);
            let stride = stride.saturating_sub(1);
            let mut seq = self.marks.get(stride).copied().unwrap_or(0);
            let from = stride as u64 * STRIDE;
            let limit = (self.next - from).min(STRIDE);
            let events = self
                .journal
                .read(self.origin.id, from, u32::try_from(limit).unwrap_or(0))
                .await?;
            let before = rest.len();
            for event in &events {
                self.chosen(event, &mut seq, &mut rest, &mut found)?;
            }
            if rest.len() == before {
                // The journal is shorter than it was: it was removed meanwhile.
                break;
            }
        }
        Ok(found)
    }

    /// At most `limit` things from this place on.
    pub async fn from(&self, place: u64, limit: u64) -> Result<Vec<WorldEvent>, OpenError> {
        let end = place.saturating_add(limit).min(self.told);
        self.at(&(place..end).collect::<Vec<_>>()).await
    }

    /// Adds what an event tells at the places that are wanted next.
    fn chosen(
        &self,
        event: &Event,
        seq: &mut u64,
        wanted: &mut &[u64],
        found: &mut Vec<WorldEvent>,
    ) -> Result<(), OpenError> {
        let entry: Entry<'_> = event.into();
        tell_each(&self.origin, &self.contents, &entry, |unread| {
            if let Some((first, rest)) = wanted.split_first()
                && first == seq
            {
                found.push(unread.read(*seq)?);
                *wanted = rest;
            }
            *seq += 1;
            Ok(())
        })?;
        Ok(())
    }
}
