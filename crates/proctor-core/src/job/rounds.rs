//! Planned rounds: in each, every agent takes every scenario once more. From the second round on a policy is looked at after each, and whoever is
//! decided over takes no further part.
//!
//! Who looks often finds something sooner or later, whether or not there is anything. So the plan says before the first round how many rounds there
//! are at most, and each look uses the level that `proctor_statistics::look` has for it. A [`Look`] is kept when it was taken and never taken again.

use std::ops::RangeInclusive;

use proctor_statistics::{Alpha, GateVerdict, Refusal, look};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{id::kinds::GateId, time::Timestamp};

/// How many rounds can be planned.
pub const ROUNDS: RangeInclusive<u32> = 2..=20;

/// The rounds of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedRounds {
    /// How many there are at most.
    pub rounds: u32,
    /// The policy that is looked at, as it was given.
    pub policy: Value,
    /// Over whom it decides.
    pub gates: Vec<PlannedGate>,
}

/// A gate that is looked at after each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedGate {
    /// The agent that is decided over, by its [`entry`](super::JobAgent::entry).
    pub candidate: u32,
    /// The agent that it is compared with, if the policy compares.
    pub baseline: Option<u32>,
}

/// What was seen after a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// After which round.
    pub round: u32,
    /// When.
    pub at: Timestamp,
    /// The one-sided level of its decisions.
    pub level: f64,
    /// What was decided, for each gate that was open before.
    pub decisions: Vec<LookDecision>,
}

/// What a look says of one gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookDecision {
    /// Which.
    pub gate: PlannedGate,
    /// What it says; none if the numbers do not allow an answer.
    pub verdict: Option<GateVerdict>,
    /// Why, in sentences.
    pub sentences: Vec<String>,
    /// The gate as it was kept, if this is the last look at it.
    pub kept: Option<GateId>,
}

impl PlannedGate {
    /// Whether this agent takes part in it.
    pub fn involves(&self, entry: u32) -> bool {
        self.candidate == entry || self.baseline == Some(entry)
    }
}

impl LookDecision {
    /// Whether there is nothing left to find out.
    pub fn is_settled(&self) -> bool {
        self.verdict.is_some_and(GateVerdict::is_settled)
    }
}

impl PlannedRounds {
    /// The level of the look after this round.
    pub fn level(&self, round: u32) -> Result<Alpha, Refusal> {
        look(round, self.rounds)
    }

    /// The gates that no look has settled.
    pub fn open_gates(&self, looks: &[Look]) -> Vec<PlannedGate> {
        let is_settled = |gate: &PlannedGate| {
            let mut decisions = looks.iter().flat_map(|look| &look.decisions);
            decisions.any(|decision| decision.gate == *gate && decision.is_settled())
        };
        let gates = self.gates.iter().copied();
        gates.filter(|gate| !is_settled(gate)).collect()
    }
}

impl Look {
    /// Whether a further round of this agent is needed.
    pub fn needs(&self, entry: u32) -> bool {
        let mut open = self.decisions.iter().filter(|one| !one.is_settled());
        open.any(|one| one.gate.involves(entry))
    }
}
