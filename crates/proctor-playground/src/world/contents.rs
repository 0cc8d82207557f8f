//! The state of a playground: its simulators' states, and what changes them. Pure.

use std::{borrow::Cow, fmt, mem, time::Duration};

use proctor_core::{id::kinds::EventId, time::Timestamp};
use proctor_simulation::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    machine::{Answered, AnyMachine, BadLine, Happened, NotTaken},
    payload::unpack,
    record::{Actor, RecordedEvent, Write},
    scenario::Step,
    simulator::{Around, NotProvided, Provision},
};
use proctor_store::journal;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CHANGE, LONE_CHANGE, LONE_LOOK, OPENING, Origin, PROVISION, WORLD, WorldError, line,
    timeline::{self, FURTHEST_AHEAD, LONGEST_ADVANCE, Timeline, Unwritten, WorldChange},
};
use crate::environment::Door;

/// The state of a playground.
pub struct Contents {
    doors: Vec<Door>,
    machines: Vec<Box<dyn AnyMachine>>,
    /// When something last happened.
    latest: Timestamp,
    /// What comes later.
    pub(super) timeline: Timeline,
}

/// An event of the journal that does not fit the environment.
#[derive(Debug, thiserror::Error)]
#[error("event {seq} of the journal: {problem}")]
pub struct BadEvent {
    seq: u64,
    problem: String,
}

impl BadEvent {
    pub(super) fn new(seq: u64, problem: impl fmt::Display) -> Self {
        Self {
            seq,
            problem: problem.to_string(),
        }
    }
}

/// The step that a line tells of, counted from 0, if it is one that came later.
pub(super) fn later_step(line: &[u8]) -> Result<Option<usize>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Marked {
        step: Option<usize>,
    }
    serde_json::from_slice::<Marked>(line).map(|marked| marked.step)
}

/// The door that a line of an event of this kind is about.
pub(super) fn door_of(kind: &str, line: &[u8]) -> Result<usize, serde_json::Error> {
    #[derive(Deserialize)]
    struct Address {
        sandbox: usize,
    }
    // A FHIR store by itself once kept a journal without doors.
    if matches!(kind, LONE_CHANGE | LONE_LOOK) {
        return Ok(0);
    }
    serde_json::from_slice::<Address>(line).map(|address| address.sandbox)
}

impl Contents {
    /// The state before anything happened.
    pub(super) fn branch(origin: &Origin) -> Self {
        Self {
            doors: origin.blueprint.doors().to_vec(),
            machines: origin.blueprint.machines(origin.seed, &origin.base_url),
            latest: Timestamp::from_millis(i64::MIN),
            timeline: Timeline::new(&origin.scenario.steps),
        }
    }

    /// The state that follows from a journal.
    pub fn replay(origin: &Origin, events: &[journal::Event]) -> Result<Self, BadEvent> {
        let mut contents = Self::branch(origin);
        for event in events {
            contents.replay_next(event)?;
        }
        Ok(contents)
    }

    /// The state after one more event of the journal.
    pub(super) fn replay_next(&mut self, event: &journal::Event) -> Result<(), BadEvent> {
        if matches!(&*event.kind, CHANGE | PROVISION | LONE_CHANGE | WORLD) {
            let repeated = self.repeat(event);
            repeated.map_err(|problem| BadEvent::new(event.seq, problem))?;
        }
        if &*event.kind == OPENING {
            self.timeline.begin(event.at);
        }
        self.latest = self.latest.max(event.at);
        Ok(())
    }

    fn repeat(&mut self, event: &journal::Event) -> Result<(), Box<dyn std::error::Error>> {
        let line = unpack(&event.payload)?;
        if &*event.kind == WORLD {
            let (change, _) = timeline::read(&line)?;
            self.timeline.evolve(&change);
            return Ok(());
        }
        if &*event.kind == PROVISION
            && let Some(place) = later_step(&line)?
        {
            self.timeline.carried_out(place);
        }
        let door = door_of(&event.kind, &line)?;
        let number = self.behind(door).ok_or("there is no such sandbox")?;
        Ok(self.machines[number].replay(&line)?)
    }

    /// Repeats a line of the journal and adds what it changed to `writes`; the number of the machine that did it.
    pub(super) fn replay_noting(
        &mut self,
        door: usize,
        line: &[u8],
        writes: &mut Vec<Write>,
    ) -> Result<usize, BadLine> {
        let number = self.behind(door);
        let number = number.ok_or_else(|| BadLine("there is no such sandbox".to_owned()))?;
        self.machines[number].replay_noting(line, writes)?;
        Ok(number)
    }

