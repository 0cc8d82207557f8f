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
    if event.kind == WORLD {
        if only.is_none() {
            shown.push(show_world(origin, event, shown.len() as u64)?);
        }
        return Ok(());
    }
    let is_told = matches!(
        event.kind,
        CHANGE | LOOK | PROVISION | LONE_CHANGE | LONE_LOOK
    );
    if !is_told {
        return Ok(());
    }
    let text = unpack(event.payload).map_err(|error| BadEvent::new(event.seq, error))?;
    // One after the other, not line by line: an answer that was laid out for people has several.
    let lines = serde_json::Deserializer::from_slice(&text).into_iter::<&RawValue>();
    for (number, line) in lines.enumerate() {
        let line = line.map_err(|error| BadEvent::new(event.seq, error))?;
        let line = line.get().as_bytes();
        let door = door_of(event.kind, line).map_err(|error| BadEvent::new(event.seq, error))?;
        let simulator = contents
            .simulator(door)
            .ok_or_else(|| BadEvent::new(event.seq, "there is no such sandbox"))?;
        if only.is_some_and(|only| only != door) {
            continue;
        }
        let told = simulator
            .tell(line, event.kind == PROVISION)
            .map_err(|problem| BadEvent::new(event.seq, problem))?;
        shown.push(WorldEvent {
            id: event_id(origin.id, event, number),
            door: Some(door),
            seq: shown.len() as u64,
            kind: told.kind,
            direction: told.direction,
            payload: told.payload,
            at: told.at,
        });
    }
    Ok(())
}

/// What happened to the world itself.
fn show_world(origin: &Origin, event: &Entry<'_>, seq: u64) -> Result<WorldEvent, BadEvent> {
    let bad = |problem: String| BadEvent::new(event.seq, problem);
    let line = unpack(event.payload).map_err(|error| bad(error.to_string()))?;
    let told = Told::read(&line).map_err(|error| bad(error.to_string()))?;
    Ok(WorldEvent {
        id: event_id(origin.id, event, 0),
        door: None,
        seq,
        kind: told.kind,
        direction: told.direction,
        payload: told.payload,
        at: told.at,
    })
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
