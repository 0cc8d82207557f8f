//! What happened in a world, for checks: everything that was asked and answered, and what the agent changed or sent.
//!
//! It is made from the journal alone, so a world that was frozen before there were such checks can be judged by them. A
//! simulator says in [`Machine::writes`](crate::simulator::Machine::writes) what each of its changes is to people; one that
//! says nothing still has its changes counted, without names.

use std::collections::{BTreeSet, HashMap};

use proctor_core::{environment::SimulatorType, id::kinds::EventId, time::Timestamp};
use serde_json::Value;

/// What happened in a world. Shown to checks as evidence of this type.
#[derive(Clone, Debug, Default)]
pub struct WorldRecord {
    /// Everything that happened, oldest first.
    pub events: Vec<RecordedEvent>,
    /// Everything that the agent changed or sent, each thing once, in the order in which it was first touched.
    pub touched: Vec<Touched>,
    places: HashMap<(usize, String, String), usize>,
}

/// Something that happened at a simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent {
    /// Its name; the same whenever the journal is read.
    pub id: EventId,
    /// The type of the simulator.
    pub simulator: SimulatorType,
    /// What the environment calls the simulator.
    pub name: String,
    /// What kind of thing: `fhir_request`, `fax_outbound`, ….
    pub kind: String,
    /// `inbound` or `outbound`.
    pub direction: String,
    /// Everything about it.
    pub payload: Value,
    /// When.
    pub at: Timestamp,
    /// Who did it.
    pub actor: Actor,
}

/// Who did something in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The agent that is examined.
    Agent,
    /// The playground's owner: the scenario.
    Owner,
}

/// One change of one thing, as a simulator tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// What family of things it belongs to, as allowances name it: `fhir`, `files`, `fax`, ….
    pub family: &'static str,
    /// What sort of thing it is inside the family: a resource type, a message type, a path.
    pub resource: String,
    /// What names the thing; nothing for one that has no name.
    pub target: Option<String>,
    /// Whether it left the house, which cannot be undone.
    pub is_sent: bool,
    /// The thing before; nothing if it was not there.
    pub before: Option<Value>,
    /// The thing after; nothing if it is gone.
    pub after: Option<Value>,
}

impl Write {
    /// Something that was sent.
    pub fn sent(
        family: &'static str,
        resource: impl Into<String>,
        target: impl Into<String>,
        content: Value,
    ) -> Self {
        Self {
            family,
            resource: resource.into(),
            target: Some(target.into()),
            is_sent: true,
            before: None,
            after: Some(content),
        }
    }

    /// A thing that is another now than before.
    pub fn changed(
        family: &'static str,
        resource: impl Into<String>,
        target: impl Into<String>,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Self {
        Self {
            family,
            resource: resource.into(),
            target: Some(target.into()),
            is_sent: false,
            before,
            after,
        }
    }

    /// A change of which nothing more is known.
    pub fn unnamed(change: Value) -> Self {
        Self {
            family: UNNAMED,
            resource: String::new(),
            target: None,
            is_sent: false,
            before: None,
            after: Some(change),
        }
    }
}

/// The family of changes that their simulator has no name for.
pub const UNNAMED: &str = "simulator";

/// A thing that the agent changed or sent, from the first time to the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Touched {
    /// The type of the simulator.
    pub simulator: SimulatorType,
    /// What the environment calls the simulator.
    pub name: String,
    /// The family of things it belongs to.
    pub family: &'static str,
    /// What sort of thing it is inside the family.
    pub resource: String,
    /// What names it.
    pub target: String,
    /// Whether it left the house.
    pub is_sent: bool,
    /// The thing as the agent found it; nothing if it was not there.
    pub before: Option<Value>,
    /// The thing as the agent left it; nothing if it is gone.
    pub after: Option<Value>,
    /// The thing as it was between, if it is now as it was before.
    pub between: Option<Value>,
    /// Whether it was gone for a while, though it was there before and is there again.
    pub was_gone: bool,
    /// The members that were ever written differently, also those that are as before again.
    pub members: BTreeSet<String>,
    /// The place among the events of what first touched it.
    pub first_event: usize,
    /// The place among the events of what last touched it.
    pub last_event: usize,
    is_changed: bool,
}

/// What was done to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAction {
    /// It is new.
    Create,
    /// It is another than before.
    Update,
    /// It is gone.
    Delete,
    /// It left the house.
    Send,
}

impl WriteAction {
    /// All of them, with the words of authors.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("create", Self::Create),
        ("update", Self::Update),
        ("delete", Self::Delete),
        ("send", Self::Send),
    ];

    /// The word of authors.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Send => "send",
        }
    }
}

impl Touched {
    /// Whether it is now as it was before, though it was not between.
    pub fn is_transient(&self) -> bool {
        !self.is_sent && self.is_changed && self.before == self.after
    }

    /// Whether nothing was ever different: it was written as it was.
    pub fn is_untouched(&self) -> bool {
        !self.is_sent && !self.is_changed
    }

    /// What was done to it, all in all; for something transient, what was done to it first.
    pub fn action(&self) -> WriteAction {
        let after = match self.is_transient() {
            true => self.between.as_ref(),
            false => self.after.as_ref(),
        };
        match (self.is_sent, &self.before, after) {
            (true, ..) => WriteAction::Send,
            (false, None, _) => WriteAction::Create,
            (false, Some(_), None) => WriteAction::Delete,
            (false, Some(_), Some(_)) => WriteAction::Update,
        }
    }