    /// When something last happened.
    pub(super) fn latest(&self) -> Timestamp {
        self.latest
    }

    /// The simulator behind a door.
    pub(super) fn simulator(&self, door: usize) -> Option<&dyn AnyMachine> {
        Some(&*self.machines[self.behind(door)?])
    }

    /// Whether a request is most likely answered without changing anything.
    pub(super) fn is_read(&self, door: usize, request: &Request) -> bool {
        self.simulator(door)
            .is_none_or(|simulator| simulator.is_read(request))
    }

    /// Answers a request that changes nothing; nothing for one that would.
    pub(super) fn look(&self, door: usize, request: &Request) -> Option<Answered> {
        let now = request.at.max(self.latest);
        match self.behind(door) {
            Some(number) if self.is_for(door, request) => {
                let (before, after) = (&self.machines[..number], &self.machines[number + 1..]);
                let around = Around::between(now, before, after);
                self.machines[number].look(request, &around)
            }
            _ => Some(nothing_there(request)),
        }
    }

    /// Answers a request and lets happen what follows; also when it happened.
    pub(super) fn act(&mut self, door: usize, request: &Request) -> (Answered, Timestamp) {
        let now = request.at.max(self.latest);
        let is_for = self.is_for(door, request);
        let answered = match self.inside(door, now) {
            Some((simulator, around)) if is_for => {
                let mut request = Cow::Borrowed(request);
                if request.at != now {
                    request.to_mut().at = now;
                }
                simulator.act(&request, &around)
            }
            _ => nothing_there(request),
        };
        if answered.happened.is_change {
            self.latest = now;
        }
        (answered, now)
    }

    /// The answer to a request that the world does not take.
    pub(super) fn refuse(&self, door: usize, request: &Request, why: NotTaken) -> Response {
        match self.simulator(door) {
            Some(simulator) => simulator.refuse(why),
            None => nothing_there(request).response,
        }
    }

    /// Puts something in at a door; also when it happened.
    pub(super) fn provide(
        &mut self,
        door: usize,
        provision: &Provision<'_>,
        now: Timestamp,
    ) -> Result<(Happened, Timestamp), NotProvided> {
        let now = now.max(self.latest);
        let Some((simulator, around)) = self.inside(door, now) else {
            return Err(NotProvided("there is no such simulator".to_owned()));
        };
        let happened = simulator.provide(provision, &around)?;
        self.latest = now;
        Ok((happened, now))
    }

    /// Carries out the steps that are due at `now`, each as of its own time; what the journal keeps of it.
    pub(super) fn catch_up(&mut self, now: Timestamp) -> Vec<Unwritten> {
        let mut written = Vec::new();
        while let Some(next) = self.timeline.next_due(now) {
            match next {
                Ok((place, step, due)) => self.carry_out(place, &step, due, &mut written),
                Err(stopped) => self.note_change(&stopped, now, &mut written),
            }
        }
        written
    }

    fn carry_out(
        &mut self,
        place: usize,
        step: &Step,
        due: Timestamp,
        written: &mut Vec<Unwritten>,
    ) {
        let door = self.doors.iter().position(|door| door.carries_out(step));
        let provided = match door {
            Some(door) => self
                .provide(door, &Provision::Step(step), due)
                .map(|(happened, at)| (door, happened, at)),
            None => Err(NotProvided("no simulator carries it out".to_owned())),
        };
        let (door, happened, at) = match provided {
            Ok(provided) => provided,
            Err(problem) => {
                let failed = WorldChange::StepFailed {
                    step: place + 1,
                    problem: problem.to_string(),
                };
                let at = due.max(self.latest);
                return self.note_change(&failed, at, written);
            }
        };
        self.timeline.carried_out(place);
        let line = line::of_step(door, place, &(happened.body)());
        let triggered = self.triggered_by(door, Actor::Owner, &line, at);
        written.push(Unwritten {
            at,
            kind: PROVISION,
            line,
        });
        written.extend(triggered);
    }

