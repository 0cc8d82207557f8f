//! What a page must know of a whole world without holding its events: where they are, what they are, and what evidence rests on them.

use std::collections::BTreeMap;

use proctor_core::{
    causes::with_causes,
    criterion_run::CriterionRun,
    id::kinds::{CriterionRunId, EventId},
    time::Timestamp,
};
use proctor_playground::world::{OpenError, WorldEvent, WorldReader};

use super::{
    Lane,
    describe::{Line, line},
    links::{Links, Seeker, turns_in},
};

/// How many events are read for a view that does not need all of them: the first view of a large world is not kept waiting.
const FIRST_LOOK: u64 = 16_384;
/// How many events are looked through for one search.
const SEARCHED: u64 = 50_000;
/// How many events are read at once where all are looked at.
const PART: u64 = 256;

/// An event in the index.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub id: EventId,
    /// When.
    pub at: Timestamp,
    /// The protocol.
    pub lane: Lane,
    /// Whether it changed or sent something.
    pub is_write: bool,
    /// Whether it was refused or went wrong.
    pub is_error: bool,
}

/// The index of a world's events.
pub struct WorldIndex {
    reader: Option<WorldReader>,
    entries: Vec<Entry>,
    /// How many turns of telephone calls were over after which event.
    turns: Vec<(u64, EventId)>,
    links: BTreeMap<CriterionRunId, Links>,
    /// What looks for further links; they have seen every event that was read.
    seekers: Vec<(CriterionRunId, Seeker)>,
    problem: Option<String>,
    is_behind: bool,
}

/// How much of a world must be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Enough to begin with.
    FirstLook,
    /// Everything.
    All,
}

impl WorldIndex {
    /// The index of a world that nobody has read yet; without a reader, of a world in which nothing happened.
    pub fn new(reader: Option<WorldReader>) -> Self {
        Self {
            reader,
            entries: Vec::new(),
            turns: Vec::new(),
            links: BTreeMap::new(),
            seekers: Vec::new(),
            problem: None,
            is_behind: false,
        }
    }

    /// Reads on to the end of the journal, and finds the events behind the evidence of `judged`. What cannot be read ends the
    /// index; what is before it stays.
    pub async fn follow(&mut self, judged: &[CriterionRun], depth: Depth) {
        // The reader stays where it is: whoever asked may go away in the middle, and the next one reads on.
        let Self {
            reader: Some(reader),
            entries,
            turns,
            links,
            seekers,
            problem,
            is_behind,
        } = self
        else {
            return;
        };
        if reader.total() == 0 {
            *seekers = begin(judged.iter());
        }
        let most = match depth {
            Depth::FirstLook => reader.total() + FIRST_LOOK,
            Depth::All => u64::MAX,
        };
        *is_behind = false;
        while !reader.is_complete() && problem.is_none() {
            let read = reader
                .read_on(|event| {
                    let line = line(&event);
                    for (_, seeker) in seekers.iter_mut() {
                        seeker.see(&event, &line);
                    }
                    add(entries, turns, &event, &line);
                })
                .await;
            match read {
                Ok(true) if reader.total() >= most => {
                    *is_behind = true;
                    // Links are of all events or of none: those of a part would lead to the wrong ones.
                    return;
                }
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => *problem = Some(with_causes(&error).to_string()),
            }
        }
        let found = std::mem::take(seekers).into_iter();
        links.extend(found.map(|(id, seeker)| (id, seeker.links())));
        // What was judged after the first events were read.
        let missing = |one: &&CriterionRun| !links.contains_key(&one.id);
        let mut late = begin(judged.iter().filter(missing));
        let mut at = 0;
        while !late.is_empty() && at < reader.total() {
            let part = match reader.from(at, PART).await {
                Ok(part) if !part.is_empty() => part,
                Ok(_) => break,
                Err(error) => {
                    *problem = Some(with_causes(&error).to_string());
                    break;
                }
            };
            at += part.len() as u64;
            for event in &part {
                let line = line(event);
                late.iter_mut()
                    .for_each(|(_, seeker)| seeker.see(event, &line));
            }
            tokio::task::yield_now().await;
        }
        links.extend(late.into_iter().map(|(id, seeker)| (id, seeker.links())));
    }

    /// The events that are known, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether there is more in the journal than was read.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Why reading ended early, if it did.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// What evidence rests on; nothing while not everything was read.
    pub fn links(&self, criterion_run: CriterionRunId) -> Links {
        let found = self.links.get(&criterion_run);
        found.cloned().unwrap_or_default()
    }

    /// The place of an event.
    pub fn place(&self, id: EventId) -> Option<u64> {
        let place = self.entries.iter().position(|entry| entry.id == id);
        place.map(|place| place as u64)
    }

    /// The event with this turn of the telephone calls, counted from 0 over all of them.
    pub fn event_of_turn(&self, turn: u64) -> Option<EventId> {
        let place = self.turns.partition_point(|(end, _)| *end <= turn);
        self.turns.get(place).map(|(_, id)| *id)
    }

    /// The events at these places, which ascend.
    pub async fn at(&self, places: &[u64]) -> Result<Vec<WorldEvent>, OpenError> {
        match &self.reader {
            Some(reader) => reader.at(places).await,
            None => Ok(Vec::new()),
        }
    }

    /// The places of events that contain a text, from a place on: at most `most` of them among those that `admits` lets through.
    pub async fn search(
        &self,
        text: &str,
        from: u64,
        most: usize,
        admits: impl Fn(u64) -> bool,
    ) -> Result<Found, OpenError> {
        let mut found = Found {
            places: Vec::new(),
            end: (from + SEARCHED).min(self.entries.len() as u64),
        };
        let Some(reader) = &self.reader else {
            return Ok(found);
        };
        let mut at = from;
        while at < found.end {
            let end = (at + PART).min(found.end);
            let places: Vec<u64> = (at..end).filter(|place| admits(*place)).collect();
            for event in reader.at(&places).await? {
                if contains(&event, text) {
                    found.places.push(event.seq);
                }
                if found.places.len() == most {
                    found.end = event.seq + 1;
                    return Ok(found);
                }
            }
            at = end;
            tokio::task::yield_now().await;
        }
        Ok(found)
    }
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// The places, ascending.
    pub places: Vec<u64>,
    /// Up to which place was searched.
    pub end: u64,
}

fn begin<'v>(judged: impl Iterator<Item = &'v CriterionRun>) -> Vec<(CriterionRunId, Seeker)> {
    let seekers = judged.map(|one| (one.id, Seeker::new(&one.evidence)));
    seekers.collect()
}

fn add(entries: &mut Vec<Entry>, turns: &mut Vec<(u64, EventId)>, event: &WorldEvent, line: &Line) {
    entries.push(Entry {
        id: event.id,
        at: line.at,
        lane: line.lane,
        is_write: line.is_write,
        is_error: line.is_error,
    });
    let said = turns_in(event);
    if said > 0 {
        let before = turns.last().map_or(0, |(end, _)| *end);
        turns.push((before + said, event.id));
    }
}

fn contains(event: &WorldEvent, text: &str) -> bool {
    event.kind.contains(text) || event.payload.to_string().to_lowercase().contains(text)
}
