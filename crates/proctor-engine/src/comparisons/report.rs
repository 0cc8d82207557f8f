//! Comparisons and gates as they are answered and kept.

use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{ComparisonId, CriterionId, GateId, RunId, TaskId, TaskRunId},
    results::Summary,
    time::Timestamp,
};
use proctor_statistics::{About, Comparison, GateVerdict, LineResult};
use serde::Serialize;
use serde_json::Value;

/// What two sides differ by.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonReport {
    /// Its name; none inside a gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<ComparisonId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Which question it answers.
    pub about: &'static str,
    /// The result in one sentence.
    pub sentence: String,
    /// Whether both sides are of the same exam.
    pub comparable: bool,
    /// In what they differ, if they were compared all the same.
    pub differences: Vec<String>,
    /// The baseline.
    pub a: SideReport,
    /// What is compared with it.
    pub b: SideReport,
    /// By what tasks belong together, if that was asked for.
    pub clusters: Option<String>,
    /// The numbers.
    pub comparison: Comparison,
    /// The numbers by axis, with p-values that are corrected over all axes; only if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axes: Option<Vec<AxisReport>>,
    /// What was said about the two sides and is not the same.
    pub settings: Vec<DifferenceReport>,
    /// The tasks that differ, the worst for B first.
    pub flips: Vec<FlipReport>,
    /// How many tasks differ; more than are listed, if they are many.
    pub flips_total: usize,
    /// Tasks that only one side has.
    pub unpaired: Vec<TaskOnOneSide>,
    /// Tasks with void attempts.
    pub void: Vec<VoidReport>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct SideReport {
    /// Its runs.
    pub runs: Vec<RunId>,
    /// How they were chosen.
    pub chosen_by: String,
    /// What the agent is called, if anybody said.
    pub agent: Option<String>,
    /// The benchmark and its version, as people say it.
    pub benchmark: String,
    /// The digest of the frozen definition.
    pub digest: String,
    /// The digest of what is checked.
    pub rubric: String,
    /// The digest of what was compared: every attempt with its score or cause.
    pub attempts_digest: String,
    /// Its numbers.
    pub summary: SideScore,
}

/// The numbers of a side.
#[derive(Clone, Debug, Serialize)]
pub struct SideScore {
    /// The mean over tasks; none if nothing was scored.
    pub score: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end of it.
    pub high: Option<f64>,
    /// What the interval is about.
    pub about: Option<&'static str>,
    /// How many attempts were planned.
    pub planned: u32,
    /// How many of them count.
    pub scored: u32,
    /// How many are void.
    pub void: u32,
    /// How many count 0 because the agent ended them itself.
    pub agent_faults: u32,
    /// The score if every void attempt were worth 0.
    pub worst: Option<f64>,
    /// The score if every void attempt were worth 1.
    pub best: Option<f64>,
}

impl From<&Summary> for SideScore {
    fn from(summary: &Summary) -> Self {
        Self {
            score: summary.score,
            low: summary.interval.map(|interval| interval.low),
            high: summary.interval.map(|interval| interval.high),
            about: summary.interval.map(|_| About::Tasks.as_str()),
            planned: summary.planned,
            scored: summary.scored,
            void: summary.void,
            agent_faults: summary.agent_faults,
            worst: summary.worst,
            best: summary.best,
        }
    }
}

/// What two sides differ by on an axis.
#[derive(Clone, Debug, Serialize)]
pub struct AxisReport {
    /// The axis.
    pub axis: String,
    /// The result in one sentence; why there is none, if there is none.
    pub sentence: String,
    /// The numbers.
    pub comparison: Option<Comparison>,
    /// The p-value, corrected over all axes.
    pub p_holm: Option<f64>,
}

/// Something that was said about the two sides and is not the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferenceReport {
    /// What.
    pub what: String,
    /// What was said of A.
    pub a: Value,
    /// What was said of B.
    pub b: Value,
}

