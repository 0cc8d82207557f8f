//! A comparison as it was answered: the same for one that was just made and one that was kept.

use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{RunId, TaskId, TaskRunId},
    time::Timestamp,
};
use serde::Deserialize;
use serde_json::Value;

use crate::html::{self, Html, Mark};

/// A comparison.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Report {
    pub(crate) created_at: Timestamp,
    pub(crate) about: String,
    pub(crate) sentence: String,
    #[serde(default)]
    pub(crate) differences: Vec<String>,
    pub(crate) a: Side,
    pub(crate) b: Side,
    pub(crate) comparison: Numbers,
    #[serde(default)]
    pub(crate) axes: Option<Vec<Axis>>,
    #[serde(default)]
    pub(crate) settings: Vec<Setting>,
    #[serde(default)]
    pub(crate) flips: Vec<Flip>,
    #[serde(default)]
    pub(crate) flips_total: usize,
    #[serde(default)]
    pub(crate) unpaired: Vec<OnOneSide>,
    #[serde(default)]
    pub(crate) void: Vec<VoidTask>,
}

/// One side of it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Side {
    pub(crate) runs: Vec<RunId>,
    #[serde(default)]
    pub(crate) chosen_by: String,
    pub(crate) agent: Option<String>,
    pub(crate) benchmark: String,
    #[serde(default)]
    pub(crate) digest: String,
    pub(crate) summary: Score,
}

/// The numbers of a side.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Score {
    pub(crate) score: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) planned: u32,
    pub(crate) scored: u32,
    pub(crate) void: u32,
    pub(crate) agent_faults: u32,
}

/// The numbers of the difference.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Numbers {
    pub(crate) difference: f64,
    pub(crate) mean_a: f64,
    pub(crate) mean_b: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) p: f64,
    pub(crate) tasks: usize,
    pub(crate) better: usize,
    pub(crate) worse: usize,
    pub(crate) same: usize,
}

/// The numbers on an axis.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Axis {
    pub(crate) axis: String,
    pub(crate) sentence: String,
    pub(crate) comparison: Option<Numbers>,
    pub(crate) p_holm: Option<f64>,
}

/// What was said about the sides and is not the same.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Setting {
    pub(crate) what: String,
    pub(crate) a: Value,
    pub(crate) b: Value,
}

/// A task that the sides did not do equally well.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Flip {
    pub(crate) task: TaskId,
    pub(crate) name: String,
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) difference: f64,
    #[serde(default)]
    pub(crate) passes_a: (usize, usize),
    #[serde(default)]
    pub(crate) passes_b: (usize, usize),
    #[serde(default)]
    pub(crate) task_runs_a: Vec<TaskRunId>,
    #[serde(default)]
    pub(crate) task_runs_b: Vec<TaskRunId>,
    #[serde(default)]
    pub(crate) criteria: Option<Vec<CriterionFlip>>,
}

/// A criterion that flipped.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CriterionFlip {
    pub(crate) label: String,
    pub(crate) axis: Option<String>,
    pub(crate) a: Option<f64>,
    pub(crate) b: Option<f64>,
    #[serde(default)]
    pub(crate) details: String,
}

/// A task of one side only.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct OnOneSide {
    pub(crate) name: String,
    pub(crate) side: String,
}

/// A task with void attempts.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VoidTask {
    pub(crate) name: String,
    pub(crate) side: String,
    pub(crate) causes: BTreeMap<String, u32>,
}

impl Report {
    /// What a reader should take away, in a word.
    pub(crate) fn tone(&self) -> &'static str {
        match self.comparison.p <= 0.05 {
            true if self.comparison.difference > 0.0 => "better",
            true => "worse",
            false => "same",
        }
    }

    /// The same without what was found about single criteria.
    pub(crate) fn without_criteria(mut self) -> Self {
        for flip in &mut self.flips {
            flip.criteria = None;
        }
        self
    }

    /// The widest end of any interval on an axis, so that all are drawn alike.
    pub(crate) fn reach(&self) -> f64 {
        let axes = self.axes.iter().flatten();
        let axes = axes.filter_map(|axis| axis.comparison.as_ref());
        let all = axes.chain([&self.comparison]);
        let widest = all.map(|numbers| numbers.low.abs().max(numbers.high.abs()));
        widest.fold(0.1, f64::max).min(1.0)
    }
}

impl Side {
    /// What the side is called.
    pub(crate) fn name(&self) -> &str {
        self.agent.as_deref().unwrap_or("unnamed agent")
    }

    /// Half the width of the interval around its score.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        self.summary.low.zip(self.summary.high)
    }

    /// Its runs as parameters of an address.
    pub(crate) fn query(&self, side: &str) -> String {
        let runs = self.runs.iter().map(|run| format!("{side}={run}"));
        runs.collect::<Vec<_>>().join("&")
    }
}

impl VoidTask {
    /// The causes in words.
    pub(crate) fn why(&self) -> String {
        let causes = self.causes.iter().map(|(cause, count)| match count {
            1 => cause.replace('_', " "),
            many => format!("{many} × {}", cause.replace('_', " ")),
        });
        causes.collect::<Vec<_>>().join(", ")
    }
}

impl CriterionFlip {
    /// The criterion's mark on each side.
    pub(crate) fn signs(&self) -> (Html, Html) {
        let sign = |score: Option<f64>| match score {
            None => Html::trusted("<span class=faint>–</span>".to_owned()),
            Some(score) => html::sign(Mark::of_score(score)),
        };
        (sign(self.a), sign(self.b))
    }
}

/// A p-value as it is printed: never 0.
pub(crate) fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p if p < 0.1 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    }
}

/// A value that was said, in words.
pub(crate) fn said(value: &Value) -> Html {
    match value {
        Value::Null => Html::trusted("<span class=faint>not said</span>".to_owned()),
        Value::String(text) => html::short(text, 120),
        other => html::short(other.to_string(), 120),
    }
}
