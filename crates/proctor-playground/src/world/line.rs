//! What a world's journal says: one line of JSON for each thing that happened at a door.

use proctor_core::{
    id::kinds::{EventId, WorldId},
    time::Timestamp,
};
use proctor_simulation::{machine::Told, payload::unpack};
use proctor_store::journal;
use serde_json::{Value, value::RawValue};
use sha2::{Digest as _, Sha256};

use super::{
    BadEvent, CHANGE, Contents, LONE_CHANGE, LONE_LOOK, LOOK, Origin, PROVISION, WORLD,
    contents::door_of,
};

/// Something that happened at a door of a world, for people to look at.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldEvent {
    /// Its name; the same whenever the journal is read.
    pub id: EventId,
    /// The door; none if it happened to the world itself.
    pub door: Option<usize>,
    /// Its place in the world, counted from 0.
    pub seq: u64,
    /// What kind of thing.
    pub kind: String,
    /// Which way it went.
    pub direction: String,
    /// Everything about it.
    pub payload: Value,
    /// When.
    pub at: Timestamp,
}

/// An event of a journal, written or not.
#[derive(Clone, Copy)]
pub(super) struct Entry<'e> {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) kind: &'e str,
    pub(super) payload: &'e [u8],
}

impl<'e> From<&'e journal::Event> for Entry<'e> {
    fn from(event: &'e journal::Event) -> Self {
        Self {
            seq: event.seq,
            at: event.at,
            kind: &event.kind,
            payload: &event.payload,
        }
    }
}

/// A line: what happened, with the door it happened at.
pub(super) fn of(door: usize, body: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(body.len() + 16);
    line.extend_from_slice(b"{\"sandbox\":");
    line.extend_from_slice(door.to_string().as_bytes());
    line.push(b',');
    line.extend_from_slice(body.get(1..).unwrap_or(b"}"));
    line
}

/// The line of a step that came later: with the door, the number of the step.
pub(super) fn of_step(door: usize, place: usize, body: &[u8]) -> Vec<u8> {
    let mut line = format!("{{\"sandbox\":{door},\"step\":{place},").into_bytes();
    line.extend_from_slice(body.get(1..).unwrap_or(b"}"));
    line
}

/// Adds what an event of the journal tells to `shown`.
pub(super) fn show(
    origin: &Origin,
    contents: &Contents,
    event: &Entry<'_>,
    only: Option<usize>,
    shown: &mut Vec<WorldEvent>,
) -> Result<(), BadEvent> {
    tell_each(origin, contents, event, |told| {
        if only.is_none() || told.door == only {
            let seq = shown.len() as u64;
            shown.push(told.read(seq)?);
        }
        Ok(())
    })
}

/// One thing that an event of the journal tells, not read yet.
pub(super) struct Unread<'e> {
    origin: &'e Origin,
    contents: &'e Contents,
    event: &'e Entry<'e>,
    /// The door; none if it happened to the world itself.
    pub(super) door: Option<usize>,
    number: usize,
    line: &'e [u8],
}

impl Unread<'_> {
    /// Reads it, as the thing with this place in the world.
    pub(super) fn read(&self, seq: u64) -> Result<WorldEvent, BadEvent> {
        let bad = |problem: &dyn std::fmt::Display| BadEvent::new(self.event.seq, problem);
        let told = match self.door {
            None => Told::read(self.line).map_err(|error| bad(&error))?,
            Some(door) => self
                .contents
                .simulator(door)
                .ok_or_else(|| bad(&"there is no such sandbox"))?
                .tell(self.line, self.event.kind == PROVISION)
                .map_err(|problem| bad(&problem))?,
        };
        Ok(WorldEvent {
            id: event_id(self.origin.id, self.event, self.number),
            door: self.door,
            seq,
            kind: told.kind,
            direction: told.direction,
            payload: told.payload,
            at: told.at,
        })
    }
}

/// Shows everything that an event of the journal tells to `see`, in order: most tell one thing, looks several, and some nothing.
pub(super) fn tell_each(
    origin: &Origin,
    contents: &Contents,
    event: &Entry<'_>,
    mut see: impl FnMut(&Unread<'_>) -> Result<(), BadEvent>,
) -> Result<(), BadEvent> {
    let is_told = matches!(
        event.kind,
        CHANGE | LOOK | PROVISION | LONE_CHANGE | LONE_LOOK | WORLD
    );
    if !is_told {
        return Ok(());
    }
    let text = unpack(event.payload).map_err(|error| BadEvent::new(event.seq, error))?;
    let mut unread = Unread {
        origin,
        contents,
        event,
        door: None,
        number: 0,
        line: &text,
    };
    if event.kind == WORLD {
        return see(&unread);
    }
    // One after the other, not line by line: an answer that was laid out for people has several.
    let lines = serde_json::Deserializer::from_slice(&text).into_iter::<&RawValue>();
    for (number, line) in lines.enumerate() {
        let line = line.map_err(|error| BadEvent::new(event.seq, error))?;
        unread.line = line.get().as_bytes();
        unread.number = number;
        let door = door_of(event.kind, unread.line);
        unread.door = Some(door.map_err(|error| BadEvent::new(event.seq, error))?);
        see(&unread)?;
    }
    Ok(())
}

/// The name of an event: its time, and a hash of where it stands.
fn event_id(world: WorldId, event: &Entry<'_>, line: usize) -> EventId {
    let hash = Sha256::new()
        .chain_update(world.uuid().as_bytes())
        .chain_update(event.seq.to_be_bytes())
        .chain_update((line as u64).to_be_bytes())
        .finalize();
    let mut random = [0; 10];
    random.copy_from_slice(&hash[..10]);
    // A position in the first bytes keeps events of one millisecond in their order.
    random[..4].copy_from_slice(&u32::try_from(event.seq).unwrap_or(u32::MAX).to_be_bytes());
    random[4..6].copy_from_slice(&u16::try_from(line).unwrap_or(u16::MAX).to_be_bytes());
    let millis = u64::try_from(event.at.as_millis()).unwrap_or(0);
    EventId::from_uuid(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_its_body_with_the_door_in_front() {
        assert_eq!(of(3, b"{\"at\":1}"), b"{\"sandbox\":3,\"at\":1}");
        assert_eq!(door_of(CHANGE, &of(3, b"{\"at\":1}")).unwrap(), 3);
    }
}
