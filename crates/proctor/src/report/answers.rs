//! What a server answers, as far as it is told.

use serde::Deserialize;
use serde_json::Value;

/// A comparison.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Comparison {
    pub(crate) sentence: String,
    pub(crate) about: String,
    #[serde(default)]
    pub(crate) differences: Vec<String>,
    pub(crate) a: Side,
    pub(crate) b: Side,
    pub(crate) comparison: Numbers,
    #[serde(default)]
    pub(crate) axes: Option<Vec<Axis>>,
    #[serde(default)]
    pub(crate) settings: Vec<Setting>,
    pub(crate) flips: Vec<Flip>,
    pub(crate) flips_total: usize,
    #[serde(default)]
    pub(crate) unpaired: Vec<OneSided>,
    #[serde(default)]
    pub(crate) void: Vec<Void>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Side {
    pub(crate) runs: Vec<String>,
    pub(crate) chosen_by: String,
    pub(crate) agent: Option<String>,
    pub(crate) benchmark: String,
    pub(crate) digest: String,
    pub(crate) summary: Summary,
}

/// The numbers of an agent.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Summary {
    pub(crate) score: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) planned: u32,
    pub(crate) scored: u32,
    pub(crate) void: u32,
    pub(crate) agent_faults: u32,
    pub(crate) worst: Option<f64>,
    pub(crate) best: Option<f64>,
}

/// What two sides differ by.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Numbers {
    pub(crate) difference: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) p: f64,
    pub(crate) tasks: usize,
    pub(crate) better: usize,
    pub(crate) worse: usize,
    pub(crate) same: usize,
    pub(crate) void_a: usize,
    pub(crate) void_b: usize,
}

/// What two sides differ by on an axis.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Axis {
    pub(crate) axis: String,
    pub(crate) comparison: Option<Numbers>,
    pub(crate) p_holm: Option<f64>,
}

/// Something that was said about the two sides and is not the same.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Setting {
    pub(crate) what: String,
    pub(crate) a: Value,
    pub(crate) b: Value,
}

/// A task that flipped.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Flip {
    pub(crate) name: String,
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) difference: f64,
    pub(crate) passes_a: (usize, usize),
    pub(crate) passes_b: (usize, usize),
    #[serde(default)]
    pub(crate) criteria: Option<Vec<CriterionFlip>>,
}

/// A criterion that flipped.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CriterionFlip {
    pub(crate) label: String,
    pub(crate) a: Option<f64>,
    pub(crate) b: Option<f64>,
    pub(crate) details: String,
}

/// A task that only one side has.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct OneSided {
    pub(crate) name: String,
    pub(crate) side: String,
}

/// A task with void attempts.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Void {
    pub(crate) name: String,
    pub(crate) side: String,
    pub(crate) causes: std::collections::BTreeMap<String, u32>,
}

/// A gate.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Gate {
    pub(crate) id: String,
    pub(crate) verdict: Verdict,
    pub(crate) sentences: Vec<String>,
    pub(crate) lines: Vec<Line>,
    pub(crate) a: Option<Side>,
    pub(crate) b: Side,
    #[serde(default)]
    pub(crate) differences: Vec<String>,
    #[serde(default)]
    pub(crate) comparison: Option<Comparison>,
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
}

/// What a gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Verdict {
    Pass,
    Fail,
    Inconclusive,
}

impl Verdict {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }
}

/// A line of a gate.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Line {
    pub(crate) asks: String,
    pub(crate) verdict: Verdict,
    pub(crate) sentence: String,
}

/// What came of a run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Results {
    pub(crate) agents: Vec<AgentResults>,
}

/// What came of an agent.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct AgentResults {
    pub(crate) name: Option<String>,
    pub(crate) summary: Summary,
    /// What it says it used up; none if it reported nothing.
    #[serde(default)]
    pub(crate) usage: Option<Usage>,
    pub(crate) attempts: Vec<Attempt>,
}

/// What an agent used up.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Usage {
    pub(crate) input_tokens: u64,
    pub(crate) cached_tokens: u64,
    pub(crate) output_tokens: u64,
    /// None if any of it has an unknown cost.
    pub(crate) cost_usd: Option<f64>,
}

impl Usage {
    /// The cost, as people read it.
    pub(crate) fn cost(&self) -> String {
        match self.cost_usd {
            Some(cost) => format!("${cost:.4}"),
            None => "cost not reported".to_owned(),
        }
    }

    /// All of it in one line.
    pub(crate) fn to_text(self) -> String {
        let cached = match self.cached_tokens {
            0 => String::new(),
            cached => format!(" ({cached} cached)"),
        };
        format!(
            "usage: {} tokens in{cached}, {} out, {}",
            self.input_tokens,
            self.output_tokens,
            self.cost()
        )
    }
}

/// An attempt at a task.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) task: String,
    pub(crate) tries: u32,
    pub(crate) score: Option<f64>,
    pub(crate) cause: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) verdict: Option<String>,
    #[serde(default)]
    pub(crate) critical_misses: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) details: Option<Details>,
}

/// What is known of an attempt besides its score.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Details {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) task_run_id: Option<String>,
    pub(crate) seconds: Option<f64>,
    /// The last link of the journal of its world.
    #[serde(default)]
    pub(crate) journal_head: Option<String>,
    #[serde(default)]
    pub(crate) criteria: Option<Vec<Criterion>>,
}

/// What a criterion scored.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Criterion {
    #[serde(default)]
    pub(crate) criterion_id: String,
    /// Whether missing it fails the task.
    #[serde(default)]
    pub(crate) critical: bool,
    pub(crate) label: String,
    pub(crate) axis: Option<String>,
    pub(crate) weight: f64,
    pub(crate) score: f64,
    pub(crate) details: String,
}

impl Attempt {
    /// What its task is called.
    pub(crate) fn name(&self) -> &str {
        self.details
            .as_ref()
            .map_or(&self.task, |details| &details.name)
    }

    /// Whether it says nothing about the agent.
    pub(crate) fn is_void(&self) -> bool {
        self.score.is_none() && self.cause.is_some()
    }

    /// The criteria that were looked at.
    pub(crate) fn criteria(&self) -> &[Criterion] {
        let criteria = self
            .details
            .as_ref()
            .and_then(|one| one.criteria.as_deref());
        criteria.unwrap_or_default()
    }
}

/// The score of an agent in one line of words: `0.812 (0.771 to 0.846, 95 %), 86 of 89 scored, 3 void`.
pub(crate) fn score_in_words(summary: &Summary) -> String {
    let mut said = match (summary.score, summary.low, summary.high) {
        (Some(score), Some(low), Some(high)) => {
            format!("{score:.3} ({low:.3} to {high:.3}, 95 %, tasks like these)")
        }
        (Some(score), _, _) => format!("{score:.3}"),
        (None, _, _) => "no score".to_owned(),
    };
    said += &format!(", {} of {} scored", summary.scored, summary.planned);
    if summary.agent_faults > 0 {
        said += &format!(
            ", {} of them 0 by the agent's own fault",
            summary.agent_faults
        );
    }
    if let (1.., Some(worst), Some(best)) = (summary.void, summary.worst, summary.best) {
        let void = summary.void;
        let which = if void == 1 { "it" } else { "they" };
        said += &format!(
            ", {void} void, not counted: between {worst:.3} and {best:.3} whatever {which} would have been"
        );
    }
    said
}
