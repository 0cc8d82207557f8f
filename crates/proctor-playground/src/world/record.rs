//! What happened in a world, read from its journal for checks that ask about more than its last state.

use proctor_core::environment::SimulatorType;
use proctor_simulation::{
    payload::unpack,
    record::{Actor, RecordedEvent, WorldRecord, Write},
};

use super::{
    BadEvent, CHANGE, Contents, LONE_CHANGE, LONE_LOOK, LOOK, Origin, PROVISION, WORLD,
    contents::door_of,
    line::{self, Entry},
};

/// What checks call the simulator at which the world's own events happen: `protocol: clock`.
const CLOCK: &str = "Clock";

/// What happened in the world from `origin` whose journal holds `entries`, oldest first.
pub(super) fn read<'e>(
    origin: &Origin,
    entries: impl Iterator<Item = Entry<'e>> + Clone,
) -> Result<WorldRecord, BadEvent> {
    let mut contents = Contents::branch(origin);
    let mut written = Vec::new();
    for entry in entries.clone() {
        if let Some(writes) = repeat(&mut contents, &entry)? {
            written.push((entry.seq, writes));
        }
    }
    // Answers refer to versions of resources: all of them are there now.
    let mut written = written.into_iter().peekable();
    let mut record = WorldRecord::default();
    let mut shown = Vec::new();
    for entry in entries {
        line::show(origin, &contents, &entry, None, &mut shown)?;
        let first = record.events.len();
        let is_owners = |direction: &str| match entry.kind {
            PROVISION => true,
            WORLD => direction == "inbound",
            _ => false,
        };
        for event in shown.drain(..) {
            let (simulator, name) = match event.door {
                None => (SimulatorType::named(CLOCK), CLOCK.to_owned()),
                Some(door) => match origin.blueprint.doors().get(door) {
                    Some(door) => (door.kind(), door.name.clone()),
                    None => continue,
                },
            };
            let actor = match is_owners(&event.direction) {
                true => Actor::Owner,
                false => Actor::Agent,
            };
            record.push_event(RecordedEvent {
                id: event.id,
                simulator,
                name,
                kind: event.kind,
                direction: event.direction,
                payload: event.payload,
                at: event.at,
                actor,
            });
        }
        if let Some((_, (machine, writes))) = written.next_if(|(seq, _)| *seq == entry.seq) {
            record.push_writes(machine, first, writes);
        }
    }
    Ok(record)
}

/// Repeats an entry; what the agent changed with it, and at which machine.
fn repeat(
    contents: &mut Contents,
    entry: &Entry<'_>,
) -> Result<Option<(usize, Vec<Write>)>, BadEvent> {
    let is_agents = match entry.kind {
        CHANGE | LONE_CHANGE => true,
        PROVISION => false,
        LOOK | LONE_LOOK => return Ok(None),
        _ => return Ok(None),
    };
    let bad = |problem: &dyn std::fmt::Display| BadEvent::new(entry.seq, problem);
    let line = unpack(entry.payload).map_err(|error| bad(&error))?;
    let door = door_of(entry.kind, &line).map_err(|error| bad(&error))?;
    let mut writes = Vec::new();
    let machine = contents
        .replay_noting(door, &line, &mut writes)
        .map_err(|problem| bad(&problem))?;
    Ok(is_agents.then_some((machine, writes)))
}
