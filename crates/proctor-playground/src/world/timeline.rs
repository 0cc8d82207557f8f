//! What comes later in a world: steps of its scenario that wait, and how far its clock was advanced.
//!
//! Nothing here runs by itself. A step that is due is carried out before the next request, as of the time at which it was due,
//! so what a journal holds follows from its seed and its requests. Everything is in the journal: replaying it gives the same
//! timeline.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use proctor_core::time::Timestamp;
use proctor_simulation::{machine::Told, record::RecordedEvent, scenario::Step};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::WORLD;

/// The most steps that come later and are carried out in one world: steps that wait for each other would go on for ever.
pub(super) const MOST_LATER_STEPS: usize = 1_000;
/// The most that the clock of a world may be advanced at once, in seconds: 90 days.
pub(super) const LONGEST_ADVANCE: u64 = 90 * 86_400;
/// The most that it may be ahead of the real clock, in seconds: ten years.
pub(super) const FURTHEST_AHEAD: u64 = 3_660 * 86_400;

/// What comes later in a world.
pub(super) struct Timeline {
    steps: Arc<[Step]>,
    /// How far the world's clock is ahead of the real one.
    ahead: Duration,
    /// The steps that have a time, in the order in which they come.
    pending: BTreeMap<(Timestamp, u64), usize>,
    /// How many steps were ever given a time.
    scheduled: u64,
    /// How often each step was triggered.
    triggered: Vec<u32>,
    carried_out: usize,
    is_stopped: bool,
}

/// Something that happened to a world itself and at no simulator. Its JSON form is kept in journals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type", content = "payload")]
pub(super) enum WorldChange {
    /// The agent advanced the clock.
    ClockAdvanced {
        /// By how much.
        seconds: u64,
        /// What the clock shows then.
        now: Timestamp,
    },
    /// An event was one that a step waits for.
    StepScheduled {
        /// The step, counted from 1.
        step: usize,
        /// The kind of the event.
        cause: String,
        /// When the step is due.
        due: Timestamp,
    },
    /// A step was due and could not happen.
    StepFailed {
        /// The step, counted from 1.
        step: usize,
        /// Why.
        problem: String,
    },
    /// So many steps were carried out that no more are.
    StepsStopped {
        /// The most that there may be.
        limit: usize,
    },
}

impl WorldChange {
    /// Who did it, and which way it went.
    pub(super) fn is_agents(&self) -> bool {
        matches!(self, Self::ClockAdvanced { .. })
    }

    /// The line of the journal.
    pub(super) fn line(&self, at: Timestamp) -> Vec<u8> {
        let direction = match self.is_agents() {
            true => "outbound",
            false => "inbound",
        };
        let mut line = json!({"at": at.as_millis(), "direction": direction});
        if let (Some(line), Ok(serde_json::Value::Object(change))) =
            (line.as_object_mut(), serde_json::to_value(self))
        {
            line.extend(change);
        }
        line.to_string().into_bytes()
    }
}

/// An event that a world makes by itself, before it is written.
pub(super) struct Unwritten {
    pub(super) at: Timestamp,
    pub(super) kind: &'static str,
    pub(super) line: Vec<u8>,
}

impl Unwritten {
    pub(super) fn of(change: &WorldChange, at: Timestamp) -> Self {
        Self {
            at,
            kind: WORLD,
            line: change.line(at),
        }
    }
}

impl Timeline {
    pub(super) fn new(steps: &Arc<[Step]>) -> Self {
        Self {
            triggered: vec![0; steps.len()],
            steps: Arc::clone(steps),
            ahead: Duration::ZERO,
            pending: BTreeMap::new(),
            scheduled: 0,
            carried_out: 0,
            is_stopped: false,
        }
    }

    /// The world begins: steps that wait for a time are given one.
    pub(super) fn begin(&mut self, at: Timestamp) {
        let waiting: Vec<(usize, Timestamp)> = self
            .steps
            .iter()
            .enumerate()
            .filter_map(|(place, step)| {
                let timing = step.timing.as_ref().filter(|one| one.when.is_none())?;
                Some((place, at.plus(timing.after)))
            })
            .collect();
        for (place, due) in waiting {
            self.schedule(place, due);
        }
    }