    /// What follows when the clock is advanced at `now`, or why it cannot be.
    pub(super) fn advance(&self, seconds: u64, now: Timestamp) -> Result<WorldChange, WorldError> {
        if seconds > LONGEST_ADVANCE {
            let days = LONGEST_ADVANCE / 86_400;
            let message = format!("the clock can be advanced by at most {days} days at once");
            return Err(WorldError::Clock(message));
        }
        if !self.timeline.can_advance(seconds) {
            let days = FURTHEST_AHEAD / 86_400;
            let message = format!("the clock can be at most {days} days ahead");
            return Err(WorldError::Clock(message));
        }
        let now = now.plus(Duration::from_secs(seconds));
        Ok(WorldChange::ClockAdvanced { seconds, now })
    }

    /// Lets something happen to the world itself.
    pub(super) fn note_change(
        &mut self,
        change: &WorldChange,
        at: Timestamp,
        written: &mut Vec<Unwritten>,
    ) {
        self.timeline.evolve(change);
        written.push(Unwritten::of(change, at));
    }

    /// The same for what an agent did, whose line is written for it.
    pub(super) fn triggered_by_agent(
        &mut self,
        door: usize,
        happened: &mut Happened,
        at: Timestamp,
    ) -> Vec<Unwritten> {
        if !self.timeline.is_watching() {
            return Vec::new();
        }
        let write = mem::replace(&mut happened.body, Box::new(Vec::new));
        let body = write();
        let line = line::of(door, &body);
        happened.body = Box::new(move || body);
        self.triggered_by(door, Actor::Agent, &line, at)
    }

    /// Gives a time to the steps that wait for what a line tells of; what the journal keeps of it.
    pub(super) fn triggered_by(
        &mut self,
        door: usize,
        actor: Actor,
        line: &[u8],
        at: Timestamp,
    ) -> Vec<Unwritten> {
        let mut written = Vec::new();
        if !self.timeline.is_watching() {
            return written;
        }
        let (Some(simulator), Some(entered)) = (self.simulator(door), self.doors.get(door)) else {
            return written;
        };
        let Ok(told) = simulator.tell(line, actor == Actor::Owner) else {
            return written;
        };
        let event = RecordedEvent {
            id: EventId::from_uuid(Uuid::nil()),
            simulator: entered.kind(),
            name: entered.name.clone(),
            kind: told.kind,
            direction: told.direction,
            payload: told.payload,
            at: told.at.max(at),
            actor,
        };
        for change in self.timeline.triggers(&event) {
            self.note_change(&change, at, &mut written);
        }
        written
    }

    /// What checks may look at, at the time `now`.
    pub fn exhibits(&self, now: Timestamp) -> Exhibits<'_> {
        let mut exhibits = Exhibits::at(now);
        for machine in &self.machines {
            machine.exhibit(&mut exhibits);
        }
        exhibits
    }

    /// What an agent needs to use each simulator of a world from `origin`, in the order of the
    /// doors; addresses begin with `prefix`.
    pub fn credentials(origin: &Origin, prefix: &str) -> Vec<Value> {
        let contents = Self::branch(origin);
        let of = |door: &Door| {
            let machine = &contents.machines[door.machine];
            door.plugin.credentials(machine.credentials(prefix))
        };
        contents.doors.iter().map(of).collect()
    }

    /// The number of the machine behind a door.
    fn behind(&self, door: usize) -> Option<usize> {
        self.doors.get(door).map(|door| door.machine)
    }

    /// The simulator behind a door, and what it sees around it.
    fn inside(&mut self, door: usize, now: Timestamp) -> Option<(&mut dyn AnyMachine, Around<'_>)> {
        let number = self.behind(door)?;
        let (before, rest) = self.machines.split_at_mut_checked(number)?;
        let (machine, after) = rest.split_first_mut()?;
        Some((&mut **machine, Around::between(now, before, after)))
    }

    /// Whether the path is one of the door's.
    fn is_for(&self, door: usize, request: &Request) -> bool {
        let door = self.doors.get(door);
        door.is_some_and(|door| door.is_at(&request.path))
    }
}

/// The answer at a door that does not know the path.
fn nothing_there(request: &Request) -> Answered {
    let line = json!({
        "at": request.at.as_millis(),
        "type": "request",
        "direction": "outbound",
        "payload": {"method": request.method.as_str(), "path": request.path, "status": 404},
    });
    Answered {
        response: Response::not_found(format!("this simulator has nothing at /{}", request.path)),
        happened: Happened {
            is_change: false,
            body: Box::new(move || line.to_string().into_bytes()),
        },
    }
}