/// A task that the two sides did not do equally well.
#[derive(Clone, Debug, Serialize)]
pub struct FlipReport {
    /// The task.
    pub task: TaskId,
    /// What it is called.
    pub name: String,
    /// The mean of A.
    pub a: f64,
    /// The mean of B.
    pub b: f64,
    /// B − A.
    pub difference: f64,
    /// How many attempts of A passed, of how many.
    pub passes_a: (usize, usize),
    /// How many attempts of B passed, of how many.
    pub passes_b: (usize, usize),
    /// The task runs of A.
    pub task_runs_a: Vec<TaskRunId>,
    /// The task runs of B.
    pub task_runs_b: Vec<TaskRunId>,
    /// The criteria that flipped, the worst first. Absent for callers who may not read the criterion runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criteria: Option<Vec<CriterionFlip>>,
}

/// A criterion that the two sides did not meet equally well.
#[derive(Clone, Debug, Serialize)]
pub struct CriterionFlip {
    /// The criterion.
    pub criterion: CriterionId,
    /// Its short name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What it is called.
    pub label: String,
    /// The axis it counts on.
    pub axis: Option<String>,
    /// The mean of A.
    pub a: Option<f64>,
    /// The mean of B.
    pub b: Option<f64>,
    /// What was found on the side that is worse.
    pub details: String,
}

/// A task that only one side has.
#[derive(Clone, Debug, Serialize)]
pub struct TaskOnOneSide {
    /// The task.
    pub task: TaskId,
    /// What it is called.
    pub name: String,
    /// `a` or `b`.
    pub side: &'static str,
}

/// A task with void attempts.
#[derive(Clone, Debug, Serialize)]
pub struct VoidReport {
    /// The task.
    pub task: TaskId,
    /// What it is called.
    pub name: String,
    /// `a` or `b`.
    pub side: &'static str,
    /// How many of its attempts are void, by cause.
    pub causes: BTreeMap<&'static str, u32>,
}

/// Whether a policy lets an agent through.
#[derive(Clone, Debug, Serialize)]
pub struct GateReport {
    /// Its name.
    pub id: GateId,
    /// When it was decided.
    pub created_at: Timestamp,
    /// What it says as a whole.
    pub verdict: GateVerdict,
    /// One sentence for each line, and what else decided.
    pub sentences: Vec<String>,
    /// Which question its statistical lines ask.
    pub about: &'static str,
    /// What came of each line, in their order.
    pub lines: Vec<LineReport>,
    /// The policy as it was given.
    pub policy: Value,
    /// The digest of the policy.
    pub policy_digest: String,
    /// The baseline; none if no line asks for one and none was given.
    pub a: Option<SideReport>,
    /// The candidate.
    pub b: SideReport,
    /// Whether both sides are of the same exam.
    pub comparable: bool,
    /// In what they differ, if they were compared all the same.
    pub differences: Vec<String>,
    /// The share of all attempts that is void.
    pub void_share: f64,
    /// What the two sides differ by; none without a baseline, or if the numbers do not allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ComparisonReport>,
    /// What should be known about these numbers.
    pub warnings: Vec<String>,
}

/// What came of a line of a policy.
#[derive(Clone, Debug, Serialize)]
pub struct LineReport {
    /// `change`, `level` or `never`.
    pub kind: &'static str,
    /// What it asks for, in words.
    pub asks: String,
    /// What it says.
    pub verdict: GateVerdict,
    /// The result in one sentence.
    pub sentence: String,
    /// The numbers.
    pub result: LineResult,
    /// Of what must never happen: how many attempts were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<u64>,
    /// Of what must never happen: how many attempts could not be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<u64>,
    /// Of what must never happen: where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violations: Option<Vec<ViolationReport>>,
}

/// Something that must never happen and did.
#[derive(Clone, Debug, Serialize)]
pub struct ViolationReport {
    /// The task.
    pub task: TaskId,
    /// What it is called.
    pub name: String,
    /// The first, second, … attempt.
    pub attempt: u32,
    /// The task run.
    pub task_run: TaskRunId,
    /// The criterion that was missed.
    pub criterion: CriterionId,
    /// What it is called.
    pub label: String,
    /// What was found.
    pub details: String,
}