    /// The thing as somebody would describe it: as it is, or if it is gone, as it was.
    pub fn content(&self) -> Option<&Value> {
        let kept = self.after.as_ref();
        kept.or(self.between.as_ref()).or(self.before.as_ref())
    }
}

impl WorldRecord {
    /// Adds something that happened; its place.
    pub fn push_event(&mut self, event: RecordedEvent) -> usize {
        self.events.push(event);
        self.events.len() - 1
    }

    /// Adds what the agent changed with the event at `place`; `machine` is the number of the machine that did it.
    pub fn push_writes(&mut self, machine: usize, place: usize, writes: Vec<Write>) {
        for (number, write) in writes.into_iter().enumerate() {
            self.push_write(machine, place, number, write);
        }
    }

    fn push_write(&mut self, machine: usize, place: usize, number: usize, write: Write) {
        let Some(event) = self.events.get(place) else {
            return;
        };
        let target = write
            .target
            .unwrap_or_else(|| format!("{}/{number}", event.id));
        let is_change = write.before != write.after;
        let key = (machine, write.family.to_owned(), target);
        if let Some(known) = self
            .places
            .get(&key)
            .and_then(|at| self.touched.get_mut(*at))
        {
            known.is_changed |= is_change;
            known.was_gone |=
                known.before.is_some() && known.after.is_none() && write.after.is_some();
            note_members(&write.before, &write.after, &mut known.members);
            known.is_sent |= write.is_sent;
            known.last_event = place;
            let last = std::mem::replace(&mut known.after, write.after);
            if is_change {
                known.between = last;
            }
            return;
        }
        let mut members = BTreeSet::new();
        note_members(&write.before, &write.after, &mut members);
        let touched = Touched {
            simulator: event.simulator.clone(),
            name: event.name.clone(),
            family: write.family,
            resource: write.resource,
            target: key.2.clone(),
            is_sent: write.is_sent,
            before: write.before,
            after: write.after,
            between: None,
            was_gone: false,
            members,
            first_event: place,
            last_event: place,
            is_changed: is_change,
        };
        self.places.insert(key, self.touched.len());
        self.touched.push(touched);
    }
}

/// Adds the names of the members that differ.
fn note_members(before: &Option<Value>, after: &Option<Value>, members: &mut BTreeSet<String>) {
    let (Some(Value::Object(before)), Some(Value::Object(after))) = (before, after) else {
        return;
    };
    let names = before.keys().chain(after.keys());
    let differing = names.filter(|name| before.get(*name) != after.get(*name));
    members.extend(differing.cloned());
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn record(writes: Vec<(Option<Value>, Option<Value>)>) -> WorldRecord {
        let mut record = WorldRecord::default();
        for (number, (before, after)) in writes.into_iter().enumerate() {
            let place = record.push_event(RecordedEvent {
                id: EventId::from_uuid(Uuid::from_u128(number as u128)),
                simulator: SimulatorType::named("Fhir"),
                name: "Chart".to_owned(),
                kind: "fhir_request".to_owned(),
                direction: "outbound".to_owned(),
                payload: Value::Null,
                at: Timestamp::from_millis(0),
                actor: Actor::Agent,
            });
            let write = Write::changed("fhir", "Patient", "Patient/a", before, after);
            record.push_writes(0, place, vec![write]);
        }
        record
    }

    #[test]
    fn a_thing_is_told_once_from_its_first_state_to_its_last() {
        let (one, two) = (Some(json!({"n": 1})), Some(json!({"n": 2})));
        let record = record(vec![(None, one.clone()), (one, two.clone())]);
        let [touched] = record.touched.as_slice() else {
            panic!("one thing");
        };
        assert_eq!((&touched.before, &touched.after), (&None, &two));
        assert_eq!((touched.first_event, touched.last_event), (0, 1));
        assert_eq!(touched.action(), WriteAction::Create);
        assert!(!touched.is_transient() && !touched.is_untouched());
    }

    #[test]
    fn what_was_done_and_undone_is_transient_and_told_as_it_was_between() {
        let one = Some(json!({"n": 1}));
        let made = record(vec![(None, one.clone()), (one.clone(), None)]);
        assert!(made.touched[0].is_transient());
        assert_eq!(made.touched[0].action(), WriteAction::Create);
        assert_eq!(made.touched[0].content(), one.as_ref());
        let gone = record(vec![(one.clone(), None), (None, one.clone())]);
        assert!(gone.touched[0].is_transient());
        assert_eq!(gone.touched[0].action(), WriteAction::Delete);
        let same = record(vec![(one.clone(), one)]);
        assert!(same.touched[0].is_untouched());
    }

    #[test]
    fn what_happened_between_is_remembered_when_the_end_is_fine() {
        let (one, two) = (json!({"n": 1, "m": 1}), json!({"n": 2, "m": 1}));
        let both = json!({"n": 1, "m": 2});
        let record = record(vec![
            (Some(one), Some(two.clone())),
            (Some(two), None),
            (None, Some(both)),
        ]);
        assert!(record.touched[0].was_gone);
        assert_eq!(record.touched[0].members, BTreeSet::from(["n".to_owned()]));
    }

    #[test]
    fn changes_without_names_are_counted_each() {
        let mut record = record(vec![(None, Some(json!(1)))]);
        let unnamed = || Write::unnamed(json!({"paged": true}));
        record.push_writes(1, 0, vec![unnamed(), unnamed()]);
        assert_eq!(record.touched.len(), 3);
    }
}