    fn schedule(&mut self, place: usize, due: Timestamp) {
        self.pending.insert((due, self.scheduled), place);
        self.scheduled += 1;
    }

    /// What the world's clock shows when the real one shows `real`.
    pub(super) fn world_time(&self, real: Timestamp) -> Timestamp {
        real.plus(self.ahead)
    }

    /// What the real clock shows when the world's shows `at`.
    pub(super) fn real_time(&self, at: Timestamp) -> Timestamp {
        let ahead = i64::try_from(self.ahead.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(at.as_millis().saturating_sub(ahead))
    }

    /// Whether the clock may be advanced by so many seconds more.
    pub(super) fn can_advance(&self, seconds: u64) -> bool {
        self.ahead.as_secs().saturating_add(seconds) <= FURTHEST_AHEAD
    }

    /// Whether a step is due.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let first = self.pending.first_key_value();
        first.is_some_and(|((due, _), _)| *due <= now)
    }

    /// When the last step comes that has a time.
    pub(super) fn last_due(&self) -> Option<Timestamp> {
        self.pending.last_key_value().map(|((due, _), _)| *due)
    }

    /// Whether a step waits for events.
    pub(super) fn is_watching(&self) -> bool {
        !self.is_stopped
            && self.steps.iter().zip(&self.triggered).any(|(step, count)| {
                let timing = step.timing.as_ref();
                timing.is_some_and(|one| one.when.is_some() && *count < one.times)
            })
    }

    /// The first step that is due, with its time; why no more are carried out, if so.
    pub(super) fn next_due(
        &self,
        now: Timestamp,
    ) -> Option<Result<(usize, Step, Timestamp), WorldChange>> {
        let ((due, _), place) = self.pending.first_key_value()?;
        if *due > now {
            return None;
        }
        if self.carried_out >= MOST_LATER_STEPS {
            let limit = MOST_LATER_STEPS;
            return Some(Err(WorldChange::StepsStopped { limit }));
        }
        let step = self.steps.get(*place)?.clone();
        Some(Ok((*place, step, *due)))
    }

    /// A step that had a time was carried out, or could not be.
    pub(super) fn carried_out(&mut self, place: usize) {
        let mut pending = self.pending.iter();
        let key = pending.find_map(|(key, one)| (*one == place).then_some(*key));
        if let Some(key) = key {
            self.pending.remove(&key);
            self.carried_out += 1;
        }
    }

    /// The steps that wait for an event like this, as what becomes of them.
    pub(super) fn triggers(&self, event: &RecordedEvent) -> Vec<WorldChange> {
        if self.is_stopped {
            return Vec::new();
        }
        let steps = self.steps.iter().zip(&self.triggered).enumerate();
        steps
            .filter_map(|(place, (step, count))| {
                let timing = step.timing.as_ref()?;
                let pattern = timing.when.as_ref()?;
                let is_waiting = *count < timing.times && pattern.matches(event);
                is_waiting.then(|| WorldChange::StepScheduled {
                    step: place + 1,
                    cause: event.kind.clone(),
                    due: event.at.plus(timing.after),
                })
            })
            .collect()
    }

    /// Lets something happen to the world itself.
    pub(super) fn evolve(&mut self, change: &WorldChange) {
        match change {
            WorldChange::ClockAdvanced { seconds, .. } => {
                self.ahead = self.ahead.saturating_add(Duration::from_secs(*seconds));
            }
            WorldChange::StepScheduled { step, due, .. } => {
                let place = step.saturating_sub(1);
                if let Some(count) = self.triggered.get_mut(place) {
                    *count += 1;
                    self.schedule(place, *due);
                }
            }
            WorldChange::StepFailed { step, .. } => self.carried_out(step.saturating_sub(1)),
            WorldChange::StepsStopped { .. } => {
                self.is_stopped = true;
                self.pending.clear();
            }
        }
    }
}

/// Reads what happened to a world itself.
pub(super) fn read(line: &[u8]) -> Result<(WorldChange, Told), serde_json::Error> {
    let told = Told::read(line).map_err(|bad| serde::de::Error::custom(bad.to_string()))?;
    let change = serde_json::from_value(json!({"type": told.kind, "payload": told.payload}))?;
    Ok((change, told))
}
